/**
 * Packs at visits: both verifiers accept the bundles of the worked sample and of a longer life, with the same warnings, and find at
 * the same place what somebody altered who also corrected seals, leaves, manifest and references.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import { BundleFiles } from '../e2e/audit/bundle-file.ts';
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
  issuedWith,
  moved,
  PERSON,
  version,
  warningLines,
  without,
} from '../support/altered-bundles.ts';
import {
  AT,
  type LifeLog,
  makeDispensingLife,
  makeSampleLog,
  SAMPLE,
  type SampleLog,
} from '../support/dispensing-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { OldLog } from '../support/old-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { loadedVerifier } from '../support/verifier.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

/** Where arms are included, as whoever is on an arm that is stopped is known there. */
const withArms = (revision: number): Findings => ({ full: revision, open: revision, blinded: 'ok' });
const about = (revision: number, participantId: string, randomizedAt: number) =>
  data(revision, { participantId, randomizedAt });
const nobodys = (revision: number) =>
  both(without(revision, 'participantId'), without(revision, 'randomizedAt'));

describe.skipIf(found === undefined)('both verifiers of the worked sample', () => {
  const bundles = alteredBundles(python, newFolder);
  let log: SampleLog;

  beforeAll(async () => {
    log = await makeSampleLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, with the same warnings', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    const packs = { registered: 15, replaced: 1, withdrawn: 0, dispensed: 8, corrected: 5 };
    expect(own.report?.streams.at(-1)?.life?.packs).toEqual(packs);
    expect(own.report?.streams.at(-1)?.warnings.map(({ code, revision }) => [code, revision])).toEqual([
      ['undeclared-visit', SAMPLE.u1],
      ['revealed-in-emergency', SAMPLE.before],
      ['corrected-after-reveal', SAMPLE.nobodys],
      ['changed-after-closing', SAMPLE.changed],
      ['dispensed-after-reveal', SAMPLE.late],
    ]);
    const printed = stdout.split('\n').filter((line) => line.startsWith('WARNING'));
    expect(printed.toSorted()).toEqual(warningLines(own).toSorted());
  });

  it.each<[string, Change, Findings]>([
    // Nothing was wrong, had it been so, until 001 gets another pack for V3.
    ['another one of the study', data(SAMPLE.v2, { visit: 'V3' }), SAMPLE.late],
    ['another spelling', data(SAMPLE.v2, { visit: 'v2' }), SAMPLE.v2],
    ['one that the study does not have, by a site', data(SAMPLE.v2, { visit: 'U9' }), SAMPLE.v2],
    ['such a one, by somebody with supply', data(SAMPLE.u1Too, { visit: 'U9' }), 'ok'],
    ['another spelling, by somebody with supply', data(SAMPLE.late, { visit: 'v3' }), SAMPLE.late],
    ['one that has a pack', data(SAMPLE.week2, { visit: 'V2' }), SAMPLE.week2],
    ['the same, in other letters, with supply', data(SAMPLE.u1, { visit: 'v2' }), SAMPLE.u1],
    ['20 characters', data(SAMPLE.u1Too, { visit: 'U'.repeat(20) }), 'ok'],
    ['21 characters', data(SAMPLE.u1, { visit: 'U'.repeat(21) }), SAMPLE.u1],
    ['none', data(SAMPLE.u1, { visit: '' }), SAMPLE.u1],
    ['no member', without(SAMPLE.v2, 'visit'), SAMPLE.v2],
    ['a blank behind it', data(SAMPLE.u1, { visit: 'U1 ' }), SAMPLE.u1],
    ['a line feed behind it', data(SAMPLE.u1, { visit: 'U1\n' }), SAMPLE.u1],
    ['a formula', data(SAMPLE.u1, { visit: '=V2' }), SAMPLE.u1],
    ['an arm', data(SAMPLE.u1, { visit: 'b' }), SAMPLE.u1],
    ['the name of a short arm in it', data(SAMPLE.u1Too, { visit: 'Arm A' }), 'ok'],
  ])('find another visit: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    // By hand the pack of later, which is then given twice.
    [
      'not the least',
      data(SAMPLE.v2, { code: 'P-112' }),
      { full: SAMPLE.v2, open: SAMPLE.week2, blinded: SAMPLE.week2 },
    ],
    ['not the least, and given to nobody else', data(SAMPLE.week2, { code: 'P-203' }), inFull(SAMPLE.week2)],
    ['of another arm', data(SAMPLE.late, { code: 'P-109' }), inFull(SAMPLE.late)],
    ['for other levels', data(SAMPLE.late, { code: 'P-203' }), inFull(SAMPLE.late)],
    ['on no list', data(SAMPLE.late, { code: 'X' }), inFull(SAMPLE.late)],
    ['that somebody has', data(SAMPLE.late, { code: 'P-104' }), SAMPLE.late],
    ['that they had before', data(SAMPLE.late, { code: 'P-107' }), SAMPLE.late],
    ['that is void', data(SAMPLE.again, { code: 'P-108' }), SAMPLE.again],
    ['as a replacement, not the least', data(SAMPLE.replaced, { by: 'P-203' }), inFull(SAMPLE.replaced)],
    ['as a replacement, that somebody has', data(SAMPLE.replaced, { by: 'P-104' }), SAMPLE.replaced],
    [
      'replaced, though void',
      both(about(SAMPLE.replaced, '002', SAMPLE['002']), data(SAMPLE.replaced, { code: 'P-108' })),
      SAMPLE.replaced,
    ],
    ['none', without(SAMPLE.v2, 'code'), SAMPLE.v2],
  ])('find another pack: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another visit until here', data(SAMPLE.moved, { from: 'V3' }), SAMPLE.moved],
    ['another spelling of it', data(SAMPLE.moved, { from: 'week 12' }), SAMPLE.moved],
    ['none', without(SAMPLE.moved, 'from'), SAMPLE.moved],
    ['one of a void pack', data(SAMPLE.back, { from: 'V2' }), SAMPLE.back],
    ['to the visit at which it stands', data(SAMPLE.moved, { to: 'Week 12' }), SAMPLE.moved],
    ['to the same, in other letters', data(SAMPLE.moved, { to: 'week 12' }), SAMPLE.moved],
    ['to another spelling', data(SAMPLE.moved, { to: 'v2' }), SAMPLE.moved],
    ['to another visit', data(SAMPLE.moved, { to: 'V3' }), 'ok'],
    ['to one that the study does not have', data(SAMPLE.moved, { to: 'U1' }), SAMPLE.moved],
    ['to such a one, by somebody with supply', data(SAMPLE.changed, { to: 'U7' }), 'ok'],
    ['to such a one, by a person', both(data(SAMPLE.moved, { to: 'U1' }), by(SAMPLE.moved, PERSON)), 'ok'],
    ['to an arm', data(SAMPLE.changed, { to: 'a' }), SAMPLE.changed],
    ['to a visit that has a pack', data(SAMPLE.back, { to: 'V2' }), SAMPLE.back],
    ['to such a one, in other letters', data(SAMPLE.back, { to: 'u1' }), SAMPLE.back],
    ['to null', data(SAMPLE.moved, { to: null }), SAMPLE.moved],
    ['to nothing, of a void pack', without(SAMPLE.back, 'to'), SAMPLE.back],
    ['to nothing', without(SAMPLE.moved, 'to'), 'ok'],
    ['of a pack of the enrolment', data(SAMPLE.moved, { code: 'P-104' }), SAMPLE.moved],
    ['of the pack of somebody else', data(SAMPLE.moved, { code: 'P-107' }), SAMPLE.moved],
    [
      'of a pack that was replaced',
      both(about(SAMPLE.changed, '001', SAMPLE['001']), data(SAMPLE.changed, { code: 'P-107', from: 'V2' })),
      SAMPLE.changed,
    ],
    ['another cause', data(SAMPLE.moved, { cause: 'other' }), 'ok'],
    ['a cause of its own', data(SAMPLE.moved, { cause: 'lost' }), SAMPLE.moved],
    [
      'without a note',
      changed(SAMPLE.moved, (record, sealed) => {
        delete record.seals.note;
        delete sealed.note;
      }),
      SAMPLE.moved,
    ],
    ['not at all', gone(SAMPLE.moved), SAMPLE.moved],
    ['not at all, of a void pack', gone(SAMPLE.void), SAMPLE.void],
    ['twice', doubled(SAMPLE.void), SAMPLE.again],
  ])('find another correction: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['twice', doubled(SAMPLE.v2), SAMPLE.other],
    ['not at all', gone(SAMPLE.u1Too), { full: SAMPLE.late - 1, open: 'ok', blinded: 'ok' }],
    ['the second before the void one', moved(SAMPLE.void), SAMPLE.void],
    ['two of one arm exchanged', moved(SAMPLE.week), SAMPLE.week],
    ['two of two arms exchanged', moved(SAMPLE.v2), 'ok'],
    ['after the transfer', moved(SAMPLE.replaced), inFull(SAMPLE.transfer)],
    ['of an id that is not as randomized', data(SAMPLE.late, { participantId: '01' }), SAMPLE.late],
    ['of another revision', data(SAMPLE.v2, { randomizedAt: SAMPLE.list1 }), SAMPLE.v2],
    ['of another version', version(SAMPLE.v2, 2), SAMPLE.v2],
    ['by a key that may not', (rows) => by(SAMPLE.v2, log.actors.desk)(rows), SAMPLE.v2],
    ['below the margin, by a site', (rows) => by(SAMPLE.late, log.actors.site)(rows), inFull(SAMPLE.late)],
    ['a correction, by a key that may not', (rows) => by(SAMPLE.void, log.actors.site)(rows), SAMPLE.void],
    ['by a person', by(SAMPLE.v2, PERSON), 'ok'],
    ['of a registration in version 2', version(SAMPLE.registered, 2), SAMPLE.registered],
  ])('find a dispensation: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['by a void pack, of a participant', about(SAMPLE.loose, '002', SAMPLE['002']), SAMPLE.loose],
    ['by a pack of a visit, of nobody', nobodys(SAMPLE.theirs), SAMPLE.theirs],
    [
      'by a pack that was replaced, of somebody else',
      about(SAMPLE.before, '002', SAMPLE['002']),
      SAMPLE.before,
    ],
    ['by a pack that was replaced, of nobody', nobodys(SAMPLE.before), SAMPLE.before],
    ['by another pack of the participant', data(SAMPLE.before, { code: 'P-106' }), 'ok'],
    ['before the pack is void', moved(SAMPLE.nobodys), SAMPLE.nobodys],
  ])('find a code-break %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it('find that a key had no supply', async () => {
    const scopes = ['randomize', 'correct'];
    const prepare = issuedWith(1, { scopes });
    expect(await bundles.findings(log, (rows) => rows, prepare)).toEqual(inEach(SAMPLE.u1));
  });

  it.each<[string, string[], Findings]>([
    ['in another spelling', ['v2', 'V3', 'Week 12'], SAMPLE.v2],
    ['without one', ['V2', 'V3'], SAMPLE.week],
    ['with another one', ['V2', 'V3', 'Week 12', 'U1'], 'ok'],
  ])('find that visits were declared %s', async (_, visits, expected) => {
    const [altering, prepare] = configured({ visits });
    expect(await bundles.findings(log, altering, prepare)).toEqual(inEach(expected));
  });

  it('that of 0.2.0 stops at the first record that it does not know, and finds nothing wrong before it', async () => {
    const old = BundleFiles.unpack(python, new OldLog('0.2.0/every-act').file('full.zip'));
    const file = join(newFolder(), 'verify_bundle.py');
    writeFileSync(file, old.text('verify_bundle.py'));
    const verify = loadedVerifier(python, file);
    const unknown = 'Divergence in field type and version: an event that this program knows';
    for (const content of CONTENTS) {
      const { stdout } = await verify([log.files[content]]);
      expect(stdout.match(/^FAILED .*/gm)).toEqual([
        `FAILED  ${log.stream}, revision 0: ${unknown}`,
        // It has read nothing of the study.
        'FAILED  configuration.json does not say what the study’s first record says'.replace('’', "'"),
      ]);
      // A study that gets visits later.
      const { visits: _, ...before } = JSON.parse(
        BundleFiles.unpack(python, log.files.full).text('configuration.json'),
      );
      const older = await bundles.make(
        log,
        content,
        both(
          version(0, 1),
          changed(0, ({ data }) => Object.assign(data, { configuration: before })),
        ),
        (bundle) => bundle.set('configuration.json', JSON.stringify(before)),
      );
      const later = await verify([older]);
      expect(later.stdout.match(/^FAILED .*/gm)).toEqual([
        `FAILED  ${log.stream}, revision ${SAMPLE.v2}: ${unknown}`,
      ]);
    }
  });
});

describe.skipIf(found === undefined)('both verifiers of a longer life', () => {
  const bundles = alteredBundles(python, newFolder);
  let log: LifeLog;

  beforeAll(async () => {
    log = await makeDispensingLife(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, with the same warnings', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    const printed = stdout.split('\n').filter((line) => line.startsWith('WARNING'));
    expect(printed.toSorted()).toEqual(warningLines(own).toSorted());
    expect(stdout).toContain('7 replaced, 13 withdrawn, 23 dispensed, 5 corrected');
  });

  const changes = (
    revision: number,
    change: (list: { kind: string; treatment?: string; value?: string[] }[]) => void,
  ) => changed(revision, (record) => change(record.data.changes));
  const visits = (revision: number, ...value: string[]) =>
    changes(revision, (list) => Object.assign(list[0] ?? {}, { value }));

  it.each<[string, Change, Findings]>([
    ['a pack after the arm was stopped', moved(AT.cV9), withArms(AT.stopped)],
    ['a replacement after the arm was stopped', both(moved(AT.cV9), moved(AT.cReplaced)), withArms(AT.cV9)],
    [
      'packs of a closed arm, and nothing that says so',
      both(
        version(AT.refilled, 1),
        changed(AT.refilled, (_, { codes }) => delete codes.closedArms),
      ),
      inFull(AT.refilled),
    ],
    [
      'the same, in version 2',
      changed(AT.refilled, (_, { codes }) => delete codes.closedArms),
      inFull(AT.refilled),
    ],
    [
      'packs of a stopped arm',
      changed(AT.list4, (_, { codes }) => Object.assign(codes.entries[0], { treatment: 'Caro' })),
      inFull(AT.list4),
    ],
    [
      'packs that are said to be of closed arms',
      both(
        version(AT.list4, 2),
        changed(AT.list4, (_, { codes }) => Object.assign(codes, { closedArms: true })),
      ),
      inFull(AT.list4),
    ],
    [
      'an open arm that is stopped',
      changes(AT.closed, ([first]) => Object.assign(first ?? {}, { kind: 'arm-stopped' })),
      AT.closed,
    ],
    [
      'an arm that is closed only',
      both(
        version(AT.closedAgain, 1),
        changes(AT.closedAgain, (list) => list.pop()),
      ),
      inFull(AT.aV4),
    ],
    ['a visit of a pack that is gone', visits(AT.visits, 'V4', 'V3', 'U1'), AT.visits],
    ['such a visit in another spelling', visits(AT.visits, 'V4', 'v2', 'V3', 'U1'), AT.visits],
    ['one that was not declared, in another spelling', visits(AT.visits, 'V4', 'V2', 'V3', 'u1'), AT.visits],
    ['one that has two spellings', visits(AT.more, 'V4', 'V2', 'V3', 'U1', 'V9', 'U9'), AT.more],
    ['an arm in a visit', visits(AT.more, 'V4', 'V2', 'V3', 'U1', 'no dora'), AT.more],
    [
      'a visit that is an arm',
      changes(AT.visits, ([, arm]) => Object.assign(arm ?? {}, { treatment: 'v4' })),
      AT.visits,
    ],
    ['the name of an arm in a visit of the pharmacist', data(AT.u9, { visit: 'xDORAx' }), AT.u9],
    [
      'the name of an arm in a corrected visit',
      both(data(AT.bSet, { to: 'Caros' }), by(AT.bSet, PERSON)),
      AT.bSet,
    ],
  ])('find an altered design: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['a pack for a duplicate', moved(AT.bBack), AT.bBack],
    ['a third further pack by the pharmacist', (rows) => by(AT.bThird, log.actors.pharmacy)(rows), 'ok'],
    [
      'a visit after the fourth further one, by a site',
      (rows) => by(AT.bU1Again, log.actors.site)(rows),
      AT.bU1Again,
    ],
    ['a replacement after it, by a site', (rows) => by(AT.bSupplied, log.actors.site)(rows), AT.bSupplied],
    ['a pack at two left of an arm, by a site', (rows) => by(AT.low, log.actors.site)(rows), inFull(AT.low)],
    // 0.2.0 asked for one pack of each arm.
    ['a replacement at two left, by a site', (rows) => by(AT.lowReplaced, log.actors.site)(rows), 'ok'],
    [
      'a replacement at none left, by a site',
      (rows) => by(AT.noneReplaced, log.actors.site)(rows),
      inFull(AT.noneReplaced),
    ],
    ['of S, by a key of N', (rows) => by(AT.afterTransfer, log.actors.north)(rows), AT.afterTransfer],
    ['of N, by the same, after a renaming', (rows) => by(AT.ofImported, log.actors.north)(rows), 'ok'],
    ['a correction by it after the renaming', moved(AT.northVoid), 'ok'],
    ['a pack of the imported one, twice', doubled(AT.ofImported), AT.ofEarly],
    [
      'a pack of the enrolment of the imported one is replaced',
      both(about(AT.lowReplaced, 'e1', AT.early)),
      AT.lowReplaced,
    ],
    ['a list that comes after somebody has a pack of it', moved(AT.list1), AT.list1],
  ])('find an altered dispensation: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    [
      'a code-break by a pack of it is about the participant',
      about(AT.revealedV2, 'F1', AT.enteredAgain),
      AT.revealedV2,
    ],
    [
      'a code-break by a void pack of it, too',
      about(AT.revealedVoid, 'F1', AT.enteredAgain),
      AT.revealedVoid,
    ],
    ['a code-break by the pack of both is about nobody', nobodys(AT.revealedBoth), AT.revealedBoth],
    [
      'the later one names a pack of a visit of it',
      (rows) => data(AT.enteredAgain, { code: codeAt(rows, AT.f1V2) })(rows),
      AT.enteredAgain,
    ],
    ['the later one has no pack', without(AT.enteredAgain, 'code'), AT.revealedBoth],
    ['a correction of it when it is voided', moved(AT.f1Void), 'ok'],
    ['a correction of it when it is replaced', both(moved(AT.f1Void), moved(AT.wrong)), AT.enteredAgain],
  ])('find an altered wrong entry: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it('find a key that was of other levels', async () => {
    const prepare = issuedWith(1, { where: [{ factor: '9', levels: ['S'] }] });
    expect(await bundles.findings(log, (rows) => rows, prepare)).toEqual(inEach(AT.ofEarly));
  });
});

function codeAt(rows: Parameters<Change>[0], revision: number): string {
  return JSON.parse(`${rows[revision]?.record}`).data.code;
}
