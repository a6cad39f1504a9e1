/** A study with packs, altered. */
import {
  about,
  asked,
  at,
  both,
  bundlesOf,
  by,
  changed,
  changes,
  data,
  doubled,
  gone,
  inClear,
  inFull,
  issuedWith,
  type Json,
  moved,
  onArm,
  sealed,
  version,
  without,
} from '../../support/altered-bundles.ts';
import { A, arm, B, C, COOK, DUPAGE, renamedLevel, retired, SEX, SITE } from '../../support/life.ts';
import { CITY } from '../../support/lives/amended.ts';
import { codesOf, LISTS, PACKS } from '../../support/lives/packs.ts';

/** Packs that the log never gives out: for all levels, of the first two arms; and one for Dupage County. */
const [SPARE_A, SPARE_B, SPARE_DUPAGE] = ['P-9', 'P-4', 'R-0'];
/** The packs of 002, 003 (the first one), 005 and F3 (of the wrong entry). */
const [OF_002, OF_003, OF_005, OF_F3] = ['P-13', 'Q-9', 'Q-4', 'P-6'];

const code = (name: string) => data({ code: name });
/** With these entries, and as many as they are. */
const listing = (entries: readonly object[]) =>
  both(
    data({ count: entries.length }),
    sealed(({ codes }) => Object.assign(codes, { entries })),
  );
/** A pack that is on the list besides the others. */
const alsoListed = (name: string, treatment: string) =>
  changed((record, { codes }) => {
    codes.entries.push({ code: name, treatment });
    record.data.count++;
  });
/** The arm of a pack on a list. */
const holding = (name: string, treatment: string) =>
  sealed(({ codes }) => {
    const pack = codes.entries.find((entry: Json) => entry.code === name);
    Object.assign(pack, { treatment });
  });
const key = (value: string) => sealed(({ codes }) => Object.assign(codes, { key: value }));
const where = (factor: string, level: string) => data({ where: { factor, level } });
const withdrawn = (...codes: readonly string[]) =>
  both(
    data({ count: codes.length }),
    sealed((sections) => Object.assign(sections.withdrawn, { codes })),
  );
const many = (number: number, length: number) =>
  Array.from({ length: number }, (_, n) => ({ code: `${n}`.padStart(length, '0'), treatment: C }));
const person = by('somebody');
const { alterations } = bundlesOf(PACKS);

alterations('both verifiers of another pack given out', {
  '005': [
    ['a free pack of the arm', code(SPARE_B), inFull()],
    ['a free pack of another arm', code(SPARE_A), inFull()],
    ['a pack for other levels', code('R-1'), inFull()],
    ['a pack on no list', code('X-1'), inFull()],
    ['a withdrawn pack', code('Q-1'), inFull()],
    ['the pack of somebody else', code(OF_002)],
    ['a pack before a replacement', code(OF_003)],
    ['the pack of a wrong entry', code(OF_F3)],
    ['no pack', without('code')],
    ['no pack, in version 1', both(without('code'), version(1))],
    ['something that is not a code', code('P 4')],
    ['a code of 65 characters', code('1'.repeat(65))],
    [
      'the pack of the next one',
      both(code('S-5'), at('006', code(OF_005))),
      { full: '005', open: 'supplied', blinded: 'supplied' },
    ],
  ],
  '001': [
    ['a pack before there is a list', both(code(SPARE_A), version(2))],
    ['no pack, in version 2, before there is a list', version(2)],
  ],
  F1: [
    ['another free pack of the arm', code(SPARE_A), 'ok'],
    ['no pack', without('code'), 'ok'],
    ['a pack of another arm', code(SPARE_B), inFull()],
    ['a pack for other levels', code(SPARE_DUPAGE), inFull()],
    ['a pack on no list', code('X-1'), inFull()],
    ['a withdrawn pack', code('Q-0'), inFull()],
    ['the pack of somebody else', code(OF_002)],
  ],
  again: [
    ['another pack after a wrong entry', code('P-7'), 'ok'],
    ['no pack after a wrong entry', without('code'), 'ok'],
    ['the pack of somebody else after a wrong entry', code(OF_002)],
    ['the pack of a wrong entry, of another arm', onArm(A), inFull()],
  ],
  without: [['the same pack after a wrong entry, which nobody has later', code(OF_F3), 'nobodys']],
});

alterations('both verifiers of an altered list of packs', {
  list1: [
    ['number 0', data({ list: 0 })],
    ['another key', key('0'.repeat(32)), inFull('002')],
    ['another arm of a pack', holding(OF_002, C), inFull('002')],
    ['another arm of a pack that was entered', holding(OF_F3, B), inFull('wrongToo')],
    ['no pack of an arm', listing(LISTS[0].entries.filter((pack) => pack.treatment !== C)), inFull('002')],
    ['no list', gone, '002'],
    ['a list after a participant who has a pack', moved, '002'],
  ],
  list2: [
    ['another number', data({ list: 3 })],
    ['another count', data({ count: 11 }), inFull()],
    ['no count', data({ count: 0 })],
    ['another site', where(SITE, DUPAGE), inFull('003')],
    ['no level', where(SITE, 'x')],
    ['no factor', where('x', COOK)],
    ['a level of another factor', where(SEX, COOK)],
    ['no second one', gone, 'list3'],
    ['two lists exchanged', moved, 'list3'],
    ['by a key', by('pharmacy')],
  ],
  list3: [
    ['as many as there may be', listing([...LISTS[2].entries, ...many(3988, 5)]), 'ok'],
    ['too many bytes', listing(many(4000, 30)), inFull()],
    ['another arm of a pack that a replacement gives', holding('R-10', A), inFull('late')],
  ],
  list4: [
    ['too many', listing(many(4001, 5))],
    ['a former name of the site', where(SITE, COOK)],
    ['something that is not a key', key('0'), inFull()],
    ['a closed arm', holding('S-0', C), inFull()],
    ['no arm', holding('S-0', 'x'), inFull()],
    ['a code twice', alsoListed('S-0', A), inFull()],
    ['a code that is on a list', alsoListed(SPARE_A, A), inFull()],
    ['the name of an arm', alsoListed(B.toLowerCase(), A), inFull()],
    ['a code with the name of a closed arm', alsoListed(`1-${C}-2`, A), inFull()],
    ['something that is not a code', alsoListed('S 9', A), inFull()],
    ['an additional pack, which nobody gets', alsoListed('S-6', A), 'ok'],
    ['no last one', gone, inFull('006')],
  ],
  amended: [
    [
      'a list of a factor that is retired',
      both(changes(renamedLevel(SITE, COOK, CITY), arm.closed(C), retired(SITE)), at('005', moved)),
      'list4',
    ],
  ],
});

alterations('both verifiers of an altered replacement', {
  late: [
    ['another pack of the arm', data({ by: SPARE_B }), inFull()],
    ['a pack of another arm', data({ by: SPARE_DUPAGE }), inFull()],
    ['a pack on no list', data({ by: 'X-1' }), inFull()],
    ['a pack that somebody has', data({ by: OF_005 })],
    ['the pack itself', data({ by: OF_002 })],
    ['a pack that the participant does not have', code(SPARE_B)],
    ['another cause', data({ cause: 'other' }), 'ok'],
    ['a cause of its own', data({ cause: 'whim' })],
    ['another participant', about('004')],
    ['of somebody who has no pack', about('001')],
    ['another revision', data({ randomizedAt: PACKS.at['001'] })],
    ['not at all, at the end', gone, 'ok'],
    ['by a key of other levels', by('pharmacy')],
  ],
  corrected: [['without the present levels', gone, inFull('late')]],
  third: [
    ['a pack that the participant had before', code(OF_003)],
    ['a third one with supply', by('pharmacy'), 'ok'],
    [
      'a third one with supply, and a fourth one without',
      both(by('pharmacy'), at('fourth', by('nurse'))),
      'fourth',
    ],
  ],
  first: [
    ['not at all', gone, 'second'],
    ['the second before the first', moved, 'second'],
    ['by a key that may not', by('doctor')],
  ],
  fourth: [['a fourth one without supply', by('nurse')]],
  supplied: [
    ['without supply, when an arm has no pack', by('nurse'), inFull()],
    ['at the command line, when an arm has no pack', person, 'ok'],
  ],
});

alterations('both verifiers of an altered withdrawal', {
  withdrawn: [
    ['another count', data({ count: 3 }), inFull()],
    ['no count', data({ count: 0 })],
    ['other packs', withdrawn(SPARE_A, SPARE_B), 'ok'],
    ['a pack for levels that are not those of the key', withdrawn(SPARE_DUPAGE), inFull()],
    ['such a pack, by a person', both(withdrawn(SPARE_DUPAGE), person), 'ok'],
    ['a pack on no list', withdrawn('X-1'), inFull()],
    ['a pack on a later list', withdrawn('S-0'), inFull()],
    ['a pack that somebody has', withdrawn(OF_002), inFull()],
    ['a pack that somebody had', withdrawn(OF_003), inFull()],
    ['a pack twice', withdrawn(SPARE_A, SPARE_A), inFull()],
    ['a pack that is drawn later', withdrawn(OF_005), inFull('005')],
    ['a pack that is entered later', withdrawn(OF_F3), inFull('wrongToo')],
    ['a pack that is a replacement later', both(withdrawn('R-10'), person), inFull('late')],
    ['all packs of an arm', withdrawn(...codesOf(2, C), ...codesOf(1, C)), inFull('recalled')],
    ['without a reason', sealed((sections) => delete sections.withdrawn.reason), inFull()],
    ['with an Idempotency-Key', asked('w-1'), 'ok'],
    ['twice', doubled, inFull('withdrawn, again')],
  ],
  recalled: [['not at all', gone, 'ok']],
});

alterations('both verifiers of an altered code-break of a pack', {
  revealed: [
    ['without the participant', without('participantId')],
    ['without the participant and their revision', without('participantId', 'randomizedAt')],
    ['another participant', about('002')],
    ['another revision', data({ randomizedAt: PACKS.at['002'] })],
    ['without the pack', without('code'), 'ok'],
    ['the pack that the participant has', code('P-0'), 'ok'],
    ['the pack of somebody else', code(OF_002)],
    ['a pack that nobody has', code(SPARE_A)],
    ['somebody outside the limits of the key', both(code('P-21'), about('004'))],
    ['shown before the randomization', data({ shownAt: '2001-01-01T00:00:00.000Z' })],
  ],
  loose: [
    ['another free pack', code(SPARE_A), 'ok'],
    ['a withdrawn pack', code('Q-0'), 'ok'],
    ['a pack on no list', code('X-1'), inFull()],
    ['a pack for levels of the key', code('Q-10'), 'ok'],
    ['a pack for other levels', code(SPARE_DUPAGE), inFull()],
    ['such a pack, by a person', both(code(SPARE_DUPAGE), person), 'ok'],
    ['neither pack nor participant', without('code')],
    ['nobody’s revision', data({ randomizedAt: PACKS.at['002'] })],
    ['somebody who gets the pack later', about('F2', 'again')],
    ['somebody’s pack as a free one', code(OF_002)],
    ['a free pack after the one who gets it', moved],
    ['shown after it was recorded', data({ shownAt: '2999-01-01T00:00:00.000Z' })],
    ['shown early, of a free pack', data({ shownAt: '2001-01-01T00:00:00.000Z' }), 'ok'],
  ],
  nobodys: [['somebody who no longer has it', about('F3', 'without')]],
  wrongToo: [['of whom the participant is named by nobody', gone, 'voidedToo']],
});

const scopes = (...granted: string[]) => issuedWith(1, { scopes: granted });
alterations('both verifiers of a key that may supply, and see', {
  registered: [
    ['nothing', scopes('supply'), inClear('ok')],
    ['participants, blinded', scopes('supply', 'blinded'), inClear('access/1')],
    ['participants, without supply', scopes('read', 'manage'), inClear('access/1')],
  ],
});
