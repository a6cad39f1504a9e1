/**
 * Every act by example: what is asked for, who may ask in which states of the study, what is recorded of it and what it
 * leaves. Whoever adds an act adds a row; test/unit/acts/acts.test.ts asks all of it of every row. Nothing here is read
 * from the descriptions of the acts.
 */
import type { Scope } from '../../events/access.ts';
import type { ActName } from '../../src/core/acts/acts.ts';
import type { Members, Status, StudyOutcome } from '../../src/core/model/outcomes.ts';
import { CONFIGURATION } from './facts.ts';

export const [SEX, SITE] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
export const COOK = '11-Cook County – Chicago';
export const DUPAGE = '30-Dupage County';
export const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }];
/** As many of each arm as a site must leave, and some. */
export const PACKS = CONFIGURATION.treatments.flatMap((treatment, arm) =>
  Array.from({ length: 6 }, (_, n) => ({ code: `P${arm}-${n}`, treatment })),
);
export const VISITS = ['V2', 'V3', 'Week 12'];

/** Of the study in which the examples are asked for. */
export interface Codes {
  /** Participant `a` has it since the enrolment. */
  readonly held: string;
  /** Participant `a` has it for a visit. */
  readonly given: string;
  /** Nobody has it. */
  readonly free: string;
}

/** In the study of acts.test.ts, before the example: the pack of `a`, the next one for `a`, and one that nobody has. */
const [HELD, NEXT, FREE] = ['P0-2', 'P0-0', 'P2-5'];

/** Whether the act is possible in the state of the study, is refused for it, or why what it asks for is so already. */
type InState = 'possible' | 'refused' | { readonly already: string };

export interface ActRow {
  /** An API key needs one of them. */
  readonly scopes: readonly Scope[];
  readonly commandLine: boolean;
  readonly in: Readonly<Record<Status, InState>>;
  /** The state of the study in which the example is asked for. Default: open. */
  readonly state?: Status;
  /** Acts whose examples come before it. */
  readonly after?: readonly ActName[];
  /** What is asked for, of the participants `a`, `b` and `c`. */
  readonly asked: (codes: Codes) => Members;
  /** What the caller adds to it, which is no part of the request. */
  readonly brings?: Members;
  /** The members that may be left out. */
  readonly optional?: readonly string[];
  /** The same request in other words. */
  readonly alike?: readonly Members[];
  /** Another value for each member: each makes another request. */
  readonly other: (codes: Codes) => Members;
  /** Values that the form does not take, and why. */
  readonly wrong: readonly (readonly [member: string, value: unknown, why: string])[];
  /** Which level of a participant the limits of a key are about. Absent: the act is about the study. */
  readonly limits?: 'now' | 'now-or-as-randomized';
  /** Whether a repeated request is answered only within the limits of the key. */
  readonly isConfirmedWithin?: true;
  /** What the act chooses: unknown to a dry run. */
  readonly chooses?: readonly string[];
  /** The record in the clear, and under seal. */
  readonly records: { readonly data: Members; readonly sections?: Members };
  /** What is different afterwards, in the words of the test. */
  readonly leaves: Members;
  /** The answer to the same request without an idempotency key. */
  readonly again: StudyOutcome;
}

const LASTING = { open: 'possible', paused: 'possible', closed: 'possible' } as const;
const REFUSED = { open: 'refused', paused: 'refused', closed: 'refused', importing: 'refused' } as const;
const SETTLED = { ...LASTING, importing: 'refused' } as const;
const ALWAYS = { ...LASTING, importing: 'possible' } as const;
const CORRECTS = { scopes: ['correct'], commandLine: true, in: SETTLED, limits: 'now' } as const;
const MANAGES = { scopes: ['manage'], commandLine: true } as const;
const GIVES = { scopes: ['randomize', 'supply'], commandLine: true, in: SETTLED, limits: 'now' } as const;

const A = { participantId: 'a', randomizedAt: 2 };
/** Of the example. */
const AT = '2026-03-01T09:00:11.000Z';
const LONG = 'x'.repeat(2001);
const NO_TEXT = 'must be 1 to 2000 characters';
const NO_ID = ['participantId', '', 'id: id is empty'] as const;
const NO_NOTE = ['note', LONG, `note: ${NO_TEXT}`] as const;
const NO_REASON = ['reason', LONG, `reason: ${NO_TEXT}`] as const;
const NO_GROUNDS = ['reason', 'xx', 'reason: must be 3 to 2000 characters'] as const;
const NO_CODE = ['code', 'P 1', 'code: must match the pattern /^[A-Za-z0-9._/-]{1,64}$/'] as const;
const NO_PERSON =
  'must be 1 to 128 characters, without control characters and without white space at either end';
const TO_FEMALE = { factor: SEX, from: 'Male', to: 'Female' };
const NO_VISIT = 'is no name of a visit: 1 to 20 letters, digits, blanks and . _ -, and no blank at the end';
const NO_DAY = 'is not a day of the calendar, such as 2027-03-01';
const NO_APPROVAL = [
  'approvals',
  [{ ...APPROVALS[0], on: '2026-02-29' }],
  `approvals[0].on: ${NO_DAY}`,
] as const;
const noChoice = (member: string, ...names: string[]) =>
  [member, 'none', `${member}: must be one of ${names.join(', ')}`] as const;

/** The versions of the protocol in the designs of that study: four amendments named none. */
const UNVERSIONED = Array<undefined>(5).fill(undefined);
const already = (why: string) => ({ type: 'already', why }) as const;
const alreadySo = (why: string) => ({ type: 'stale', why, isSo: true }) as const;

/** In the order in which documents show the acts. */
export const ACTS: Readonly<Record<ActName, ActRow>> = {
  StudyPaused: {
    ...MANAGES,
    in: { ...REFUSED, open: 'possible', paused: { already: 'the study is paused already' } },
    asked: () => ({ reason: 'data review' }),
    other: () => ({ reason: 'audit' }),
    wrong: [NO_REASON, ['reason', '', `reason: ${NO_TEXT}`], ['reason', 7, 'reason: must be a string']],
    records: { data: { reason: 'data review' } },
    leaves: { status: 'paused', halt: { state: 'paused', reason: 'data review', at: AT } },
    again: already('the study is paused already'),
  },
  StudyResumed: {
    ...MANAGES,
    in: { ...REFUSED, open: { already: 'the study is not paused' }, paused: 'possible' },
    state: 'paused',
    asked: () => ({ reason: 'review done' }),
    other: () => ({ reason: 'audit done' }),
    wrong: [NO_REASON],
    records: { data: { reason: 'review done' } },
    leaves: { status: 'open', halt: undefined },
    again: already('the study is not paused'),
  },
  StudyClosed: {
    ...MANAGES,
    in: { ...SETTLED, closed: { already: 'the study is closed already' } },
    asked: () => ({ reason: '300 randomized', cause: 'target', approvals: APPROVALS }),
    optional: ['approvals'],
    other: () => ({ reason: '299 randomized', cause: 'sponsor', approvals: [] }),
    wrong: [
      NO_REASON,
      noChoice('cause', 'target', 'sponsor', 'safety', 'regulator', 'end', 'other'),
      NO_APPROVAL,
      ['approvals', Array(51).fill(APPROVALS[0]), 'approvals: has more than 50 items'],
      ['approvals', [{ ...APPROVALS[0], name: ' Dr. A.' }], `approvals[0].name: ${NO_PERSON}`],
    ],
    records: { data: { reason: '300 randomized', cause: 'target', approvals: APPROVALS } },
    leaves: {
      ...{ status: 'closed', closedAt: AT },
      halt: { state: 'closed', reason: 'target: 300 randomized', at: AT },
    },
    again: already('the study is closed already'),
  },
  StudyReopened: {
    ...MANAGES,
    in: { ...REFUSED, open: { already: 'the study is not closed' }, closed: 'possible' },
    state: 'closed',
    asked: () => ({ reason: 'target raised', approvals: APPROVALS, protocol: { version: '3' } }),
    optional: ['approvals', 'protocol'],
    other: () => ({ reason: 'safe again', approvals: [], protocol: undefined }),
    wrong: [
      NO_REASON,
      NO_APPROVAL,
      ['protocol', { version: '3', date: '2027-04-31' }, `protocol.date: ${NO_DAY}`],
      ['protocol', { version: '' }, `protocol.version: ${NO_PERSON}`],
    ],
    records: { data: { reason: 'target raised', approvals: APPROVALS, protocol: { version: '3' } } },
    leaves: { status: 'open', halt: undefined, protocols: [...UNVERSIONED, '3', '3'] },
    again: already('the study is not closed'),
  },
  LevelsCorrected: {
    ...CORRECTS,
    asked: () => ({
      ...{ participantId: 'a', cause: 'source', note: 'source record' },
      changes: [{ factor: SEX, from: 'Female', to: 'Male' }],
    }),
    alike: [{ changes: [{ factor: SEX, from: 'Woman', to: 'Man' }] }],
    other: () => ({
      ...{ participantId: 'c', cause: 'entry', note: 'another' },
      changes: [{ factor: SITE, from: DUPAGE, to: COOK }],
    }),
    wrong: [
      NO_ID,
      NO_NOTE,
      noChoice('cause', 'entry', 'source', 'definition', 'transfer', 'other'),
      ['changes', [], 'changes: must have at least one change'],
      ['changes', [{ factor: SEX, from: 'Male', to: 'Male' }], 'changes[0]: from and to are the same level'],
      ['changes', [TO_FEMALE, TO_FEMALE], 'changes: 10 is given more than once'],
      ['changes', Array(101).fill(TO_FEMALE), 'changes: has more than 100 items'],
    ],
    records: {
      data: {
        ...{ ...A, cause: 'source', counts: 'as-randomized' },
        changes: [{ factor: SEX, from: 'Woman', to: 'Man' }],
      },
      sections: { note: { text: 'source record' } },
    },
    leaves: { levels: ['Man', 'North'] },
    again: { type: 'stale', why: '10 is "Man" now', field: 'changes[0].from' },
  },
  AllocationVoided: {
    ...CORRECTS,
    asked: () => ({
      ...{ participantId: 'a', cause: 'duplicate', duplicateOf: 'b' },
      ...{ analysis: 'exclude', note: 'query 118' },
    }),
    optional: ['duplicateOf'],
    alike: [{ duplicateOf: 'z' }],
    other: () => ({
      ...{ participantId: 'c', cause: 'other', duplicateOf: undefined },
      ...{ analysis: 'keep', note: 'query 119' },
    }),
    wrong: [
      NO_NOTE,
      noChoice('cause', 'ineligible', 'duplicate', 'never-enrolled', 'entry', 'other'),
      noChoice('analysis', 'keep', 'exclude'),
      ['duplicateOf', '', 'duplicate_of: has fewer than 1 character'],
    ],
    records: {
      data: { ...A, cause: 'duplicate', duplicateOf: 'b', analysis: 'exclude', counts: 'kept' },
      sections: { note: { text: 'query 118' } },
    },
    leaves: { voided: { cause: 'duplicate', duplicateOf: 'b', isRemoved: false, revision: 11 } },
    again: alreadySo('the participant is voided already (duplicate, revision 11)'),
  },
  AllocationReinstated: {
    ...CORRECTS,
    after: ['AllocationVoided'],
    asked: () => ({ participantId: 'a', note: 'query 119' }),
    other: () => ({ participantId: 'c', note: 'query 120' }),
    wrong: [NO_NOTE],
    records: { data: { ...A, voidedAt: 11 }, sections: { note: { text: 'query 119' } } },
    leaves: { voided: undefined },
    again: alreadySo('the participant is not voided'),
  },
  ParticipantIdCorrected: {
    ...CORRECTS,
    asked: () => ({ participantId: 'a', to: 'x', cause: 'other' }),
    other: () => ({ participantId: 'c', to: 'w', cause: 'entry' }),
    wrong: [
      ['to', 'x'.repeat(129), 'to: has more than 128 characters'],
      ['to', ' x', 'to: begins or ends with white space'],
      noChoice('cause', 'entry', 'pattern', 'other'),
    ],
    records: { data: { ...A, from: 'a', to: 'x', cause: 'other' } },
    leaves: { id: 'x' },
    again: alreadySo('the participant has this id already'),
  },
  AllocationRevealed: {
    ...{ scopes: ['unblind'], commandLine: true, in: ALWAYS, limits: 'now-or-as-randomized' },
    isConfirmedWithin: true,
    asked: () => ({
      ...{ participantId: 'a', category: 'planned', reason: 'anaphylaxis', requestedBy: 'Dr. K.' },
    }),
    brings: { reveal: '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c31', shownAt: '2026-03-01T09:00:00.000Z' },
    optional: ['participantId', 'code', 'requestedBy'],
    alike: [{ reveal: '7b0e6a52-4f1d-4b92-8f5e-1c2d3e4f5a6b', shownAt: undefined }],
    other: ({ free }) => ({
      ...{ participantId: 'c', code: free, category: 'other', reason: 'another' },
      requestedBy: undefined,
    }),
    wrong: [
      ['code', '', 'code: has fewer than 1 character'],
      noChoice('category', 'emergency', 'safety-report', 'monitoring', 'planned', 'end', 'other'),
      NO_GROUNDS,
      ['requestedBy', ' Dr. K.', `requested_by: ${NO_PERSON}`],
    ],
    records: {
      data: {
        ...{ ...A, category: 'planned', reveal: '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c31' },
        shownAt: '2026-03-01T09:00:00.000Z',
      },
      sections: { grounds: { reason: 'anaphylaxis', requestedBy: 'Dr. K.' } },
    },
    leaves: {
      reveals: [{ reveal: '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c31', revision: 11, participantId: 'a' }],
    },
    again: { type: 'already-recorded', revision: 11 },
  },
  UnblindingReported: {
    ...{ scopes: ['unblind', 'correct'], commandLine: true, in: ALWAYS, limits: 'now-or-as-randomized' },
    asked: () => ({
      ...{ participantId: 'a', how: 'label', occurredAt: '2026-03-01T08:00:00Z', inadvertent: true },
      ...{ reason: 'anaphylaxis', requestedBy: 'Dr. K.' },
    }),
    optional: ['inadvertent', 'revealedAt', 'requestedBy'],
    alike: [{ occurredAt: '2026-03-01T08:00:00.000Z' }],
    other: () => ({
      ...{ participantId: 'c', how: 'envelope', occurredAt: '2026-03-01T08:01:00Z', inadvertent: false },
      ...{ revealedAt: 11, reason: 'another', requestedBy: undefined },
    }),
    wrong: [
      ['occurredAt', '2026-03-01', 'occurred_at: is not an instant in UTC, such as 2026-03-02T21:40:00Z'],
      ['occurredAt', '9999-12-31T00:00:00Z', 'occurred_at: is in the future'],
      noChoice('how', 'envelope', 'label', 'clinical', 'disclosure', 'other'),
      ['inadvertent', 'yes', 'inadvertent: must be true or false'],
      ['revealedAt', -1, 'revealed_at: must be at least 0'],
      NO_GROUNDS,
    ],
    records: {
      data: { ...A, how: 'label', inadvertent: true, occurredAt: '2026-03-01T08:00:00.000Z' },
      sections: { grounds: { reason: 'anaphylaxis', requestedBy: 'Dr. K.' } },
    },
    leaves: {},
    again: { type: 'recorded', participantId: 'a', moves: false },
  },
  CodeReplaced: {
    ...GIVES,
    asked: ({ held }) => ({ participantId: 'a', code: held, cause: 'damaged' }),
    other: ({ free }) => ({ participantId: 'c', code: free, cause: 'lost' }),
    wrong: [NO_CODE, noChoice('cause', 'damaged', 'lost', 'expired', 'other')],
    chooses: ['by'],
    records: { data: { ...A, code: HELD, by: NEXT, cause: 'damaged' } },
    leaves: { pack: { code: NEXT, treatment: 'MART', replacements: 1 } },
    again: { type: 'stale', why: 'the participant has another pack now', field: 'code' },
  },
  PackDispensed: {
    ...GIVES,
    asked: () => ({ participantId: 'a', visit: 'V2' }),
    alike: [{ visit: 'v2' }],
    other: () => ({ participantId: 'c', visit: 'V3' }),
    wrong: [NO_ID, ['visit', 'V2 ', `visit: ${NO_VISIT}`]],
    chooses: ['code'],
    records: { data: { ...A, code: NEXT, visit: 'V2' } },
    leaves: { dispensed: [{ code: NEXT, visit: 'V2', at: AT, replacements: 0 }] },
    again: { type: 'dispensed-already', participantId: 'a', visit: 'V2' },
  },
  DispensationCorrected: {
    ...{ ...CORRECTS, scopes: ['correct', 'supply'] },
    after: ['PackDispensed'],
    asked: ({ given }) => ({ participantId: 'a', code: given, to: 'V3', cause: 'entry', note: 'a slip' }),
    alike: [{ to: 'v3' }],
    other: ({ held }) => ({ participantId: 'c', code: held, to: null, cause: 'other', note: 'another' }),
    wrong: [
      NO_CODE,
      NO_NOTE,
      ['to', '', `to: ${NO_VISIT}`],
      noChoice('cause', 'entry', 'not-handed-out', 'other'),
    ],
    records: {
      data: { ...A, code: NEXT, from: 'V2', to: 'V3', cause: 'entry' },
      sections: { note: { text: 'a slip' } },
    },
    leaves: { dispensed: [{ code: NEXT, visit: 'V3', at: AT, replacements: 0 }] },
    again: alreadySo('the pack is for V3 already'),
  },
  CodesWithdrawn: {
    ...{ scopes: ['supply'], commandLine: true, in: SETTLED },
    asked: ({ free }) => ({ codes: [free], reason: 'recalled' }),
    other: ({ held }) => ({ codes: [held], reason: 'expired' }),
    wrong: [
      ['codes', [], 'codes: has fewer than 1 item'],
      ['codes', ['P 1'], 'codes[0]: must match the pattern /^[A-Za-z0-9._/-]{1,64}$/'],
      ['codes', Array(4001).fill('P1'), 'codes: has more than 4000 items'],
      NO_GROUNDS,
    ],
    chooses: ['count'],
    records: { data: { count: 1 }, sections: { withdrawn: { codes: [FREE], reason: 'recalled' } } },
    leaves: { isFree: false },
    again: { type: 'impossible', field: 'codes', why: `no free pack has the code ${FREE}` },
  },
};
