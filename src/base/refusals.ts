/**
 * Why the service refuses something: every word of the header `Urn-Refused`, and what it means for whoever asked. The list is
 * closed. HTTP, the command line, verification, the stream `operations` and the pages take their words, statuses and hints
 * from here. What the rules of a study add is in src/core/model/outcomes.ts.
 */

/** What a client does about a refusal. */
export const CLIENT_ACTIONS = {
  mend: 'Mend the request. Never send the same one again.',
  operator: 'Tell the operator of the service.',
  second: 'Ask a second person.',
  site: 'Tell the site.',
  wait: 'Send the same request again, with the same Idempotency-Key, after `Retry-After`.',
  ask: 'Send the same request again, with the same Idempotency-Key, until it is answered; not before `Retry-After`.',
} as const;

/** A fragment of a sentence begins with a small letter, and ends without a full stop. */
interface Row {
  /** Of HTTP. If there are several, whoever refuses says which. */
  readonly status: number | readonly number[];
  /** Why, for those who read it afterwards: in the documents, in `operations`, and of a record that should not be there. */
  readonly why: string;
  /** Why, to whoever asked, if they may not be told as much. */
  readonly says?: string;
  /** What to do, over HTTP. */
  readonly hint?: string;
  /** The commands that help. */
  readonly commands?: string;
  readonly client: keyof typeof CLIENT_ACTIONS;
  /** Whether this attempt may have been recorded all the same. */
  readonly isUnclear?: true;
  /** The word in `operations`, if it is another one. */
  readonly recordedAs?: string;
  /** When to send the request again, in seconds. */
  readonly retryAfter?: number;
  /** Whether it is an outcome of a command by its word alone. */
  readonly isOutcome?: true;
}

/** The state of the study or of a participant forbids it. */
const CONFLICT = { status: 409, client: 'site' } as const;
/** It was not tried. */
const LATER = { status: 503, client: 'wait', recordedAs: 'unavailable', retryAfter: 1 } as const;
/** The log could not take it, as far as the service knows. */
const UNCLEAR = { status: 503, client: 'ask', isUnclear: true, recordedAs: 'unavailable' } as const;

export const REFUSALS = {
  malformed: {
    status: [400, 405, 408, 413, 415, 422, 431],
    why: 'the request is not valid',
    client: 'mend',
  },
  duplicate: { status: 400, why: 'the participant is assigned already', client: 'mend' },
  'idempotency-key-reused': {
    status: 422,
    why: 'the Idempotency-Key was used for another request',
    hint: 'use a new key for another one',
    client: 'mend',
    isOutcome: true,
  },
  'not-authenticated': {
    status: 401,
    why: 'the key is missing, unknown, revoked or expired',
    client: 'operator',
    recordedAs: 'not-permitted',
  },
  'not-permitted': { status: 403, why: 'the key does not permit it', client: 'operator' },
  'own-allocation': {
    status: 403,
    why: 'whoever randomized a participant cannot void the allocation, or undo that',
    hint: 'treatment goes on; ask a second person, whose key is of another user and has the scope correct',
    client: 'second',
    isOutcome: true,
  },
  'not-found': { status: 404, why: 'not there, or not for this key', client: 'operator' },
  paused: {
    ...CONFLICT,
    why: 'the study is paused',
    hint: 'it takes participants again once it is resumed',
    commands: 'urn studies resume',
  },
  closed: {
    ...CONFLICT,
    why: 'the study is closed',
    hint: 'it takes participants again once it is reopened',
    commands: 'urn studies reopen',
  },
  importing: {
    ...CONFLICT,
    why: 'a history is being imported into the study',
    hint: 'wait until it is in',
    commands: 'wait until it is in',
  },
  full: { ...CONFLICT, why: 'the study, or one of its levels, has reached its limit' },
  'level-closed': { ...CONFLICT, why: 'a level of the participant is closed' },
  // The same whatever arm has too few.
  'no-code': {
    ...CONFLICT,
    why: 'a treatment has no pack left for the participant',
    says: 'there are not enough packs left for this participant',
    hint: 'ask whoever supplies packs',
    commands: 'urn codes list, urn codes add',
    isOutcome: true,
  },
  // The same whether there is no list, it is used up, or entries are to be skipped first.
  'no-entry': {
    ...CONFLICT,
    why: 'the list has no entry that the participant could be given',
    says: 'nobody with these levels can be randomized now',
    hint: 'ask whoever runs the randomization',
    commands: 'urn lists status',
    isOutcome: true,
  },
  stale: { ...CONFLICT, why: 'what was to be changed is not, or no longer, as the request says' },
  'too-many': { status: 429, why: 'too many requests', client: 'wait', recordedAs: 'unavailable' },
  unavailable: {
    status: 503,
    why: 'the service could not do it at that moment',
    client: 'ask',
    isUnclear: true,
    retryAfter: 5,
  },
  starting: { ...LATER, why: 'the service is starting or stopping' },
  overloaded: { ...LATER, why: 'too much is being asked of the service' },
  suspended: {
    status: 503,
    why: 'the studies file of the service differs from what was registered',
    says: 'the study takes no participants: the studies file of the service differs from what was registered',
    hint: 'ask the operator; the messages of the service show the differences',
    commands: 'urn studies check',
    client: 'wait',
    retryAfter: 60,
  },
  failed: { status: 500, why: 'an unexpected error', client: 'ask', isUnclear: true },
  halted: { ...UNCLEAR, why: 'a record cannot be understood', retryAfter: 300 },
  // The errors below name hosts, files and commands, which are for the operator: clients are told less.
  endangered: {
    ...UNCLEAR,
    why: 'the store may remove records of the study',
    says: 'records of this study are in danger in the store, and nothing is recorded until that is undone',
    hint: 'ask the operator; the messages of the service say how',
    retryAfter: 60,
  },
  identity: {
    ...UNCLEAR,
    why: 'the log and its signing key do not belong together',
    says: 'the service cannot sign records, and nothing is recorded until it can',
    hint: 'ask the operator; the messages of the service say what to do',
    retryAfter: 300,
  },
  moved: {
    ...UNCLEAR,
    why: 'the log continues in another store',
    says: 'the log is moved to another store, and nothing more is recorded here',
    hint: 'ask the operator which service records now',
    retryAfter: 30,
  },
  'rolled-back': {
    ...UNCLEAR,
    why: 'the log lacks records that it had',
    says: 'the log lacks records that it had, and nothing is recorded until that is settled',
    hint: 'ask the operator; the messages of the service say what to do',
    retryAfter: 300,
  },
} as const satisfies Readonly<Record<string, Row>>;

type Table = typeof REFUSALS;
export type RefusalWord = keyof Table;

/** Words that are outcomes of a command by themselves. */
export type PlainRefusal = {
  [W in RefusalWord]: Table[W] extends { readonly isOutcome: true } ? W : never;
}[RefusalWord];

/** Words of `operations` that no answer has: whose key it was, and what is not recorded one by one. */
const RECORDED_ALONE = {
  'revoked-key': 'the key is revoked',
  'expired-key': 'the key has expired',
  several: 'for several reasons, beyond what is recorded one by one',
} as const;

/** Under which word `operations` records a refusal. */
export type RecordedReason =
  | { [W in RefusalWord]: Table[W] extends { readonly recordedAs: infer R } ? R : W }[RefusalWord]
  | keyof typeof RECORDED_ALONE;

const ROWS: Readonly<Record<string, Row>> = REFUSALS;

export function refusalRow(word: RefusalWord): Row {
  return REFUSALS[word];
}

export function recordedReason(word: RefusalWord): RecordedReason {
  return (ROWS[word]?.recordedAs ?? word) as RecordedReason;
}

/** Why something was refused, for each word of `operations`. */
export const RECORDED_REASONS = {
  ...Object.fromEntries(
    Object.entries(ROWS).flatMap(([word, { recordedAs, why }]) => (recordedAs ? [] : [[word, why]])),
  ),
  ...RECORDED_ALONE,
} as Readonly<Record<RecordedReason, string>>;

/** What a status alone says: of several words, the first. */
export function wordOfStatus(status: number): RefusalWord {
  const found = Object.entries(ROWS).find(([, row]) => [row.status].flat().includes(status));
  return (found?.[0] ?? 'failed') as RefusalWord;
}
