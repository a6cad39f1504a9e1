/**
 * What comes of a command: done, done before, or refused; and why. It is data. What a refusal is to whoever asked, and why a
 * record of it would be impossible, is told by `refusalOf` and `whyImpossible`, which HTTP, the command line and verification
 * put in their own frames; its word, status and hints are in src/base/refusals.ts. Below: the outcomes that many rules make, and
 * the states of a study, which some of them name.
 */
import type { LevelLimit } from '../../../events/access.ts';
import { type PlainRefusal, type RefusalWord, refusalRow } from '../../base/refusals.ts';

export type StudyOutcome = Done | Refused;

/** Recorded, tried out, or so already. */
type Done =
  | { readonly type: 'registered' | 'already-registered' }
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
  | { readonly type: 'randomized' | 'imported'; readonly participantId: string }
  | { readonly type: 'import-begun' | 'import-ended' | 'import-aborted' }
  | { readonly type: 'codes-registered' | 'list-registered' | 'entries-skipped' }
  /** The study is as asked for already. */
  | { readonly type: 'already'; readonly why: string }
  /** A reveal that was shown earlier is already in the log. */
  | { readonly type: 'already-recorded'; readonly revision: number }
  /** The same request with the same idempotency key gets the same answer. */
  | { readonly type: 'repeated'; readonly participantId: string }
  /** The same, for a command that made the fact at this revision, with what it recorded in the clear. */
  | { readonly type: 'done-before'; readonly revision: number; readonly data?: Members };

/** Nothing is recorded. */
type Refused =
  | { readonly type: PlainRefusal }
  | { readonly type: 'not-registered' | 'not-importing' }
  /** The study has participants. */
  | { readonly type: 'not-empty' }
  /** Each problem with a path in the fact. */
  | { readonly type: 'not-amendable'; readonly problems: readonly FieldProblem[] }
  /** The command was judged by the design before an amendment, and must be judged again. */
  | { readonly type: 'amended-meanwhile' }
  /** The study has no such level now, or takes nobody with it. */
  | { readonly type: 'level-unknown' | 'level-closed'; readonly factor: string; readonly level: string }
  /** What the command wants to change is not, or no longer, as it says. `field` is a path in the fact. `isSo`: it is so already. */
  | { readonly type: 'stale'; readonly why: string; readonly field?: string; readonly isSo?: true }
  /** The key may act on the participant as they are, but not as they would be. */
  | { readonly type: 'outside-limits'; readonly limit: LevelLimit }
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
  | { readonly type: 'no-such-participant' }
  /** Well-formed, but not possible in this study. `field` is a path in the fact. */
  | { readonly type: 'impossible'; readonly field: string; readonly why: string }
  /** Not well-formed in this study: what the design alone shows. Each problem with a path in the fact. */
  | { readonly type: 'unfit'; readonly problems: readonly FieldProblem[] }
  | { readonly type: 'refused'; readonly because: Status | 'suspended' }
  /** The study, or a level, has reached its limit. */
  | { readonly type: 'full'; readonly limit: FullLimit };

/** What a refusal is to whoever asked. Its texts are fragments of a sentence, as in src/base/refusals.ts. */
export interface Refusal {
  readonly word: RefusalWord;
  /** Of HTTP. */
  readonly status: number;
  readonly says: string;
  /** More exactly: what is wrong with each member. */
  readonly problems?: readonly FieldProblem[];
  /** Why, of a record that should not be there. */
  readonly why: string;
  readonly hint?: string | undefined;
  readonly commands?: string | undefined;
}

/** Undefined if the command was not refused. */
export function refusalOf(outcome: StudyOutcome): Refusal | undefined {
  if (isDone(outcome)) return undefined;
  const own = ownWords(outcome);
  const { status, why, says = why, hint, commands } = refusalRow(own.word);
  return { status: [status].flat()[0] ?? 500, why, says, hint, commands, ...own };
}

/** Why a record that a command with this outcome would have written cannot be. */
export function whyImpossible(outcome: StudyOutcome): string {
  if (outcome.type === 'already') return outcome.why;
  return isDone(outcome) ? RECORDED_BEFORE[outcome.type] : (refusalOf(outcome)?.why ?? NOT_DECIDED);
}

function isDone(outcome: StudyOutcome): outcome is Done {
  return outcome.type in RECORDED_BEFORE;
}

const NOT_DECIDED = 'it would not have been decided';
const REPEATED = 'its Idempotency-Key belongs to an earlier request of the same user';
const RECORDED_BEFORE: Readonly<Record<Done['type'], string>> = {
  registered: NOT_DECIDED,
  'already-registered': 'the study is registered already',
  recovered: NOT_DECIDED,
  'already-recovered': 'its generator has already been restarted for this recovery or a later one',
  recorded: NOT_DECIDED,
  amended: NOT_DECIDED,
  randomized: NOT_DECIDED,
  imported: NOT_DECIDED,
  'import-begun': NOT_DECIDED,
  'import-ended': NOT_DECIDED,
  'import-aborted': NOT_DECIDED,
  'codes-registered': NOT_DECIDED,
  'list-registered': NOT_DECIDED,
  'entries-skipped': NOT_DECIDED,
  already: NOT_DECIDED,
  'already-recorded': 'the same code-break is recorded already',
  repeated: REPEATED,
  'done-before': REPEATED,
};

type OwnWords = Pick<Refusal, 'word'> & Partial<Refusal>;

/** What an outcome adds to the row of its word. */
function ownWords(outcome: Refused): OwnWords {
  switch (outcome.type) {
    case 'not-registered':
      return stated('not-found', 'no study is registered in this stream before it');
    case 'no-such-participant':
      return {
        ...stated('not-found', 'there is no such participant'),
        why: 'no participant with that id, and no pack with that code, is known before it',
      };
    case 'not-importing':
      return stated('stale', 'no import is under way');
    case 'not-empty':
      return stated('stale', 'the study has participants already');
    case 'amended-meanwhile':
      return {
        ...stated('stale', 'the study was amended at this moment'),
        hint: 'send the request again',
        commands: 'run it again',
      };
    case 'stale':
      return stated('stale', outcome.why);
    case 'refused':
      return outcome.because === 'open' ? stated('stale', 'the study is open') : { word: outcome.because };
    case 'level-unknown':
      return stated('malformed', `the study has no level ${outcome.level} of ${outcome.factor}`);
    case 'level-closed': {
      const { factor, level } = outcome;
      const says = `the study takes no more participants with ${factor} = ${level}: the level is closed`;
      return { word: 'level-closed', says };
    }
    case 'full': {
      const { max, of } = outcome.limit;
      const whom = of ? `participants with ${of.factor} = ${of.level}` : 'participants';
      return { word: 'full', says: `the study takes no more ${whom}: the limit of ${max} is reached` };
    }
    case 'outside-limits':
      return {
        ...{
          word: 'not-permitted',
          says: limitedTo([outcome.limit]),
          why: 'the key is limited to other levels',
        },
        hint: 'the cause of a move to another site is transfer',
      };
    case 'duplicate':
      return { word: 'duplicate', says: `participant ${outcome.participantId} is already assigned` };
    case 'dispensed-already':
      return {
        ...{ word: 'duplicate', says: `${outcome.participantId} has a pack for ${outcome.visit} already` },
        why: 'the participant has a pack for this visit',
        commands: 'urn participants correct-dispensation, urn codes replace',
      };
    case 'impossible':
      return { ...wrongMembers([outcome]), status: 422 };
    case 'not-amendable':
      return { ...wrongMembers(outcome.problems), status: 422 };
    case 'unfit':
      return wrongMembers(outcome.problems);
    default:
      return { word: outcome.type };
  }
}

/** The same to whoever asked and of a record. */
function stated(word: RefusalWord, says: string): OwnWords {
  return { word, says, why: says };
}

function wrongMembers(problems: readonly FieldProblem[]): OwnWords {
  return { word: 'malformed', problems, why: problems[0]?.why ?? NOT_DECIDED };
}

/** @param limits with the present names of the levels */
export function limitedTo(limits: readonly LevelLimit[]): string {
  const each = limits.map(
    ({ factor, levels }) => `${factor} = ${levels.map((level) => JSON.stringify(level)).join(' or ')}`,
  );
  return `this API key is limited to ${each.join(' and ')}`;
}

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
