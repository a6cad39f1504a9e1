import { describe, expect, it } from 'vitest';
import {
  type Altering,
  about,
  asked,
  both,
  bundlesOf,
  by,
  type Change,
  changed,
  configured,
  data,
  gone,
  hasPython,
  inClear,
  inFull,
  issuedWith,
  type Json,
  moved,
  sealed,
  version,
  without,
} from '../../support/altered-bundles.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { WHOLE } from '../../support/lives/whole.ts';

const APPROVAL = { on: '2100-12-31', name: 'A', role: 'sponsor' };
const approvedOn = (on: string) => data({ approvals: [{ ...APPROVAL, on }] });
const later = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();
/** Says that something happened so long after a record was written. */
const shown = (name: string, ms: number) =>
  data((bundle: Altering) => ({ shownAt: later(bundle.record(name).at, ms) }));
const request = (idempotencyKey: string) =>
  sealed((sections) => Object.assign(sections.request, { idempotencyKey }));
const unrequested = changed((record, sections) => {
  delete record.seals.request;
  delete sections.request;
});
const reason = (text: string) => sealed(({ grounds }) => Object.assign(grounds, { reason: text }));
const { alterations, judge } = bundlesOf(WHOLE);

alterations('both verifiers of altered pauses and states', {
  paused: [
    ['no pause', gone, 'resumed'],
    ['a pause by a key without a request in version 1', both(unrequested, version(1))],
    ['a pause by a key without a request', unrequested, 'ok'],
    ['a pause by a person that version 1 can say', both(unrequested, by('somebody'))],
  ],
  '002': [['a pause before the participant', moved]],
  resumed: [
    ['an end of the pause by nobody', gone, '003'],
    ['a participant in the pause', moved, '003'],
  ],
  closed: [
    ['an empty list of approvals', data({ approvals: [] })],
    ['February 30th', approvedOn('2028-02-30')],
    ['February 29th of a leap year', approvedOn('2028-02-29'), 'ok'],
    ['February 29th of a year that is not a leap year', approvedOn('2100-02-29')],
    ['no closing', gone, 'reopened'],
    ['the Idempotency-Key of the pause', request('pause-1'), inFull()],
    ['that of another user', request('er-1'), 'ok'],
  ],
  '003': [['a closing before a participant', moved]],
  reopened: [
    ['nobody’s approval', data({ approvals: [] })],
    ['nobody’s approval in a test study', both(configured({ mode: 'test' }), data({ approvals: [] })), 'ok'],
    ['a day that does not exist', approvedOn('2027-04-31')],
    ['a protocol of an impossible day', data({ protocol: { version: '4', date: '2027-02-29' } })],
    ['no reopening', gone, '004'],
  ],
});

/** Of a level, by the places of factor and level in the configuration. */
const limit = (factor: number, level: number, max: number) => {
  const { name, levels } = CONFIGURATION.factors[factor] ?? { name: '', levels: [] };
  return { factor: name, level: levels[level], max };
};
const STOPPING = { stopAtLimit: true };
const registered = (members: object, to = 2) => both(configured(members), version(to));
const limits = (...levels: object[]) => registered({ limits: { levels } });
alterations('both verifiers of another registration', {
  registered: [
    ['nothing new', registered({})],
    ['blinded sites', registered({ blinding: 'blinded' }), 'ok'],
    ['blinded sites, in version 1', registered({ blinding: 'blinded' }, 1)],
    ['a paused beginning', registered({ start: 'paused' }), '001'],
    ['a protocol of an impossible day', registered({ protocol: { version: '2', date: '2027-02-29' } })],
    ['a default policy', registered({ policies: { levelCounts: 'as-randomized' } })],
    [
      'a policy that is the default of blinded sites',
      registered({ blinding: 'blinded', policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } }),
    ],
    ['no limit', registered({ limits: {} })],
    ['a limit that is reached', registered({ limits: { total: 4 }, policies: STOPPING }), 'ok'],
    ['a limit that is exceeded', registered({ limits: { total: 3 }, policies: STOPPING }), '004'],
    [
      'the limit of a level, reached',
      registered({ limits: { levels: [limit(1, 0, 2), limit(1, 1, 2)] }, policies: STOPPING }),
      'ok',
    ],
    [
      'the limit of a level, exceeded',
      registered({ limits: { total: 9, levels: [limit(0, 1, 1), limit(1, 0, 1)] }, policies: STOPPING }),
      '003',
    ],
    ['limits in another order', limits(limit(1, 1, 9), limit(1, 0, 9))],
    ['a limit twice', limits(limit(1, 1, 9), limit(1, 1, 9))],
    ['a limit of no level', limits({ ...limit(1, 1, 9), level: 'x' })],
    ['a limit of no factor', limits({ ...limit(1, 1, 9), factor: 'x' })],
  ],
});

/** Recorded an hour later than the arm was shown. */
const anHourLate = changed((record) => Object.assign(record, { at: later(record.at, 3_600_000) }));
/** The key of `desk` expires so long after the code-break was recorded as it was. */
const expiring = (ms: number) => (bundle: Altering, name: string) =>
  issuedWith(2, { expiresAt: later(bundle.record(name).at, ms) })(bundle, name);
const lateBy = (...instead: readonly Change[]) => both(expiring(60_000), ...instead, anHourLate);
alterations('both verifiers of altered code-breaks', {
  emergency: [
    ['another participant', data({ participantId: '002' })],
    ['another revision', data({ randomizedAt: WHOLE.at['002'] })],
    ['a participant outside the key’s limits', about('002')],
    // A report says that it was a mistake.
    ['no code-break', gone, 'mistake'],
    ['grounds with an escape', reason('a\u001b'), inFull()],
    ['grounds of 2,000 characters', reason('😀'.repeat(1999).concat('\n')), 'ok'],
    ['grounds of 2,001 characters', reason('😀'.repeat(2001)), inFull()],
  ],
  late: [
    ['the Idempotency-Key of an earlier request', asked('er-1'), inFull()],
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
});

alterations('both verifiers of altered reports of unblinding', {
  mistake: [
    ['of somebody else’s code-break', data({ revealedAt: WHOLE.at.late })],
    ['of something that is not a code-break', data({ revealedAt: WHOLE.at.paused })],
    ['in the future', data((bundle) => ({ occurredAt: later(bundle.record('mistake').at, 1001) }))],
  ],
  envelope: [
    ['another revision', data({ randomizedAt: WHOLE.at['001'] })],
    ['a participant outside the key’s limits', about('002')],
  ],
});

const granted = (place: number, ...scopes: string[]) => issuedWith(place, { scopes });
alterations('both verifiers of a key of version 2, which must have a new scope', {
  registered: [
    ['that may manage', granted(1, 'read', 'manage'), inClear('ok')],
    ['that may read', granted(1, 'read'), inClear('access/1')],
    ['of version 1, that may manage', granted(0, 'randomize', 'manage'), inClear('access/0')],
    ['that may audit and manage', granted(1, 'audit', 'manage'), inClear('access/1')],
    ['that may manage and correct', granted(1, 'manage', 'correct'), inClear('ok')],
    ['that may audit and correct', granted(1, 'audit', 'correct'), inClear('access/1')],
    ['that may manage, limited to levels', granted(2, 'unblind', 'manage'), inClear('access/2')],
  ],
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

  it.each([
    ['open', 'registered'],
    ['paused', 'paused'],
    ['closed', 'closed'],
  ] as const)('show the state in which it ends: %s', async (state, last) => {
    const cut = (bundle: Altering) => bundle.move((all) => all.slice(0, WHOLE.at[last] + 1));
    const { report, stdout } = await judge('blinded', cut, { isShown: true });
    expect(stdout).toContain(`The study is ${state}`);
    expect(report.streams.at(-1)?.life?.state).toBe(state);
  });
});
