/** Packs of the enrolment and of visits, altered: a study with packs, the worked sample of visits, and a longer life. */
import {
  about,
  at,
  both,
  bundlesOf,
  by,
  changed,
  configured,
  data,
  inClear,
  inFull,
  issuedWith,
  type Json,
  moved,
  sealed,
  withArms,
  without,
} from '../../support/altered-bundles.ts';
import { C, SITE } from '../../support/life.ts';
import { LIFE, LISTS, PACKS, SAMPLE } from '../../support/lives/packs.ts';

const code = (name: string) => data({ code: name });
/** With these entries, and as many as they are. */
const listing = (entries: readonly object[]) =>
  both(
    data({ count: entries.length }),
    sealed(({ codes }) => Object.assign(codes, { entries })),
  );
const many = (number: number, length: number) =>
  Array.from({ length: number }, (_, n) => ({ code: `${n}`.padStart(length, '0'), treatment: C }));
const person = by('somebody');
const scopes = (...granted: string[]) => issuedWith(1, { scopes: granted });

// Whatever else cannot be of packs of the enrolment is in test/vectors/life-histories.json.
bundlesOf(PACKS).alterations('both verifiers of altered packs', {
  '005': [['something that is not a code', code('P 4')]],
  list2: [['no count', data({ count: 0 })]],
  list3: [
    ['as many as there may be', listing([...LISTS[2].entries, ...many(3988, 5)]), 'ok'],
    ['too many bytes', listing(many(4000, 30)), inFull()],
  ],
  list4: [
    ['too many', listing(many(4001, 5))],
    ['something that is not a key', sealed(({ codes }) => Object.assign(codes, { key: '0' })), inFull()],
  ],
  late: [['a cause of its own', data({ cause: 'whim' })]],
  third: [
    [
      'a third one with supply, and a fourth one without',
      both(by('pharmacy'), at('fourth', by('nurse'))),
      'fourth',
    ],
  ],
  supplied: [['at the command line, when an arm has no pack', person, 'ok']],
  loose: [['shown after it was recorded', data({ shownAt: '2999-01-01T00:00:00.000Z' })]],
  registered: [
    ['a key that may only supply', scopes('supply'), inClear('ok')],
    ['a key that may see participants, without supply', scopes('read', 'manage'), inClear('access/1')],
  ],
});

const visit = (name: string) => data({ visit: name });
const to = (name: string) => data({ to: name });
const nobodys = without('participantId', 'randomizedAt');

// Other visits, packs, participants, authors and places of these records: any-life.test.ts.
bundlesOf(SAMPLE).alterations('both verifiers of altered visits', {
  u1Too: [['the name of a short arm in it', visit('Arm A'), 'ok']],
  u1: [['a line feed behind it', visit('U1\n')]],
  moved: [
    ['to one that the study does not have, by a person', both(to('U1'), person), 'ok'],
    ['a cause of its own', data({ cause: 'lost' })],
  ],
  late: [['of an id that is not as randomized', data({ participantId: '01' })]],
  registered: [
    ['a key that had no supply', issuedWith(1, { scopes: ['randomize', 'correct'] }), 'u1'],
    ['visits that were declared in another spelling', configured({ visits: ['v2', 'V3', 'Week 12'] }), 'v2'],
    ['visits without one', configured({ visits: ['V2', 'V3'] }), 'week'],
  ],
  // A code-break by a pack of a visit.
  loose: [['a void one, of a participant', about('002')]],
  theirs: [['one of a visit, of nobody', nobodys]],
  before: [['one that was replaced, of nobody', nobodys]],
  nobodys: [['before it is void', moved, 'loose']],
});

const amended = (change: (list: Json[]) => void) => changed((record) => change(record.data.changes));
const declared = (...names: string[]) => amended(([first]) => Object.assign(first, { value: names }));

bundlesOf(LIFE).alterations('both verifiers of an altered life with visits', {
  // The design.
  cV9: [['a pack after the arm was stopped', moved, withArms('cV9')]],
  list4: [
    [
      'packs of a stopped arm',
      sealed(({ codes }) => Object.assign(codes.entries[0], { treatment: 'Caro' })),
      inFull(),
    ],
  ],
  closedAgain: [['an arm that is closed only', amended((list) => list.pop()), inFull('aV4')]],
  visits: [['a visit of a pack that is gone', declared('V4', 'V3', 'U1')]],
  more: [['one that has two spellings', declared('V4', 'V2', 'V3', 'U1', 'V9', 'U9')]],
  bSet: [['the name of an arm in a corrected visit', both(to('Caros'), person)]],
  // Dispensations.
  bReplaced: [['a pack of a duplicate', moved]],
  bBack: [['a pack for a duplicate', moved, 'bV2Again']],
  bThird: [['a third further pack by the pharmacist', by('pharmacy'), 'ok']],
  bU1Again: [['a visit after the fourth further one, by a site', by('nurse')]],
  low: [['a pack at two left of an arm, by a site', by('nurse'), inFull()]],
  lowReplaced: [
    ['a replacement at two left, by a site', by('nurse'), inFull()],
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
  // A wrong entry.
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
