import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
import {
  alteredBundles,
  asked,
  both,
  by,
  type Change,
  changed,
  data,
  doubled,
  type Findings,
  gone,
  inEach,
  inFull,
  issuedWith,
  type Json,
  moved,
  PERSON,
  version,
  without,
} from '../support/altered-bundles.ts';
import { CITY, COOK, DUPAGE, renamed, SEX, SITE } from '../support/amended-log.ts';
import { closed, retired } from '../support/arms-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { firstDivergence } from '../support/own-verifier.ts';
import { A, AT, B, C, codesOf, LISTS, makePacksLog, type PacksLog } from '../support/packs-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

/** Packs that the log never gives out: for all levels, of the first two arms; and one for Dupage County. */
const [SPARE_A, SPARE_B, SPARE_DUPAGE] = ['P-9', 'P-4', 'R-0'];
/** The packs of 002, 003 (the first one), 005 and F3 (of the wrong entry). */
const [OF_002, OF_003, OF_005, OF_F3] = ['P-13', 'Q-9', 'Q-4', 'P-6'];

const sealed = (revision: number, change: (sections: Json) => void) =>
  changed(revision, (_, sections) => change(sections));
const listed = (revision: number, change: (entries: Json[]) => void) =>
  sealed(revision, ({ codes }) => change(codes.entries));
/** With these entries, and as many as they are. */
const replacedBy = (revision: number, entries: readonly object[]) =>
  both(
    data(revision, { count: entries.length }),
    sealed(revision, ({ codes }) => Object.assign(codes, { entries })),
  );
/** A pack that is on the list besides the others. */
const alsoListed = (revision: number, code: string, treatment: string): Change =>
  changed(revision, (record, { codes }) => {
    codes.entries.push({ code, treatment });
    record.data.count++;
  });
/** The arm of a pack on a list. */
const holding = (revision: number, code: string, treatment: string) =>
  listed(revision, (entries) => {
    Object.assign(
      entries.find((entry) => entry.code === code),
      { treatment },
    );
  });
const where = (revision: number, factor: string, level: string) =>
  data(revision, { where: { factor, level } });
const withdrawn = (...codes: readonly string[]) =>
  both(
    data(AT.withdrawn, { count: codes.length }),
    sealed(AT.withdrawn, (sections) => Object.assign(sections.withdrawn, { codes })),
  );
const nobody = (revision: number) =>
  both(without(revision, 'participantId'), without(revision, 'randomizedAt'));
const about = (revision: number, participantId: string, randomizedAt: number) =>
  data(revision, { participantId, randomizedAt });
const many = (number: number, length: number) =>
  Array.from({ length: number }, (_, n) => ({ code: `${n}`.padStart(length, '0'), treatment: C }));

describe.skipIf(found === undefined)('both verifiers of a study with packs', () => {
  const bundles = alteredBundles(python, newFolder);
  const findings = (altering: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, altering, prepare);
  let log: PacksLog;

  beforeAll(async () => {
    log = await makePacksLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, and count the packs', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('; packs: 54 registered, 6 replaced, 18 withdrawn; ');
    expect(own.report?.streams.at(-1)?.life?.packs).toEqual({ registered: 54, replaced: 6, withdrawn: 18 });
  });

  it.each<[string, Change, Findings]>([
    ['a free pack of the arm', data(AT['005'], { code: SPARE_B }), inFull(AT['005'])],
    ['a free pack of another arm', data(AT['005'], { code: SPARE_A }), inFull(AT['005'])],
    ['a pack for other levels', data(AT['005'], { code: 'R-1' }), inFull(AT['005'])],
    ['a pack on no list', data(AT['005'], { code: 'X-1' }), inFull(AT['005'])],
    ['a withdrawn pack', data(AT['005'], { code: 'Q-1' }), inFull(AT['005'])],
    ['the pack of somebody else', data(AT['005'], { code: OF_002 }), AT['005']],
    ['a pack before a replacement', data(AT['005'], { code: OF_003 }), AT['005']],
    ['the pack of a wrong entry', data(AT['005'], { code: OF_F3 }), AT['005']],
    ['no pack', without(AT['005'], 'code'), AT['005']],
    ['no pack, in version 1', both(without(AT['005'], 'code'), version(AT['005'], 1)), AT['005']],
    ['a pack in version 1', version(AT['005'], 1), AT['005']],
    ['something that is not a code', data(AT['005'], { code: 'P 4' }), AT['005']],
    ['a code of 65 characters', data(AT['005'], { code: '1'.repeat(65) }), AT['005']],
    [
      'a pack before there is a list',
      both(data(AT['001'], { code: SPARE_A }), version(AT['001'], 2)),
      AT['001'],
    ],
    ['no pack, in version 2, before there is a list', version(AT['001'], 2), AT['001']],
    [
      'the pack of the next one',
      both(data(AT['005'], { code: 'S-5' }), data(AT['006'], { code: OF_005 })),
      { full: AT['005'], open: AT.supplied, blinded: AT.supplied },
    ],
  ])('find another pack given out: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another number', data(AT.list2, { list: 3 }), AT.list2],
    ['number 0', data(AT.list1, { list: 0 }), AT.list1],
    ['another count', data(AT.list2, { count: 11 }), inFull(AT.list2)],
    ['no count', data(AT.list2, { count: 0 }), AT.list2],
    ['too many', replacedBy(AT.list4, many(4001, 5)), AT.list4],
    ['as many as there may be', replacedBy(AT.list3, [...LISTS[2].entries, ...many(3988, 5)]), 'ok'],
    ['too many bytes', replacedBy(AT.list3, many(4000, 30)), inFull(AT.list3)],
    ['another site', where(AT.list2, SITE, DUPAGE), inFull(AT['003'])],
    ['a former name of the site', where(AT.list4, SITE, COOK), AT.list4],
    ['no level', where(AT.list2, SITE, 'x'), AT.list2],
    ['no factor', where(AT.list2, 'x', COOK), AT.list2],
    ['a level of another factor', where(AT.list2, SEX, COOK), AT.list2],
    [
      'a factor that is retired',
      both(
        data(AT.amended, { changes: [renamed(SITE, COOK, CITY), closed(C), retired(SITE)] }),
        moved(AT['005']),
      ),
      AT['005'],
    ],
    [
      'another key',
      sealed(AT.list1, ({ codes }) => Object.assign(codes, { key: '0'.repeat(32) })),
      inFull(AT['002']),
    ],
    [
      'something that is not a key',
      sealed(AT.list4, ({ codes }) => Object.assign(codes, { key: '0' })),
      inFull(AT.list4),
    ],
    ['another arm of a pack', holding(AT.list1, OF_002, C), inFull(AT['002'])],
    ['another arm of a pack that was entered', holding(AT.list1, OF_F3, B), inFull(AT.wrongToo)],
    ['another arm of a pack that a replacement gives', holding(AT.list3, 'R-10', A), inFull(AT.late)],
    ['a closed arm', holding(AT.list4, 'S-0', C), inFull(AT.list4)],
    ['no arm', holding(AT.list4, 'S-0', 'x'), inFull(AT.list4)],
    ['a code twice', alsoListed(AT.list4, 'S-0', A), inFull(AT.list4)],
    ['a code that is on a list', alsoListed(AT.list4, SPARE_A, A), inFull(AT.list4)],
    ['the name of an arm', alsoListed(AT.list4, B.toLowerCase(), A), inFull(AT.list4)],
    ['a code with the name of a closed arm', alsoListed(AT.list4, `1-${C}-2`, A), inFull(AT.list4)],
    ['something that is not a code', alsoListed(AT.list4, 'S 9', A), inFull(AT.list4)],
    ['an additional pack, which nobody gets', alsoListed(AT.list4, 'S-6', A), 'ok'],
    [
      'no pack of an arm',
      replacedBy(
        AT.list1,
        LISTS[0].entries.filter((pack) => pack.treatment !== C),
      ),
      inFull(AT['002']),
    ],
    ['no list', gone(AT.list1), AT.list1],
    ['no second one', gone(AT.list2), AT.list2],
    ['no last one', gone(AT.list4), inFull(AT.list4)],
    ['two of them', doubled(AT.list2), AT.list2 + 1],
    ['a list after a participant who has a pack', moved(AT.list1), AT.list1],
    ['two lists exchanged', moved(AT.list2), AT.list2],
    ['by a key', (rows) => by(AT.list2, log.actors.pharmacy)(rows), AT.list2],
  ])('find an altered list: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another pack of the arm', data(AT.late, { by: SPARE_B }), inFull(AT.late)],
    ['a pack of another arm', data(AT.late, { by: SPARE_DUPAGE }), inFull(AT.late)],
    ['a pack on no list', data(AT.late, { by: 'X-1' }), inFull(AT.late)],
    ['a pack that somebody has', data(AT.late, { by: OF_005 }), AT.late],
    ['the pack itself', data(AT.late, { by: OF_002 }), AT.late],
    ['a pack that the participant does not have', data(AT.late, { code: SPARE_B }), AT.late],
    ['a pack that the participant had before', data(AT.third, { code: OF_003 }), AT.third],
    ['another cause', data(AT.late, { cause: 'other' }), 'ok'],
    ['a cause of its own', data(AT.late, { cause: 'whim' }), AT.late],
    ['another participant', about(AT.late, '004', AT['004']), AT.late],
    ['of somebody who has no pack', about(AT.late, '001', AT['001']), AT.late],
    ['another revision', data(AT.late, { randomizedAt: AT['001'] }), AT.late],
    ['without the present levels', gone(AT.corrected), inFull(AT.late - 1)],
    ['not at all', gone(AT.first), AT.first],
    ['not at all, at the end', gone(AT.late), 'ok'],
    ['twice', doubled(AT.late), AT.late + 1],
    ['the second before the first', moved(AT.first), AT.first],
    ['by a key that may not', (rows) => by(AT.first, log.actors.doctor)(rows), AT.first],
    ['by a key of other levels', (rows) => by(AT.late, log.actors.pharmacy)(rows), AT.late],
    ['a fourth one without supply', (rows) => by(AT.fourth, log.actors.nurse)(rows), AT.fourth],
    ['a third one with supply', (rows) => by(AT.third, log.actors.pharmacy)(rows), 'ok'],
    [
      'a third one with supply, and a fourth one without',
      (rows) => both(by(AT.third, log.actors.pharmacy), by(AT.fourth, log.actors.nurse))(rows),
      AT.fourth,
    ],
    [
      'without supply, when an arm has no pack',
      (rows) => by(AT.supplied, log.actors.nurse)(rows),
      inFull(AT.supplied),
    ],
    ['at the command line, when an arm has no pack', by(AT.supplied, PERSON), 'ok'],
  ])('find an altered replacement: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another count', data(AT.withdrawn, { count: 3 }), inFull(AT.withdrawn)],
    ['no count', data(AT.withdrawn, { count: 0 }), AT.withdrawn],
    ['other packs', withdrawn(SPARE_A, SPARE_B), 'ok'],
    ['a pack for levels that are not those of the key', withdrawn(SPARE_DUPAGE), inFull(AT.withdrawn)],
    ['such a pack, by a person', both(withdrawn(SPARE_DUPAGE), by(AT.withdrawn, PERSON)), 'ok'],
    ['a pack on no list', withdrawn('X-1'), inFull(AT.withdrawn)],
    ['a pack on a later list', withdrawn('S-0'), inFull(AT.withdrawn)],
    ['a pack that somebody has', withdrawn(OF_002), inFull(AT.withdrawn)],
    ['a pack that somebody had', withdrawn(OF_003), inFull(AT.withdrawn)],
    ['a pack twice', withdrawn(SPARE_A, SPARE_A), inFull(AT.withdrawn)],
    ['a pack that is drawn later', withdrawn(OF_005), inFull(AT['005'])],
    ['a pack that is entered later', withdrawn(OF_F3), inFull(AT.wrongToo)],
    [
      'a pack that is a replacement later',
      both(withdrawn('R-10'), by(AT.withdrawn, PERSON)),
      inFull(AT.late),
    ],
    ['all packs of an arm', withdrawn(...codesOf(2, C), ...codesOf(1, C)), inFull(AT.recalled)],
    [
      'without a reason',
      sealed(AT.withdrawn, (sections) => delete sections.withdrawn.reason),
      inFull(AT.withdrawn),
    ],
    [
      'no list of them',
      changed(AT.withdrawn, (record, sections) => {
        delete record.seals.withdrawn;
        delete sections.withdrawn;
      }),
      AT.withdrawn,
    ],
    ['twice', doubled(AT.withdrawn), inFull(AT.withdrawn + 1)],
    ['not at all', gone(AT.recalled), 'ok'],
    ['by a key that may not', (rows) => by(AT.withdrawn, log.actors.nurse)(rows), AT.withdrawn],
    ['with an Idempotency-Key', asked(AT.withdrawn, 'w-1'), 'ok'],
  ])('find an altered withdrawal: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['without the participant', nobody(AT.revealed), AT.revealed],
    ['without the revision', without(AT.revealed, 'randomizedAt'), AT.revealed],
    ['another participant', about(AT.revealed, '002', AT['002']), AT.revealed],
    ['another revision', data(AT.revealed, { randomizedAt: AT['002'] }), AT.revealed],
    ['without the pack', without(AT.revealed, 'code'), 'ok'],
    ['the pack that the participant has', data(AT.revealed, { code: 'P-0' }), 'ok'],
    ['the pack of somebody else', data(AT.revealed, { code: OF_002 }), AT.revealed],
    ['a pack that nobody has', data(AT.revealed, { code: SPARE_A }), AT.revealed],
    [
      'somebody outside the limits of the key',
      both(data(AT.revealed, { code: 'P-21' }), about(AT.revealed, '004', AT['004'])),
      AT.revealed,
    ],
    ['another free pack', data(AT.loose, { code: SPARE_A }), 'ok'],
    ['a withdrawn pack', data(AT.loose, { code: 'Q-0' }), 'ok'],
    ['a pack on no list', data(AT.loose, { code: 'X-1' }), inFull(AT.loose)],
    ['a pack for levels of the key', data(AT.loose, { code: 'Q-10' }), 'ok'],
    ['a pack for other levels', data(AT.loose, { code: SPARE_DUPAGE }), inFull(AT.loose)],
    ['such a pack, by a person', both(data(AT.loose, { code: SPARE_DUPAGE }), by(AT.loose, PERSON)), 'ok'],
    ['neither pack nor participant', without(AT.loose, 'code'), AT.loose],
    ['nobody’s revision', data(AT.loose, { randomizedAt: AT['002'] }), AT.loose],
    ['somebody who gets the pack later', about(AT.loose, 'F2', AT.again), AT.loose],
    ['somebody’s pack as a free one', data(AT.loose, { code: OF_002 }), AT.loose],
    ['a free pack after the one who gets it', moved(AT.loose), AT.loose + 1],
    ['by a key that may not', (rows) => by(AT.loose, log.actors.nurse)(rows), AT.loose],
    ['shown after it was recorded', data(AT.loose, { shownAt: '2999-01-01T00:00:00.000Z' }), AT.loose],
    ['shown early, of a free pack', data(AT.loose, { shownAt: '2001-01-01T00:00:00.000Z' }), 'ok'],
    [
      'shown before the randomization',
      data(AT.revealed, { shownAt: '2001-01-01T00:00:00.000Z' }),
      AT.revealed,
    ],
    ['somebody who no longer has it', about(AT.nobodys, 'F3', AT.without), AT.nobodys],
    ['of whom the participant is named by nobody', gone(AT.wrongToo), AT.voidedToo - 1],
  ])('find an altered code-break: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another free pack of the arm', data(AT.forced, { code: SPARE_A }), 'ok'],
    ['no pack', without(AT.forced, 'code'), 'ok'],
    ['a pack of another arm', data(AT.forced, { code: SPARE_B }), inFull(AT.forced)],
    ['a pack for other levels', data(AT.forced, { code: SPARE_DUPAGE }), inFull(AT.forced)],
    ['a pack on no list', data(AT.forced, { code: 'X-1' }), inFull(AT.forced)],
    ['a withdrawn pack', data(AT.forced, { code: 'Q-0' }), inFull(AT.forced)],
    ['the pack of somebody else', data(AT.forced, { code: OF_002 }), AT.forced],
    ['another pack after a wrong entry', data(AT.again, { code: 'P-7' }), 'ok'],
    ['no pack after a wrong entry', without(AT.again, 'code'), 'ok'],
    ['the pack of somebody else after a wrong entry', data(AT.again, { code: OF_002 }), AT.again],
    ['the pack of another wrong entry', data(AT['005'], { code: OF_F3 }), AT['005']],
    [
      'the same pack after a wrong entry, which nobody has later',
      data(AT.without, { code: OF_F3 }),
      AT.nobodys,
    ],
    ['the pack of a wrong entry, of another arm', onArm(AT.again, A), inFull(AT.again)],
  ])('find another pack of somebody entered: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it('find a blinded key that sees which treatment packs hold', async () => {
    const supplies = async (scopes: readonly string[]) => {
      const prepare = issuedWith(1, { scopes });
      const { own } = await bundles.verified(log, 'blinded', (rows) => rows, prepare);
      const divergence = firstDivergence(own);
      return divergence && `${divergence.stream}/${divergence.revision}`;
    };
    expect(await supplies(['supply'])).toBeUndefined();
    expect(await supplies(['supply', 'blinded'])).toBe('access/1');
    expect(await supplies(['read', 'manage'])).toBe('access/1');
  });
});

function onArm(revision: number, treatment: string): Change {
  return sealed(revision, ({ allocation }) => Object.assign(allocation, { treatment }));
}
