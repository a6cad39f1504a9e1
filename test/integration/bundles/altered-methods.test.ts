/** Studies with permuted blocks, complete randomization, minimization and lists made elsewhere, altered. */

import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import {
  both,
  bundlesOf,
  by,
  changed,
  changes,
  configured,
  data,
  gone,
  inFull,
  moved,
  onArm,
  put,
  sealed,
  sooner,
  version,
  withArms,
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
import { A, arm, C, COOK, DUPAGE, ratio, retired, SEX, SITE, urn } from '../../support/life.ts';
import { BLOCKS, COMPLETE, LISTED, MINIMIZED, URN } from '../../support/lives/methods.ts';

const algorithm = (members: object) => changed((record) => Object.assign(record.data.algorithm, members));
const method = (named: object) => configured({ method: named });
const sizes = (...perSlot: number[]) => sealed(({ blocks }) => Object.assign(blocks, { perSlot }));
const withSizes = put('blocks', { perSlot: [1] });
const weight = picked((pick) => pick.weights[0]++);
const uniform = picked((pick) => pick.uniform53--);
const picking = (members: object) => picked((pick) => Object.assign(pick, members));
const unpicked = (member: string) => picked((pick) => delete pick[member]);
/** As if the size of the block had not been drawn. */
const withoutLot = picked((pick) => {
  const generator = Pcg64.restore(pick.bgStateBefore);
  pick.uniform53 = generator.nextUniform53();
  pick.bgStateAfter = generator.snapshot();
});

bundlesOf(BLOCKS).alterations('both verifiers of altered blocks', {
  '001': [
    ['one weight fewer', picked((pick) => pick.weights.pop()), inFull()],
    ['no block', unpicked('block'), inFull()],
    ['a slot without a ratio', picking({ slot: 0 }), inFull()],
    ['a lot left out', withoutLot, inFull()],
    ['two records, swapped', moved, inFull('002')],
    ['`draw` for `pick`', asDraw()],
    ['both', asDraw(true)],
    ['version 2 with a draw', both(asDraw(), version(2))],
  ],
  '002': [
    ['the size of a block', picked(({ block }) => block.perSlot++), inFull()],
    // What blinded eyes see is how many records the recovery kept.
    ['one of them, gone', gone, { full: '003', open: 'recovered', blinded: 'recovered' }],
  ],
  '004': [
    ['a weight', weight, inFull()],
    ['a uniform number', uniform, inFull()],
  ],
  '007': [
    ['the number of a block', picked(({ block }) => block.number--), inFull()],
    ['a closed arm', onArm(C), withArms()],
  ],
  '009': [
    ['no slot', unpicked('slot'), inFull()],
    ['another slot', picking({ slot: 9 }), inFull()],
  ],
  // No draw tells: nothing else takes or moves a place.
  F1: [['no forced entry', gone, 'recovered']],
  corrected: [['no correction', gone, 'recovered']],
  closed: [
    ['a level that stays open', gone, 'reopened'],
    ['blocks that are dropped', data({ history: 'restart' }), inFull('005')],
    ['a reopened arm, kept', changes(arm.closed(C), arm.reopened(C))],
    ['an urn, amended', changes(urn({ w: 2 }))],
    ['a factor within which blocks are, retired', changes(retired(SITE))],
  ],
  recovered: [['no recovery', gone, inFull('008')]],
  armClosed: [
    ['blocks that are kept with other arms', data({ history: 'keep' })],
    ['no history', without('history')],
  ],
  ratio: [
    ['blocks that are kept with a ratio', data({ history: 'keep' })],
    ['another ratio', changes(ratio(3, 1, 1), arm.reopened(C)), inFull('009')],
  ],
  registered: [
    ['other sizes', sizes(1, 4), inFull('001')],
    ['sizes in another order', sizes(3, 2), inFull()],
    ['a size twice', sizes(2, 2), inFull()],
    ['nine sizes', sizes(1, 2, 3, 4, 5, 6, 7, 8, 9), inFull()],
    ['no sizes', sizes(), inFull()],
    ['a size of no places', sizes(0, 2), inFull()],
    ['a size of 101 places', sizes(2, 101), inFull()],
    ['no method', configured({ method: undefined })],
    ['another algorithm', algorithm({ name: 'complete-pcg64' })],
    ['an unknown algorithm', algorithm({ name: 'x' })],
    ['version 2 of the algorithm', algorithm({ version: 2 })],
    ['blocks over the whole study', method({ name: 'blocks', by: [] }), inFull('003')],
    ['blocks by another factor', method({ name: 'blocks', by: [SEX] }), inFull('002')],
    ['blocks by both', method({ name: 'blocks', by: [SEX, SITE] }), inFull('002')],
    ['blocks by both in another order', method({ name: 'blocks', by: [SITE, SEX] })],
    ['blocks by no factor of the study', method({ name: 'blocks', by: ['x'] })],
    ['blocks by one twice', method({ name: 'blocks', by: [SITE, SITE] })],
    ['blocks without by', method({ name: 'blocks' })],
    ['another method', method({ name: 'complete' })],
    ['a list', method({ name: 'list', by: [SITE] })],
    ['an unknown method', method({ name: 'coin', by: [] })],
    ['urns', method({ name: 'urn' })],
  ],
});

bundlesOf(COMPLETE).alterations('both verifiers of altered complete randomization', {
  n1: [
    ['a weight', weight, inFull()],
    ['a uniform number', uniform, inFull()],
    ['a block', picking({ block: { number: 1, perSlot: 1 } }), inFull()],
    ['counts', picking({ counts: [] }), inFull()],
    ['no pack', without('code')],
    ['another pack', data({ code: 'P-3' }), inFull()],
  ],
  n2: [['no open arm', onArm(C), withArms()]],
  n3: [['no slot', unpicked('slot'), inFull()]],
  armClosed: [['the history begun anew with a closed arm', data({ history: 'restart' }), 'ok']],
  ratio: [['the history kept with a ratio', data({ history: 'keep' })]],
  begun: [
    ['an import of the reference', data({ source: { format: 'reference', rows: 2 } })],
    ['with its generator', data({ generator: 'continued' })],
    ['with a known seed', data({ seedKnown: true })],
  ],
  registered: [
    ['sizes', withSizes],
    ['settings of urns', configured({ w: 1 })],
    ['a version of its algorithm', algorithm({ version: 2 })],
  ],
});

const parameters = (change: object) => sealed(({ minimization }) => Object.assign(minimization, change));
bundlesOf(MINIMIZED).alterations('both verifiers of altered minimization', {
  '001': [['a block', picking({ block: { number: 1, perSlot: 1 } }), inFull()]],
  '002': [['a weight', weight, inFull()]],
  '003': [['a score', picked((pick) => pick.scores[1]++), inFull()]],
  '004': [
    ['a count', picked((pick) => pick.counts[1][0]++), inFull()],
    ['no counts', unpicked('counts'), inFull()],
  ],
  reopened: [
    ['an arm that goes on', data({ history: 'keep' }), inFull('006')],
    ['an urn', changes(urn({ w: 2 }))],
  ],
  registered: [
    ['p', parameters({ pThousandths: 801 }), inFull('002')],
    ['a p that nobody can have', parameters({ pThousandths: 500 }), inFull()],
    ['the measure', parameters({ measure: 'variance' }), inFull('001')],
    ['weights', parameters({ weights: [2, 1] }), inFull('002')],
    ['weights with a divisor', parameters({ weights: [2, 4] }), inFull()],
    ['equal weights', parameters({ weights: [1, 1] }), inFull()],
    ['a weight too few', parameters({ weights: [3] }), inFull()],
    ['sizes, too', withSizes],
  ],
});

const lists = bundlesOf(LISTED);
const entered = (members: object) => sealed(({ entry }) => Object.assign(entry, members));
const swapped = (one: number, other: number) =>
  onList(({ entries }) => {
    [entries[one - 1], entries[other - 1]] = [entries[other - 1], entries[one - 1]];
  });
lists.alterations('both verifiers of an altered entry of a list', {
  '001': [
    ['the number of an entry', entered({ entry: 5 }), inFull()],
    ['an entry of another stratum', entered({ entry: 4 }), inFull()],
    ['a member besides', entered({ treatment: DUPAGE }), inFull()],
    ['the arm', onArm(C), inFull()],
    ['`pick` for `entry`', renamedSection('entry', 'pick')],
    ['both', renamedSection('entry', 'pick', true)],
  ],
  '004': [['two records of a stratum, swapped', moved, inFull('005')]],
  '005': [['the number of its list', entered({ list: 1 }), inFull()]],
  '006': [
    ['a closed arm', onArm(C), withArms()],
    ['one of them, gone', gone, inFull('007')],
  ],
  // Nothing else uses or frees an entry.
  F1: [['no forced entry', gone, 'recovered']],
  corrected: [['no correction', gone, 'recovered']],
});

lists.alterations('both verifiers of an altered list', {
  first: [
    ['an arm', listed(5, { treatment: DUPAGE }), inFull()],
    ['another arm', listed(5, { treatment: A }), inFull('003')],
    ['a level', listed(4, { levels: [COOK] }), inFull('002')],
    ['an unknown level', listed(7, { levels: ['x'] }), inFull()],
    ['two levels', listed(7, { levels: [COOK, COOK] }), inFull()],
    ['no levels', onList(({ entries }) => delete entries[6].levels), inFull()],
    ['two entries of a stratum, swapped', swapped(3, 5), inFull('001')],
    ['two entries of two strata, swapped', swapped(4, 5), inFull('002')],
    ['an entry fewer', shortened(6), inFull('second')],
    ['no entries', shortened(0)],
    ['the first row', onList((list) => Object.assign(list, { first: 2 })), inFull()],
    ['no digest', onList((list) => Object.assign(list, { file: 'a' })), inFull()],
    ['one entry more', data({ count: 8 }), inFull()],
    // Two are skipped, and one is left.
    ['too few entries', data({ count: 3 }), sooner('first', '002')],
    ['too many entries', data({ count: 4001 })],
    ['no approval', data({ approvals: [] })],
    ['a list by a key', by('nurse')],
  ],
  second: [
    ['the next row', onList((list) => list.first++), inFull()],
    ['another file', onList((list) => Object.assign(list, { file: 'a'.repeat(64) })), inFull()],
    ['its number', data({ list: 3 })],
    // What tells is how many records the recovery kept.
    ['no second list', gone, 'recovered'],
  ],
  third: [
    ['a closed arm', listed(3, { treatment: C }), inFull()],
    ['a level of now, in an earlier list', listed(3, { levels: ['x'] }), inFull()],
    ['its last entry', shortened(2), 'ok'],
    ['its last entries', shortened(1), '007'],
    ['the number before', data({ list: 1 })],
    ['a list that comes too late', moved, '006'],
  ],
});

const one = { levels: [DUPAGE], count: 1 };
const cook = (count: number) => ({ levels: [COOK], count });
lists.alterations('both verifiers of altered entries that are skipped', {
  skipped: [
    ['no skip', gone, '001'],
    ['somebody before it', moved, '001'],
    ['one entry more', skipping(cook(2), one), inFull('001')],
    ['nothing', skipping(), inFull('001')],
    ['one of the strata', skipping(one), inFull('001')],
    ['more than a stratum has', skipping(cook(5), one), sooner('skipped', '002')],
    ['more than all have', skipping(cook(7), one)],
    ['an unknown level', skipping({ levels: ['x'], count: 1 })],
    ['two levels', skipping({ levels: [COOK, COOK], count: 1 })],
    ['no levels', skipping({ count: 1 })],
    ['a stratum twice', skipping(one, one)],
    ['a count of none', skipping(cook(0))],
    ['a skip by a key', by('nurse')],
  ],
  none: [
    ['no skip behind a recovery', gone, '004'],
    ['somebody before it, behind a recovery', moved, '004'],
    ['something in place of nothing', skipping(one), 'ok'],
    ['something of those who come', skipping(cook(1)), inFull('004')],
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
    ['another algorithm', algorithm({ name: 'complete-pcg64' })],
    ['sizes', withSizes],
    ['lists over the whole study', method({ name: 'list', by: [] }), sooner('first', 'skipped')],
    ['lists by another factor', method({ name: 'list', by: [SEX] }), sooner('first', 'skipped')],
    ['lists by no factor of the study', method({ name: 'list', by: ['x'] })],
    ['lists without by', method({ name: 'list' })],
    ['another method', method({ name: 'blocks', by: [SITE] })],
  ],
});

bundlesOf(URN).alterations('both verifiers of an urn with what belongs to another method', {
  registered: [
    ['sizes', both(withSizes, version(4))],
    ['another algorithm', both(algorithm({ name: 'complete-pcg64' }), version(4))],
  ],
});
