/** kill -9 at random moments: what was acknowledged stays, and nothing is in the log twice. FAULT_ROUNDS sets how often. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { clientOf } from '../../support/client.ts';
import { Account, isConnectionError, STUDIES, STUDY_NAMES, startClients } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKeys, launch, serve } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 5);
const newFolder = temporaryFolders();

it('a service killed under load loses nothing that was acknowledged', {
  timeout: 60_000 + ROUNDS * 20_000,
}, async () => {
  const choices = seededChoices();
  const data = newFolder();
  const keys = await issueKeys(data, {
    work: ['edc'],
    audit: ['auditor', '--scope', 'read,audit'],
  });
  const account = new Account(choices);
  const log = new LogCheck(data);
  const seen = { kills: 0, killsAtStart: 0, open: 0, unheard: 0 };

  for (let round = 0; round <= ROUNDS; round++) {
    if (choices.chance(0.25)) {
      const starting = launch({ data, studies: STUDIES });
      await delay(choices.between(50, 700));
      starting.child.kill('SIGKILL');
      await starting.exited;
      seen.killsAtStart++;
    }
    const service = await serve({ data, studies: STUDIES });
    try {
      seen.unheard += account.agreesWith(log.check());
      seen.open += account.open.length;
      await account.settle(service.url, keys.work);
      for (const study of STUDY_NAMES)
        account.agreesWithList(study, (await clientOf(service.url, keys.audit).list(study)).results);
      expect(account.agreesWith(log.check()), 'each was asked again, so each is known').toBe(0);
      if (round === ROUNDS) {
        await service.stop();
        break;
      }
      const targets = [{ url: service.url, key: keys.work }];
      const clients = startClients(account, choices, targets, choices.between(16, 32));
      await delay(choices.between(20, 600));
      service.child.kill('SIGKILL');
      seen.kills++;
      const failures = await clients.done;
      expect(failures.filter((error) => !isConnectionError(error))).toEqual([]);
    } finally {
      await service.kill();
    }
  }
  expect(account.agreesWith(log.check())).toBe(0);
  // biome-ignore lint/suspicious/noConsole: how much was tried tells how much was shown
  console.info('killed under load', {
    ...seen,
    acknowledged: account.acknowledged,
    repeats: account.repeats,
    records: log.records,
  });
  expect(account.acknowledged).toBeGreaterThan(ROUNDS);
});

it('a service begins a log only once, however often it is killed while beginning it', async () => {
  const choices = seededChoices();
  for (let round = 0; round < 3; round++) {
    const data = newFolder();
    for (let kills = 0; kills < 3; kills++) {
      const starting = launch({ data, studies: STUDIES });
      await delay(choices.between(150, 600));
      starting.child.kill('SIGKILL');
      await starting.exited;
    }
    await (await serveHere(data, STUDIES)).stop();
    const log = new LogCheck(data).check();
    expect(log.events('log').map(({ type }) => type)).toEqual(['LogCreated']);
    expect([...log.studies().keys()].toSorted()).toEqual(STUDY_NAMES.toSorted());
    expect(log.records - log.events('operations').length).toBe(1 + STUDY_NAMES.length);
  }
});
