/** Decides the commands that need no sealed data. Pure, like decide.ts. */
import type { StudyFact } from '../../events/catalogue.ts';
import { currentLevels } from '../../projections/enrolled.ts';
import type { Decision } from '../write/decider.ts';
import { ACTS } from './acts.ts';
import { amendmentOf, amendmentProblem, staleAmendment } from './amendments.ts';
import { approvalProblems, protocolProblems } from './approvals.ts';
import {
  type Amend,
  type Force,
  type Grounds,
  impossible,
  type LifeCommand,
  type ParticipantCommand,
  type Repeatable,
  type ReportUnblinding,
  type Reveal,
  type StateCommand,
  type StudyOutcome,
} from './commands.ts';
import { type CorrectionFact, correctionOf, correctionProblem, movesCounts } from './corrections.ts';
import { type ForcedFact, forcedOf, forcedProblem, treatmentProblem } from './forced.ts';
import { brokenLimit, isWithin, limitNow, stakeOf } from './key-limits.ts';
import {
  type Allocated,
  answeredBefore,
  contentOf,
  holderOf,
  idByPack,
  isAmendedSince,
  type Life,
  requestSection,
} from './life.ts';
import { replacementProblem } from './packs.ts';

type Of<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>;
type StateFact = Of<'StudyPaused' | 'StudyResumed' | 'StudyClosed' | 'StudyReopened'>;
type AmendmentFact = Of<'StudyAmended'>;
type UnblindingFact = Of<'AllocationRevealed' | 'UnblindingReported'>;
type AboutFact = UnblindingFact | CorrectionFact | Of<'CodeReplaced'>;
type LifeFact = StateFact | AmendmentFact | ForcedFact | AboutFact | Of<'CodesWithdrawn'>;
type LifeDecision = Decision<LifeFact, StudyOutcome>;

export function decideLife(life: Life, command: LifeCommand): LifeDecision {
  if (command.type === 'force') return force(life, command);
  if (command.type === 'reveal') return reveal(life, command);
  if ('participantId' in command) return aboutParticipant(life, command);
  return command.type === 'amend' ? amend(life, command) : setState(life, command);
}

function setState(life: Life, command: StateCommand): LifeDecision {
  const fact = stateFact(command);
  const again = askedAgain(life, command, fact);
  if (again) return { outcome: again };
  if (life.status === STATE_AFTER[command.type]) return { outcome: { type: ALREADY[command.type] } };
  const askedAt = 'askedAt' in command ? command.askedAt : undefined;
  const problem = stateProblem(life, fact) ?? approvalProblem(life, fact, askedAt);
  return problem ? { outcome: problem } : { fact, outcome: { type: DONE[command.type] } };
}

function amend(life: Life, command: Amend): LifeDecision {
  const fact: AmendmentFact = {
    type: 'StudyAmended',
    data: amendmentOf(command),
    sections: requestSection(command),
  };
  const problem =
    askedAgain(life, command, fact) ??
    stateProblem(life, fact) ??
    staleAmendment(life.design, fact.data) ??
    amendmentProblem(life.design, fact.data, command.askedAt);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'amended' } };
}

function force(life: Life, command: Force): LifeDecision {
  const fact = forcedOf(life, command);
  const { participantId, treatment } = command;
  const problem =
    askedAgain(life, command, fact) ??
    stateProblem(life, fact) ??
    amendedMeanwhile(life, command) ??
    forcedProblem(life, fact) ??
    (life.lists > 0 && command.code === undefined ? impossible('code', NO_WORD_OF_A_PACK) : undefined) ??
    treatmentProblem(life, treatment, command.occurredAt) ??
    (command.isPackRight === false
      ? impossible('code', 'no free pack of this arm has this code')
      : undefined);
  if (problem) return { outcome: problem };
  return { fact, outcome: { type: 'forced', participantId, moves: fact.data.counted } };
}

const NO_WORD_OF_A_PACK =
  'the study has packs: say which one the participant was given, or that it was none (null, or --no-code)';

export const STATE_AFTER = { pause: 'paused', resume: 'open', close: 'closed', reopen: 'open' } as const;
const DONE = { pause: 'paused', resume: 'resumed', close: 'closed', reopen: 'reopened' } as const;
const ALREADY = {
  pause: 'already-paused',
  resume: 'not-paused',
  close: 'already-closed',
  reopen: 'not-closed',
} as const;

/** If the pack was given out, the code-break is also about the participant. */
function reveal(life: Life, command: Reveal): LifeDecision {
  const { code } = command;
  const participantId = code === undefined ? command.participantId : idByPack(life, code);
  if (participantId !== undefined) return aboutParticipant(life, { ...command, participantId });
  const sections = { grounds: groundsOf(command.grounds), ...requestSection(command) };
  const fact = { type: 'AllocationRevealed' as const, data: revealOf(command), sections };
  const problem =
    askedAgain(life, command, fact) ??
    recordedAlready(life, command) ??
    (code === undefined || life.lists === 0 || command.isPackKnown === false
      ? ({ type: 'no-such-participant' } as const)
      : undefined);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'revealed', code } };
}

type AboutOne = ParticipantCommand | (Reveal & { readonly participantId: string });

function aboutParticipant(life: Life, command: AboutOne): LifeDecision {
  const participant = participantFor(life, command);
  if (!participant) return { outcome: { type: 'no-such-participant' } };
  const { fact, outcome } = participantFact(life, command, participant);
  const outside = limitsProblem(life, command, participant, fact);
  const again = askedAgain(life, command, fact);
  // What a key did is confirmed even if its participant has left its limits since, but no arm is shown again then.
  if (again && (!outside || command.type !== 'reveal')) return { outcome: again };
  const problem =
    outside ??
    recordedAlready(life, command) ??
    stateProblem(life, fact) ??
    amendedMeanwhile(life, command) ??
    problemOfFact(life, command, fact, participant);
  return problem ? { outcome: withinLimits(life, command, participant, problem) } : { fact, outcome };
}

function problemOfFact(
  life: Life,
  command: AboutOne,
  fact: AboutFact,
  participant: Allocated,
): StudyOutcome | undefined {
  if (isUnblinding(fact)) return unblindingProblem(life, fact);
  if (fact.type !== 'CodeReplaced') return correctionProblem(life, fact, participant);
  if (command.type !== 'replace-code') return undefined;
  return replacementProblem(participant, command);
}

/** A site may record that a participant moves to it, but must not be able to find out levels by trying. */
function withinLimits(
  { design }: Life,
  { where }: AboutOne,
  participant: Allocated,
  problem: StudyOutcome,
): StudyOutcome {
  if (problem.type !== 'stale' || isWithin(where, design, currentLevels(participant))) return problem;
  return { ...problem, why: 'a level is not as the request says' };
}

function amendedMeanwhile(life: Life, command: AboutOne | Force): StudyOutcome | undefined {
  return 'amendment' in command && isAmendedSince(life, command) ? { type: 'amended-meanwhile' } : undefined;
}

/** The answer to a request whose idempotency key was used before. */
export function askedAgain(life: Life, command: Repeatable, fact: LifeFact): StudyOutcome | undefined {
  const earlier = answeredBefore(life, command);
  if (!earlier) return undefined;
  return earlier.content === contentOf(fact, life.design)
    ? { type: 'done-before', revision: earlier.revision, by: earlier.by }
    : { type: 'idempotency-key-reused' };
}

export function stateProblem({ status }: Life, { type }: Pick<StudyFact, 'type'>): StudyOutcome | undefined {
  return ACTS[type].in.includes(status) ? undefined : { type: 'refused', because: status };
}

function participantFor(life: Life, { participantId, randomizedAt }: AboutOne): Allocated | undefined {
  const holder = holderOf(life, participantId);
  return holder?.revision === (randomizedAt ?? holder?.revision) ? holder : undefined;
}

/** A participant outside the limits of a key does not exist for it. */
function limitsProblem(
  { design }: Life,
  { where }: AboutOne,
  participant: Allocated,
  fact: LifeFact,
): StudyOutcome | undefined {
  const stake = stakeOf(fact, participant, design.factors);
  const broken = brokenLimit(where, stake, design);
  if (!broken) return undefined;
  const now = { ...stake, of: stake.of.slice(0, 1) };
  const mayKnow = stake.need === 'all' && !brokenLimit(where, now, design);
  return mayKnow
    ? { type: 'outside-limits', limit: limitNow(broken, design) }
    : { type: 'no-such-participant' };
}

function stateFact(command: StateCommand): StateFact {
  const sections = requestSection(command);
  const { reason } = command;
  switch (command.type) {
    case 'pause':
      return { type: 'StudyPaused', data: { reason }, sections };
    case 'resume':
      return { type: 'StudyResumed', data: { reason }, sections };
    case 'close': {
      const { approvals, cause } = command;
      const data = { ...(approvals && { approvals: [...approvals] }), cause, reason };
      return { type: 'StudyClosed', data, sections };
    }
    case 'reopen': {
      const { approvals, protocol } = command;
      const data = { approvals: [...approvals], ...(protocol && { protocol }), reason };
      return { type: 'StudyReopened', data, sections };
    }
  }
}

function participantFact(
  life: Life,
  command: AboutOne,
  participant: Allocated,
): { readonly fact: AboutFact; readonly outcome: StudyOutcome } {
  const { participantId, revision: randomizedAt } = participant;
  const about = { participantId, randomizedAt };
  switch (command.type) {
    case 'reveal': {
      const sections = { grounds: groundsOf(command.grounds), ...requestSection(command) };
      const fact = { type: 'AllocationRevealed' as const, data: revealOf(command, about), sections };
      return { fact, outcome: { type: 'revealed', participantId } };
    }
    case 'report-unblinding': {
      const sections = { grounds: groundsOf(command.grounds), ...requestSection(command) };
      const fact = { type: 'UnblindingReported' as const, data: unblindingOf(command, about), sections };
      return { fact, outcome: { type: 'unblinding-reported', participantId } };
    }
    case 'replace-code': {
      const { cause, code } = command;
      // The pack is chosen by whoever knows the lists, once nothing else is wrong.
      const data = { by: '', cause, code, ...about };
      const fact = { type: 'CodeReplaced' as const, data, sections: requestSection(command) };
      return { fact, outcome: { type: 'code-replaced', participantId, moves: false } };
    }
    default: {
      const fact = correctionOf(life, command, participant);
      const moves = movesCounts(life, fact, participant);
      return { fact, outcome: { type: CORRECTED[command.type], participantId, moves } };
    }
  }
}

const CORRECTED = {
  'correct-levels': 'levels-corrected',
  void: 'voided',
  reinstate: 'reinstated',
  'correct-id': 'id-corrected',
} as const;

interface About {
  readonly participantId: string;
  readonly randomizedAt: number;
}

function revealOf({ category, code, reveal: id, shownAt }: Reveal, about?: About) {
  return {
    category,
    ...(code !== undefined && { code }),
    ...about,
    reveal: id,
    ...(shownAt !== undefined && { shownAt }),
  };
}

function unblindingOf(
  { how, inadvertent, occurredAt, revealedAt }: ReportUnblinding,
  { participantId, randomizedAt }: About,
) {
  return {
    how,
    ...(inadvertent && { inadvertent: true as const }),
    occurredAt,
    participantId,
    randomizedAt,
    ...(revealedAt !== undefined && { revealedAt }),
  };
}

function groundsOf({ reason, requestedBy }: Grounds) {
  return { reason, ...(requestedBy !== undefined && { requestedBy }) };
}

function isUnblinding(fact: AboutFact): fact is UnblindingFact {
  return fact.type === 'AllocationRevealed' || fact.type === 'UnblindingReported';
}

function recordedAlready({ reveals }: Life, command: AboutOne | Reveal): StudyOutcome | undefined {
  if (command.type !== 'reveal') return undefined;
  const recorded = reveals.find((one) => one.reveal === command.reveal);
  return recorded && { type: 'already-recorded', revision: recorded.revision };
}

function unblindingProblem({ reveals }: Life, { type, data }: UnblindingFact): StudyOutcome | undefined {
  if (type === 'AllocationRevealed') return undefined;
  const { revealedAt, participantId } = data;
  const isOf = ({ revision, participantId: id }: Life['reveals'][number]) =>
    revision === revealedAt && id === participantId;
  return revealedAt === undefined || reveals.some(isOf)
    ? undefined
    : impossible('revealedAt', 'no code of this participant was broken at this revision');
}

function approvalProblem(
  { design }: Life,
  { type, data }: StateFact,
  askedAt: string | undefined,
): StudyOutcome | undefined {
  if (type !== 'StudyClosed' && type !== 'StudyReopened') return undefined;
  const [problem] =
    type === 'StudyClosed'
      ? approvalProblems(data.approvals ?? [], askedAt)
      : [
          ...approvalProblems(
            data.approvals,
            askedAt,
            design.mode,
            'a live study can be reopened only with an approval',
          ),
          ...protocolProblems(data.protocol),
        ];
  return problem && impossible(problem.field, problem.why);
}
