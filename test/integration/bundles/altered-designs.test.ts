/**
 * Studies whose design was amended, altered: one with every kind of amendment but those of arms, one with those, and one with visits.
 * What test/vectors/life-histories.json has altered, both verifiers find in life-histories.test.ts, and it has no rows here.
 */
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import {
  type Alteration,
  both,
  bundlesOf,
  changed,
  changes,
  configured,
  data,
  inClear,
  inFull,
  issuedWith,
  type Json,
  moved,
  unchanged,
  version,
  without,
} from '../../support/altered-bundles.ts';
import { A, arm, C, COOK, renamedLevel, SITE, site, urn, visits } from '../../support/life.ts';
import {
  AMENDED,
  ARMS,
  CHANGES,
  CITY,
  D,
  limited,
  MAN,
  MCLEAN,
  VISIT_SETTINGS,
} from '../../support/lives/urns.ts';

const NAMES = CHANGES.names;
/** With another change of that kind or policy in `rules`, or without it. */
const rules = (name: string, ...instead: readonly object[]) =>
  changed(({ data: members }) => {
    members.changes = members.changes.flatMap((one: Json) =>
      (one.name ?? one.kind) === name ? instead : [one],
    );
  });
const pattern = (value: string) => ({ kind: 'id-pattern', value });
const amended = bundlesOf(AMENDED);

amended.alterations('both verifiers of altered amendments', {
  names: [['no approval in a test study', both(configured({ mode: 'test' }), data({ approvals: [] })), 'ok']],
  rules: [['a lower limit, reached by corrections', rules('limits', limited(7, 3, 1)), inClear('007-01')]],
  corrected: [
    ['a key limited to the new name of its level', issuedWith(2, ofSite(CITY)), 'ok'],
    ['a key limited to a level of another factor', issuedWith(2, ofSite(MAN))],
  ],
});

function ofSite(level: string) {
  return { where: [{ factor: SITE, levels: [level] }] };
}

/** Amendments that the design before them does not allow, with the history that their changes need. */
const impossible = (...list: readonly (readonly [string, ...object[]])[]): Alteration[] =>
  list.map(([name, ...instead]) => {
    const touched = instead.some((one) => 'level' in one);
    return [
      name,
      both(changes(...instead), touched ? data({ history: 'keep' }) : without('history')),
      inClear(),
    ];
  });
/** In a study whose sites are not blinded. */
const DEFAULTS = {
  ...{ stopAtLimit: false, levelCounts: 'as-randomized', voidCounts: 'kept', forcedCounts: 'counted' },
};

amended.alterations('both verifiers of an amendment that the design before it does not allow', {
  sites: impossible(['a member of another change', { ...site.added(MCLEAN), alias: true }]),
  names: impossible(
    [
      'the only level that is still open, closed',
      ...[site.closed(COOK), renamedLevel(SITE, MCLEAN, 'x'), site.closed('x')],
    ],
    ['the pattern that is in force', pattern('[0-9]{3}')],
    ['the blinding that is in force', { kind: 'blinding', value: 'open' }],
    ...Object.entries(DEFAULTS).map(
      ([name, value]) => [`the default of ${name}`, { kind: 'policy', name, value }] as const,
    ),
    ['the value of another policy', { kind: 'policy', name: 'voidCounts', value: 'as-corrected' }],
    ['a policy without a value', { kind: 'policy', name: 'stopAtLimit' }],
    ['an alias that is false', { ...NAMES[0], alias: false }],
  ),
});

// The verifier in Python does not read patterns, which are ECMAScript expressions.
describe('this software compares ids with the pattern in force:', () => {
  const { judge } = amended;
  it.each([
    ['the new one', 'rules', unchanged, 'ok'],
    ['an id off the new one', '006-01', data({ participantId: '006' }), '006-01'],
    ['another new one', 'rules', rules('id-pattern', pattern('[0-9]{4}')), '006-01'],
    ['no pattern any more', 'rules', rules('id-pattern', { kind: 'id-pattern' }), 'ok'],
    ['none that is new', 'rules', rules('id-pattern'), '006-01'],
    ['one that other engines read differently', 'rules', rules('id-pattern', pattern('.*')), 'rules'],
    ['a new one after the next participant', 'rules', moved, '006-01'],
  ] as const)('%s', async (_, name, change, expected) => {
    expect((await judge('blinded', change, { name })).found).toBe(expected);
  });
});

const closedArms = (to: 1 | 2) =>
  both(
    version(to),
    changed((_, { codes }) => {
      if (to === 2) codes.closedArms = true;
      else delete codes.closedArms;
    }),
  );
const stopped: DesignChange = arm.stopped(C);
bundlesOf(VISIT_SETTINGS).alterations('both verifiers of a study with visits', {
  registered: [
    ['a visit twice', configured({ visits: ['V2', 'v2'] })],
    ['a visit that is an arm', configured({ visits: ['V2', C.toLowerCase()] })],
  ],
  visits: [
    ['the name of an arm', changes(visits('V2', `no ${A}`))],
    ['what is so already', changes(visits('V2', 'Week 12'))],
    ['a history', data({ history: 'keep' })],
    ['an arm whose name is in a visit', changes(arm.added('Week'))],
  ],
  closed: [
    [
      'packs of an arm that is stopped',
      both(version(2), changes(arm.closed(C), stopped)),
      // It cannot be stopped again.
      { full: 'ofClosed', open: 'stopped', blinded: 'stopped' },
    ],
  ],
  ofClosed: [['packs of a closed arm, and nothing that says so', closedArms(1), inFull()]],
  ofOpen: [['packs of open arms that are said to be of closed ones', closedArms(2), inFull()]],
  stopped: [
    ['no change of visits', changes(stopped), 'ok'],
    ['an arm that is not closed', changes(arm.stopped(A))],
    ['an arm that is stopped twice', changes(stopped, stopped)],
  ],
});

/** A ratio, and the version of the algorithm that goes with it. */
const registered = (of: readonly number[] | undefined, algorithm: number) =>
  both(
    configured({ ratio: of }),
    changed(({ data: members }) => {
      members.algorithm.version = algorithm;
    }),
  );
/** Numbers of balls or slots that nobody can have. */
const numbers = (change: object) => both(changes(change), data({ history: 'keep' }));

bundlesOf(ARMS).alterations('both verifiers of altered numbers of balls or slots', {
  registered: [
    ['another ratio', registered([1, 2, 1], 2), { full: '001', open: 'F1', blinded: 'ok' }],
    ['ones', registered([1, 1, 1], 1)],
    ['a common divisor', registered([2, 2, 4], 2)],
    ['21 slots of one arm', registered([21, 1, 1], 2)],
    ['version 1 of the algorithm', registered([2, 1, 1], 1)],
    ['version 2 without a ratio', registered(undefined, 2)],
  ],
  closed: [
    ['an urn without balls', numbers(urn({ w: 0 })), inClear()],
    ['too many balls', numbers(urn({ w: 1_000_001 })), inClear()],
  ],
  kept: [['an arm with one slot, said', numbers(arm.added(D, { ratio: 1 })), inClear()]],
});
