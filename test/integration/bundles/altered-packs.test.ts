/** Packs of the enrolment and of visits, altered: a study with packs, the worked sample of visits, and a longer life. */
import {
  type Alteration,
  type Alterations,
  about,
  at,
  both,
  bundlesOf,
  by,
  changed,
  changes,
  configured,
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
  withArms,
  without,
} from '../../support/altered-bundles.ts';
import { A, arm, B, C, COOK, DUPAGE, renamedLevel, retired, SITE } from '../../support/life.ts';
import { LIFE, LISTS, PACKS, SAMPLE } from '../../support/lives/packs.ts';
import { CITY } from '../../support/lives/urns.ts';

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

/** What the clear shows at the record itself, every content shows: it is asked of the one without sections. */
const inTheClear = <N extends string>(declare: (subject: string, all: Alterations<N>) => void) => {
  const asked = ([what, change, found = inClear()]: Alteration): Alteration => [what, change, found];
  return (subject: string, all: Alterations<N>) => {
    const rows = Object.entries<readonly Alteration[] | undefined>(all);
    const named = rows.map(([name, list = []]) => [name, list.map(asked)]);
    declare(subject, Object.fromEntries(named));
  };
};
const alterations = inTheClear(bundlesOf(PACKS).alterations);

alterations('both verifiers of another pack given out', {
  '005': [
    ['a free pack of the arm', code(SPARE_B), inFull()],
    ['a free pack of another arm', code(SPARE_A), inFull()],
    ['a pack on no list', code('X-1'), inFull()],
    ['a withdrawn pack', code('Q-1'), inFull()],
    ['the pack of somebody else', code(OF_002)],
    ['the pack of a wrong entry', code(OF_F3)],
    ['no pack, in version 1', both(without('code'), version(1))],
    ['something that is not a code', code('P 4')],
    [
      'the pack of the next one',
      both(code('S-5'), at('006', code(OF_005))),
      { full: '005', open: 'supplied', blinded: 'supplied' },
    ],
  ],
  '001': [['a pack before there is a list', both(code(SPARE_A), version(2))]],
  F1: [
    ['a pack of another arm', code(SPARE_B), inFull()],
    ['the pack of somebody else', code(OF_002)],
  ],
  again: [
    ['the pack of somebody else after a wrong entry', code(OF_002)],
    ['the pack of a wrong entry, of another arm', onArm(A), inFull()],
  ],
  without: [['the same pack after a wrong entry, which nobody has later', code(OF_F3), 'nobodys']],
});

alterations('both verifiers of an altered list of packs', {
  list1: [
    ['number 0', data({ list: 0 })],
    ['another key', key('0'.repeat(32)), inFull('002')],
    ['no pack of an arm', listing(LISTS[0].entries.filter((pack) => pack.treatment !== C)), inFull('002')],
  ],
  list2: [
    ['another number', data({ list: 3 })],
    ['another count', data({ count: 11 }), inFull()],
    ['no count', data({ count: 0 })],
    ['another site', where(SITE, DUPAGE), inFull('003')],
    ['two lists exchanged', moved, 'list3'],
  ],
  list3: [
    ['as many as there may be', listing([...LISTS[2].entries, ...many(3988, 5)]), 'ok'],
    ['too many bytes', listing(many(4000, 30)), inFull()],
  ],
  list4: [
    ['too many', listing(many(4001, 5))],
    ['something that is not a key', key('0'), inFull()],
    ['a closed arm', holding('S-0', C), inFull()],
    ['a code that is on a list', alsoListed(SPARE_A, A), inFull()],
    ['the name of an arm', alsoListed(B.toLowerCase(), A), inFull()],
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
    ['a pack that the participant does not have', code(SPARE_B)],
    ['a cause of its own', data({ cause: 'whim' })],
    ['by a key of other levels', by('pharmacy')],
  ],
  corrected: [['without the present levels', gone, inFull('late')]],
  third: [
    ['a pack that the participant had before', code(OF_003)],
    [
      'a third one with supply, and a fourth one without',
      both(by('pharmacy'), at('fourth', by('nurse'))),
      'fourth',
    ],
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
    ['a pack for levels that are not those of the key', withdrawn(SPARE_DUPAGE), inFull()],
    ['such a pack, by a person', both(withdrawn(SPARE_DUPAGE), person), 'ok'],
    ['a pack that somebody has', withdrawn(OF_002), inFull()],
    ['twice', doubled, inFull('withdrawn, again')],
  ],
});

alterations('both verifiers of an altered code-break of a pack', {
  revealed: [
    ['the pack of somebody else', code(OF_002)],
    ['a pack that nobody has', code(SPARE_A)],
    ['somebody outside the limits of the key', both(code('P-21'), about('004'))],
  ],
  loose: [
    ['a pack on no list', code('X-1'), inFull()],
    ['a pack for other levels', code(SPARE_DUPAGE), inFull()],
    ['neither pack nor participant', without('code')],
    ['somebody who gets the pack later', about('F2', 'again')],
    ['a free pack after the one who gets it', moved],
    ['shown after it was recorded', data({ shownAt: '2999-01-01T00:00:00.000Z' })],
  ],
  nobodys: [['somebody who no longer has it', about('F3', 'without')]],
});

const scopes = (...granted: string[]) => issuedWith(1, { scopes: granted });
alterations('both verifiers of a key that may supply, and see', {
  registered: [
    ['nothing', scopes('supply'), inClear('ok')],
    ['participants, without supply', scopes('read', 'manage'), inClear('access/1')],
  ],
});

const visit = (name: string) => data({ visit: name });
const to = (name: string | null) => data({ to: name });
const from = (name: string) => data({ from: name });
const nobodys = without('participantId', 'randomizedAt');
const ofSample = inTheClear(bundlesOf(SAMPLE).alterations);

ofSample('both verifiers of another visit', {
  v2: [
    // Nothing was wrong, had it been so, until 001 gets another pack for V3.
    ['another one of the study', visit('V3'), 'late'],
    ['one that the study does not have, by a site', visit('U9')],
  ],
  u1Too: [
    ['one that the study does not have, by somebody with supply', visit('U9'), 'ok'],
    ['the name of a short arm in it', visit('Arm A'), 'ok'],
  ],
  week2: [['one that has a pack', visit('V2')]],
  u1: [
    ['one that has a pack, in other letters, with supply', visit('v2')],
    ['a line feed behind it', visit('U1\n')],
    ['an arm', visit('b')],
  ],
});

ofSample('both verifiers of another pack', {
  v2: [
    // By hand the pack of later, which is then given twice.
    ['not the least', code('P-112'), { full: 'v2', open: 'week2', blinded: 'week2' }],
  ],
  week2: [['not the least, and given to nobody else', code('P-203'), inFull()]],
  late: [
    ['of another arm', code('P-109'), inFull()],
    ['for other levels', code('P-203'), inFull()],
    ['that somebody has', code('P-104')],
  ],
  again: [['that is void', code('P-108')]],
  replaced: [
    ['as a replacement, not the least', data({ by: 'P-203' }), inFull()],
    ['replaced, though void', both(about('002'), code('P-108'))],
  ],
});

ofSample('both verifiers of another correction of a dispensation', {
  moved: [
    ['another visit until here', from('V3')],
    ['to the same, in other letters', to('week 12')],
    ['to another spelling', to('v2')],
    ['to one that the study does not have', to('U1')],
    ['to such a one, by a person', both(to('U1'), person), 'ok'],
    ['of a pack of the enrolment', code('P-104')],
    ['a cause of its own', data({ cause: 'lost' })],
    ['not at all', gone, 'week2'],
  ],
  back: [
    ['one of a void pack', from('V2')],
    ['to such a one, in other letters', to('u1')],
    ['to nothing, of a void pack', without('to')],
  ],
  changed: [['to a visit that the study does not have, by somebody with supply', to('U7'), 'ok']],
});

ofSample('both verifiers of another dispensation', {
  v2: [['two of two arms exchanged', moved, 'ok']],
  week: [['two of one arm exchanged', moved, 'moved']],
  replaced: [['after the transfer', moved, inFull('replaced')]],
  late: [
    ['of an id that is not as randomized', data({ participantId: '01' })],
    ['below the margin, by a site', by('nurse'), inFull()],
  ],
  registered: [
    ['a key that had no supply', issuedWith(1, { scopes: ['randomize', 'correct'] }), 'u1'],
    ['visits that were declared in another spelling', configured({ visits: ['v2', 'V3', 'Week 12'] }), 'v2'],
    ['visits without one', configured({ visits: ['V2', 'V3'] }), 'week'],
  ],
});

ofSample('both verifiers of a code-break by a pack of a visit', {
  loose: [['a void one, of a participant', about('002')]],
  theirs: [['one of a visit, of nobody', nobodys]],
  before: [['one that was replaced, of nobody', nobodys]],
  nobodys: [['before it is void', moved, 'loose']],
});

const ofLife = inTheClear(bundlesOf(LIFE).alterations);
const amended = (change: (list: Json[]) => void) => changed((record) => change(record.data.changes));
const declared = (...names: string[]) => amended(([first]) => Object.assign(first, { value: names }));

ofLife('both verifiers of an altered design', {
  cV9: [['a pack after the arm was stopped', moved, withArms('cV9')]],
  list4: [
    [
      'packs of a stopped arm',
      sealed(({ codes }) => Object.assign(codes.entries[0], { treatment: 'Caro' })),
      inFull(),
    ],
  ],
  closedAgain: [
    [
      'an arm that is closed only',
      both(
        version(1),
        amended((list) => list.pop()),
      ),
      inFull('aV4'),
    ],
  ],
  visits: [['a visit of a pack that is gone', declared('V4', 'V3', 'U1')]],
  more: [['one that has two spellings', declared('V4', 'V2', 'V3', 'U1', 'V9', 'U9')]],
  bSet: [['the name of an arm in a corrected visit', both(to('Caros'), person)]],
});

ofLife('both verifiers of an altered dispensation', {
  bBack: [['a pack for a duplicate', moved, 'bV2Again']],
  bThird: [['a third further pack by the pharmacist', by('pharmacy'), 'ok']],
  bU1Again: [['a visit after the fourth further one, by a site', by('nurse')]],
  low: [['a pack at two left of an arm, by a site', by('nurse'), inFull()]],
  lowReplaced: [
    // 0.2.0 asked for one pack of each arm.
    ['a replacement at two left, by a site', by('nurse'), 'ok'],
    ['a pack of the enrolment of the imported one is replaced', about('e1')],
  ],
  noneReplaced: [['a replacement at none left, by a site', by('nurse'), inFull()]],
  afterTransfer: [['of S, by a key of N', by('north')]],
  ofImported: [['of N, by the same, after a renaming', by('north'), 'ok']],
  northVoid: [['a correction by it after the renaming', moved, 'ok']],
  registered: [
    [
      'a key that was of other levels',
      issuedWith(1, { where: [{ factor: SITE, levels: ['S'] }] }),
      'ofEarly',
    ],
  ],
});

ofLife('both verifiers of an altered wrong entry', {
  revealedV2: [['a code-break by a pack of it is about the participant', about('F1', 'enteredAgain')]],
  revealedBoth: [['a code-break by the pack of both is about nobody', nobodys]],
  enteredAgain: [
    [
      'the later one names a pack of a visit of it',
      data((bundle) => ({ code: bundle.record('f1V2').data.code })),
    ],
    ['the later one has no pack', without('code'), 'revealedBoth'],
  ],
  f1Void: [['a correction of it when it is replaced', both(moved, moved)]],
});
