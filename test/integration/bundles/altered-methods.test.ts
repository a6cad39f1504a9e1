/**
 * Studies with permuted blocks, complete randomization, minimization, lists made elsewhere, and an imported history, altered. What
 * is compared with the draw or list as it was made is one comparison: any-life.test.ts alters members of these.
 */

import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import {
  algorithm,
  at,
  both,
  bundlesOf,
  by,
  type Change,
  changed,
  changes,
  configured,
  data,
  drop,
  gone,
  inFull,
  type Json,
  moved,
  onAnotherArm,
  onArm,
  put,
  sealed,
  sooner,
  without,
} from '../../support/altered-bundles.ts';
import {
  asDraw,
  listed,
  onList,
  picked,
  renamedSection,
  shortened,
  skipping,
} from '../../support/altered-methods.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { APPROVAL, arm, C, COOK, DUPAGE, ratio, retired, SEX, SITE, urn } from '../../support/life.ts';
import {
  ATTEMPT,
  BLOCKS,
  COMPLETE,
  FOREIGN,
  IMPORTED,
  LISTED,
  MINIMIZED,
  URN,
} from '../../support/lives/methods.ts';

const method = (named: object) => configured({ method: named });
const sizes = (...perSlot: number[]) => sealed(({ blocks }) => Object.assign(blocks, { perSlot }));
const withSizes = put('blocks', { perSlot: [1] });
const picking = (members: object) => picked((pick) => Object.assign(pick, members));

bundlesOf(BLOCKS).alterations('both verifiers of altered blocks', {
  '001': [
    ['`draw` for `pick`', asDraw()],
    ['both', asDraw(true)],
  ],
  '002': [
    // What blinded eyes see is how many records the recovery kept.
    ['one of them, gone', gone, { full: '003', open: 'recovered', blinded: 'recovered' }],
  ],
  closed: [
    ['a reopened arm, kept', changes(arm.closed(C), arm.reopened(C))],
    ['a factor within which blocks are, retired', changes(retired(SITE))],
  ],
  armClosed: [['blocks that are kept with other arms', data({ history: 'keep' })]],
  registered: [
    ['sizes in another order', sizes(3, 2), inFull()],
    ['nine sizes', sizes(1, 2, 3, 4, 5, 6, 7, 8, 9), inFull()],
    ['no sizes', sizes(), inFull()],
    ['a size of no places', sizes(0, 2), inFull()],
    ['a size of 101 places', sizes(2, 101), inFull()],
    ['no method', configured({ method: undefined })],
    ['another algorithm', algorithm({ name: 'complete-pcg64' })],
    ['version 2 of the algorithm', algorithm({ version: 2 })],
    ['blocks by both in another order', method({ name: 'blocks', by: [SITE, SEX] })],
    ['blocks by no factor of the study', method({ name: 'blocks', by: ['x'] })],
    ['blocks by one twice', method({ name: 'blocks', by: [SITE, SITE] })],
    ['blocks without by', method({ name: 'blocks' })],
    ['an unknown method', method({ name: 'coin', by: [] })],
    ['urns', method({ name: 'urn' })],
  ],
});

bundlesOf(COMPLETE).alterations('both verifiers of altered complete randomization', {
  n1: [['counts', picking({ counts: [] }), inFull()]],
  packs: [['by a key', by('nurse')]],
  armClosed: [['the history begun anew with a closed arm', data({ history: 'restart' }), 'ok']],
  begun: [
    ['an import of the reference', data({ source: { format: 'reference', rows: 2 } })],
    ['with its generator', data({ generator: 'continued' })],
    ['with a known seed', data({ seedKnown: true })],
  ],
  registered: [
    ['sizes', withSizes],
    ['settings of urns', configured({ w: 1 })],
  ],
});

const parameters = (change: object) => sealed(({ minimization }) => Object.assign(minimization, change));
bundlesOf(MINIMIZED).alterations('both verifiers of altered minimization', {
  '003': [['a score', picked((pick) => pick.scores[1]++), inFull()]],
  '004': [['a count', picked((pick) => pick.counts[1][0]++), inFull()]],
  registered: [
    ['a p that nobody can have', parameters({ pThousandths: 500 }), inFull()],
    ['weights with a divisor', parameters({ weights: [2, 4] }), inFull()],
    ['equal weights', parameters({ weights: [1, 1] }), inFull()],
    ['sizes, too', withSizes],
  ],
});

const entered = (members: object) => sealed(({ entry }) => Object.assign(entry, members));
const one = { levels: [DUPAGE], count: 1 };
const cook = (count: number) => ({ levels: [COOK], count });

bundlesOf(LISTED).alterations('both verifiers of altered lists', {
  // An entry.
  '001': [
    ['the number of an entry', entered({ entry: 5 }), inFull()],
    ['the arm', onArm(C), inFull()],
    ['`pick` for `entry`', renamedSection('entry', 'pick')],
    ['both', renamedSection('entry', 'pick', true)],
  ],
  // A list.
  first: [
    ['an arm', listed(5, { treatment: DUPAGE }), inFull()],
    ['an unknown level', listed(7, { levels: ['x'] }), inFull()],
    ['no levels', onList(({ entries }) => delete entries[6].levels), inFull()],
    ['an entry fewer', shortened(6), inFull('second')],
    ['no entries', shortened(0)],
    ['the first row', onList((list) => Object.assign(list, { first: 2 })), inFull()],
    ['no digest', onList((list) => Object.assign(list, { file: 'a' })), inFull()],
    ['one entry more', data({ count: 8 }), inFull()],
    // Two are skipped, and one is left.
    ['too few entries', data({ count: 3 }), sooner('first', '002')],
    ['too many entries', data({ count: 4001 })],
    ['no approval', data({ approvals: [] })],
    ['an approval of the future', data({ approvals: [{ ...APPROVAL, on: '9999-12-31' }] })],
    ['by a key', by('nurse')],
  ],
  second: [['another file', onList((list) => Object.assign(list, { file: 'a'.repeat(64) })), inFull()]],
  third: [
    ['a closed arm', listed(3, { treatment: C }), inFull()],
    ['a level of now, in an earlier list', listed(3, { levels: ['x'] }), inFull()],
    ['its last entry', shortened(2), 'ok'],
    ['the number before', data({ list: 1 })],
  ],
  // Entries that are skipped.
  skipped: [
    ['by a key', by('nurse')],
    ['no skip', gone, '001'],
    ['more than a stratum has', skipping(cook(5), one), sooner('skipped', '002')],
    ['more than all have', skipping(cook(7), one)],
    ['an unknown level', skipping({ levels: ['x'], count: 1 })],
    ['a stratum twice', skipping(one, one)],
    ['a count of none', skipping(cook(0))],
  ],
  none: [
    ['no skip behind a recovery', gone, '004'],
    ['something in place of nothing', skipping(one), 'ok'],
  ],
  armClosed: [
    ['a list that is kept with other arms', data({ history: 'keep' })],
    ['an arm with a ratio', changes({ ...arm.added('D'), ratio: 2 })],
  ],
  renamed: [
    ['entries that are void', data({ history: 'restart' }), '007'],
    ['a ratio', changes(ratio(2, 1, 1))],
    ['an urn', changes(urn({ w: 2 }))],
    ['the factor of its strata, retired', changes(retired(SITE))],
  ],
  registered: [
    ['a seed that somebody chose', data({ seedSource: 'configured' })],
    ['a ratio', configured({ ratio: [2, 1, 1] })],
  ],
});

bundlesOf(URN).alterations('both verifiers of an urn with what belongs to another method', {
  registered: [
    ['sizes', withSizes],
    ['another algorithm', algorithm({ name: 'complete-pcg64' })],
    ['an equal ratio, which is left out', configured({ ratio: [1, 1, 1] })],
  ],
});

const instant = (datetime: string) =>
  changed(({ data: { original } }) => Object.assign(original, { datetime }));
const level = (name: string) => changed((record) => Object.assign(record.data.levels[0], { level: name }));
const onDrawnArm = sealed(({ allocation }) => {
  const { treatments } = CONFIGURATION;
  // The override in the log gives the next arm.
  const treatment = treatments.at(treatments.indexOf(allocation.treatment) - 1);
  Object.assign(allocation, { treatment });
});
/** The row says that it was not drawn again. */
const disowned =
  (cause: string): Change =>
  (bundle, name) => {
    const { bgStateAfter: bgState } = bundle.sections(name).draw;
    both(data({ redrawn: false, cause }), drop('draw'), put('state', { bgState }))(bundle, name);
  };
/** The row no longer has a state. */
const stateless = both(data({ redrawn: false, cause: 'no-state' }), drop('draw'), drop('state'));
/** With sections of the other record. */
const sectionsOf =
  (other: string, ...names: readonly string[]): Change =>
  (bundle, name) => {
    const theirs = bundle.sections(other);
    for (const section of names) put(section, theirs[section])(bundle, name);
  };
const proof = (redrawn: number, unproven: number) => ({ proof: { redrawn, unproven } });
const source = (rows: number) => ({ source: { format: 'reference', rows } });
const generator = (change: (section: Json) => void) => sealed((sections) => change(sections.generator));
/** That nothing leads to. */
const STATE = Pcg64.fromSeed(7n).snapshot();

bundlesOf(IMPORTED).alterations('both verifiers of an altered import', {
  // Its beginning and its end.
  begun: [
    ['a fresh generator', data({ generator: 'fresh' }), inFull()],
    ['another import', data({ import: ATTEMPT }), 'i1'],
    ['a proof of more rows', data(proof(8, 3))],
    ['another seed', without('seedKnown'), 'i1'],
    ['fewer rows', data({ ...source(9), ...proof(7, 2) }), 'last'],
    ['another format', data({ source: { format: 'csv', rows: 10 } }), 'i1'],
    ['another state', generator((all) => Object.assign(all, { bgState: STATE })), inFull('ended')],
    ['the generator of the attempt', sectionsOf('attempt', 'generator'), inFull()],
    ['no beginning', gone, 'i1'],
    ['a beginning after the first row', moved, 'i1'],
    ['by a key', by('nurse')],
  ],
  attempt: [
    ['the seed in the attempt', data({ seedKnown: true }), 'first'],
    ['another seed of a fresh generator', generator((all) => Object.assign(all, { seed: '5' })), inFull()],
  ],
  aborted: [
    ['a beginning before the end of the attempt', moved, 'begun'],
    ['no end of the attempt', gone, 'begun'],
  ],
  ended: [
    ['by a key', by('nurse')],
    ['no end', gone, 'n1'],
    ['an end after the next allocation', moved, 'n1'],
  ],
  // Rows.
  i2: [
    ['by a key', by('nurse')],
    ['the number of an earlier row', data({ row: 1 })],
    ['the number of a later row', data({ row: 5 }), 'i5'],
    ['the same instant in other words', instant('2026-01-01T01:00:01.000001+0100'), 'ok'],
    ['a later instant', instant('2026-01-01T00:00:03Z'), 'raced'],
    ['an earlier instant', instant('2025-12-31')],
    ['another arm', onAnotherArm, inFull()],
    ['a row that is said not to be drawn again', disowned('differs'), sooner('i2', 'ended')],
    ['a draw of a row not drawn again', data({ redrawn: false, cause: 'differs' })],
    ['redrawn, with a cause', data({ cause: 'differs' })],
    ['not redrawn, without a cause', data({ redrawn: false })],
    ['one row fewer', gone, 'revealed'],
  ],
  i1: [['rows in another order', moved, sooner('i2', 'i1')]],
  raced: [
    ['other counts', sealed(({ draw }) => draw.counts.reverse()), inFull()],
    [
      'another state before',
      sealed(({ draw }) => Object.assign(draw, { bgStateBefore: draw.bgStateAfter })),
      inFull(),
    ],
    ['no state of a row that was drawn again', stateless, sooner('override', 'ended')],
    ['one that is said to be an override', disowned('override'), sooner('raced', 'ended')],
  ],
  override: [
    ['the arm of the draw instead of the override', onDrawnArm, inFull()],
    ['differs for override', data({ cause: 'differs' }), inFull()],
  ],
  // The row and its arm are counted.
  noState: [
    ['another arm of the row without a state', onAnotherArm, inFull('i9')],
    ['an unknown arm', onArm('x'), { full: 'noState', open: 'noState', blinded: 'ok' }],
    ['differs without a state', data({ cause: 'differs' })],
  ],
  differs: [
    ['another state', sealed(({ state }) => Object.assign(state, { bgState: STATE })), inFull('i9')],
    ['no state', stateless, inFull('i9')],
    ['redrawn, with only a state', both(data({ redrawn: true }), without('cause'))],
    ['first in the middle', data({ cause: 'first' })],
    ['no-state with a state', data({ cause: 'no-state' })],
    ['another system', data({ cause: 'other-system' })],
  ],
  i9: [
    [
      'equal instants out of order',
      both(instant('2026-01-01 00:00:08.000001'), data({ row: 10 }), at('last', data({ row: 9 }))),
      'last',
    ],
    ['no state of the row with the largest instant', stateless, sooner('last', 'ended')],
  ],
  first: [['differs for first', data({ cause: 'differs' })]],
  last: [
    // Then the generator goes on from it.
    ['a later instant of the last row', instant('2027-01-01'), inFull('ended')],
    ['the id of an allocation after it', data({ participantId: 'n1' }), 'n1'],
    // The arm was drawn at another level, but the row is counted at this one.
    ['another level', level('Male'), inFull('n1')],
    ['an unknown level', level('x')],
    ['no level', data({ levels: [] })],
    ['the draw and arm of another row', sectionsOf('i2', 'allocation', 'draw'), inFull()],
    ['no last row', gone, 'ended'],
    ['a row after the end', moved, 'ended'],
  ],
  // What may not happen meanwhile.
  revealed: [
    ['the code-break of somebody of the attempt', data({ randomizedAt: IMPORTED.at.second })],
    // Nothing is known of when the arm was given.
    ['a code-break that is dated back', data({ shownAt: '2020-01-01T00:00:00.000Z' }), 'ok'],
  ],
  registered: [['one place less than were imported and drawn', configured({ limits: { total: 11 } }), 'n2']],
});

bundlesOf(FOREIGN).alterations('both verifiers of an import without states of a generator', {
  begun: [
    ['fewer rows than are to come', data({ source: { format: 'reference', rows: 2 } }), 'one'],
    ['the generator of the reference', data({ generator: 'continued' }), sooner('begun', 'ended')],
    ['another seed', generator((all) => Object.assign(all, { seed: '5' })), inFull()],
    ['a seed with a zero', generator((all) => Object.assign(all, { seed: `0${9n << 100n}` })), inFull()],
  ],
  one: [
    ['the cause of a row of the reference', data({ cause: 'no-state' })],
    ['a state', put('state', { bgState: STATE })],
  ],
  // Its arm is counted.
  two: [['another arm', onAnotherArm, inFull('n1')]],
});
