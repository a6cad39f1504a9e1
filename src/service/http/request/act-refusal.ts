/** The answers to acts that are refused, and to entries by hand. */
import type { Status, StudyOutcome } from '../../../core/model/outcomes.ts';
import { bodyName } from './act-form.ts';
import { problemList } from './problem.ts';
import { limitedTo, noCodeReply, reusedReply } from './refused-reply.ts';
import type { StudyReply } from './study-request.ts';

const NO_PARTICIPANT = 'There is no such participant';

/** What to do about the state of a study. */
const HINTS: Readonly<Record<Status | 'suspended', string>> = {
  open: 'pause it, or close it',
  paused: 'resume it, or close it',
  closed: 'reopen it first',
  importing: 'a history is being imported: wait until it is in',
  suspended: 'ask the operator',
};

/** @param empty `results` of the route without a result @returns undefined if the outcome is no refusal */
export function actRefusal(
  outcome: StudyOutcome,
  revision: number,
  empty: '[]' | '{}',
): StudyReply | undefined {
  const common = { results: empty, revision };
  const conflict = { ...common, status: 409, refused: 'stale' } as const;
  switch (outcome.type) {
    case 'no-such-participant':
      return { ...common, status: 404, message: NO_PARTICIPANT };
    case 'outside-limits': {
      const hint = 'hint: the cause of a move to another site is transfer';
      return { ...common, status: 403, message: `${limitedTo([outcome.limit])} (${hint})` };
    }
    case 'stale':
      return { ...conflict, message: `Nothing was recorded: ${outcome.why}` };
    case 'amended-meanwhile':
      return { ...conflict, message: 'The study was amended at this moment (send the request again)' };
    case 'refused': {
      const { because } = outcome;
      if (because === 'open') throw new Error('an open study forbids nothing');
      return { ...conflict, message: `The study is ${because} (${HINTS[because]})`, refused: because };
    }
    case 'no-code':
      return { ...noCodeReply(revision), ...common };
    case 'unfit': {
      const problems = outcome.problems.map(({ field, why }) => `${bodyName(field)}: ${why}`);
      return { ...common, status: 400, message: problemList(problems) };
    }
    case 'dispensed-already': {
      const { pack, participantId, visit } = outcome;
      const message = `${participantId} has a pack for ${visit} already`;
      return { revision, status: 400, message, results: JSON.stringify(pack ?? {}), refused: 'duplicate' };
    }
    case 'impossible': {
      const message = `${bodyName(outcome.field)}: ${outcome.why}`;
      return { ...common, status: 422, message, refused: 'malformed' };
    }
    case 'idempotency-key-reused':
      return { ...reusedReply(revision), ...common };
    default:
      return undefined;
  }
}
