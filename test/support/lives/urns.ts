/**
 * Studies that allocate from urns: acts in every way (no correction, all of them, and entries of allocations made outside), and
 * designs that were amended in every way (but in their arms, in their arms, and in their visits).
 */

import type { DesignChange } from '../../../events/study.ts';
import { CONFIGURATION } from '../facts.ts';
import {
  A,
  amends,
  arm,
  asks,
  B,
  C,
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  enrols,
  enters,
  FEMALE,
  lifeOf,
  MALE,
  ratio,
  registersPacks,
  reinstates,
  renamedLevel,
  renames,
  reopens,
  reports,
  retired,
  reveals,
  SEX,
  SITE,
  site,
  urn,
  visits,
  voids,
} from '../life.ts';

const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28', reference: 'Minutes 3' }];
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** Everything that can happen in a study but corrections. */
export const WHOLE = lifeOf({
  configuration: CONFIGURATION,
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    manager: { scopes: ['manage'] },
    desk: { scopes: ['unblind', 'blinded'], sites: [COOK] },
  },
  steps: {
    '001': enrols([MALE, COOK], { idempotencyKey: 'visit-1' }),
    '002': enrols([MALE, DUPAGE]),
    paused: asks('manager', { act: 'StudyPaused', reason: 'data review', idempotencyKey: 'pause-1' }),
    emergency: reveals('desk', { participantId: '001' }, { idempotencyKey: 'er-1' }),
    resumed: asks('operator', { act: 'StudyResumed', reason: 'review done' }),
    '003': enrols([MALE, COOK]),
    closed: closes('manager', { cause: 'target', approvals, idempotencyKey: 'close-1' }),
    /** Recorded late. */
    late: reveals('desk', { participantId: '003' }, () => ({ shownAt: ago(500) })),
    /** The emergency's code-break was one. */
    mistake: reports('operator', '001', ({ at }) => ({
      ...{ how: 'disclosure', inadvertent: true, occurredAt: ago(1000), revealedAt: at['emergency'] },
    })),
    envelope: reports('desk', '003', () => ({
      ...{ how: 'envelope', inadvertent: false, occurredAt: ago(60_000) },
    })),
    reopened: reopens({ approvals, protocol: { version: '3.0', date: '2026-02-27' } }),
    '004': enrols([MALE, DUPAGE]),
    monitoring: reveals('operator', { participantId: '002' }, { category: 'monitoring' }),
  },
});

export const TO_MALE = change(SEX, FEMALE, MALE);
export const TO_DUPAGE = change(SITE, COOK, DUPAGE);
export const TO_COOK = change(SITE, DUPAGE, COOK);

/** All kinds of corrections. */
export const CORRECTED = lifeOf({
  // One participant more, and one more of Cook County, and nobody else would have been randomized.
  configuration: {
    ...CONFIGURATION,
    limits: { total: 7, levels: [{ factor: SITE, level: COOK, max: 6 }] },
    policies: { stopAtLimit: true, levelCounts: 'as-corrected', voidCounts: 'removed' },
  },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    site: { scopes: ['correct', 'blinded'], sites: [COOK] },
    clerk: { scopes: ['correct', 'read'] },
    desk: { scopes: ['unblind'] },
  },
  steps: {
    '001': enrols([MALE, COOK], { idempotencyKey: 'visit-1' }),
    '002': enrols([FEMALE, COOK]),
    '003': enrols([FEMALE, DUPAGE]),
    '004': enrols([MALE, COOK]),
    levels: corrects('site', '002', 'entry', [TO_MALE]),
    '005': enrols([MALE, COOK]),
    transfer: corrects('site', '001', 'transfer', [TO_DUPAGE], { idempotencyKey: 'lc-2' }),
    duplicate: voids('clerk', '004', 'duplicate', { duplicateOf: '002', idempotencyKey: 'v-1' }),
    '006': enrols([FEMALE, DUPAGE]),
    chained: voids('operator', '003', 'duplicate', { duplicateOf: '004' }),
    renamed: renames('clerk', '005', '050', { idempotencyKey: 'ic-1' }),
    revealed: reveals('desk', { participantId: '006' }, { category: 'planned' }),
    source: corrects('operator', '006', 'source', [TO_MALE, TO_COOK]),
    reinstated: reinstates('clerk', '004'),
    '007': enrols([FEMALE, COOK]),
    closed: closes('operator', { cause: 'end' }),
    again: renames('clerk', '050', '051', { cause: 'other' }),
    ineligible: voids('clerk', '001', 'ineligible', { analysis: 'keep' }),
    reopened: reopens(),
    '008': enrols([MALE, COOK]),
  },
});

const UNCOUNTED = { kind: 'policy', name: 'forcedCounts', value: 'not-counted' } as const;
/** One participant more, and one woman more, and nobody else would have been randomized. */
const LIMITS = { total: 12, levels: [{ factor: SEX, level: FEMALE, max: 6 }] };
const POLICIES = { stopAtLimit: true, levelCounts: 'as-corrected' } as const;

/** Allocations made outside the service, entered in every way. Participants with an F were. */
export const FORCED = lifeOf({
  configuration: { ...CONFIGURATION, limits: LIMITS, policies: POLICIES },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    desk: { scopes: ['force', 'read'], sites: [COOK] },
    clerk: { scopes: ['correct', 'read'] },
  },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, DUPAGE]),
    F1: enters('desk', A, [FEMALE, COOK], { idempotencyKey: 'f-1' }),
    '003': enrols([FEMALE, COOK]),
    paused: asks('operator', { act: 'StudyPaused', reason: 'outage' }),
    F2: enters('operator', B, [MALE, DUPAGE], { cause: 'elsewhere' }),
    resumed: asks('operator', { act: 'StudyResumed', reason: 'it is back' }),
    /** A woman, and with an arm that is not hers. */
    F3: enters('desk', A, [FEMALE, COOK]),
    revealed: reveals('operator', { participantId: 'F1' }),
    corrected: corrects('clerk', 'F2', 'source', [change(SITE, DUPAGE, COOK)]),
    '004': enrols([MALE, COOK]),
    renamed: renames('clerk', 'F3', 'F30'),
    voided: voids('clerk', 'F3', 'entry'),
    replaced: enters('desk', B, [MALE, COOK], ({ at }) => ({ participantId: 'F3', replaces: at['F3'] })),
    '005': enrols([MALE, COOK]),
    /** From here on Dupage County is closed, and entries are not counted. */
    amended: amends([site.closed(DUPAGE), UNCOUNTED]),
    F4: enters('desk', C, [FEMALE, COOK], { cause: 'protocol' }),
    voidedToo: voids('clerk', 'F4', 'entry'),
    reinstated: reinstates('clerk', 'F4'),
    '006': enrols([FEMALE, COOK]),
    closed: closes(),
    F5: enters('operator', C, [MALE, COOK], { cause: 'other' }),
    reopened: reopens(),
    '007': enrols([FEMALE, COOK]),
  },
});

/** The names that `MALE` and `COOK` get, and the level that is added. */
export const [MAN, CITY, MCLEAN] = ['Man', '11-Chicago', '50-Mclean County'];

export const limited = (total: number, city: number, dupage: number): DesignChange => {
  const levels = [
    { factor: SITE, level: CITY, max: city },
    { factor: SITE, level: DUPAGE, max: dupage },
  ];
  return { kind: 'limits', value: { total, levels } };
};

/** What each amendment changes. */
export const CHANGES = {
  sites: [site.added(MCLEAN), site.closed(DUPAGE)],
  names: [renamedLevel(SITE, COOK, CITY, { alias: true }), renamedLevel(SEX, MALE, MAN)],
  rules: [
    limited(7, 3, 2),
    { kind: 'id-pattern', value: '[0-9]{3}-[0-9]{2}' },
    { kind: 'target', value: 7 },
    { kind: 'blinding', value: 'blinded' },
    { kind: 'policy', name: 'stopAtLimit', value: true },
    { kind: 'policy', name: 'levelCounts', value: 'as-corrected' },
    { kind: 'policy', name: 'voidCounts', value: 'removed' },
  ],
  again: [site.reopened(DUPAGE), renamedLevel(SEX, MAN, MALE)],
} as const satisfies Record<string, readonly DesignChange[]>;

export const AMENDED = lifeOf({
  // Its limit stops nobody before an amendment says that it does.
  configuration: {
    ...{ ...CONFIGURATION, idPattern: '[0-9]{3}' },
    limits: { levels: [{ factor: SITE, level: COOK, max: 2 }] },
  },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    manager: { scopes: ['manage'] },
    // By the name that it was registered with.
    site: { scopes: ['correct', 'blinded'], sites: [COOK] },
  },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, COOK]),
    '003': enrols([FEMALE, DUPAGE]),
    sites: amends(CHANGES.sites, { idempotencyKey: 'amendment-1' }, 'manager'),
    '004': enrols([MALE, MCLEAN]),
    names: amends(CHANGES.names),
    '005': enrols([MAN, CITY]),
    corrected: corrects('site', '001', 'entry', [change(SEX, MAN, FEMALE)]),
    rules: amends(CHANGES.rules),
    '006-01': enrols([FEMALE, MCLEAN]),
    /** To a closed site. */
    source: corrects('operator', '002', 'entry', [change(SEX, FEMALE, MAN), change(SITE, CITY, DUPAGE)]),
    voided: voids('operator', '003', 'never-enrolled'),
    closed: closes(),
    again: amends(CHANGES.again, {}, 'manager'),
    reopened: reopens(),
    '007-01': enrols([MALE, DUPAGE]),
    /** What was corrected before a renaming. */
    undone: corrects('operator', '002', 'entry', [change(SEX, MALE, FEMALE)]),
    /** Nobody else would be randomized, in all and in the city. */
    '008-01': enrols([FEMALE, CITY]),
    protocol: amends([], { protocol: { version: '4.0', date: '2026-03-01' } }),
  },
});

/** An arm that is added. */
export const D = 'D';

/** Arms, ratio, urns and factors that were amended in every way. Participants with an F were allocated outside. */
export const ARMS = lifeOf({
  configuration: {
    ...{ ...CONFIGURATION, ratio: [2, 1, 1] },
    policies: { levelCounts: 'as-corrected', voidCounts: 'removed' },
  },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    manager: { scopes: ['manage'] },
  },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, DUPAGE]),
    '003': enrols([FEMALE, COOK]),
    F1: enters('operator', A, [FEMALE, COOK]),
    '004': enrols([FEMALE, COOK]),
    closed: amends([arm.closed(C)], {}, 'manager'),
    '005': enrols([MALE, COOK]),
    reopened: amends([arm.reopened(C), urn({ w: 2, alpha: 1 })]),
    '007': enrols([FEMALE, COOK]),
    /** With the counts that there are. */
    kept: amends([arm.added(D)], { history: 'keep' }),
    '008': enrols([FEMALE, COOK]),
    /** With nobody. */
    restarted: amends([arm.added('E', { ratio: 2 })]),
    '009': enrols([FEMALE, COOK]),
    ratio: amends([ratio(1, 1, 1, 1, 3), arm.closed(B)]),
    '012': enrols([MALE, COOK]),
    '013': enrols([FEMALE, DUPAGE]),
    retired: amends([retired(SITE)]),
    '014': enrols([MALE, '']),
    /** Who has a level of the retired factor. */
    corrected: corrects('operator', '012', 'entry', [change(SEX, MALE, FEMALE)]),
    '015': enrols([FEMALE, '']),
    equal: amends([ratio(1, 1, 1, 1, 1)]),
    '016': enrols([MALE, '']),
    urn: amends([urn({ beta: 2, D: 'range' })], { history: 'restart' }),
    '018': enrols([FEMALE, '']),
  },
});

const packsOf = (list: number, ...arms: string[]) =>
  registersPacks(arms.map((treatment, i) => ({ code: `P${list}-${i}`, treatment })));

/** Visits that are amended, packs of closed arms, and an arm that is stopped. No key is ever issued. */
export const VISIT_SETTINGS = lifeOf({
  configuration: { ...CONFIGURATION, visits: ['V2', 'Week 12'] },
  keys: {},
  steps: {
    visits: amends([visits('V2', 'V3', 'Week 12')]),
    closed: amends([arm.closed(C)]),
    ...{ ofClosed: packsOf(1, A, C), ofOpen: packsOf(2, A, B) },
    stopped: amends([arm.stopped(C), visits()]),
    reopened: amends([arm.reopened(C)]),
  },
});
