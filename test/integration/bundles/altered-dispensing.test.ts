/** Packs at visits, altered: the worked sample, and a longer life. */
import {
  about,
  at,
  both,
  bundlesOf,
  by,
  changed,
  changes,
  configured,
  data,
  gone,
  inFull,
  issuedWith,
  type Json,
  moved,
  sealed,
  version,
  withArms,
  without,
} from '../../support/altered-bundles.ts';
import { arm, SITE, visits } from '../../support/life.ts';
import { LIFE, SAMPLE } from '../../support/lives/dispensing.ts';

const visit = (name: string) => data({ visit: name });
const code = (name: string) => data({ code: name });
const to = (name: string | null) => data({ to: name });
const from = (name: string) => data({ from: name });
const nobodys = without('participantId', 'randomizedAt');
const person = by('somebody');
const sampled = bundlesOf(SAMPLE);

sampled.alterations('both verifiers of another visit', {
  v2: [
    // Nothing was wrong, had it been so, until 001 gets another pack for V3.
    ['another one of the study', visit('V3'), 'late'],
    ['another spelling', visit('v2')],
    ['one that the study does not have, by a site', visit('U9')],
  ],
  u1Too: [
    ['one that the study does not have, by somebody with supply', visit('U9'), 'ok'],
    ['20 characters', visit('U'.repeat(20)), 'ok'],
    ['the name of a short arm in it', visit('Arm A'), 'ok'],
  ],
  late: [['another spelling, by somebody with supply', visit('v3')]],
  week2: [['one that has a pack', visit('V2')]],
  u1: [
    ['one that has a pack, in other letters, with supply', visit('v2')],
    ['21 characters', visit('U'.repeat(21))],
    ['none', visit('')],
    ['a blank behind it', visit('U1 ')],
    ['a line feed behind it', visit('U1\n')],
    ['a formula', visit('=V2')],
    ['an arm', visit('b')],
  ],
});

sampled.alterations('both verifiers of another pack', {
  v2: [
    // By hand the pack of later, which is then given twice.
    ['not the least', code('P-112'), { full: 'v2', open: 'week2', blinded: 'week2' }],
  ],
  week2: [['not the least, and given to nobody else', code('P-203'), inFull()]],
  late: [
    ['of another arm', code('P-109'), inFull()],
    ['for other levels', code('P-203'), inFull()],
    ['on no list', code('X'), inFull()],
    ['that somebody has', code('P-104')],
    ['that they had before', code('P-107')],
  ],
  again: [['that is void', code('P-108')]],
  replaced: [
    ['as a replacement, not the least', data({ by: 'P-203' }), inFull()],
    ['as a replacement, that somebody has', data({ by: 'P-104' })],
    ['replaced, though void', both(about('002'), code('P-108'))],
  ],
});

sampled.alterations('both verifiers of another correction of a dispensation', {
  moved: [
    ['another visit until here', from('V3')],
    ['another spelling of it', from('week 12')],
    ['to the visit at which it stands', to('Week 12')],
    ['to the same, in other letters', to('week 12')],
    ['to another spelling', to('v2')],
    ['to another visit', to('V3'), 'ok'],
    ['to one that the study does not have', to('U1')],
    ['to such a one, by a person', both(to('U1'), person), 'ok'],
    ['to null', to(null)],
    ['to nothing', without('to'), 'ok'],
    ['of a pack of the enrolment', code('P-104')],
    ['of the pack of somebody else', code('P-107')],
    ['another cause', data({ cause: 'other' }), 'ok'],
    ['a cause of its own', data({ cause: 'lost' })],
    ['not at all', gone, 'week2'],
  ],
  back: [
    ['one of a void pack', from('V2')],
    ['to a visit that has a pack', to('V2')],
    ['to such a one, in other letters', to('u1')],
    ['to nothing, of a void pack', without('to')],
  ],
  changed: [
    ['to a visit that the study does not have, by somebody with supply', to('U7'), 'ok'],
    ['to an arm', to('a')],
    ['of a pack that was replaced', both(about('001'), data({ code: 'P-107', from: 'V2' }))],
  ],
  void: [
    ['not at all, of a void pack', gone, 'again'],
    ['by a key that may not', by('nurse')],
  ],
});

sampled.alterations('both verifiers of another dispensation', {
  v2: [
    ['two of two arms exchanged', moved, 'ok'],
    ['of another revision', data({ randomizedAt: SAMPLE.at.list1 })],
    ['by a key that may not', by('desk')],
    ['by a person', person, 'ok'],
  ],
  u1Too: [['not at all', gone, inFull('late')]],
  void: [['the second before the void one', moved, 'again']],
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
    ['visits with another one', configured({ visits: ['V2', 'V3', 'Week 12', 'U1'] }), 'ok'],
  ],
});

sampled.alterations('both verifiers of a code-break by a pack of a visit', {
  loose: [['a void one, of a participant', about('002')]],
  theirs: [['one of a visit, of nobody', nobodys]],
  before: [
    ['one that was replaced, of somebody else', about('002')],
    ['one that was replaced, of nobody', nobodys],
    ['another one of the participant', code('P-106'), 'ok'],
  ],
  nobodys: [['before it is void', moved, 'loose']],
});

const lived = bundlesOf(LIFE);
const amended = (change: (list: Json[]) => void) => changed((record) => change(record.data.changes));
const declared = (...names: string[]) => amended(([first]) => Object.assign(first, { value: names }));

lived.alterations('both verifiers of an altered design', {
  cV9: [['a pack after the arm was stopped', moved, withArms('cV9')]],
  cReplaced: [
    ['a replacement after the arm was stopped', both(at('cV9', moved), moved), withArms('cReplaced')],
  ],
  refilled: [
    [
      'packs of a closed arm, and nothing that says so',
      both(
        version(1),
        sealed(({ codes }) => delete codes.closedArms),
      ),
      inFull(),
    ],
    ['the same, in version 2', sealed(({ codes }) => delete codes.closedArms), inFull()],
  ],
  list4: [
    [
      'packs of a stopped arm',
      sealed(({ codes }) => Object.assign(codes.entries[0], { treatment: 'Caro' })),
      inFull(),
    ],
    [
      'packs that are said to be of closed arms',
      both(
        version(2),
        sealed(({ codes }) => Object.assign(codes, { closedArms: true })),
      ),
      inFull(),
    ],
  ],
  closed: [['an open arm that is stopped', changes(arm.stopped('Caro'))]],
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
  visits: [
    ['a visit of a pack that is gone', declared('V4', 'V3', 'U1')],
    ['such a visit in another spelling', declared('V4', 'v2', 'V3', 'U1')],
    ['one that was not declared, in another spelling', declared('V4', 'V2', 'V3', 'u1')],
    ['a visit that is an arm', changes(visits('V4', 'V2', 'V3', 'U1'), arm.added('v4'))],
  ],
  more: [
    ['one that has two spellings', declared('V4', 'V2', 'V3', 'U1', 'V9', 'U9')],
    ['an arm in a visit', declared('V4', 'V2', 'V3', 'U1', 'no dora')],
  ],
  u9: [['the name of an arm in a visit of the pharmacist', visit('xDORAx')]],
  bSet: [['the name of an arm in a corrected visit', both(to('Caros'), person)]],
});

lived.alterations('both verifiers of an altered dispensation', {
  bBack: [['a pack for a duplicate', moved, 'bV2Again']],
  bThird: [['a third further pack by the pharmacist', by('pharmacy'), 'ok']],
  bU1Again: [['a visit after the fourth further one, by a site', by('nurse')]],
  bSupplied: [['a replacement after it, by a site', by('nurse')]],
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
  list1: [['a list that comes after somebody has a pack of it', moved, 'p1']],
  registered: [
    [
      'a key that was of other levels',
      issuedWith(1, { where: [{ factor: SITE, levels: ['S'] }] }),
      'ofEarly',
    ],
  ],
});

lived.alterations('both verifiers of an altered wrong entry', {
  revealedV2: [['a code-break by a pack of it is about the participant', about('F1', 'enteredAgain')]],
  revealedVoid: [['a code-break by a void pack of it, too', about('F1', 'enteredAgain')]],
  revealedBoth: [['a code-break by the pack of both is about nobody', nobodys]],
  enteredAgain: [
    [
      'the later one names a pack of a visit of it',
      data((bundle) => ({ code: bundle.record('f1V2').data.code })),
    ],
    ['the later one has no pack', without('code'), 'revealedBoth'],
  ],
  f1Void: [
    ['a correction of it when it is voided', moved, 'ok'],
    ['a correction of it when it is replaced', both(moved, moved)],
  ],
});
