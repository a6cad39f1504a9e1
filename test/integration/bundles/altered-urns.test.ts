/**
 * Altered studies that draw from urns: one that was paused by a key, closed and reopened, and whose codes were broken; one with
 * every kind of correction; one with allocations made outside the service; and three whose design was amended: with every kind of
 * amendment but those of arms, with those, and with visits. What test/vectors/life-histories.json has altered, both verifiers find
 * in life-histories.test.ts, and it has no rows here.
 */
import { describe, expect, it } from 'vitest';
import {
  type Altering,
  about,
  algorithm,
  asked,
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
  hasPython,
  inClear,
  inFull,
  issuedWith,
  type Json,
  moved,
  noted,
  onAnotherArm,
  sealed,
  warningLines,
  without,
} from '../../support/altered-bundles.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { A, arm, C, COOK, renamedLevel, SITE, site, urn, visits } from '../../support/life.ts';
import {
  AMENDED,
  ARMS,
  CHANGES,
  CITY,
  CORRECTED,
  D,
  FORCED,
  limited,
  MAN,
  MCLEAN,
  TO_COOK,
  TO_DUPAGE,
  TO_MALE,
  VISIT_SETTINGS,
  WHOLE,
} from '../../support/lives/urns.ts';

const approvedOn = (on: string) => data({ approvals: [{ name: 'A', role: 'sponsor', on }] });
const recordedAt = (at: string) => changed((record) => Object.assign(record, { at }));
const later = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();
/** Says that something happened so long after a record was written. */
const shown = (name: string, ms: number) =>
  data((bundle: Altering) => ({ shownAt: later(bundle.record(name).at, ms) }));
const request = (idempotencyKey: string) =>
  sealed((sections) => Object.assign(sections.request, { idempotencyKey }));
const unrequested = drop('request');
const reason = (text: string) => sealed(({ grounds }) => Object.assign(grounds, { reason: text }));
const { alterations, judge } = bundlesOf(WHOLE);

/** Of a level, by the places of factor and level in the configuration. */
const limit = (factor: number, level: number, max: number) => {
  const { name, levels } = CONFIGURATION.factors[factor] ?? { name: '', levels: [] };
  return { factor: name, level: levels[level], max };
};
const STOPPING = { stopAtLimit: true };
const limits = (...levels: object[]) => configured({ limits: { levels } });

/** Recorded an hour later than the arm was shown. */
const anHourLate = changed((record) => Object.assign(record, { at: later(record.at, 3_600_000) }));
/** The key of `desk` expires so long after the code-break was recorded as it was. */
const expiring = (ms: number) => (bundle: Altering, name: string) =>
  issuedWith(2, { expiresAt: later(bundle.record(name).at, ms) })(bundle, name);
const lateBy = (...instead: readonly Change[]) => both(expiring(60_000), ...instead, anHourLate);

const granted = (place: number, ...scopes: string[]) => issuedWith(place, { scopes });
alterations('both verifiers of an altered study that was closed and reopened', {
  paused: [
    ['no pause', gone, 'resumed'],
    ['a pause by a key without a request', unrequested, 'ok'],
  ],
  '002': [['a pause before the participant', moved]],
  resumed: [
    ['an end of the pause by nobody', gone, '003'],
    ['a participant in the pause', moved, '003'],
  ],
  closed: [
    ['an empty list of approvals', data({ approvals: [] })],
    ['February 30th', approvedOn('2024-02-30')],
    ['a day before it begins', both(recordedAt('2099-12-31T09:59:59.999Z'), approvedOn('2100-01-01'))],
    ['a day that begins', both(recordedAt('2099-12-31T10:00:00.000Z'), approvedOn('2100-01-01')), 'ok'],
    ['a day too late', both(recordedAt('2099-12-31T10:00:00.000Z'), approvedOn('2100-01-02'))],
    ['no closing', gone, 'reopened'],
    ['the Idempotency-Key of the pause', request('pause-1'), inFull()],
    ['that of another user', request('er-1'), 'ok'],
  ],
  '003': [['a closing before a participant', moved]],
  reopened: [
    ['nobody’s approval in a test study', both(configured({ mode: 'test' }), data({ approvals: [] })), 'ok'],
    ['no reopening', gone, '004'],
  ],
  // Another registration.
  registered: [
    ['blinded sites', configured({ blinding: 'blinded' }), 'ok'],
    ['the default of blinding', configured({ blinding: 'open' })],
    ['a paused beginning', configured({ start: 'paused' }), '001'],
    ['a protocol of an impossible day', configured({ protocol: { version: '2', date: '2027-02-29' } })],
    ['no policy', configured({ policies: {} })],
    ['a default policy', configured({ policies: { levelCounts: 'as-randomized' } })],
    [
      'a policy that is the default of blinded sites',
      configured({ blinding: 'blinded', policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } }),
    ],
    ['no limit', configured({ limits: {} })],
    ['a limit of none', configured({ limits: { total: 0 } })],
    ['a limit that is reached', configured({ limits: { total: 4 }, policies: STOPPING }), 'ok'],
    ['a limit that is exceeded', configured({ limits: { total: 3 }, policies: STOPPING }), '004'],
    [
      'the limit of a level, reached',
      configured({ limits: { levels: [limit(1, 0, 2), limit(1, 1, 2)] }, policies: STOPPING }),
      'ok',
    ],
    [
      'the limit of a level, exceeded',
      configured({ limits: { total: 9, levels: [limit(0, 1, 1), limit(1, 0, 1)] }, policies: STOPPING }),
      '003',
    ],
    ['limits in another order', limits(limit(1, 1, 9), limit(1, 0, 9))],
    ['a limit twice', limits(limit(1, 1, 9), limit(1, 1, 9))],
    ['a limit of no factor', limits({ ...limit(1, 1, 9), factor: 'x' })],
    ['a key that may manage', granted(1, 'read', 'manage'), inClear('ok')],
    ['a key that may read', granted(1, 'read'), inClear('paused')],
    ['a key that may audit and manage', granted(1, 'audit', 'manage'), inClear('access/1')],
    ['a key that may randomize and manage', granted(1, 'randomize', 'manage'), inClear('access/1')],
    [
      'a key that may do both, knowingly',
      issuedWith(1, { scopes: ['randomize', 'manage'], allowPrediction: true }),
      inClear('ok'),
    ],
    ['a key that may manage and correct', granted(1, 'manage', 'correct'), inClear('ok')],
    ['a key that may manage, limited to levels', granted(2, 'unblind', 'manage'), inClear('access/2')],
  ],
  // Code-breaks.
  emergency: [
    ['another revision', data({ randomizedAt: WHOLE.at['002'] })],
    ['a participant outside the key’s limits', about('002')],
    // A report says that it was a mistake.
    ['no code-break', gone, 'mistake'],
    ['grounds of 2,000 characters', reason('😀'.repeat(1999).concat('\n')), 'ok'],
    ['grounds of 2,001 characters', reason('😀'.repeat(2001)), inFull()],
  ],
  late: [
    ['no time at which it was shown', without('shownAt'), 'ok'],
    ['a planned code-break that was shown before', data({ category: 'planned' })],
    ['shown just before', shown('late', 1000), 'ok'],
    ['shown after it was recorded', shown('late', 1001)],
    ['shown just before the randomization, as clocks differ', shown('003', -1000), 'ok'],
    ['shown before the randomization', shown('003', -1001)],
    ['the UUID of an earlier one', data((bundle) => ({ reveal: bundle.record('emergency').data.reveal }))],
    ['with a key that expired after it was shown', lateBy(), 'ok'],
    ['with a key that expired before it was recorded', lateBy(without('shownAt'))],
    ['with a key that expired before it was shown', lateBy(shown('late', 75_001))],
  ],
  // Reports of unblinding.
  mistake: [
    ['of somebody else’s code-break', data({ revealedAt: WHOLE.at.late })],
    ['in the future', data((bundle) => ({ occurredAt: later(bundle.record('mistake').at, 1001) }))],
  ],
  envelope: [['a participant outside the key’s limits', about('002')]],
});

describe.skipIf(!hasPython)('both verifiers', () => {
  it.each<[string, (sections: Json) => void]>([
    ['who asked', ({ grounds }) => Object.assign(grounds, { requestedBy: 'x'.repeat(2001) })],
    ['who asked, with a line feed', ({ grounds }) => Object.assign(grounds, { requestedBy: 'Dr.\nK.' })],
    ['an Idempotency-Key', (all) => Object.assign(all.request, { idempotencyKey: 'er\u0085' })],
  ])('warn of a sealed text that no request may have: %s', async (_, change) => {
    const name = 'emergency';
    const { found, report, stdout } = await judge('full', sealed(change), { name, isShown: true });
    expect(found).toBe('ok');
    expect(stdout).toMatch(/^WARNING {2}study-\S+, revision 4: a sealed text has control characters/m);
    expect(report.streams.at(-1)?.warnings).toContainEqual(
      expect.objectContaining({ code: 'text-refused-by-http', count: 1, revision: WHOLE.at.emergency }),
    );
  });

  it.each(['paused', 'closed'] as const)('show the state in which it ends: %s', async (state) => {
    const cut = (bundle: Altering) => bundle.move((all) => all.slice(0, WHOLE.at[state] + 1));
    const { report, stdout } = await judge('blinded', cut, { isShown: true });
    expect(stdout).toContain(`The study is ${state}`);
    expect(report.streams.at(-1)?.life?.state).toBe(state);
  });
});

const corrected = bundlesOf(CORRECTED);
const levels = (...changes: object[]) => data({ changes });

const limitedTo = (level: string) => issuedWith(3, { where: [{ factor: SITE, levels: [level] }] });
/** An unblinding that somebody reported in place of breaking the code. */
const reported = changed((record) => {
  const { participantId, randomizedAt } = record.data;
  const occurred = { how: 'label', occurredAt: record.at, participantId, randomizedAt };
  Object.assign(record, { type: 'UnblindingReported', data: occurred });
});
corrected.alterations('both verifiers of altered corrections', {
  // Levels.
  levels: [
    ['the other counts', data({ counts: 'as-randomized' })],
    ['another revision', data({ randomizedAt: CORRECTED.at['001'] })],
    ['no correction', gone, inFull('005')],
    ['a note with an escape', noted('a\u001b'), inFull()],
    ['a note of 2,000 characters', noted('😀'.repeat(1999).concat('\t')), 'ok'],
    ['a note of 2,001 characters', noted('😀'.repeat(2001)), inFull()],
    ['levels of somebody outside the limits of the key', about('003')],
  ],
  '002': [['another arm', onAnotherArm, inFull()]],
  source: [
    ['changes in another order', levels(TO_COOK, TO_MALE)],
    ['levels from outside the limits of the key', by('site')],
  ],
  transfer: [
    ['levels to outside the limits of the key', data({ cause: 'entry', counts: 'as-corrected' })],
    ['a transfer from outside', both(about('003'), levels(TO_COOK)), '008'],
    ['a transfer that does not concern them', both(about('003'), levels(TO_MALE))],
  ],
  // Voids and reinstatements.
  duplicate: [
    ['no void', gone, 'reinstated'],
    ['the Idempotency-Key of a later request', asked('ic-1'), inFull('renamed')],
    ['that of another user', asked('lc-2'), 'ok'],
    ['a void of somebody within the limits of the key', by('site'), 'ok'],
  ],
  ineligible: [['a void of somebody who left the limits of the key', by('site')]],
  reinstated: [
    ['another voidedAt', data({ voidedAt: CORRECTED.at.chained })],
    ['a reinstatement after the next draw', moved, inFull('007')],
  ],
  // Ids.
  renamed: [
    ['no correction', gone, 'again'],
    ['an id of somebody outside them', both(by('site'), about('003'), data({ from: '003' }))],
  ],
  again: [
    ['a space at the end', data({ to: '051 ' })],
    ['a control character', data({ to: '0\u00851' })],
    ['129 characters', data({ to: '😀'.repeat(129) })],
  ],
  '008': [['a former id for somebody new', data({ participantId: '050' })]],
  // A code-break.
  revealed: [
    ['by a key limited to where they were', both(about('001'), limitedTo(TO_COOK.to)), 'ok'],
    ['by a key limited to where they are', both(about('001'), limitedTo(TO_DUPAGE.to)), 'ok'],
    ['by a key limited to where they never were', both(about('002'), limitedTo(TO_DUPAGE.to))],
    ['reported, by a key that may correct', both(reported, by('clerk')), 'ok'],
    ['reported, by a key that may unblind', both(reported, by('desk')), 'ok'],
  ],
  // Another registration.
  registered: [
    ['as randomized', configured({ policies: { stopAtLimit: true, voidCounts: 'removed' } }), 'levels'],
    [
      'as corrected by default',
      configured({ blinding: 'blinded', policies: { stopAtLimit: true, voidCounts: 'removed' } }),
      'ok',
    ],
    [
      'with voids kept',
      configured({ policies: { stopAtLimit: true, levelCounts: 'as-corrected' } }),
      'duplicate',
    ],
    ['with one place less', configured({ limits: { total: 6 } }), '008'],
  ],
});

it.skipIf(!hasPython).each<[string, string, string, number | undefined]>([
  ['that of another participant', '００4', '051', CORRECTED.at.renamed],
  ['that of somebody randomized later', '０0７', '051', CORRECTED.at['007']],
  ['the one that it corrects', '00５', '051', undefined],
  ['one that another participant had', '0\u200d50', '００４', CORRECTED.at.again],
  ['nobody’s', '０５0', '051', undefined],
])('both verifiers warn of a corrected id that looks like %s', async (_, first, second, expected) => {
  const altering = both(at('renamed', data({ to: first })), at('again', data({ from: first, to: second })));
  const { report, stdout = '', found } = await corrected.judge('blinded', altering, { isShown: true });
  expect(found).toBe('ok');
  const warned = report.streams.at(-1)?.warnings.find(({ code }) => code === 'look-alike-ids');
  expect(warned?.revision).toBe(expected);
  // In the same words.
  expect(stdout.split('\n').filter((line) => line.startsWith('WARNING'))).toEqual(warningLines(report));
});

const DAY_MS = 24 * 3600 * 1000;
/** Says that it happened this long after another event was written. */
const occurred = (after: string, ms: number) =>
  data((bundle) => ({ occurredAt: later(bundle.record(after).at, ms) }));
const entries = bundlesOf(FORCED);

/** The key of `desk`. */
const scopes = (granted: string, members: object = {}) =>
  issuedWith(1, { scopes: ['force', granted], ...members });
const knowingly = { allowPrediction: true };
// Whatever else cannot be of an entry is in test/vectors/life-histories.json.
entries.alterations('both verifiers of altered entries', {
  F1: [
    ['a moment later than the event', occurred('F1', 1000), 'ok'],
    ['later than that', occurred('F1', 1001)],
    ['when the study was registered', occurred('registered', 0), 'ok'],
  ],
  F5: [
    ['just before the closing', occurred('closed', -1), 'ok'],
    ['at the closing', occurred('closed', 0)],
  ],
  registered: [
    ['a key of force and blinded', scopes('blinded'), inClear('access/1')],
    ['a key of force and audit', scopes('audit', { where: undefined }), inClear('access/1')],
    [
      'a key of force and audit, knowingly',
      scopes('audit', { where: undefined, ...knowingly }),
      inClear('ok'),
    ],
    ['a key of force and randomize', scopes('randomize'), inClear('access/1')],
    ['a key of force and randomize, knowingly', scopes('randomize', knowingly), inClear('ok')],
    ['a key of force and correct', scopes('correct'), inClear('ok')],
  ],
});

it.skipIf(!hasPython)(
  'both verifiers warn of what was entered more than seven days after it was made',
  async () => {
    const early: Change = at(
      'registered',
      changed((record) => Object.assign(record, { at: later(record.at, -8 * DAY_MS) })),
    );
    const late = async (ms: number) => {
      const altering = both(early, at('F1', occurred('F1', -ms)));
      const { found, report, stdout } = await entries.judge('blinded', altering, { isShown: true });
      expect(found).toBe('ok');
      const [entered, ...others] = warningLines(report).filter((line) => line.includes('seven days'));
      expect(others).toEqual([]);
      expect(stdout?.split('\n').find((line) => line.includes('seven days'))).toBe(entered);
      return report.streams.at(-1)?.warnings.filter((warning) => warning.code === 'entered-late');
    };
    expect(await late(7 * DAY_MS)).toEqual([]);
    expect(await late(7 * DAY_MS + 1)).toMatchObject([{ count: 1, revision: FORCED.at.F1 }]);
  },
);

// Designs that were amended.

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

const setting = (change: object) => both(changes(change), without('history'));
/** In a study whose sites are not blinded. */
const DEFAULTS = {
  ...{ stopAtLimit: false, levelCounts: 'as-randomized', voidCounts: 'kept', forcedCounts: 'counted' },
};
const ofSite = (level: string) => ({ where: [{ factor: SITE, levels: [level] }] });

amended.alterations('both verifiers of altered amendments', {
  sites: [['a member of another change', changes({ ...site.added(MCLEAN), alias: true })]],
  names: [
    ['no approval in a test study', both(configured({ mode: 'test' }), data({ approvals: [] })), 'ok'],
    [
      'the only level that is still open, closed',
      changes(site.closed(COOK), renamedLevel(SITE, MCLEAN, 'x'), site.closed('x')),
    ],
    ['an alias that is false', changes({ ...NAMES[0], alias: false })],
    ['the pattern that is in force', setting(pattern('[0-9]{3}'))],
    ['the blinding that is in force', setting({ kind: 'blinding', value: 'open' })],
    ...Object.entries(DEFAULTS).map(
      ([name, value]) => [`the default of ${name}`, setting({ kind: 'policy', name, value })] as const,
    ),
    ['the value of another policy', setting({ kind: 'policy', name: 'voidCounts', value: 'as-corrected' })],
    ['a policy without a value', setting({ kind: 'policy', name: 'stopAtLimit' })],
  ],
  rules: [['a lower limit, reached by corrections', rules('limits', limited(7, 3, 1)), inClear('007-01')]],
  corrected: [
    ['a key limited to the new name of its level', issuedWith(2, ofSite(CITY)), 'ok'],
    ['a key limited to a level of another factor', issuedWith(2, ofSite(MAN))],
  ],
});

// The verifier in Python does not read patterns, which are ECMAScript expressions. More: test/unit/verify/verify.test.ts.
it.each([
  ['none any more', rules('id-pattern', { kind: 'id-pattern' }), 'ok'],
  ['none that is new', rules('id-pattern'), '006-01'],
  ['one that other engines read differently', rules('id-pattern', pattern('.*')), 'rules'],
])('this software compares ids with the pattern in force: %s', async (_, change, expected) => {
  expect((await amended.judge('blinded', change, { name: 'rules' })).found).toBe(expected);
});

const closedArms = (isSaid: boolean) =>
  changed((_, { codes }) => {
    if (isSaid) codes.closedArms = true;
    else delete codes.closedArms;
  });
const stopped = arm.stopped(C);
bundlesOf(VISIT_SETTINGS).alterations('both verifiers of a study with visits', {
  registered: [
    ['a list of no visits', configured({ visits: [] })],
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
      changes(arm.closed(C), stopped),
      // It cannot be stopped again.
      { full: 'ofClosed', open: 'stopped', blinded: 'stopped' },
    ],
  ],
  ofClosed: [['packs of a closed arm, and nothing that says so', closedArms(false), inFull()]],
  ofOpen: [['packs of open arms that are said to be of closed ones', closedArms(true), inFull()]],
  stopped: [
    ['no change of visits', changes(stopped), 'ok'],
    ['an arm that is not closed', changes(arm.stopped(A))],
    ['an arm that is stopped twice', changes(stopped, stopped)],
  ],
});

/** A ratio, and the version of the algorithm that goes with it. */
const withRatio = (of: readonly number[] | undefined, to: number) =>
  both(configured({ ratio: of }), algorithm({ version: to }));
bundlesOf(ARMS).alterations('both verifiers of altered numbers of balls or slots', {
  registered: [
    ['another ratio', withRatio([1, 2, 1], 2), { full: '001', open: 'F1', blinded: 'ok' }],
    ['ones', withRatio([1, 1, 1], 1)],
    ['a common divisor', withRatio([2, 2, 4], 2)],
    ['21 slots of one arm', withRatio([21, 1, 1], 2)],
    ['version 1 of the algorithm', withRatio([2, 1, 1], 1)],
    ['version 2 without a ratio', withRatio(undefined, 2)],
  ],
  closed: [
    ['an urn without balls', changes(urn({ w: 0 }))],
    ['too many balls', changes(urn({ w: 1_000_001 }))],
  ],
  kept: [['an arm with one slot, said', changes(arm.added(D, { ratio: 1 }))]],
});
