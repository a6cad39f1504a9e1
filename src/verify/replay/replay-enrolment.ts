/**
 * Replays the stream of a study whose draws are withheld, so that they cannot be decided again. Everything else can: the
 * order of the events, the ids, the levels, the states of the study, the actors. Where treatments are included, they must be
 * the study's.
 */
import type { PartialEvent } from '../../../events/record.ts';
import { type Design, hasRatio, openTreatments } from '../../../projections/design.ts';
import { type EnrolmentEvent, levelsByFactor } from '../../../projections/enrolled.ts';
import { ACTS, type Status } from '../../study/acts.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import { decideLife } from '../../study/decide-life.ts';
import { forcedProblem, slotsOf, treatmentProblem } from '../../study/forced.ts';
import { beginProblem, endProblem, rowProblem } from '../../study/imports.ts';
import { levelRefusal } from '../../study/levels.ts';
import { holderOf, type Life, lifeAfter, newLife } from '../../study/life.ts';
import { fullLimit } from '../../study/limits.ts';
import { listProblem, replacementProblem, replacingProblem } from '../../study/packs.ts';
import type { Mismatch } from '../report.ts';
import { CompactParticipants } from './compact-participants.ts';
import { dataDifferences, mismatch } from './differences.ts';
import { type LifeEvent, lifeCommandOf } from './life-command.ts';
import { asMismatches, type Replay } from './replay.ts';
import { enrolments, type PartialStudyEvent, type StudyChecks, undecided } from './study-checks.ts';

type Of<T extends PartialEvent['type']> = Extract<PartialEvent, { type: T }>;

export class EnrolmentReplay implements Replay<PartialEvent> {
  readonly #checks: StudyChecks;
  #life: Life | undefined;
  participants = 0;

  constructor(checks: StudyChecks) {
    this.#checks = checks;
  }

  take(
    given: PartialEvent,
    withheldSeals: Readonly<Record<string, string>> = {},
    version = 1,
  ): readonly Mismatch[] {
    const event = given as PartialStudyEvent;
    const life = this.#life;
    const enrolled = (id: string) => life?.enrolled.get(id);
    const sections = [...Object.keys(event.sections), ...Object.keys(withheldSeals)];
    const invalid = this.#checks.mismatch(event, sections);
    if (invalid) return [invalid];
    const mismatches = mismatchesOf(event, life, version, this.#checks.isSupply(event));
    if (mismatches.length > 0) return mismatches;
    const mismatchOfDecided = this.#checks.mismatchOfDecided(event, enrolled);
    if (mismatchOfDecided) return [mismatchOfDecided];
    this.#checks.take(event, enrolled, sections);
    if (life) this.#life = lifeAfter(life, event);
    else if (event.type === 'StudyRegistered') {
      const { configuration } = event.data;
      const begun = newLife(configuration);
      this.#life = { ...begun, enrolled: new CompactParticipants(begun.design) };
    }
    return [];
  }

  passed(event: PartialEvent): void {
    const { type, data } = event;
    this.participants += enrolments(event);
    // An import begins without participants. If one was given up, the study had no others.
    if (type === 'HistoryImportEnded' && 'aborted' in data) this.participants = 0;
  }

  /** Of the study; undefined before its registration. */
  get status(): Status | undefined {
    return this.#life?.status;
  }
}

function mismatchesOf(
  event: PartialStudyEvent,
  life: Life | undefined,
  version: number,
  isSupply: boolean,
): readonly Mismatch[] {
  const refused = (outcome: StudyOutcome) => [undecided(event.type, outcome)];
  if (event.type === 'StudyRegistered') return life ? refused({ type: 'already-registered' }) : [];
  if (!life) return refused({ type: 'not-registered' });
  switch (event.type) {
    case 'ParticipantRandomized': {
      const outcome = enrolmentRefusal(event, life);
      if (outcome) return refused(outcome);
      const wrong =
        versionMismatch(life, version) ?? codeMismatch(event, life) ?? treatmentMismatch(event, life);
      return wrong ? [wrong] : [];
    }
    case 'AllocationForced': {
      const problem = forcedProblem(life, event);
      const wrong = treatmentMismatch(event, life) ?? countedMismatch(event, life);
      return wrong && !problem ? [wrong] : problemsOf(event.type, life, problem ?? closedThen(event, life));
    }
    case 'HistoryImported':
      return problemsOf(event.type, life, beginProblem(life, event.data));
    case 'ParticipantImported': {
      const { participantId } = event.data;
      const taken = holderOf(life, participantId);
      const duplicate = taken && ({ type: 'duplicate', participantId, differingFactors: [] } as const);
      const problem = rowProblem(life, event.data) ?? duplicate;
      const unknown = treatmentMismatch(event, life);
      return unknown && !problem ? [unknown] : problemsOf(event.type, life, problem);
    }
    case 'HistoryImportEnded':
      return problemsOf(event.type, life, endProblem(life, event.data));
    case 'CodesRegistered':
      return problemsOf(event.type, life, listProblem(life, event.data));
    case 'CodesWithdrawn':
      return problemsOf(event.type, life, undefined);
    case 'CodeReplaced':
      return problemsOf(event.type, life, replacedProblem(event, life, isSupply));
    case 'StudyRecovered':
      return life.recovery >= event.data.recovery ? refused({ type: 'already-recovered' }) : [];
    default:
      return lifeMismatches(event, life);
  }
}

/** The part in the clear determines nothing about an import, so all that can be judged is whether it was possible. */
function problemsOf(
  type: PartialStudyEvent['type'],
  { status }: Life,
  problem: StudyOutcome | undefined,
): readonly Mismatch[] {
  if (!ACTS[type].in.includes(status)) return [undecided(type, { type: 'refused', because: status })];
  return problem ? [undecided(type, problem)] : [];
}

function lifeMismatches(event: LifeEvent, life: Life): readonly Mismatch[] {
  const { fact, outcome } = decideLife(life, lifeCommandOf(event));
  if (!fact) return [undecided(event.type, outcome)];
  return asMismatches(
    dataDifferences(fact, event),
    'deciding it again from the earlier events gives something else',
  );
}

/** Why the decider would have refused it, as far as the part in the clear shows. */
function enrolmentRefusal({ type, data }: Of<'ParticipantRandomized'>, life: Life): StudyOutcome | undefined {
  const { participantId } = data;
  if (holderOf(life, participantId)) return { type: 'duplicate', participantId, differingFactors: [] };
  if (!ACTS[type].in.includes(life.status)) return { type: 'refused', because: life.status };
  const levels = levelsByFactor(data.levels, life.design.factors);
  const closed = levelRefusal(life.design, levels, 'level-closed');
  if (closed) return closed;
  const limit = fullLimit(life.filled, life.design, levels);
  return limit && { type: 'full', limit };
}

/** The draw, which is withheld, names its slot if and only if there is a ratio. */
function versionMismatch({ design, lists }: Life, version: number): Mismatch | undefined {
  const expected = hasRatio(design) || lists > 0 ? 2 : 1;
  if (version === expected) return undefined;
  return mismatch('version', expected, version, 'only a ratio or packs need version 2');
}

/** In a study with packs, everybody gets a pack that nobody had before. */
function codeMismatch(
  { data: { code } }: Of<'ParticipantRandomized'>,
  { given, lists }: Life,
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

function replacedProblem(
  { data }: Of<'CodeReplaced'>,
  life: Life,
  isSupply: boolean,
): StudyOutcome | undefined {
  const participant = life.enrolled.get(data.participantId);
  if (participant?.revision !== data.randomizedAt) return { type: 'no-such-participant' };
  const asked = { code: data.code, isSupply, isRecorded: true };
  return replacementProblem(participant, asked) ?? replacingProblem(life, data);
}

function treatmentMismatch(event: EnrolmentEvent, { design }: Life): Mismatch | undefined {
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
  { type, data, sections }: Of<'AllocationForced' | 'ParticipantImported'>,
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
function closedThen({ data, sections }: Of<'AllocationForced'>, life: Life): StudyOutcome | undefined {
  const { treatment } = sections.allocation ?? {};
  return treatment === undefined ? undefined : treatmentProblem(life, treatment, data.occurredAt);
}

function countedMismatch({ data }: Of<'AllocationForced'>, { design }: Life): Mismatch | undefined {
  const { forcedCounts } = design.policies;
  if (data.counted === (forcedCounts === 'counted')) return undefined;
  return mismatch('data.counted', forcedCounts === 'counted', data.counted, 'not the policy of the study');
}
