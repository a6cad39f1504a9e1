/** Studies with an imported history, altered. */
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import {
  at,
  both,
  bundlesOf,
  type Change,
  changed,
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
import { CONFIGURATION } from '../../support/facts.ts';
import { ATTEMPT, FOREIGN, IMPORTED } from '../../support/lives/imported.ts';

const instant = (datetime: string, row?: number) =>
  changed(({ data: members }) => {
    Object.assign(members.original, { datetime });
    if (row !== undefined) members.row = row;
  });
const level = (name: string) => changed((record) => Object.assign(record.data.levels[0], { level: name }));
const onDrawnArm = sealed(({ allocation }) => {
  const { treatments } = CONFIGURATION;
  // The override in the log gives the next arm.
  const treatment = treatments.at(treatments.indexOf(allocation.treatment) - 1);
  Object.assign(allocation, { treatment });
});
/** The row says that it was not drawn again. */
const disowned = (cause: string) =>
  both(
    changed((record, sections) => {
      Object.assign(record.data, { redrawn: false, cause });
      record.seals.state = '';
      sections.state = { bgState: sections.draw.bgStateAfter, salt: 'ab'.repeat(16) };
    }),
    drop('draw'),
  );
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
const { alterations } = bundlesOf(IMPORTED);

alterations('both verifiers of an altered beginning of an import', {
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
    ['no end', gone, 'n1'],
    ['an end after the next allocation', moved, 'n1'],
  ],
});

alterations('both verifiers of altered rows', {
  i2: [
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
      both(instant('2026-01-01 00:00:08.000001', 10), at('last', data({ row: 9 }))),
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
});

alterations('both verifiers of what may not happen during an import', {
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
