/**
 * Replays the stream of a study whose draws are withheld, so that they cannot be decided again. Everything else can: the
 * order of the events, the ids, the levels, the states of the study, the actors. Where treatments are included, they must be
 * the study's.
 */
import type { StudyFact } from '../../../../events/catalogue.ts';
import type { PartialEvent, PartialEventOf, PartialStudyEvent } from '../../../../events/record.ts';
import { membersOf } from '../../../core/acts/act.ts';
import { actOf, commandIn, stateProblem } from '../../../core/acts/acts.ts';
import { type Design, hasRatio, openTreatments } from '../../../core/model/design.ts';
import { fullLimit, levelRefusal } from '../../../core/model/limits.ts';
import { methodOf } from '../../../core/model/method-of.ts';
import { forkOf, levelIndexes, type Model } from '../../../core/model/model.ts';
import type { StudyOutcome } from '../../../core/model/outcomes.ts';
import { listProblem } from '../../../core/model/packs.ts';
import { type EnrolmentEvent, levelsByFactor } from '../../../core/model/participants.ts';
import { decideInClear } from '../../../core/study/decide.ts';
import { fold, modelOf } from '../../../core/study/fold.ts';
import { forcedProblem, slotsOf, treatmentProblem } from '../../../core/study/force.ts';
import { beginProblem, endProblem, rowProblem } from '../../../core/study/import.ts';
import { registrationProblem, skipProblem } from '../../../core/study/lists.ts';
import type { Decision } from '../../../core/write/decider.ts';
import type { Mismatch } from '../report/report.ts';
import { asMismatches, dataDifferences, mismatch, type Replay } from './replay.ts';
import { amendCommandOf } from './replay-study.ts';
import { enrolments, type StudyChecks, undecided } from './study-checks.ts';

export class EnrolmentReplay implements Replay<PartialEvent> {
  readonly #checks: StudyChecks;
  #model: Model | undefined;
  participants = 0;

  constructor(checks: StudyChecks) {
    this.#checks = checks;
  }

  take(given: PartialEvent, withheldSeals: Readonly<Record<string, string>> = {}): readonly Mismatch[] {
    const event = given as PartialStudyEvent;
    const model = this.#model;
    const sections = [...Object.keys(event.sections), ...Object.keys(withheldSeals)];
    const invalid = this.#checks.mismatch(event, sections, model);
    if (invalid) return [invalid];
    const mismatches = mismatchesOf(event, model, this.#checks.isSupply(event));
    if (mismatches.length > 0) return mismatches;
    const mismatchOfDecided = this.#checks.mismatchOfDecided(event, model);
    if (mismatchOfDecided) return [mismatchOfDecided];
    this.#checks.take(event, model, sections);
    if (model) fold(model, event);
    // A replay shows no lists.
    else if (event.type === 'StudyRegistered') this.#model = forkOf(modelOf(event));
    return [];
  }

  passed(event: PartialEvent): void {
    const { type, data } = event;
    this.participants += enrolments(event);
    // An import begins without participants. If one was given up, the study had no others.
    if (type === 'HistoryImportEnded' && 'aborted' in data) this.participants = 0;
  }

  /** Undefined before the registration. */
  get model(): Model | undefined {
    return this.#model;
  }
}

function mismatchesOf(
  event: PartialStudyEvent,
  model: Model | undefined,
  isSupply: boolean,
): readonly Mismatch[] {
  const refused = (outcome: StudyOutcome) => [undecided(event.type, outcome)];
  if (event.type === 'StudyRegistered') return model ? refused({ type: 'already-registered' }) : [];
  if (!model) return refused({ type: 'not-registered' });
  const occasion = { at: event.at, mode: 'replay' } as const;
  switch (event.type) {
    case 'ParticipantRandomized': {
      const outcome = enrolmentRefusal(event, model);
      if (outcome) return refused(outcome);
      const wrong = codeMismatch(event, model) ?? treatmentMismatch(event, model);
      return wrong ? [wrong] : [];
    }
    case 'AllocationForced': {
      const problem = forcedProblem(model, event);
      const wrong = treatmentMismatch(event, model) ?? countedMismatch(event, model);
      return wrong && !problem ? [wrong] : problemsOf(event.type, model, problem ?? closedThen(event, model));
    }
    case 'HistoryImported':
      return problemsOf(event.type, model, beginProblem(model, event.data, event.at));
    case 'ParticipantImported': {
      const { participantId } = event.data;
      const taken = model.participants.find(participantId);
      const duplicate = taken && ({ type: 'duplicate', participantId, differingFactors: [] } as const);
      const problem = rowProblem(model, event.data) ?? duplicate;
      const unknown = treatmentMismatch(event, model);
      return unknown && !problem ? [unknown] : problemsOf(event.type, model, problem);
    }
    case 'HistoryImportEnded':
      return problemsOf(event.type, model, endProblem(model, event.data));
    case 'CodesRegistered':
      return problemsOf(event.type, model, listProblem(model, event.data));
    case 'ListRegistered':
      return problemsOf(event.type, model, registrationProblem(model, event.data, event.at));
    case 'EntriesSkipped':
      return problemsOf(event.type, model, skipProblem(model, event.data));
    case 'StudyRecovered':
      return model.recovery >= event.data.recovery ? refused({ type: 'already-recovered' }) : [];
    case 'StudyAmended':
      return differing(event, decideInClear(model, amendCommandOf(event), occasion, { recorded: {} }));
    default: {
      const act = actOf(event.type);
      const recorded = membersOf(act.writes, event);
      const command = commandIn(act, event, { isSupply });
      return differing(event, decideInClear(model, command, occasion, { recorded }));
    }
  }
}

/** The part in the clear determines nothing about an import, so all that can be judged is whether it was possible. */
function problemsOf(
  type: PartialStudyEvent['type'],
  model: Model,
  problem: StudyOutcome | undefined,
): readonly Mismatch[] {
  const first = stateProblem(model, type) ?? problem;
  return first ? [undecided(type, first)] : [];
}

function differing(
  event: PartialStudyEvent,
  { fact, outcome }: Decision<StudyFact, StudyOutcome>,
): readonly Mismatch[] {
  if (!fact) return [undecided(event.type, outcome)];
  return asMismatches(
    dataDifferences(fact, event),
    'deciding it again from the earlier events gives something else',
  );
}

/** Why the decider would have refused it, as far as the part in the clear shows. */
function enrolmentRefusal(
  { type, data }: PartialEventOf<'ParticipantRandomized'>,
  model: Model,
): StudyOutcome | undefined {
  const { participantId } = data;
  if (model.participants.find(participantId))
    return { type: 'duplicate', participantId, differingFactors: [] };
  const refused = stateProblem(model, type);
  if (refused) return refused;
  const levels = levelsByFactor(data.levels, model.design.factors);
  const closed = levelRefusal(model.design, levels, 'level-closed');
  if (closed) return closed;
  const limit = fullLimit(model.filled, model.design, levels);
  if (limit) return { type: 'full', limit };
  const isSpent = methodOf(model.methodDesign).isSpent?.(model, levelIndexes(model, levels)) ?? false;
  return isSpent ? { type: 'no-entry' } : undefined;
}

/** In a study with packs, everybody gets a pack that nobody had before. */
function codeMismatch(
  { data: { code } }: PartialEventOf<'ParticipantRandomized'>,
  { given, lists }: Model,
): Mismatch | undefined {
  if ((code === undefined) !== (lists === 0))
    return mismatch(
      'data.code',
      lists > 0,
      code,
      'every participant has a pack once there are lists of packs',
    );
  return code === undefined || given.get(code) === undefined
    ? undefined
    : mismatch('data.code', 'a pack that nobody had', code, 'this pack was given out before');
}

function treatmentMismatch(event: EnrolmentEvent, { design }: Model): Mismatch | undefined {
  const { treatment } = event.sections.allocation ?? {};
  if (treatment === undefined) return undefined;
  const { treatments, closedTreatments } = design;
  if (!treatments.includes(treatment))
    return mismatch('allocation.treatment', treatments, treatment, 'no treatment of this study');
  if (event.type !== 'ParticipantRandomized') return slotMismatch(event, design, treatment);
  return closedTreatments.includes(treatment)
    ? mismatch('allocation.treatment', openTreatments(design), treatment, 'the arm is closed')
    : undefined;
}

/** For an allocation without a draw. Its slot of the arm depends on the draws of others. */
function slotMismatch(
  { type, data, sections }: PartialEventOf<'AllocationForced' | 'ParticipantImported'>,
  design: Design,
  treatment: string,
): Mismatch | undefined {
  const { slot } = sections.allocation ?? {};
  const isRecorded = hasRatio(design) && !(type === 'ParticipantImported' && data.redrawn);
  if (isRecorded ? slot !== undefined && design.slots[slot] === treatment : slot === undefined)
    return undefined;
  const own = isRecorded ? slotsOf(design, treatment) : undefined;
  return mismatch('allocation.slot', own, slot, 'not a slot of the treatment');
}

/** If the treatment is included. */
function closedThen(
  { data, sections }: PartialEventOf<'AllocationForced'>,
  model: Model,
): StudyOutcome | undefined {
  const { treatment } = sections.allocation ?? {};
  return treatment === undefined ? undefined : treatmentProblem(model, treatment, data.occurredAt);
}

function countedMismatch(
  { data }: PartialEventOf<'AllocationForced'>,
  { design }: Model,
): Mismatch | undefined {
  const { forcedCounts } = design.policies;
  if (data.counted === (forcedCounts === 'counted')) return undefined;
  return mismatch('data.counted', forcedCounts === 'counted', data.counted, 'not the policy of the study');
}
