/** A log that was moved, and both verifiers: they find what must not surround a move, at the same place. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { canonicalJson, encodeRecord, leafHash } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { logIdIn } from '../../../src/evidence/move/standing.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { hasPython, verifyBoth } from '../../support/altered-bundles.ts';
import { altered } from '../../support/altered-record.ts';
import { clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { EarlierMove } from '../../support/earlier-move.ts';
import { OPERATOR } from '../../support/facts.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { issueKey } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';
import { firstDivergence } from '../../support/verifier.ts';
import { type Row, streamOfStudy } from './database.ts';

const newFolder = temporaryFolders();
const folder = newFolder();
const place = (name: string) => join(folder, name);
const database = (name: string) => join(place(name), 'urn.sqlite');
/** `before`: every stream says that the log was moved, as in versions up to 0.3.0. `now`: `log` alone. */
const BUNDLES = [
  ['before', 'full'],
  ['before', 'blinded'],
  ['now', 'full'],
] as const;
const bundle = (data: string, content: string) => place(`${data}-${content}.zip`);
const OTHER = '0193a8e0-0000-7000-8000-0000000000ff';
let study: string;

/** LogMoved and LogArrived are at these revisions of the study: after its registration and two participants. */
const MOVED = 3;
const ARRIVED = 4;

describe.skipIf(!hasPython)('a bundle of a log that was moved', () => {
  beforeAll(async () => {
    const key = await issueKey(place('home'), 'edc');
    const run = async (data: string, ids: readonly string[]) => {
      const service = await serveHere(place(data), TRIALS);
      for (const id of ids)
        expect((await clientOf(service.url, key).randomize('Sleep', id, COOK)).status).toBe(200);
      await service.stop();
    };
    await run('home', ['a', 'b']);
    for (const data of ['before', 'now']) mkdirSync(place(data));
    copyFileSync(database('home'), database('before'));
    const store = new SqliteStore(database('before'));
    const move = new EarlierMove(store, (await logIdIn(store)) ?? '');
    await move.close();
    await move.arrive();
    await store.close();
    await commandOk(['copy', '--data', place('home'), '--to', `sqlite:${database('now')}`]);
    for (const data of ['before', 'now']) {
      copyFileSync(join(place('home'), 'signing-key'), join(place(data), 'signing-key'));
      await run(data, ['c', 'd']);
    }
    for (const [data, content] of BUNDLES) {
      const of = ['--study', 'Sleep', '--data', place(data), '--content', content];
      await commandOk(['bundle', ...of, '--out', bundle(data, content)]);
    }
    study = streamOfStudy(place('before'), 'Sleep');
  });

  it.each(BUNDLES)('is sound: %s, content %s', async (data, content) => {
    const { code, stdout } = await verifyBoth(bundle(data, content));
    expect(code, stdout).toBe(0);
  });

  const { newId, newSalt, now } = systemTools();
  const fact = (like: Row | undefined, said: Fact): Row => {
    const { log, stream } = JSON.parse(`${like?.record}`);
    const header = { id: newId(), log, stream, revision: 0, at: now().toISOString(), actor: OPERATOR };
    return { ...like, ...encodeRecord(header, said, newSalt) } as Row;
  };
  const paused: Fact = { type: 'StudyPaused', data: { reason: 'x' }, sections: {} };
  const reopened = (move: string): Fact => ({ type: 'LogReopened', data: { move }, sections: {} });
  const aborted = (move: string): Fact => ({ type: 'CopyAborted', data: { move }, sections: {} });
  const data = { publicKey: 'x', endorsement: 'x', reason: 'x' };
  const rotated: Fact = { type: 'SigningKeyRotated', data, sections: {} };
  const moveOf = (rows: Row[], at: number) => JSON.parse(`${rows[at]?.record}`).data.move as string;
  type Changed = (rows: Row[]) => Row[];
  const without =
    (at: number): Changed =>
    (rows) =>
      rows.toSpliced(at, 1);
  const inserted =
    (at: number, said: (rows: Row[]) => Fact): Changed =>
    (rows) =>
      rows.toSpliced(at, 0, fact(rows[at], said(rows)));
  const replaced =
    (at: number, said: (rows: Row[]) => Fact): Changed =>
    (rows) =>
      rows.with(at, fact(rows[at], said(rows)));
  const movedTo =
    (at: number): Changed =>
    (rows) =>
      rows.toSpliced(at, 0, rows[MOVED] as Row, rows[ARRIVED] as Row);
  /** The event there is of another move. */
  const ofOther =
    (at: number): Changed =>
    (rows) =>
      rows.with(
        at,
        altered(rows[at] as Row, ({ data }) => Object.assign(data, { move: OTHER })),
      );
  const renumbered = (row: Row, revision: number): Row => {
    const record = Buffer.from(canonicalJson({ ...JSON.parse(`${row.record}`), revision }));
    return { ...row, record, leaf: leafHash(record) };
  };

  /** In `log`, 1 is the move and 2 its end. */
  it.each<[string, 'study' | 'log', number, Changed]>([
    ['an event between the move and its end', 'study', ARRIVED, inserted(ARRIVED, () => paused)],
    ['no end of the move', 'study', ARRIVED, without(ARRIVED)],
    ['an end of no move', 'study', MOVED, without(MOVED)],
    ['an end of another move', 'study', ARRIVED, ofOther(ARRIVED)],
    ['a move that log does not have', 'study', MOVED, (rows) => ofOther(MOVED)(ofOther(ARRIVED)(rows))],
    ['an end of another kind', 'study', ARRIVED, replaced(ARRIVED, (rows) => reopened(moveOf(rows, MOVED)))],
    ['the same move again', 'study', 5, movedTo(5)],
    ['the move before the registration', 'study', 0, movedTo(0)],
    ['another event in place of the end in log', 'log', 2, replaced(2, () => rotated)],
    ['an end of another move in log', 'log', 2, ofOther(2)],
    ['another move given up in log', 'log', 2, replaced(2, () => aborted(OTHER))],
    ['an end without the move in log', 'log', 1, without(1)],
    ['an end in log of a move given up', 'log', 3, inserted(2, (rows) => aborted(moveOf(rows, 1)))],
  ])('is not sound with %s', async (_, stream, revision, change) => {
    const files = await bundleFiles(bundle('before', 'full'));
    const name = stream === 'study' ? study : stream;
    files.setRows(name, change(files.rows(name)).map(renumbered));
    // Signatures do not count.
    files.set('checkpoints.txt', '');
    const { own } = await verifyBoth(await files.pack(join(newFolder(), 'tampered.zip')));
    expect(firstDivergence(own)).toMatchObject({ stream: name, revision });
  });
});
