/** A long log is checked by a second thread from its end, and what that finds or misses changes nothing. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { participants } from '../../../projections/participants.ts';
import { type OpenLog, openLog } from '../../../src/open/open-log.ts';
import { BackwardChecks } from '../../../src/store/sqlite/checks.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { CONFIGURATION, NURSE, OPERATOR, randomize } from '../../support/facts.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
/** More than 10 MiB of records. */
const PARTICIPANTS = 6000;
const data = newFolder();
const file = join(data, 'urn.sqlite');
const database = <T>(use: (db: Database) => T): T => {
  const db = new Database(file);
  try {
    return use(db);
  } finally {
    db.close();
  }
};
const lastPosition = () =>
  database((db) => db.prepare('SELECT max(position) FROM records').pluck().get()) as number;

beforeAll(async () => {
  const log = await openLog({ data }, OPERATOR);
  await log.rebuild();
  await log.studies.register(CONFIGURATION, 1n, OPERATOR);
  const stream = log.studies.streamOf(CONFIGURATION.name);
  const levels = (i: number) => CONFIGURATION.factors.map((factor, f) => factor.levels[(i >> f) % 2] ?? '');
  for (let i = 0; i < PARTICIPANTS; i += 1000)
    await Promise.all(
      Array.from({ length: 1000 }, (_, k) =>
        log.studies.submit(stream, randomize(`${i + k}`, { levels: levels(i + k) }), NURSE),
      ),
    );
  await log.close();
});

async function rebuilt(rebuild: (log: OpenLog) => Promise<void>) {
  const log = await openLog({ data }, OPERATOR);
  try {
    await rebuild(log);
    const stream = log.studies.streamOf(CONFIGURATION.name);
    return { shown: log.runner.state(participants, stream), halted: log.runner.halted(stream)?.message };
  } finally {
    await log.close();
  }
}

/** The lowest position that was covered in the end. */
async function coveredFrom(checks: BackwardChecks, last: number): Promise<number> {
  await expect.poll(() => checks.cover(String(last)), { timeout: 20_000 }).toBe(true);
  // What covers a record stops: the thread has met those who fold.
  await checks.stop();
  for (let position = last; ; position--) if (!checks.cover(String(position))) return position + 1;
}

describe('the checks', () => {
  it('cover a log from its last record, and end when they have met those who fold', async () => {
    const last = lastPosition();
    const checks = new BackwardChecks(file);
    expect(checks.cover(String(last))).toBe(false);
    const from = await coveredFrom(checks, last);
    expect(from).toBeLessThan(last - 200);
    expect(checks.cover(String(last + 1))).toBe(false);
    await checks.stop();
  });

  it('cover all of it when nobody stops them', async () => {
    const checks = new BackwardChecks(file);
    await expect.poll(() => checks.cover('1'), { timeout: 20_000 }).toBe(true);
    await checks.stop();
    expect(checks.cover('0')).toBe(false);
  });

  it('can be stopped before they have begun', async () => {
    const checks = new BackwardChecks(file);
    await checks.stop();
    expect(checks.cover('1')).toBe(false);
  });

  it('cover nothing of a database that cannot be read', async () => {
    const checks = new BackwardChecks(join(newFolder(), 'none.sqlite'));
    await checks.stop();
    expect(checks.cover('1')).toBe(false);
  });
});

describe('a start on a long log', () => {
  it('shows the same as one that checks every record itself', async () => {
    const checked = await rebuilt((log) => log.rebuild());
    expect(checked.shown.inOrder).toHaveLength(PARTICIPANTS);
    expect(checked).toEqual(await rebuilt((log) => log.runner.rebuild()));
  });

  it.each([3, PARTICIPANTS / 2, PARTICIPANTS - 2])(
    'finds a record that was changed: %i',
    async (revision) => {
      const change = (from: string, to: string) =>
        database((db) => {
          db.exec('DROP TRIGGER IF EXISTS records_are_not_changed');
          const { changes } = db
            .prepare(
              `UPDATE records SET record = CAST(replace(CAST(record AS TEXT), ?, ?) AS BLOB)
             WHERE stream LIKE 'study-%' AND revision = ?`,
            )
            .run(from, to, revision);
          expect(changes).toBe(1);
        });
      change('"at":"2', '"at":"3');
      const { halted, shown } = await rebuilt((log) => log.rebuild());
      expect(halted).toMatch(new RegExp(`/${revision}: the record does not match the leaf hash`));
      expect(shown.inOrder).toHaveLength(revision - 1);
      change('"at":"3', '"at":"2');
    },
  );
});
