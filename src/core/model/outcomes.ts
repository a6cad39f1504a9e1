/**
 * What comes of a command: recorded, refused, or done before; and why. It is data: whoever asked makes a status of HTTP or an
 * exit code of it, and says it in words. Below: the outcomes that many rules make, and the states of a study, which some of
 * them name.
 */
import type { LevelLimit } from '../../../events/access.ts';

export type StudyOutcome =
  | { readonly type: 'registered' | 'already-registered' | 'not-registered' }
  | { readonly type: 'recovered' | 'already-recovered' }
  /** An act (`decideAct`). */
  | {
      readonly type: 'recorded';
      /** As randomized. */
      readonly participantId?: string | undefined;
      /** Whether the counts of the urns change from here on. */
      readonly moves: boolean;
      /** What the act records in the clear, without what it chooses if it was only tried. */
      readonly data?: Members;
    }
  | { readonly type: 'amended' }
  /** Each problem with a path in the fact. */
  | { readonly type: 'not-amendable'; readonly problems: readonly FieldProblem[] }
  /** The command was judged by the design before an amendment, and must be judged again. */
  | { readonly type: 'amended-meanwhile' }
  /** The study has no such level now, or takes nobody with it. */
  | { readonly type: 'level-unknown' | 'level-closed'; readonly factor: string; readonly level: string }
  | { readonly type: 'randomized' | 'imported'; readonly participantId: string }
  | { readonly type: 'import-begun' | 'import-ended' | 'import-aborted' | 'not-importing' }
  /** The study has participants. */
  | { readonly type: 'not-empty' }
  | { readonly type: 'codes-registered' | 'list-registered' | 'entries-skipped' }
  /** A treatment has too few packs left for the participant. The answer never says which one. */
  | { readonly type: 'no-code' }
  /** The list has no entry that the participant could be given. The answer never says why. */
  | { readonly type: 'no-entry' }
  /** The study is as asked for already. */
  | { readonly type: 'already'; readonly why: string }
  /** What the command wants to change is not, or no longer, as it says. `field` is a path in the fact. `isSo`: it is so already. */
  | { readonly type: 'stale'; readonly why: string; readonly field?: string; readonly isSo?: true }
  /** The key may act on the participant as they are, but not as they would be. */
  | { readonly type: 'outside-limits'; readonly limit: LevelLimit }
  /** A reveal that was shown earlier is already in the log. */
  | { readonly type: 'already-recorded'; readonly revision: number }
  /** The same request with the same idempotency key gets the same answer. */
  | { readonly type: 'repeated'; readonly participantId: string }
  /** The same, for a command that made the fact at this revision, with what it recorded in the clear. */
  | { readonly type: 'done-before'; readonly revision: number; readonly data?: Members }
  /** The idempotency key belongs to another request. */
  | { readonly type: 'idempotency-key-reused' }
  /** The id is taken. `differingFactors` is empty when that participant has the same levels. */
  | {
      readonly type: 'duplicate';
      readonly participantId: string;
      readonly differingFactors: readonly string[];
    }
  /** The participant, by the id in use, has a pack for the visit. `pack`: for those who may be told. */
  | {
      readonly type: 'dispensed-already';
      readonly participantId: string;
      readonly visit: string;
      readonly pack?: { readonly visit: string; readonly code: string };
    }
  /** Whoever randomized the participant must not void the allocation in a live study, nor undo that. */
  | { readonly type: 'own-allocation' }
  | { readonly type: 'no-such-participant' }
  /** Well-formed, but not possible in this study. `field` is a path in the fact. */
  | { readonly type: 'impossible'; readonly field: string; readonly why: string }
  /** Not well-formed in this study: what the design alone shows. Each problem with a path in the fact. */
  | { readonly type: 'unfit'; readonly problems: readonly FieldProblem[] }
  | { readonly type: 'refused'; readonly because: Status | 'suspended' }
  /** The study, or a level, has reached its limit. */
  | { readonly type: 'full'; readonly limit: FullLimit };

/** What is wrong with one member. `field` is a path in the fact. */
export interface FieldProblem {
  readonly field: string;
  readonly why: string;
}

/** A limit that is reached: for all participants, or for those with one level. */
export interface FullLimit {
  readonly max: number;
  readonly of?: { readonly factor: string; readonly level: string };
}

/** Members of an event, by name. */
export type Members = Readonly<Record<string, unknown>>;

/** @param field a path in the data of the fact */
export function impossible(field: string, why: string): StudyOutcome {
  return { type: 'impossible', field, why };
}

/** The first problem, if there is one. */
export function firstOf([problem]: readonly FieldProblem[]): StudyOutcome | undefined {
  return problem && impossible(problem.field, problem.why);
}

/** No problem is no outcome. */
export function unfit(problems: readonly FieldProblem[]): StudyOutcome | undefined {
  return problems.length > 0 ? { type: 'unfit', problems } : undefined;
}

/** What the request is about is not, or no longer, as it says. */
export function stale(why: string, field?: string): StudyOutcome {
  return { type: 'stale', why, ...(field !== undefined && { field }) };
}

/** The same, because what is asked for is so already. */
export function alreadySo(why: string): StudyOutcome {
  return { type: 'stale', why, isSo: true };
}

/** The study is as asked for already. */
export function already(why: string): StudyOutcome {
  return { type: 'already', why };
}

/** The states of a study. */
export const STATUSES = ['open', 'paused', 'closed', 'importing'] as const;
/** Those in which no import is under way. */
export const SETTLED = ['open', 'paused', 'closed'] as const;
export type Status = (typeof STATUSES)[number];
