/** Studies whose design was amended, altered: one with every kind of amendment but those of arms, one with those, and one with visits. */
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import {
  type Alteration,
  asked,
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
  issuedWith,
  type Json,
  moved,
  onArm,
  sealed,
  unchanged,
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
  DUPAGE,
  FEMALE,
  MALE,
  ratio,
  renamedLevel,
  retired,
  SEX,
  SITE,
  site,
  urn,
  visits,
} from '../../support/life.ts';
import {
  AMENDED,
  ARMS,
  CHANGES,
  CITY,
  D,
  E,
  limited,
  MAN,
  MCLEAN,
  URN,
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
const levels = (...names: string[]) =>
  changed((record) => {
    for (const [i, name] of names.entries()) record.data.levels[i].level = name;
  });
const pattern = (value: string) => ({ kind: 'id-pattern', value });
const amended = bundlesOf(AMENDED);

amended.alterations('both verifiers of altered amendments', {
  sites: [
    ['another level that is added', changes(site.added('x'), site.closed(DUPAGE)), '004'],
    ['another level that is closed', changes(site.added(MCLEAN), site.closed(COOK)), '005'],
    ['no level that is closed', changes(site.added(MCLEAN)), inClear('again')],
    ['no amendment', gone, '004'],
    ['an amendment after the next draw', moved, '004'],
    ['a person', by('somebody'), 'ok'],
  ],
  names: [
    ['another number', data({ amendment: 3 })],
    ['another reason', data({ reason: 'another' }), 'ok'],
    ['another new name', changes(renamedLevel(SITE, COOK, 'x'), NAMES[1]), '005'],
    ['an old name that is not an alias', changes(renamedLevel(SITE, COOK, CITY), NAMES[1]), 'ok'],
    ['nobody’s approval', data({ approvals: [] })],
    ['no approval in a test study', both(configured({ mode: 'test' }), data({ approvals: [] })), 'ok'],
  ],
  rules: [
    ['a lower limit', rules('limits', limited(6, 3, 2)), '008-01'],
    ['a lower limit of a renamed level', rules('limits', limited(7, 2, 2)), inClear('008-01')],
    ['a lower limit, reached by corrections', rules('limits', limited(7, 3, 1)), inClear('007-01')],
    ['the registered limits, under the new name', rules('limits'), '008-01'],
    ['no more limits', rules('limits', { kind: 'limits' }), inClear('ok')],
    ['limits that stop nobody', both(rules('stopAtLimit'), rules('limits', limited(1, 1, 1))), inClear('ok')],
    ['another policy of corrections', rules('levelCounts'), 'source'],
    ['another policy of voids', rules('voidCounts'), 'voided'],
    [
      'another policy of voids, and those counts',
      both(rules('voidCounts'), at('voided', data({ counts: 'kept' }))),
      inFull('007-01'),
    ],
    ['a history that nothing changes', data({ history: 'keep' })],
  ],
  again: [
    ['no level that is reopened', changes(renamedLevel(SEX, MAN, MALE)), '007-01'],
    ['no way back to the old name', changes(site.reopened(DUPAGE)), '007-01'],
    ['the Idempotency-Key of another', asked('amendment-1'), inFull()],
  ],
  closed: [['an amendment before the closing', moved, 'ok']],
  '006-01': [
    ['a participant of a closed level', levels(FEMALE, DUPAGE)],
    ['a participant beyond a limit that was reached', levels(FEMALE, CITY)],
  ],
  '005': [
    ['a participant under an alias', levels(MAN, COOK)],
    ['a participant under an old name', levels(MALE, CITY)],
  ],
  corrected: [
    ['a correction under an old name', changes(change(SEX, MALE, FEMALE))],
    ['a key limited to the new name of its level', issuedWith(2, ofSite(CITY)), 'ok'],
    ['a key limited to another level', issuedWith(2, ofSite(MCLEAN))],
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
/** Of sites, each the limit that one of them was registered with. */
const limits = (...names: readonly string[]) => ({
  ...{ kind: 'limits', value: { levels: names.map((level) => ({ factor: SITE, level, max: 2 })) } },
});
/** In a study whose sites are not blinded. */
const DEFAULTS = {
  ...{ stopAtLimit: false, levelCounts: 'as-randomized', voidCounts: 'kept', forcedCounts: 'counted' },
};

amended.alterations('both verifiers of an amendment that the design before it does not allow', {
  sites: impossible(
    ['a level of no factor', { ...site.added(MCLEAN), factor: 'x' }],
    ['a level that is there, added', site.added(COOK)],
    ['no level, closed', site.closed(MCLEAN)],
    ['the only open level, closed', site.closed(COOK), site.closed(DUPAGE)],
    ['a level that is open, reopened', site.reopened(COOK)],
    ['a level renamed to its own name', renamedLevel(SITE, COOK, COOK)],
    ['a level renamed to that of another', renamedLevel(SITE, COOK, DUPAGE)],
    [
      'a level renamed to what another was called a moment ago',
      ...[renamedLevel(SEX, MALE, MAN), renamedLevel(SEX, FEMALE, MALE)],
    ],
    ['no level, renamed', renamedLevel(SITE, 'x', MCLEAN)],
    ['a limit of no level', limits(CITY)],
    ['the limits that are in force', limits(COOK)],
    ['a member of another change', { ...site.added(MCLEAN), alias: true }],
  ),
  names: impossible(
    ['nothing'],
    [
      'the only level that is still open, closed',
      ...[site.closed(COOK), renamedLevel(SITE, MCLEAN, 'x'), site.closed('x')],
    ],
    ['limits without a limit', { kind: 'limits', value: {} }],
    ['the limits that are in force under a new name', NAMES[0], limits(CITY)],
    ['no limits where there are none', { kind: 'limits' }, { kind: 'limits' }],
    ['the pattern that is in force', pattern('[0-9]{3}')],
    ['no target where there is none', { kind: 'target' }],
    ['the blinding that is in force', { kind: 'blinding', value: 'open' }],
    ...Object.entries(DEFAULTS).map(
      ([name, value]) => [`the default of ${name}`, { kind: 'policy', name, value }] as const,
    ),
    ['the value of another policy', { kind: 'policy', name: 'voidCounts', value: 'as-corrected' }],
    ['a policy without a value', { kind: 'policy', name: 'stopAtLimit' }],
    ['a change of its own', arm.closed(A)],
    ['an alias that is false', { ...NAMES[0], alias: false }],
  ),
  again: impossible(
    ['a level under a former name, added', site.added(COOK)],
    ['a level under an old name, closed', site.closed(COOK)],
  ),
  rules: impossible(['a limit of what a level was called', limits(COOK)]),
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
const recorded = (...of: readonly (readonly [factor: string, level: string])[]) =>
  data({ levels: of.map(([factor, level]) => ({ factor, level })) });
const asOf = (name: string) => data((bundle) => ({ occurredAt: bundle.record(name).at }));
const arms = bundlesOf(ARMS);

arms.alterations('both verifiers of altered amendments of arms', {
  closed: [
    ['no arm is closed', gone, { full: '005', open: 'reopened', blinded: 'reopened' }],
    ['a closing after the next draw', moved, inFull('005')],
  ],
  reopened: [['no urn is changed', changes(arm.reopened(C)), inFull('007')]],
  kept: [['the history is not kept', data({ history: 'restart' }), inFull('008')]],
  restarted: [
    ['the history is kept', data({ history: 'keep' }), inFull('009')],
    ['one slot for an arm', changes(arm.added(E)), inFull('009')],
    ['a new arm after its first participant', moved, withArms('009')],
  ],
  ratio: [
    ['the history is kept with new slots', data({ history: 'keep' })],
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
  '014': [['a level of the retired factor is recorded', recorded([SEX, MALE], [SITE, COOK])]],
  '013': [['no level of it before', recorded([SEX, FEMALE])]],
  corrected: [
    ['a level of it is corrected', changes(change(SITE, COOK, COOK))],
    ['somebody of this epoch is not corrected', gone, inFull('015')],
  ],
  early: [['somebody of an earlier epoch is not corrected', gone, 'ok']],
  '015': [['by a key of a retired factor', by('local')]],
});

arms.alterations('both verifiers of another slot or arm', {
  '001': [
    ['another slot of the arm, drawn', inSlot(7, 'draw'), inFull()],
    ['no slot, drawn', noSlot('draw'), inFull()],
  ],
  '016': [['a slot without a ratio, drawn', inSlot(0, 'draw'), inFull()]],
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

const impossibleOfArms = (...list: readonly (readonly [string, ...object[]])[]): Alteration[] =>
  list.map(([name, ...instead]) => {
    const history = instead.some((one) => 'kind' in one && one.kind === 'ratio') ? 'restart' : 'keep';
    return [name, both(changes(...instead), data({ history })), inClear()];
  });
arms.alterations('both verifiers of an amendment of arms that the design before it does not allow', {
  closed: impossibleOfArms(
    ['no arm, closed', arm.closed('x')],
    ['all but one arm, closed', arm.closed(C), arm.closed(B)],
    ['an open arm, reopened', arm.reopened(C)],
    ['an urn of nothing', urn({})],
    ['an urn that is in force', urn({ w: 1, beta: 2 })],
    ['an urn without balls', urn({ w: 0 })],
    ['too many balls', urn({ w: 1_000_001 })],
    ['the ratio that is in force', ratio(2, 1, 1)],
    ['no factor, retired', retired('x')],
    ['a target, with a history', { kind: 'target', value: 5 }],
  ),
  kept: impossibleOfArms(
    ['an arm with the name of another', arm.added(A)],
    ['an arm with one slot, said', arm.added(D, { ratio: 1 })],
    ['an arm with too many slots', arm.added(D, { ratio: 20 }), arm.added(E, { ratio: 17 })],
  ),
  retired: impossibleOfArms(['an arm with the name of a closed one', arm.added(B)]),
  equal: impossibleOfArms(
    ['a factor retired twice', retired(SITE)],
    ['the last factor, retired', retired(SEX)],
    ['a level of a retired factor', site.closed(COOK)],
  ),
});
