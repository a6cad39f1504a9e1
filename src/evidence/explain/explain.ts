/**
 * Explains why a participant got this arm: works out the allocation again, step by step, from the earlier events, and
 * compares it with the record. If the service drew nothing for the participant, it says why instead.
 *
 * It uses the same methods as the service (src/core/methods). From the event itself it takes only the participant's
 * levels. Everything else in the event is only compared.
 */
import type { UnprovenCause } from '../../../events/from-outside.ts';
import { canonicalJson, type LogEvent } from '../../../events/record.ts';
import type { BgState, ImbalanceMeasure, Level } from '../../../events/study.ts';
import { RecordError } from '../../base/errors.ts';
import type { BlocksDesign } from '../../core/methods/blocks.ts';
import { cumulative, probabilities } from '../../core/methods/draw.ts';
import type { ListDesign } from '../../core/methods/list.ts';
import { allocate, type Evidence, type Stratified } from '../../core/methods/method.ts';
import type { MinimizationDesign } from '../../core/methods/minimization.ts';
import { type UrnDesign, workOut } from '../../core/methods/urn.ts';
import type { Design } from '../../core/model/design.ts';
import { methodOf } from '../../core/model/method-of.ts';
import { generatorOf, levelIndexes, type Model } from '../../core/model/model.ts';
import {
  isForced,
  levelsByFactor,
  namedLevels,
  type ParticipantEvent,
} from '../../core/model/participants.ts';
import {
  countMoves,
  type Explanation,
  type ListExplanation,
  type PickExplanation,
  type UrnExplanation,
} from './explanation.ts';

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
  try {
    switch (before.methodDesign.method) {
      case 'urn':
        return explainUrns(before, before.methodDesign, event, events);
      case 'list':
        return explainEntry(before, before.methodDesign, event);
      default:
        return explainPick(before, before.methodDesign, event);
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RecordError('malformed', `${event.stream}/${event.revision}`, error.message);
  }
}

function explainUrns(
  before: Model,
  urnDesign: UrnDesign,
  event: RandomizedEvent,
  events: readonly ParticipantEvent[],
): UrnExplanation {
  const { design } = before;
  const { D, w, alpha, beta } = urnDesign;
  const levels = levelsByFactor(event.data.levels, design.factors);
  const working = workOut(urnDesign, before.counts, levelIndexes(before, levels), generatorOf(before));
  const { treatment, draw } = working;
  const named = namedLevels(design, levels);
  const urns = working.urns.map((urn, i) => ({
    ...(named[i] ?? { factor: '', level: '' }),
    ...urn,
    counts: [...urn.counts],
    candidate: working.candidates.includes(i),
    selected: working.selected === i,
  }));
  return {
    ...participantOf(event, design.name),
    earlier_participants: countedByUrns(before),
    ...(design.epoch > 0 && { epoch_began: design.epochBegan }),
    ...{ D, w, alpha, beta },
    ...slotsOf(before),
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
    ...numbersOf(draw, working.probabilities, working.cumulative),
    ...allocationOf(event, treatment, draw, { levels: named, treatment, ...draw }),
  };
}

/** How many participants the urns count: each factor that is not retired counts all of them. */
function countedByUrns({ design: { factors }, counts }: Model): number {
  const first = factors.findIndex(({ isRetired }) => !isRetired);
  const inFactor = factors[first]?.levels.flatMap((_, level) => counts.of(first, level)) ?? [];
  return inFactor.reduce((sum, n) => sum + n, 0);
}

/** The range is a single rounded division, so equal ranges are equal as doubles too. */
function missedByRounding(D: ImbalanceMeasure, urns: UrnExplanation['urns']): string[] {
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

function explainEntry(before: Model, listDesign: ListDesign, event: RandomizedEvent): ListExplanation {
  const { design } = before;
  const levels = levelsByFactor(event.data.levels, design.factors);
  const method = methodOf(before.methodDesign);
  const { slot, evidence } = allocate(method, before, levelIndexes(before, levels), generatorOf(before));
  const { entry } = evidence;
  if (!entry) throw new Error('a list left no evidence of its own');
  const treatment = design.slots[slot] ?? '';
  const named = namedLevels(design, levels);
  return {
    ...participantOf(event, design.name),
    method: 'list',
    ...slotsOf(before),
    entry: { ...entry, stratum: stratumIn(listDesign, design, named) },
    ...resultOf(event, treatment),
    ...comparisonOf(event, { levels: named, treatment, ...entry }),
  };
}

type PickDesign = Exclude<Model['methodDesign'], { readonly method: 'urn' | 'list' }>;

function explainPick(before: Model, methodDesign: PickDesign, event: RandomizedEvent): PickExplanation {
  const { design } = before;
  const levels = levelsByFactor(event.data.levels, design.factors);
  const method = methodOf(methodDesign);
  const { slot, evidence } = allocate(method, before, levelIndexes(before, levels), generatorOf(before));
  const { pick } = evidence;
  if (!pick) throw new Error('a method other than the urn left no evidence of its own');
  const treatment = design.slots[slot] ?? '';
  const named = namedLevels(design, levels);
  const chances = probabilities(pick.weights);
  return {
    ...participantOf(event, design.name),
    method: methodDesign.method,
    ...slotsOf(before),
    ...numbersOf(pick, chances, cumulative(chances)),
    weights: pick.weights,
    ...(methodDesign.method === 'blocks' &&
      pick.block && { block: blockOf(methodDesign, pick.block, pick.weights, design, named) }),
    ...(methodDesign.method === 'minimization' && {
      minimization: minimizationOf(methodDesign, pick, design, named),
    }),
    ...allocationOf(event, treatment, pick, { levels: named, treatment, ...pick }),
  };
}

function blockOf(
  { by, perSlot = [], slots }: BlocksDesign,
  { number, perSlot: places }: { readonly number: number; readonly perSlot: number },
  left: readonly number[],
  design: Design,
  levels: readonly Level[],
): PickExplanation['block'] {
  return {
    stratum: stratumIn({ by }, design, levels),
    number,
    size: places * slots.length,
    sizes: perSlot.map((one) => one * slots.length),
    ...(perSlot.length > 1 && { lot: perSlot.indexOf(places) }),
    first: left.every((one) => one === places),
  };
}

function minimizationOf(
  { parameters }: MinimizationDesign,
  { counts = [], scores = [] }: NonNullable<Evidence['pick']>,
  { factors }: Design,
  levels: readonly Level[],
): PickExplanation['minimization'] {
  if (!parameters) throw new Error('the parameters of the minimization are withheld');
  const { measure, pThousandths, weights } = parameters;
  const weightOf = (name: string) => weights?.[factors.findIndex((factor) => factor.name === name)] ?? 1;
  const least = Math.min(...scores);
  return {
    ...{ measure, p: pThousandths / 1000 },
    levels: levels.map((level, i) => ({
      ...level,
      weight: weightOf(level.factor),
      counts: [...(counts[i] ?? [])],
    })),
    scores: [...scores],
    best: scores.filter((score) => score === least).length,
  };
}

function participantOf({ data, revision, at, actor }: RandomizedEvent, study: string) {
  const onBehalfOf = 'cli' in actor ? undefined : actor.onBehalfOf;
  return {
    ...{ study, id: data.participantId, revision, at, user: actor.user },
    ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
  };
}

function slotsOf({ design: { closedTreatments }, methodDesign: { slots } }: Model) {
  return {
    treatments: [...slots],
    ...(closedTreatments.length > 0 && { closed_treatments: [...closedTreatments] }),
  };
}

/** The levels that make the participant's stratum. */
function stratumIn({ by }: Stratified, { factors }: Design, levels: readonly Level[]): Level[] {
  const names = by.map((factor) => factors[factor]?.name);
  return levels.filter(({ factor }) => names.includes(factor));
}

type Drawn = NonNullable<Evidence['draw'] | Evidence['pick']>;

function numbersOf({ uniform53, slot }: Drawn, chances: readonly number[], sums: readonly number[]) {
  return {
    ...{ uniform53, uniform: uniform53 * 2 ** -53 },
    ...{ probabilities: [...chances], cumulative: [...sums] },
    ...(slot !== undefined && { slot }),
  };
}

function allocationOf(
  event: RandomizedEvent,
  trt: string,
  { bgStateBefore, bgStateAfter }: Drawn,
  recomputed: Recomputed,
) {
  return {
    ...resultOf(event, trt),
    bg_state_before: withNumbers(bgStateBefore),
    bg_state_after: withNumbers(bgStateAfter),
    ...comparisonOf(event, recomputed),
  };
}

function withNumbers({ state: { inc, state }, ...rest }: BgState): UrnExplanation['bg_state_before'] {
  return { ...rest, state: { inc: BigInt(inc), state: BigInt(state) } };
}

function resultOf({ data: { code } }: RandomizedEvent, trt: string) {
  return { trt, ...(code !== undefined && { code }) };
}

/** Fields of the record, by name. */
type Recomputed = Readonly<Record<string, unknown>>;

function comparisonOf(event: RandomizedEvent, recomputed: Recomputed) {
  const differing = differencesFrom(event, recomputed);
  return { agrees: differing.length === 0, differences: differing };
}

function differencesFrom(event: RandomizedEvent, recomputed: Recomputed) {
  const { allocation, draw, pick, entry } = event.sections;
  const recorded: Recomputed = {
    levels: event.data.levels,
    treatment: allocation.treatment,
    ...(entry ?? pick ?? draw),
  };
  return Object.entries(recomputed)
    .map(([field, value]) => ({
      field,
      recorded: canonicalJson(recorded[field]),
      recomputed: canonicalJson(value),
    }))
    .filter((difference) => difference.recorded !== difference.recomputed);
}

/** Why there is no draw to explain, without the arm; undefined if there is one. It is the answer in place of an explanation. */
export function whyUndrawn(event: LogEvent): string | undefined {
  if (event.type === 'ParticipantImported') return importedText(event);
  if (!isForced(event)) return undefined;
  const { participantId, occurredAt } = event.data;
  return `Participant ${JSON.stringify(participantId)} was allocated outside the service at ${occurredAt} and entered by hand, so there is no draw to explain`;
}

type ImportedEvent = Extract<LogEvent, { type: 'ParticipantImported' }>;

function importedText({ data }: ImportedEvent): string {
  const { participantId, row, cause } = data;
  const drawn =
    cause === undefined
      ? 'The import drew it again from the state of an earlier row, and arm and state agree with the file'
      : `The import could not draw it again: ${UNPROVEN_TEXTS[cause]}`;
  return `Participant ${JSON.stringify(participantId)} was imported; the draw was made by another system (row ${row} of the file). ${drawn}`;
}

const UNPROVEN_TEXTS: Readonly<Record<UnprovenCause, string>> = {
  first: 'nothing is known of the generator before it',
  'no-state': 'the file has no state of the generator for it',
  override: "the generator's state follows from an earlier row, but gives another arm",
  differs: "the generator's state does not follow from an earlier row",
  'other-system': 'the file has no states of the generator',
};
