/**
 * Explains why a participant got this arm: works out the allocation again, step by step, from the earlier events, and
 * compares it with the record.
 *
 * It uses the same working as the service (src/core/methods/urn/allocate.ts). From the event itself it takes only the participant's
 * levels. Everything else in the event is only compared.
 */

import { canonicalJson, type LogEvent } from '../../../events/record.ts';
import { RecordError } from '../../../events/record-error.ts';
import type { BgState, ImbalanceMeasure, Level } from '../../../events/study.ts';
import { levelsByFactor } from '../../../projections/enrolled.ts';
import type { ParticipantEvent } from '../../../projections/participant-events.ts';
import { allocationOf, type Urn, type Working, workOut } from '../../core/methods/urn/allocate.ts';
import { namedLevels } from '../../core/model/levels.ts';
import { generatorOf, levelIndexes, type Model } from '../../core/model/model.ts';
import { type CountMove, countMoves } from './count-moves.ts';

export type RandomizedEvent = Extract<LogEvent, { type: 'ParticipantRandomized' }>;

/** Lists are in the order of `treatments` unless stated otherwise. 128-bit integers are decimal strings. */
export interface Explanation {
  readonly study: string;
  readonly participantId: string;
  /** Revision of the event. */
  readonly revision: number;
  /** When the event was written, by its writer's clock. */
  readonly at: string;
  readonly user: string;
  /** The person on whose behalf the user acted, according to the request. */
  readonly onBehalfOf?: string;
  /** Number of participants, randomized before this one, whom the urns count. */
  readonly earlierParticipants: number;
  readonly D: ImbalanceMeasure;
  readonly w: number;
  readonly alpha: number;
  readonly beta: number;
  /** The treatment of each slot that could be drawn. Without a ratio each treatment has one. */
  readonly treatments: readonly string[];
  /** Index of the drawn slot among all slots of the study. Only with a ratio, which means version 2 of the algorithm. */
  readonly slot?: number;
  /** Arms that were closed, so that their slots were left out; absent without. */
  readonly closed?: readonly string[];
  /** Revision from which on the urns count participants; absent if they never began anew. */
  readonly epochBegan?: number;
  /** The urn of the participant's level of each factor that is not retired, in their order. */
  readonly urns: readonly ExplainedUrn[];
  /** Earlier corrections that changed the counts of these urns, in order. */
  readonly corrections: readonly CountMove[];
  /** Factors whose urns are most imbalanced, sorted by code point. */
  readonly candidates: readonly string[];
  /**
   * Factors whose urns are exactly as imbalanced as the candidates', but whose imbalance differs in the last bit of a
   * double, so that they are not candidates: the known hazard described in docs/method.md.
   */
  readonly missedByRounding: readonly string[];
  /** A uniform integer below `below`: the index of the chosen candidate. Undefined when there was only one. */
  readonly lot: { readonly below: number; readonly result: number } | undefined;
  readonly selectedFactor: string;
  /** The uniform is u = uniform53 * 2^-53. */
  readonly uniform53: number;
  readonly uniform: number;
  /** For the selected urn. */
  readonly probabilities: readonly number[];
  /** For the selected urn. The first treatment whose sum is above u is assigned. */
  readonly cumulative: readonly number[];
  readonly treatment: string;
  /** The pack that the participant got then. It is taken from the record: no random number chose it. */
  readonly code?: string;
  readonly bgStateBefore: BgState;
  readonly bgStateAfter: BgState;
  /** Where the record differs; empty when it agrees completely. */
  readonly differences: readonly Disagreement[];
}

export interface ExplainedUrn extends Level, Urn {
  readonly candidate: boolean;
  readonly selected: boolean;
}

/** A field in which the record differs. The values are JSON text. */
export interface Disagreement {
  /** A member of the event's sections or data, named as in docs/event-log.md. */
  readonly field: string;
  readonly recorded: string;
  readonly recomputed: string;
}

/**
 * A pure function. It does not change its arguments.
 *
 * @param before the state of the study before this event
 * @param events about participants before this event, in order
 * @throws RecordError when the event names a level that the study does not have, so there is nothing to work out
 */
export function explain(
  before: Model,
  event: RandomizedEvent,
  events: readonly ParticipantEvent[] = [],
): Explanation {
  const { design, urnDesign, counts } = before;
  const { name: study, D, w, alpha, beta, factors } = design;
  const levels = levelsByFactor(event.data.levels, factors);
  const working = worked(before, levels, event);
  const { treatment, draw } = allocationOf(urnDesign, working, generatorOf(before));
  const named = namedLevels(design, levels);
  const urns = working.urns.map((urn, i) => ({
    ...(named[i] ?? { factor: '', level: '' }),
    ...urn,
    candidate: working.candidates.includes(i),
    selected: working.selected === i,
  }));
  const first = factors.findIndex(({ isRetired }) => !isRetired);
  const firstFactor = factors[first]?.levels.flatMap((_, level) => counts.of(first, level)) ?? [];
  const several = working.candidates.length > 1;
  const { actor } = event;
  const onBehalfOf = 'cli' in actor ? undefined : actor.onBehalfOf;
  const { code } = event.data;
  return {
    study,
    participantId: event.data.participantId,
    revision: event.revision,
    at: event.at,
    user: actor.user,
    ...(onBehalfOf !== undefined && { onBehalfOf }),
    earlierParticipants: firstFactor.reduce((sum, n) => sum + n, 0),
    ...{ D, w, alpha, beta, treatments: urnDesign.slots },
    ...(draw.slot !== undefined && { slot: draw.slot }),
    ...(design.closedTreatments.length > 0 && { closed: design.closedTreatments }),
    ...(design.epoch > 0 && { epochBegan: design.epochBegan }),
    urns,
    corrections: countMoves(events, (id) => before.participants.get(id), design).filter((move) =>
      move.levels.some(({ factor, level }) =>
        named.some((own) => own.factor === factor && own.level === level),
      ),
    ),
    candidates: draw.candidates,
    missedByRounding: missedByRounding(D, urns),
    lot: several ? { below: working.candidates.length, result: working.lot } : undefined,
    selectedFactor: draw.selectedFactor,
    uniform53: draw.uniform53,
    uniform: draw.uniform53 * 2 ** -53,
    probabilities: working.probabilities,
    cumulative: working.cumulative,
    treatment,
    ...(code !== undefined && { code }),
    bgStateBefore: draw.bgStateBefore,
    bgStateAfter: draw.bgStateAfter,
    differences: differences(event, { levels: named, treatment, ...draw }),
  };
}

function worked(before: Model, levels: readonly string[], event: RandomizedEvent): Working {
  try {
    return workOut(before.urnDesign, before.counts, levelIndexes(before, levels), generatorOf(before));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RecordError('malformed', `${event.stream}/${event.revision}`, error.message);
  }
}

function differences(event: RandomizedEvent, recomputed: Readonly<Record<string, unknown>>): Disagreement[] {
  const { allocation, draw } = event.sections;
  const recorded: Readonly<Record<string, unknown>> = {
    levels: event.data.levels,
    treatment: allocation.treatment,
    ...draw,
  };
  return Object.entries(recomputed)
    .map(([field, value]) => ({
      field,
      recorded: canonicalJson(recorded[field]),
      recomputed: canonicalJson(value),
    }))
    .filter((difference) => difference.recorded !== difference.recomputed);
}

/** The range is a single rounded division, so equal ranges are equal as doubles too. */
function missedByRounding(D: ImbalanceMeasure, urns: readonly ExplainedUrn[]): string[] {
  const selected = urns.find((urn) => urn.selected);
  if (D === 'range' || !selected) return [];
  return urns
    .filter((urn) => !urn.candidate && equallyImbalanced(urn.balls, selected.balls))
    .map(({ factor }) => factor);
}

/**
 * Whether the variance and chisquare of two urns of one study are equal as rational numbers. Apart from a factor that
 * depends only on the number of slots, both are sum f_k^2 - 1/K = (sum b_k^2) / T^2 - 1/K.
 */
function equallyImbalanced(a: readonly number[], b: readonly number[]): boolean {
  const [one, other] = [a, b].map((balls) => {
    const exact = balls.map(BigInt);
    const total = exact.reduce((sum, held) => sum + held, 0n);
    return { squares: exact.reduce((sum, held) => sum + held * held, 0n), total };
  });
  return (
    one !== undefined &&
    other !== undefined &&
    one.squares * other.total ** 2n === other.squares * one.total ** 2n
  );
}
