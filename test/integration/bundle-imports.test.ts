/**
 * A study with an imported history: both verifiers accept its bundles and say the same about them. In all
 * contents, both find at the same place what somebody altered who also corrected seals, leaves, manifest and references.
 */
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import { microsecondsOf } from '../../src/base/instant.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
import {
  alteredBundles,
  both,
  by,
  type Change,
  changed,
  configured,
  data,
  doubled,
  type Findings,
  gone,
  inEach,
  inFull,
  type Json,
  moved,
  renumbered,
  warningLines,
  without,
} from '../support/altered-bundles.ts';
import { CONFIGURATION } from '../support/facts.ts';
import { AT, ATTEMPT, type ImportedLog, makeForeignLog, makeImportedLog } from '../support/imported-log.ts';
import type { BundledStudy } from '../support/life-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { verifierValue } from '../support/verifier.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

/** What is found there or after it in the clear, and at once where the draws are included. */
const sooner = (full: number, clear: number | 'ok'): Findings => ({ full, open: clear, blinded: clear });
const sealed = (revision: number, change: (sections: Json) => void) =>
  changed(revision, (_, sections) => change(sections));
const withAnotherArm = (revision: number) =>
  sealed(revision, ({ allocation }) => {
    const others = CONFIGURATION.treatments.filter((treatment) => treatment !== allocation.treatment);
    Object.assign(allocation, { treatment: others[0] });
  });
/** The override in the log gives the next arm. */
const withDrawnArm = (revision: number) =>
  sealed(revision, ({ allocation }) => {
    const { treatments } = CONFIGURATION;
    const place = treatments.indexOf(allocation.treatment);
    Object.assign(allocation, { treatment: treatments.at(place - 1) });
  });
const at = (revision: number, datetime: string, row?: number) =>
  changed(revision, ({ data: members }) => {
    Object.assign(members.original, { datetime });
    if (row !== undefined) members.row = row;
  });
const withLevel = (revision: number, level: string) =>
  changed(revision, ({ data: members }) => Object.assign(members.levels[0], { level }));
const drop = (section: string) => (record: Json, sections: Json) => {
  delete record.seals[section];
  delete sections[section];
};
const put = (section: string, members: object) => (record: Json, sections: Json) => {
  record.seals[section] = '';
  sections[section] = { ...members, salt: randomBytes(16).toString('hex') };
};
/** The row says that it was not drawn again. */
const disowned = (revision: number, cause: string) =>
  changed(revision, (record, sections) => {
    Object.assign(record.data, { redrawn: false, cause });
    put('state', { bgState: sections.draw.bgStateAfter })(record, sections);
    drop('draw')(record, sections);
  });
/** The row no longer has a state. */
const stateless = (revision: number) =>
  changed(revision, (record, sections) => {
    Object.assign(record.data, { redrawn: false, cause: 'no-state' });
    for (const section of ['draw', 'state']) drop(section)(record, sections);
  });
/** With the sections of the other row. */
const withSectionsOf =
  (revision: number, other: number, names: readonly string[]): Change =>
  (rows) => {
    const { sealed: theirs } = rows.find((row) => row.revision === other) ?? { sealed: '{}' };
    const sections = JSON.parse(theirs.toString());
    return changed(revision, (record, own) => {
      for (const name of names) put(name, sections[name])(record, own);
    })(rows);
  };
const ended = (revision: number, members: Json) =>
  changed(revision, (record) => {
    record.data = members;
  });
const proof = (redrawn: number, unproven: number) => ({ proof: { redrawn, unproven } });
const source = (rows: number) => ({ source: { format: 'reference', rows } });
/** That nothing leads to. */
const STATE = Pcg64.fromSeed(7n).snapshot();

describe.skipIf(found === undefined)('both verifiers of a study with an imported history', () => {
  const bundles = alteredBundles(python, newFolder);
  const findings = (altering: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, altering, prepare);
  let log: ImportedLog;
  let foreign: BundledStudy<'nurse'>;

  beforeAll(async () => {
    log = await makeImportedLog(newFolder());
    foreign = await makeForeignLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, and say what was imported', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      '  The study is open; imported: 7 drawn again, 3 unproven; levels corrected: 1; codes broken: 1 emergency\n',
    );
    expect(own.text).toContain(
      '\n  open; imported: 7 drawn again, 3 unproven; levels corrected: 1; codes broken: 1 in an emergency\n',
    );
    expect(own.report?.streams.at(-1)?.life?.imported).toEqual({ redrawn: 7, unproven: 3 });
    const warnings = own.report?.streams.at(-1)?.warnings ?? [];
    expect(warnings.map(({ code: what, count, revision }) => [what, count, revision])).toEqual([
      ['approval-asserted', 2, AT.attempt],
      ['imported-unproven', 4, AT.first],
      ['generator-known-elsewhere', 1, AT.begun],
      ['revealed-in-emergency', 1, AT.revealed],
      ['corrected-after-reveal', 1, AT.corrected],
    ]);
    expect(stdout.split('\n').filter((line) => line.startsWith('WARNING'))).toEqual(warningLines(own));
  });

  it.each(CONTENTS)('accept one without states of a generator, content %s', async (content) => {
    const { code, stdout } = await bundles.verifyBoth(foreign.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('imported: 0 drawn again, 2 unproven');
  });

  it('find what was altered in one without states', async () => {
    const all = (change: Change) => bundles.findings(foreign, change);
    expect(await all(data(2, { cause: 'no-state' }))).toEqual(inEach(2));
    expect(await all(changed(2, put('state', { bgState: STATE })))).toEqual(inEach(2));
    expect(await all(data(1, { source: { format: 'reference', rows: 2 } }))).toEqual(inEach(2));
    expect(await all(data(1, { generator: 'continued' }))).toEqual(inEach({ full: 1, open: 4, blinded: 4 }));
    const seed = (digits: string) => sealed(1, ({ generator }) => Object.assign(generator, { seed: digits }));
    expect(await all(seed('5'))).toEqual(inEach(inFull(1)));
    expect(await all(seed(`0${9n << 100n}`))).toEqual(inEach(inFull(1)));
    // Its arm is counted.
    expect(await all(withAnotherArm(3))).toEqual(inEach(inFull(5)));
  });

  it.each<[string, Change, Findings]>([
    ['no approval', data(AT.begun, { approvals: [] }), AT.begun],
    [
      'an approval of an impossible day',
      data(AT.begun, { approvals: [{ name: 'a', role: 'b', on: '2026-02-30' }] }),
      AT.begun,
    ],
    ['a fresh generator', data(AT.begun, { generator: 'fresh' }), inFull(AT.begun)],
    ['another kind of generator', data(AT.begun, { generator: 'seeded' }), AT.begun],
    ['another import', data(AT.begun, { import: ATTEMPT }), AT.i1],
    ['a proof of more rows', data(AT.begun, proof(8, 3)), AT.begun],
    ['a proof of other rows', data(AT.begun, proof(8, 2)), AT.ended],
    ['another seed', without(AT.begun, 'seedKnown'), AT.i1],
    ['the seed in the attempt', data(AT.attempt, { seedKnown: true }), AT.first],
    ['another number of rows', data(AT.begun, source(9)), AT.begun],
    ['more rows', data(AT.begun, { ...source(11), ...proof(7, 4) }), AT.ended],
    ['fewer rows', data(AT.begun, { ...source(9), ...proof(7, 2) }), AT.last],
    ['no rows', data(AT.begun, { ...source(0), ...proof(0, 0) }), AT.begun],
    ['another format', data(AT.begun, { source: { format: 'csv', rows: 10 } }), AT.i1],
    ['an additional member', data(AT.begun, { file: 'history.csv' }), AT.begun],
    [
      'another file',
      sealed(AT.begun, (each) => Object.assign(each.source, { sha256: 'f'.repeat(64) })),
      'ok',
    ],
    ['no file', changed(AT.begun, drop('source')), AT.begun],
    [
      'another state',
      sealed(AT.begun, (each) => Object.assign(each.generator, { bgState: STATE })),
      inFull(AT.ended),
    ],
    [
      'an impossible state',
      sealed(AT.begun, ({ generator: { bgState } }) => Object.assign(bgState.state, { inc: '2' })),
      inFull(AT.begun),
    ],
    ['a seed', sealed(AT.begun, (each) => Object.assign(each.generator, { seed: '5' })), inFull(AT.begun)],
    [
      'another seed of a fresh generator',
      sealed(AT.attempt, (each) => Object.assign(each.generator, { seed: '5' })),
      inFull(AT.attempt),
    ],
    [
      'no seed of a fresh generator',
      sealed(AT.attempt, (each) => delete each.generator.seed),
      inFull(AT.attempt),
    ],
    ['no beginning', gone(AT.begun), AT.begun],
    ['a beginning before the end of the attempt', moved(AT.aborted), AT.aborted],
    ['a beginning after the first row', moved(AT.begun), AT.begun],
    ['two beginnings', doubled(AT.begun), AT.begun + 1],
    ['a key', (rows) => by(AT.begun, log.actors.desk)(rows), AT.begun],
    [
      'a study with a participant',
      (rows) => [...rows.slice(0, 1), ...rows.slice(AT.n1, AT.n1 + 1), ...rows.slice(AT.begun)],
      // Its draw began elsewhere.
      sooner(1, 2),
    ],
  ])('find an altered beginning: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['the number of an earlier row', data(AT.i2, { row: 1 }), AT.i2],
    ['the number of a later row', data(AT.i2, { row: 5 }), AT.i5],
    ['row 0', data(AT.i2, { row: 0 }), AT.i2],
    ['a number after the last', data(AT.last, { row: 11 }), AT.last],
    ['another import', data(AT.i2, { import: ATTEMPT }), AT.i2],
    ['no instant', at(AT.i2, '2026-02-30'), AT.i2],
    ['the same instant in other words', at(AT.i2, '2026-01-01T01:00:01.000001+0100'), 'ok'],
    ['a later instant', at(AT.i2, '2026-01-01T00:00:03Z'), AT.raced],
    ['an earlier instant', at(AT.i2, '2025-12-31'), AT.i2],
    [
      'equal instants out of order',
      both(at(AT.i9, '2026-01-01 00:00:08.000001', 10), data(AT.last, { row: 9 })),
      AT.last,
    ],
    // Then the generator goes on from it.
    ['a later instant of the last row', at(AT.last, '2027-01-01'), inFull(AT.ended)],
    ['another user', changed(AT.i2, (each) => Object.assign(each.data.original, { user: 'x' })), 'ok'],
    [
      'a user without a name',
      changed(AT.i2, (each) => Object.assign(each.data.original, { user: '' })),
      AT.i2,
    ],
    ['another id', data(AT.last, { participantId: 'x' }), 'ok'],
    ['the id of another row', data(AT.last, { participantId: 'i1' }), AT.last],
    ['the id of an allocation after it', data(AT.last, { participantId: 'n1' }), AT.n1],
    ['a space at the end of the id', data(AT.last, { participantId: 'x ' }), AT.last],
    // The arm was drawn at another level, but the row is counted at this one.
    ['another level', withLevel(AT.last, 'Male'), inFull(AT.n1)],
    ['an unknown level', withLevel(AT.last, 'x'), AT.last],
    ['no level', data(AT.last, { levels: [] }), AT.last],
    ['an additional member', data(AT.last, { file: 'x' }), AT.last],
    ['another arm', withAnotherArm(AT.i2), inFull(AT.i2)],
    ['the arm of the draw instead of the override', withDrawnArm(AT.override), inFull(AT.override)],
    // The row and its arm are counted.
    ['another arm of the row without a state', withAnotherArm(AT.noState), inFull(AT.i9)],
    [
      'an unknown arm',
      sealed(AT.noState, ({ allocation }) => Object.assign(allocation, { treatment: 'x' })),
      { full: AT.noState, open: AT.noState, blinded: 'ok' },
    ],
    ['no arm', changed(AT.i2, drop('allocation')), AT.i2],
    ['the draw of another row', withSectionsOf(AT.last, AT.i2, ['draw']), inFull(AT.last)],
    [
      'the draw and arm of another row',
      withSectionsOf(AT.last, AT.i2, ['allocation', 'draw']),
      inFull(AT.last),
    ],
    ['other counts', sealed(AT.raced, ({ draw }) => draw.counts.reverse()), inFull(AT.raced)],
    [
      'another state before',
      sealed(AT.raced, ({ draw }) => Object.assign(draw, { bgStateBefore: draw.bgStateAfter })),
      inFull(AT.raced),
    ],
    [
      'another state',
      sealed(AT.differs, ({ state }) => Object.assign(state, { bgState: STATE })),
      inFull(AT.i9),
    ],
    [
      'an impossible state',
      sealed(AT.differs, ({ state }) => Object.assign(state.bgState.state, { state: '9'.repeat(39) })),
      inFull(AT.differs),
    ],
    ['no state', stateless(AT.differs), inFull(AT.i9)],
    ['no state of a row that was drawn again', stateless(AT.raced), sooner(AT.override, AT.ended)],
    ['no state of the row with the largest instant', stateless(AT.i9), sooner(AT.last, AT.ended)],
    ['a row that is said not to be drawn again', disowned(AT.i2, 'differs'), sooner(AT.i2, AT.ended)],
    ['one that is said to be an override', disowned(AT.raced, 'override'), sooner(AT.raced, AT.ended)],
    ['a draw of a row not drawn again', data(AT.i2, { redrawn: false, cause: 'differs' }), AT.i2],
    ['no draw of a row drawn again', changed(AT.i2, drop('draw')), AT.i2],
    ['draw and state', changed(AT.i2, put('state', { bgState: STATE })), AT.i2],
    ['redrawn, with a cause', data(AT.i2, { cause: 'differs' }), AT.i2],
    ['not redrawn, without a cause', data(AT.i2, { redrawn: false }), AT.i2],
    [
      'redrawn, with only a state',
      both(data(AT.differs, { redrawn: true }), without(AT.differs, 'cause')),
      AT.differs,
    ],
    ['differs for override', data(AT.override, { cause: 'differs' }), inFull(AT.override)],
    ['override for differs', data(AT.differs, { cause: 'override' }), inFull(AT.differs)],
    ['first in the middle', data(AT.differs, { cause: 'first' }), AT.differs],
    ['no-state with a state', data(AT.differs, { cause: 'no-state' }), AT.differs],
    ['differs without a state', data(AT.noState, { cause: 'differs' }), AT.noState],
    ['differs for first', data(AT.first, { cause: 'differs' }), AT.first],
    ['another system', data(AT.differs, { cause: 'other-system' }), AT.differs],
    ['a cause of its own', data(AT.differs, { cause: 'lost' }), AT.differs],
    ['one row fewer', gone(AT.i2), sooner(AT.raced, AT.revealed - 1)],
    ['no last row', gone(AT.last), AT.ended - 1],
    ['rows in another order', moved(AT.i1), sooner(AT.i1, AT.i2)],
    ['a row after the end', moved(AT.last), AT.last],
    ['a row twice', doubled(AT.i2), AT.i2 + 1],
    ['a key', (rows) => by(AT.i2, log.actors.desk)(rows), AT.i2],
  ])('find altered rows: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another number of rows', data(AT.ended, { rows: 9 }), AT.ended],
    ['another import', data(AT.ended, { import: ATTEMPT }), AT.ended],
    [
      'given up',
      changed(AT.ended, (record) => {
        record.data = { aborted: true, import: record.data.import, reason: 'x' };
      }),
      sooner(AT.n1, AT.corrected),
    ],
    ['given up and complete', data(AT.ended, { aborted: true, reason: 'x' }), AT.ended],
    ['no end', gone(AT.ended), AT.ended],
    ['an end before the last row', moved(AT.last), AT.last],
    ['an end after the next allocation', moved(AT.ended), AT.ended],
    ['two ends', doubled(AT.ended), AT.ended + 1],
    ['a key', (rows) => by(AT.ended, log.actors.desk)(rows), AT.ended],
    ['an attempt that is complete', ended(AT.aborted, { import: ATTEMPT, rows: 10 }), AT.aborted],
    ['an attempt given up for another reason', data(AT.aborted, { reason: 'x' }), 'ok'],
    ['an attempt given up without a reason', without(AT.aborted, 'reason'), AT.aborted],
    ['an attempt that is not given up', data(AT.aborted, { aborted: false }), AT.aborted],
    ['no end of the attempt', gone(AT.aborted), AT.aborted],
    [
      'no attempt',
      (rows) => renumbered((all) => all.filter((_, i) => i < AT.attempt || i > AT.aborted))(rows),
      'ok',
    ],
    [
      'the generator of the attempt',
      (rows) => withSectionsOf(AT.begun, AT.attempt, ['generator'])(rows),
      inFull(AT.begun),
    ],
  ])('find an altered end: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    [
      'a correction',
      renumbered((rows) => [
        ...rows.slice(0, AT.ended),
        ...rows.slice(AT.corrected, AT.corrected + 1),
        ...rows.slice(AT.ended, AT.corrected),
        ...rows.slice(AT.n2),
      ]),
      AT.ended,
    ],
    [
      'a pause',
      changed(AT.revealed, (record, sections) => {
        Object.assign(record, {
          type: 'StudyPaused',
          data: { reason: 'x' },
          actor: { cli: true, user: 'x' },
        });
        drop('grounds')(record, sections);
      }),
      AT.revealed,
    ],
    [
      'the code-break of somebody whose row comes later',
      data(AT.revealed, { participantId: 'i5' }),
      AT.revealed,
    ],
    [
      'the code-break of somebody of the attempt',
      data(AT.revealed, { randomizedAt: AT.second }),
      AT.revealed,
    ],
    // Nothing is known of when the arm was given.
    ['a code-break that is dated back', data(AT.revealed, { shownAt: '2020-01-01T00:00:00.000Z' }), 'ok'],
  ])('find what may not happen during an import: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it('count imported participants for the limit', async () => {
    expect(await findings(...configured({ limits: { total: 11 } }))).toEqual(inEach(AT.n2));
    expect(await findings(...configured({ limits: { total: 3 } }))).toEqual(inEach(AT.n1));
  });
});

describe.skipIf(found === undefined)('the verifier in Python reads', () => {
  it('the instants of other systems as the program does', () => {
    const texts = [
      ...['2026-01-01', '2026-02-30', '2024-02-29', '2023-02-29', '0000-02-29', '9999-12-31', '2026-13-01'],
      ...['2026-01-01 05:06', '2026-01-01T05:06:07', '2026-01-01 05:06:07.1', '2026-01-01 05:06:07.123456'],
      ...['2026-01-01 05:06.5', '2026-01-01 05:06:07.', '2026-01-01 05:06:07.1234567', '2026-01-01T05'],
      ...[
        '2026-01-01Z',
        '2026-01-01+0200',
        '2026-01-01 05:06-02:30',
        '2026-01-01 05:06+2359',
        '2026-01-01 05:06+24:00',
      ],
      ...['2026-01-01 05:06+00:60', '2026-01-01 24:00', '2026-01-01 24:00:00.5', '2026-01-01 24:00:01'],
      ...['2026-01-01 24:01', '2026-01-01 23:60', '2026-01-01 23:59:60', '0000-01-01 00:00+01:00'],
      ...['2400-01-01 00:00:00.000001', '9999-12-31 24:00:00.999999', '1600-02-29 12:00:00.000003', ''],
      ...[
        '2026-01-01\n',
        ' 2026-01-01',
        '2026-01-01 05:06z',
        '2026-01-01t05:06',
        '٢٠٢٦-01-01',
        '-2026-01-01',
      ],
    ];
    const read = `[microseconds(text) for text in json.loads(${JSON.stringify(JSON.stringify(texts))})]`;
    expect(verifierValue(python, read)).toEqual(texts.map((text) => microsecondsOf(text) ?? null));
  });
});
