/** A study whose arms, ratio, urns and factors were amended, altered. */
import {
  type Alteration,
  at,
  both,
  bundlesOf,
  by,
  changed,
  changes,
  configured,
  data,
  gone,
  inClear,
  inFull,
  moved,
  onArm,
  sealed,
  version,
  withArms,
  without,
} from '../../support/altered-bundles.ts';
import {
  A,
  arm,
  B,
  C,
  COOK,
  change,
  FEMALE,
  MALE,
  ratio,
  retired,
  SEX,
  SITE,
  site,
  urn,
} from '../../support/life.ts';
import { ARMS, D, E, URN } from '../../support/lives/arms.ts';

const inSlot = (slot: number, section = 'allocation') =>
  sealed((sections) => Object.assign(sections[section], { slot }));
const noSlot = (section = 'allocation') => sealed((sections) => delete sections[section].slot);
/** A ratio, and the version of the algorithm that goes with it. */
const registered = (of: readonly number[] | undefined, algorithm: number) =>
  both(
    configured({ ratio: of }),
    changed(({ data: members }) => {
      members.algorithm.version = algorithm;
    }),
  );
const level = (factor: string, name: string) => ({ factor, level: name });
const asOf = (name: string) => data((bundle) => ({ occurredAt: bundle.record(name).at }));
const { alterations } = bundlesOf(ARMS);

alterations('both verifiers of altered amendments of arms', {
  closed: [
    ['no history', without('history')],
    ['no arm is closed', gone, { full: '005', open: 'reopened', blinded: 'reopened' }],
    ['a closing after the next draw', moved, inFull('005')],
  ],
  reopened: [
    ['no urn is changed', changes(arm.reopened(C)), inFull('007')],
    ['another number of balls', changes(arm.reopened(C), urn({ w: 3, alpha: 1 })), inFull('007')],
  ],
  kept: [
    ['the history is not kept', data({ history: 'restart' }), inFull('008')],
    ['an arm that nobody was on has another name', changes(arm.added('F')), 'ok'],
  ],
  restarted: [
    ['the history is kept', data({ history: 'keep' }), inFull('009')],
    ['one slot for an arm', changes(arm.added(E)), inFull('009')],
    ['a new arm after its first participant', moved, withArms('009')],
  ],
  ratio: [
    ['the history is kept with new slots', data({ history: 'keep' })],
    ['another ratio', changes(ratio(1, 1, 1, 1, 2), arm.closed(B)), inFull('012')],
    ['no arm is closed with the ratio', changes(ratio(1, 1, 1, 1, 3)), inFull('012')],
    ['the ratio ends at once', changes(ratio(1, 1, 1, 1, 1), arm.closed(B)), '012'],
  ],
  retired: [
    ['no factor is retired', gone, '014'],
    ['another factor is retired', changes(retired(SEX)), '014'],
  ],
  equal: [['the ratio goes on', changes(ratio(2, 1, 1, 1, 1)), '016']],
  urn: [
    ['the epoch is ignored', data({ history: 'keep' }), inFull('018')],
    // Of one factor, no measure matters.
    ['another measure', changes(urn({ beta: 2, D: 'variance' })), 'ok'],
    [
      'what the changes of one amendment make possible together',
      changes(URN, arm.closed(A), arm.closed(C), arm.closed(D), arm.added('F')),
      inClear('ok'),
    ],
  ],
  '014': [
    ['a level of the retired factor is recorded', data({ levels: [level(SEX, MALE), level(SITE, COOK)] })],
  ],
  '013': [['no level of it before', data({ levels: [level(SEX, FEMALE)] })]],
  corrected: [
    ['a level of it is corrected', changes(change(SITE, COOK, COOK))],
    ['somebody of this epoch is not corrected', gone, inFull('015')],
  ],
  early: [['somebody of an earlier epoch is not corrected', gone, 'ok']],
  '015': [['by a key of a retired factor', by('local')]],
});

alterations('both verifiers of another slot or arm', {
  '001': [
    ['another slot of the arm, drawn', inSlot(7, 'draw'), inFull()],
    ['no slot, drawn', noSlot('draw'), inFull()],
    ['version 1 with a ratio', version(1)],
  ],
  '016': [
    ['a slot without a ratio, drawn', inSlot(0, 'draw'), inFull()],
    ['version 2 without one', version(2)],
  ],
  F1: [
    ['a slot of another arm, entered', inSlot(2), withArms()],
    ['a slot that does not exist, entered', inSlot(40), withArms()],
    ['no slot, entered', noSlot(), withArms()],
  ],
  F3: [
    ['the other slot of the arm, entered', inSlot(6), inFull()],
    ['an arm before it was added, entered', asOf('001'), withArms()],
  ],
  F2: [['a closed arm, entered', asOf('F2'), withArms()]],
  '005': [['a closed arm, drawn', onArm(C), withArms()]],
  '018': [['another open arm, drawn', onArm('x'), withArms()]],
  '007': [['an arm before it is added, drawn', onArm(D), withArms()]],
  closed: [
    [
      'an arm before its closing, which the draws after it do not see',
      both(at('006', moved), at('005', moved), moved),
      'ok',
    ],
  ],
  registered: [
    ['another ratio', registered([1, 2, 1], 2), { full: '001', open: 'F1', blinded: 'ok' }],
    ['ones', registered([1, 1, 1], 1)],
    ['a common divisor', registered([2, 2, 4], 2)],
    ['too few numbers', registered([2, 1], 2)],
    ['41 slots', registered([20, 20, 1], 2)],
    ['21 slots of one arm', registered([21, 1, 1], 2)],
    ['version 1 of the algorithm', registered([2, 1, 1], 1)],
    ['no ratio', registered(undefined, 1), '001'],
    ['version 2 without a ratio', registered(undefined, 2)],
  ],
});

/** Amendments that the design before them does not allow, with the history that their changes need. */
const impossible = (...list: readonly (readonly [string, ...object[]])[]): Alteration[] =>
  list.map(([name, ...instead]) => {
    const history = instead.some((one) => 'kind' in one && one.kind === 'ratio') ? 'restart' : 'keep';
    return [name, both(changes(...instead), data({ history })), inClear()];
  });
alterations('both verifiers of an amendment that the design before it does not allow', {
  closed: impossible(
    ['no arm, closed', arm.closed('x')],
    ['an arm closed twice', arm.closed(C), arm.closed(C)],
    ['all but one arm, closed', arm.closed(C), arm.closed(B)],
    ['an open arm, reopened', arm.reopened(C)],
    ['an urn of nothing', urn({})],
    ['an urn that is in force', urn({ w: 1, beta: 2 })],
    ['an urn without balls', urn({ w: 0 })],
    ['too many balls', urn({ w: 1_000_001 })],
    ['the ratio that is in force', ratio(2, 1, 1)],
    ['a ratio with a divisor', ratio(2, 4, 2)],
    ['a ratio of other arms', ratio(2, 1)],
    ['a ratio of 41 slots', ratio(20, 20, 1)],
    ['no factor, retired', retired('x')],
    ['a target, with a history', { kind: 'target', value: 5 }],
  ),
  kept: impossible(
    ['an arm with the name of another', arm.added(A)],
    ['an arm with one slot, said', arm.added(D, { ratio: 1 })],
    ['an arm with too many slots', arm.added(D, { ratio: 20 }), arm.added(E, { ratio: 17 })],
  ),
  retired: impossible(['an arm with the name of a closed one', arm.added(B)]),
  equal: impossible(
    ['a factor retired twice', retired(SITE)],
    ['the last factor, retired', retired(SEX)],
    ['a level of a retired factor', site.closed(COOK)],
  ),
});
