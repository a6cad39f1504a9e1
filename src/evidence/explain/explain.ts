/**
 * Explains why a participant got this arm: works out the allocation again, step by step, from the earlier events, and
 * compares it with the record.
 *
 * It uses the same working as the service (src/core/methods/urn/allocate.ts). From the event itself it takes only the participant's
 * levels. Everything else in the event is only compared.
 */

import { canonicalJson, type LogEvent } from '../../../events/record.ts';
import { RecordError } from '../../../events/record-error.ts';
import type { BgState, ImbalanceMeasure } from '../../../events/study.ts';
import { levelsByFactor } from '../../../projections/enrolled.ts';
import type { ParticipantEvent } from '../../../projections/participant-events.ts';
import { allocationOf, type Working, workOut } from '../../core/methods/urn/allocate.ts';
import { namedLevels } from '../../core/model/levels.ts';
import { generatorOf, levelIndexes, type Model } from '../../core/model/model.ts';
import { countMoves } from './count-moves.ts';
import type { Explanation } from './explanation.ts';

export type RandomizedEvent = Extract<LogEvent, { type: 'ParticipantRandomized' }>;

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
  const { design, urnDesign } = before;
  const { name: study, D, w, alpha, beta, factors } = design;
  const levels = levelsByFactor(event.data.levels, factors);
  const working = workingOf(before, levels, event);
  const { treatment, draw } = allocationOf(urnDesign, working, generatorOf(before));
  const named = namedLevels(design, levels);
  const urns = working.urns.map((urn, i) => ({
    ...(named[i] ?? { factor: '', level: '' }),
    ...urn,
    counts: [...urn.counts],
    candidate: working.candidates.includes(i),
    selected: working.selected === i,
  }));
  const { code } = event.data;
  const differing = differences(event, { levels: named, treatment, ...draw });
  return {
    ...participantOf(event, study),
    earlier_participants: countedIn(before),
    ...(design.epoch > 0 && { epoch_began: design.epochBegan }),
    ...{ D, w, alpha, beta, treatments: [...urnDesign.slots] },
    ...(design.closedTreatments.length > 0 && { closed_treatments: [...design.closedTreatments] }),
    urns,
    corrections: countMoves(events, (id) => before.participants.get(id), design).filter((move) =>
      move.levels.some(({ factor, level }) =>
        named.some((own) => own.factor === factor && own.level === level),
      ),
    ),
    candidates: draw.candidates,
    missed_by_rounding: missedByRounding(D, urns),
    ...(draw.candidates.length > 1 && { lot: { below: draw.candidates.length, result: working.lot } }),
    selected_factor: draw.selectedFactor,
    uniform53: draw.uniform53,
    uniform: draw.uniform53 * 2 ** -53,
    probabilities: [...working.probabilities],
    cumulative: [...working.cumulative],
    ...(draw.slot !== undefined && { slot: draw.slot }),
    trt: treatment,
    ...(code !== undefined && { code }),
    bg_state_before: withNumbers(draw.bgStateBefore),
    bg_state_after: withNumbers(draw.bgStateAfter),
    agrees: differing.length === 0,
    differences: differing,
  };
}

function participantOf({ data, revision, at, actor }: RandomizedEvent, study: string) {
  const onBehalfOf = 'cli' in actor ? undefined : actor.onBehalfOf;
  return {
    ...{ study, id: data.participantId, revision, at, user: actor.user },
    ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
  };
}

/** How many participants the urns count: each factor that is not retired counts all of them. */
function countedIn({ design: { factors }, counts }: Model): number {
  const first = factors.findIndex(({ isRetired }) => !isRetired);
  const inFactor = factors[first]?.levels.flatMap((_, level) => counts.of(first, level)) ?? [];
  return inFactor.reduce((sum, n) => sum + n, 0);
}

function withNumbers({ state: { inc, state }, ...rest }: BgState): Explanation['bg_state_before'] {
  return { ...rest, state: { inc: BigInt(inc), state: BigInt(state) } };
}

function workingOf(before: Model, levels: readonly string[], event: RandomizedEvent): Working {
  try {
    return workOut(before.urnDesign, before.counts, levelIndexes(before, levels), generatorOf(before));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RecordError('malformed', `${event.stream}/${event.revision}`, error.message);
  }
}

function differences(event: RandomizedEvent, recomputed: Readonly<Record<string, unknown>>) {
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
function missedByRounding(D: ImbalanceMeasure, urns: Explanation['urns']): string[] {
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
