/** SIGTERM under load: every request that reached the service is answered, and what was acknowledged is in the log. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { seededChoices } from '../../support/choices.ts';
import { Account, STUDIES, startClients } from '../../support/load.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKey, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ROUNDS = 4;
const newFolder = temporaryFolders();

it('a service that is terminated answers what it was sent, and exits with 0', async () => {
  const choices = seededChoices();
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const account = new Account(choices);
  const log = new LogCheck(data);
  for (let round = 0; round < ROUNDS; round++) {
    const service = await serve({ data, studies: STUDIES });
    try {
      await account.settle(service.url, key);
      // A client that is told of the shutdown sends nothing more; until then all of them continue.
      const clients = startClients(account, choices, [{ url: service.url, key }], 32, {
        eachUntilRefused: true,
      });
      await delay(choices.between(100, 500));
      // It must not matter whether anybody still reads its log.
      if (round % 2 === 1) service.child.stderr?.destroy();
      await service.stop();
      expect(await clients.done).toEqual([]);
      expect(account.agreesWith(log.check()), 'what was written was also acknowledged').toBe(0);
    } finally {
      await service.kill();
    }
  }
  expect(account.acknowledged).toBeGreaterThan(ROUNDS);
});
