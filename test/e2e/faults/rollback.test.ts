/**
 * A log that was restored from an old backup, or whose database somebody replaces while it is open, takes no participants:
 * lost allocations would be drawn again. It is recovered: the loss is declared, and nothing lost is drawn again.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { hasPython, verifyBoth } from '../../support/altered-bundles.ts';
import { commandsOn } from '../../support/cli-log.ts';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { refusal } from '../../support/command.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { LogCheck } from '../../support/log-check.ts';
import { issueKeys, type Service, serve, urn } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();

/** A log of the studies in trials.ts: services that start and stop on it in this process, and copies of its database. */
class TrialLog {
  readonly data: string;
  /** By participant, as a site keeps them. */
  readonly receipts: Map<string, string>;

  constructor(data: string, receipts: ReadonlyMap<string, string> = new Map()) {
    this.data = data;
    this.receipts = new Map(receipts);
  }

  /** The same log in another folder. */
  copy(): TrialLog {
    return new TrialLog(newFolder(this.data), this.receipts);
  }

  file(name: string): string {
    return join(this.data, name);
  }

  /** What it signed last, by its own note. */
  get noted(): string {
    return readFileSync(this.file('last-checkpoints'), 'utf8');
  }

  set noted(text: string) {
    writeFileSync(this.file('last-checkpoints'), text);
  }

  backUp(name = 'backup'): void {
    copyFileSync(this.file('urn.sqlite'), this.file(name));
  }

  restore(name = 'backup'): void {
    this.empty();
    copyFileSync(this.file(name), this.file('urn.sqlite'));
  }

  /** Takes the database away, with its write-ahead log, which would make an older copy the newest one. */
  empty(): void {
    for (const side of ['', '-wal', '-shm']) rmSync(this.file(`urn.sqlite${side}`), { force: true });
  }

  start(witness?: string): Promise<ServiceHere> {
    return serveHere(this.data, TRIALS, { witness });
  }

  async randomize({ url }: { readonly url: string }, id: string, study = 'Sleep'): Promise<Answer> {
    const levels = study === 'Sleep' ? COOK : { ward: 'a' };
    const answer = await clientOf(url, keys.user).randomize(study, id, levels);
    if (answer.status === 200) this.receipts.set(id, answer.headers.get('urn-receipt') ?? '');
    return answer;
  }

  /** Randomizes these participants with a service that starts and stops. */
  async run(...ids: string[]): Promise<void> {
    const service = await this.start();
    try {
      for (const id of ids) expect((await this.randomize(service, id)).status).toBe(200);
    } finally {
      await service.stop();
    }
  }
}

let keys: Record<'user' | 'audit', string>;
let log: TrialLog;
let service: Service | ServiceHere;

const start = async (witness?: string) => {
  service = await log.start(witness);
};
const randomize = (id: string, study = 'Sleep') => log.randomize(service, id, study);
const list = async () =>
  (await clientOf(service.url, keys.user).list('Sleep')).results.map(({ id }: { id: string }) => id);
/** Nothing is signed, for it could contradict what was. */
const expectNothingSigned = async () => {
  const asked = { key: keys.user, parameters: { study: 'Sleep' } };
  expect((await ask(service.url, '/checkpoint', asked)).status).toBe(503);
};

/** Generator states after each allocation, as an auditor sees them. */
const states = async () =>
  (await clientOf(service.url, keys.audit).list('Sleep')).results.map((one: { bg_state: unknown }) =>
    JSON.stringify(one.bg_state),
  );
const { run, ok, json } = commandsOn(() => log.data);
const recover = (...args: string[]) => run`recover --reason 'disk failure' ${args}`;
const keep = (...ids: string[]) => {
  const kept = log.file(`receipts-${ids.join('-')}`);
  writeFileSync(kept, ids.map((id) => log.receipts.get(id)).join('\n'));
  return kept;
};
async function verify(...args: string[]) {
  const report: Report = await json`verify --json ${args}`;
  const study = report.streams.find((one) => one.study === 'Sleep');
  if (!study) throw new Error('no report of Sleep');
  return { report, study };
}

/** What clients are told. Files are named in the messages of the service alone. */
const LACKING = /^Not done: the log lacks records that it had, and nothing is recorded until that is settled/;
const ROLLED_BACK = '5 studies take no participants: 5 rolled-back';
const NOT_THE_ONE = 'the log is not the one that it was';

let begun: TrialLog;
/** With a alone, and a backup of that. */
let withA: TrialLog;
/** An older copy than what was signed, of a and b alone; c and d came after it. */
let restored: TrialLog;
/** The generator states of all four. */
let before: string[];
beforeAll(async () => {
  begun = new TrialLog(newFolder());
  keys = await issueKeys(begun.data, { user: ['user'], audit: ['auditor', '--scope', 'read,audit'] });
  withA = begun.copy();
  await withA.run('a');
  withA.backUp();
  restored = withA.copy();
  await restored.run('b');
  restored.backUp();
  log = restored;
  await start();
  for (const id of ['c', 'd']) expect((await randomize(id)).status).toBe(200);
  before = await states();
  await service.stop();
  restored.backUp('newest');
  restored.restore();
});
beforeEach(() => {
  log = begun.copy();
});
afterEach(() => service?.stop());

describe('a restored backup that is older than what was signed', () => {
  beforeEach(() => {
    log = restored.copy();
  });

  it('can be read, but accepts no participants', async () => {
    await start();
    const refused = await randomize('c');
    expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(LACKING)]);
    expect(refused.headers.get('urn-receipt')).toBeNull();
    expect(await list()).toEqual(['a', 'b']);
    expect(service.output.stderr).toContain('this log takes no participants');
    const states = { status: 200, message: ROLLED_BACK };
    expect(await ask(service.url, '/readyz')).toMatchObject(states);
    const forWriting = { parameters: { 'urn.for': 'writing' } };
    expect(await ask(service.url, '/readyz', forWriting)).toMatchObject({ ...states, status: 503 });
    expect(await ok`studies list`).toMatch(/^Sleep .* rolled-back: the log is not/m);
    await expectNothingSigned();

    const shown = await run`studies show Sleep`;
    expect(shown.stderr).toContain(`warning: ${NOT_THE_ONE}`);
    expect(shown.stdout).not.toContain('first checkpoint');
    await service.stop();
    // When it stops, it must not mistake the old state for the newest.
    await start();
    expect((await randomize('c')).status).toBe(503);
  });

  it('accepts no record of any kind from a command, whatever part of the log the command reads', async () => {
    const before = new LogCheck(log.data).check().records;
    const undisclosed = expect.stringContaining(`this disclosure could not be recorded: ${NOT_THE_ONE}`);
    expect(await run`explain --study Sleep --id a`).toMatchObject({ code: 0, stderr: undisclosed });
    const bundled = await run`bundle --study Sleep --content blinded --out ${log.file('bundle.zip')}`;
    expect(bundled).toMatchObject({ code: 0, stderr: expect.stringContaining(NOT_THE_ONE) });
    for (const line of ['keys add nurse', 'studies pause Sleep --reason x', 'signing-key rotate --reason x'])
      expect(await refusal(run`${line.split(' ')}`)).toContain(NOT_THE_ONE);
    expect(new LogCheck(log.data).check().records).toBe(before);
  });

  it('accepts participants once the newest copy is back', async () => {
    log.restore('newest');
    await start();
    expect(await list()).toEqual(['a', 'b', 'c', 'd']);
    expect((await randomize('e')).status).toBe(200);
  });
});

it('a store that was emptied is not replaced by another log, even if its signing key is elsewhere', async () => {
  log = withA.copy();
  log.empty();
  const key = join(newFolder(), 'signing-key');
  renameSync(log.file('signing-key'), key);
  for (const line of ['serve --port 0', 'keys add nurse'])
    expect(await refusal(run`${line.split(' ')} --signing-key ${key}`)).toContain(
      'no new log is begun in its place',
    );
  expect(new LogCheck(log.data).check().records).toBe(0);
});

it('a missing data folder is created for the note of what was last signed, which later shows a rollback', async () => {
  const [store, signingKey] = [`sqlite:${log.file('elsewhere.sqlite')}`, log.file('key')];
  const folder = join(newFolder(), 'not', 'there');
  await ok`keys add nurse --store ${store} --signing-key ${signingKey}`;
  service = await serveHere(folder, '', { store, signingKey });
  await expect.poll(() => existsSync(join(folder, 'last-checkpoints'))).toBe(true);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

describe('the note of what was last signed', () => {
  it('is written for its owner alone, within a second, and survives a kill; meanwhile, nothing is recovered', async () => {
    const killed = await serve({ data: log.data, studies: TRIALS });
    service = { ...killed, stop: killed.kill };
    expect((await randomize('a')).status).toBe(200);
    await expect.poll(() => log.noted, { timeout: 5000 }).toMatch(/^urn\/study\S*\n2\n/m);
    for (const others of [/^urn\/log\n1\n/m, /^urn\/access\n2\n/m]) expect(log.noted).toMatch(others);
    expect(statSync(log.file('last-checkpoints')).mode & 0o777).toBe(0o600);
    expect(await refusal(recover('--unproven'))).toContain('another process has this log open');
    expect((await recover('--unproven', '--dry-run')).stdout).toContain('would be declared');
    expect((await randomize('b')).status).toBe(200);
    await killed.kill();
    await log.run('c');
    // What a killed process left blocks nobody, and is not lost.
    expect((await recover('--unproven')).stdout).toMatch(/^study-\S+ +4 +\d/m);
    await log.run('d');
    const warnings = [{ code: 'recovered', text: expect.stringContaining('no lost record is known') }];
    expect((await verify()).study).toMatchObject({ sound: true, participants: 4, warnings });
  });

  it('is recreated if it is missing, and named if it is damaged', async () => {
    log = withA.copy();
    rmSync(log.file('last-checkpoints'));
    await log.run('b');
    expect(existsSync(log.file('last-checkpoints'))).toBe(true);
    log.noted = 'urn/log\n1\n';
    expect(await refusal(run`serve --port 0`)).toMatch(/last-checkpoints.*cannot be used/);
  });
});

describe("a data folder that was restored as a whole, with a witness's file elsewhere,", () => {
  let witness: string;
  const evidence = () => readFileSync(witness, 'utf8');
  beforeEach(async () => {
    witness = join(newFolder(), 'witness');
    log = withA.copy();
    await start(witness);
    expect((await randomize('b')).status).toBe(200);
    await service.stop();
    log = withA.copy();
  });

  it('accepts no participants and adds nothing to the file; commands know it, and the loss can be declared', async () => {
    const [had, [lost]] = [evidence(), [before[1]]];
    await start(witness);
    const refused = await randomize('b');
    expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(LACKING)]);
    expect(await ask(service.url, '/readyz')).toMatchObject({ message: ROLLED_BACK });
    expect(service.output.stderr).toContain(NOT_THE_ONE);
    await expectNothingSigned();
    await service.stop();
    expect(evidence()).toBe(had);
    expect(await ok`studies list`).toMatch(/^Sleep .* rolled-back: the log is not/m);
    expect((await recover()).stdout).toMatch(/^study-\S+ +2 +3 +at least 1 +Sleep$/m);
    await start(witness);
    expect((await randomize('b')).status).toBe(200);
    expect((await states()).at(-1)).not.toBe(lost);
    await service.stop();
    expect(evidence().startsWith(had)).toBe(true);
    expect(evidence().slice(had.length)).toMatch(/^urn\/study-\S+\/1\n4\n/m);
    await start(witness);
    expect((await randomize('c')).status).toBe(200);
    expect(service.output.stderr).not.toContain('was not compared');
  });

  it('is recognized even if others were randomized in it without the file', async () => {
    await log.run('other', 'and another');
    const had = evidence();
    await start(witness);
    expect((await randomize('x')).message).toMatch(LACKING);
    expect(service.output.stderr).toContain('which now holds others');
    await service.stop();
    expect(evidence()).toBe(had);
  });

  it('is served if it is the newest; what the log did not sign is passed over and named', async () => {
    const had = evidence();
    const cut = had.slice(0, had.indexOf('\n\n') + 20);
    const unsigned = had.replace(/\n(\d+)\n/, '\n99\n').slice(0, cut.length + 150);
    writeFileSync(witness, `hello\n\n${unsigned}`);
    await start(witness);
    expect((await randomize('b')).status).toBe(200);
    expect(service.output.stderr).toMatch(/"ignored":[23],"first":"\S+witness:1"/);
    expect(service.output.stderr).toContain('was not compared with the log');
    await service.stop();
    await expect.poll(evidence).toMatch(/^urn\/study-\S+\n3\n/m);
  });
});

/** Whatever the service appended from then on would be lost. */
describe('a database under a running service:', () => {
  const DELETED = 'was deleted while it was open';
  it.each<[way: string, says: string, take: () => unknown]>([
    [
      'an older copy is moved into its place',
      'was replaced by another file while it was open',
      () => {
        log.empty();
        renameSync(log.file('backup'), log.file('urn.sqlite'));
      },
    ],
    [
      'an older copy is restored into it',
      'no longer holds record',
      async () => {
        const backup = new Database(log.file('backup'));
        await backup.backup(log.file('urn.sqlite'));
        backup.close();
      },
    ],
    ['it is deleted', DELETED, () => rmSync(log.file('urn.sqlite'))],
  ])('when %s, nothing more is written or signed, and the reason is given', async (_, says, take) => {
    log = withA.copy();
    await start();
    expect((await randomize('b')).status).toBe(200);
    await take();
    await expect.poll(() => service.output.stderr).toContain('the log has lost records');
    expect(service.output.stderr).toContain(says);
    const refused = await randomize('c');
    expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(LACKING)]);
    expect(await ask(service.url, '/readyz')).toMatchObject({ message: ROLLED_BACK });
    await expectNothingSigned();

    await service.stop();
    if (says !== DELETED) {
      await start();
      expect((await randomize('c')).message).toMatch(LACKING);
      expect(service.output.stderr).toContain(NOT_THE_ONE);
    } else {
      expect(await refusal(run`serve --port 0`)).toContain('its database');
    }
  });
});

describe('a log that lost its newest allocations', () => {
  beforeEach(() => {
    log = restored.copy();
  });

  it('accepts participants again once the loss is declared, with another generator', async () => {
    const { code, stdout, stderr } = await recover();
    expect(stderr).toContain('Restart the service');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^recovery 1 is declared:\n/);
    expect(stdout).toMatch(/^study-\S+ +3 +5 +at least 2 +Sleep$/m);
    await start();
    const again = await randomize('c');
    expect(again.status).toBe(200);
    expect(Buffer.from(again.headers.get('urn-receipt') ?? '', 'base64').toString()).toMatch(
      /^urn\/study-[-0-9a-f]+\/1\n5\n/,
    );
    expect((await randomize('d')).status).toBe(200);
    const after = await states();
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    for (const state of after.slice(2)) expect(before).not.toContain(state);
    // Not even the generator of a study that is not known to have lost anything continues.
    expect((await randomize('w', 'Ward')).status).toBe(200);
    new LogCheck(log.data).check();
    await service.stop();
    expect(await ok`studies show Sleep`).toMatch(
      /^recovered +recovery 1 of the log, \S+: at least 2 records after the first 3 were lost; the generator began anew$/m,
    );
    await log.run('e');
    const { report, study } = await verify('--checkpoint', keep('a', 'b', 'd', 'e'));
    expect(report.ok).toBe(true);
    expect(study.evidence).toMatchObject({ matching: 4, matchingSize: 7, lost: [] });
    expect(study.warnings).toMatchObject([{ code: 'recovered', revision: 3 }]);
    expect(report.log?.recoveries).toMatchObject([{ recovery: 1, reason: 'disk failure' }]);
  });

  it('can be recovered again, with another origin, and a lost recovery does not give its number away', async () => {
    await recover();
    await log.run('c2');
    log.backUp('second');
    await log.run('d2');
    log.restore('second');
    expect((await recover()).stdout).toContain('recovery 2 is declared');
    // Back to before the first recovery.
    log.restore();
    expect(await refusal(recover())).toContain('that the log was moved to another store');
    expect((await recover('--not-moved')).stdout).toContain('recovery 3 is declared');
    await log.run('c4');
    const receipts = keep('b', 'd', 'd2', 'c4');
    const { report, study } = await verify('--checkpoint', receipts);
    expect(report.log?.recoveries).toMatchObject([{ recovery: 3 }]);
    expect(study.evidence.matching).toBe(2);
    expect(study.evidence.lost.map(({ because }) => because)).toEqual(Array(2).fill('declared-loss'));

    const bundle = log.file('bundle.zip');
    await ok`bundle --study Sleep --out ${bundle}`;
    expect((await bundleFiles(bundle)).text('report.html')).toMatch(/recovery 3 of the log, .* were lost/);
    if (!hasPython) return;
    const { stdout, own } = await verifyBoth(bundle, ['--checkpoint', receipts]);
    expect(stdout).toContain('DECLARED LOSS');
    expect(stdout).not.toContain('UNDECLARED');
    expect(stdout).toMatch(/^ {2}study-.* RECOVERED from a backup after the first \d+$/m);
    expect(own.report?.bundle?.notKnown).toContainEqual(expect.stringContaining('the recoveries of the log'));
    expect(own.report?.streams.at(-1)?.evidence.lost).toEqual(study.evidence.lost);
  });

  it('declares losses that the receipts show beyond its own notes', async () => {
    // As if the service had been killed before it noted what it signed last.
    const { noted } = log;
    rmSync(log.file('last-checkpoints'));
    expect((await recover()).stderr).toContain('nothing is missing that this log is known to have signed');
    const dry = await recover('--dry-run', '--checkpoint', keep('c'));
    expect(dry.stdout).toContain('would be declared:');
    expect((await recover('--checkpoint', keep('c'))).code).toBe(0);
    await log.run('x');
    expect(log.noted).not.toBe(noted);
    const { study } = await verify('--checkpoint', keep('c', 'd'));
    expect(study.evidence.lost).toMatchObject([
      { size: 4, because: 'declared-loss' },
      { size: 5, because: 'undeclared-loss' },
    ]);
  });
});

describe('urn recover', () => {
  it('completes a recovery that was interrupted after the loss was declared', async () => {
    log = withA.copy();
    await log.run('b');
    log.restore();
    // Only the declaration, as if the process were killed right after it.
    const stopping = new URL('../../support/stop-after-declaring.mjs', import.meta.url);
    const child = await urn(['recover', '--data', log.data, '--reason', 'x'], {
      env: { NODE_OPTIONS: `--import ${stopping}` },
    });
    expect(child.code).not.toBe(0);
    expect((await verify()).study.records).toBe(2);
    // The service does it at its start.
    await log.run('c');
    const { study } = await verify();
    expect(study).toMatchObject({ sound: true, records: 4 });
    expect((await recover()).stderr).toContain('nothing is missing');
  });

  it('registers a study again that was lost completely, and not before, and does not repeat its draws', async () => {
    service = await serveHere(log.data);
    await service.stop();
    log.backUp();
    await start();
    expect((await randomize('a')).status).toBe(200);
    const [lost] = await states();
    await service.stop();
    log.restore();
    await start();
    expect(service.output.stderr).toContain('this log takes no participants');
    expect((await randomize('a')).status).toBe(404);
    expect(await ok`studies list`).toBe('');
    await service.stop();
    expect((await recover()).code).toBe(0);
    await start();
    expect((await randomize('a')).status).toBe(200);
    expect(await states()).not.toContain(lost);
    const { report, study } = await verify('--checkpoint', keep('a'));
    expect(study.warnings[0]).toMatchObject({ code: 'recovered', revision: 1 });
    expect(report.ok).toBe(true);
  });

  it('declares nothing for a different history of the same length, for a complete log, or without a reason', async () => {
    log = withA.copy();
    expect((await recover()).code).toBe(2);
    expect((await recover('--reason', ' ')).stderr).toContain('--reason must not be empty');
    expect((await recover('--checkpoint', log.file('nowhere'))).stderr).toContain('cannot read');
    writeFileSync(log.file('foreign'), log.noted.replace(/— urn .*/, '— urn AAAAAAAA'));
    expect((await recover('--checkpoint', log.file('foreign'))).code).toBe(2);
    const { noted } = log;
    await log.run('b');
    const signed = log.noted;
    log.restore();
    log.noted = noted;
    await log.run('other');
    log.noted = signed;
    await start();
    expect((await randomize('x')).status).toBe(503);
    expect(service.output.stderr).toContain('which now holds others');
    await service.stop();
    expect(await refusal(recover())).toContain('holds other records than the 3 that the log signed');
    log = new TrialLog(newFolder());
    expect(await refusal(recover())).toContain('there is no log in');
  });
});
