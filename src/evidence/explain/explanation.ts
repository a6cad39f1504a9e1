/**
 * Why a participant got this arm, as `GET /explanation` and `urn explain --json` answer: an explanation is of one kind with
 * urns, of another with the other methods that draw, and of a third with a list. Each kind is made of groups of members. With
 * urns, `countMoves` finds the earlier corrections that changed their counts.
 */
import { z } from 'zod';
import { BgState, ImbalanceMeasure, Level } from '../../../events/study.ts';
import { actOf } from '../../core/acts/acts.ts';
import { type Design, type Factor, levelNow } from '../../core/model/design.ts';
import { countedLevels, type Enrolled, type ParticipantEvent } from '../../core/model/participants.ts';

const PARTICIPANT = {
  study: z.string(),
  id: z.string(),
  revision: z.int().meta({ description: "Revision of the participant's record" }),
  at: z.string().meta({ description: 'When it was written, in ISO 8601 (UTC)' }),
  user: z.string(),
  on_behalf_of: z.string().optional().meta({ description: 'The header X-On-Behalf-Of of the request' }),
};

const PerSlot = z.array(z.int()).meta({ description: 'In the order of `treatments`' });
const Doubles = z
  .array(z.number())
  .meta({ description: 'In the order of `treatments`; with urns, of the selected one' });

/** The slots that a draw could fall on. */
const SLOTS = {
  treatments: z.array(z.string()).meta({
    description:
      'The arm of each slot that could be drawn: closed arms are left out, and with a ratio an arm is there once for each of its slots',
  }),
  closed_treatments: z.array(z.string()).optional().meta({
    description: 'Arms that were closed, so that their slots are left out; absent: none',
  }),
};

/** The number that fell on one of them. */
const NUMBER = {
  uniform53: z.int().meta({ description: 'k, where u = k * 2^-53 is the uniform number drawn' }),
  uniform: z.number().meta({ description: 'u' }),
  probabilities: Doubles,
  cumulative: Doubles,
  slot: z.int().optional().meta({
    description:
      'The drawn slot, counted from 0 over all slots of the study, those of closed arms too. Only with a ratio',
  }),
};

/** A correction after which the urns count a participant otherwise. */
const CountMove = z.strictObject({
  revision: z.int(),
  type: z.string(),
  id: z.string().meta({ description: 'The corrected participant, by the id as randomized' }),
  // Those whose urns it changed, by their names at the time of the draw.
  levels: z.array(z.strictObject({ factor: z.string(), level: z.string() })),
});
type CountMove = z.infer<typeof CountMove>;

const URNS = {
  earlier_participants: z.int().meta({ description: 'Participants before this one whom the urns counted' }),
  epoch_began: z.int().optional().meta({
    description: 'Revision from which on the urns counted participants; absent: they never began anew',
  }),
  D: ImbalanceMeasure,
  w: z.int(),
  alpha: z.int(),
  beta: z.int(),
  ...SLOTS,
  urns: z
    .array(
      z.strictObject({
        factor: z.string(),
        level: z.string(),
        counts: PerSlot,
        balls: PerSlot,
        imbalance: z.number(),
        candidate: z.boolean(),
        selected: z.boolean(),
      }),
    )
    .meta({
      description:
        "For each factor that was not retired, the urn of the participant's level, with its name and balls as they were before this participant",
    }),
  corrections: z
    .array(CountMove)
    .meta({ description: 'Earlier corrections that changed the counts of these urns' }),
  candidates: z
    .array(z.string())
    .meta({ description: 'The factors with the largest imbalance, sorted by code point' }),
  // The known hazard described in docs/methods.md.
  missed_by_rounding: z.array(z.string()).meta({
    description:
      'Factors that are exactly as imbalanced as the candidates, but differ from them by rounding in floating point',
  }),
  lot: z.strictObject({ below: z.int(), result: z.int() }).optional().meta({
    description:
      'A uniform integer: the index of the selected factor among the candidates. Absent if there was only one candidate.',
  }),
  selected_factor: z.string(),
  ...NUMBER,
};

/** With another method than the urn. */
const PICK = {
  method: z.enum(['complete', 'blocks', 'minimization']).meta({ description: 'Absent with urns' }),
  ...SLOTS,
  ...NUMBER,
  weights: z.array(z.int()).meta({
    description:
      'What the probabilities are in proportion to, in the order of `treatments`; with blocks, the places left',
  }),
  block: z
    .strictObject({
      stratum: z.array(Level).meta({ description: 'Empty: the whole study is one' }),
      number: z.int().meta({ description: 'Counted from 1, in its stratum' }),
      size: z.int().meta({ description: 'How many places it had when it began' }),
      sizes: z.array(z.int()).meta({ description: 'Those that a block can have' }),
      lot: z.int().optional().meta({
        description:
          'A uniform integer below the number of sizes: which of them it was. It was drawn before the place of the first participant in the block; absent if there is one size',
      }),
      first: z.boolean().meta({ description: 'Whether the block began with this participant' }),
    })
    .optional(),
  minimization: z
    .strictObject({
      measure: z.enum(['range', 'variance']),
      p: z.number().meta({ description: 'The chance of the best slot' }),
      levels: z.array(Level.extend({ weight: z.int(), counts: PerSlot })).meta({
        description:
          "For each factor that was not retired, the participant's level, how much the factor weighs, and how many participants of that level were counted in each slot before this one",
      }),
      scores: z.array(z.int()).meta({
        description:
          'How far out of balance these levels would be with the participant in each slot: the least is the best',
      }),
      best: z.int().meta({ description: 'How many slots have the least score. They share its chance' }),
    })
    .optional(),
};

/** With a list that was made elsewhere. */
const LISTED = {
  method: z.literal('list'),
  ...SLOTS,
  entry: z.strictObject({
    list: z.int().meta({ description: 'Number of the list in the study, from 1' }),
    entry: z.int().meta({ description: 'Its place in the list, from 1' }),
    stratum: z.array(Level).meta({ description: 'Empty: the whole study is one' }),
  }),
};

const RESULT = {
  trt: z.string().meta({
    description: 'The first treatment whose cumulative probability is greater than u, or that of the entry',
  }),
  code: z.string().optional().meta({
    description: 'The pack that the participant got at the time, as recorded: no random number chose it',
  }),
};

/** Bare numbers as JSON (src/base/json.ts). */
const Uint128 = z.bigint();
const GeneratorState = BgState.extend({ state: z.strictObject({ inc: Uint128, state: Uint128 }) });

const GENERATOR = {
  bg_state_before: GeneratorState.meta({ description: "The generator's state before the lot and the draw" }),
  bg_state_after: GeneratorState.meta({ description: "The generator's state after the draw" }),
};

const COMPARISON = {
  agrees: z.boolean().meta({ description: 'Whether the record agrees with this explanation' }),
  differences: z
    .array(
      z.strictObject({
        field: z.string().meta({ description: 'A member of the record, as docs/event-log.md names it' }),
        recorded: z.string(),
        recomputed: z.string(),
      }),
    )
    .meta({ description: 'Fields in which the record differs, with the values as JSON text' }),
};

export const UrnExplanation = z.strictObject({
  ...PARTICIPANT,
  ...URNS,
  ...RESULT,
  ...GENERATOR,
  ...COMPARISON,
});
export type UrnExplanation = z.infer<typeof UrnExplanation>;

export const PickExplanation = z.strictObject({
  ...PARTICIPANT,
  ...PICK,
  ...RESULT,
  ...GENERATOR,
  ...COMPARISON,
});
export type PickExplanation = z.infer<typeof PickExplanation>;

export const ListExplanation = z.strictObject({ ...PARTICIPANT, ...LISTED, ...RESULT, ...COMPARISON });
export type ListExplanation = z.infer<typeof ListExplanation>;

export const Explanation = z.union([UrnExplanation, PickExplanation, ListExplanation]);
export type Explanation = z.infer<typeof Explanation>;

/**
 * Which corrections changed the counts of the urns.
 * @param events about participants, in order
 * @param enrolled the participants as they were enrolled, or as they are after all of these corrections
 */
export function countMoves(
  events: readonly ParticipantEvent[],
  enrolled: (id: string) => Enrolled | undefined,
  { factors, epochBegan }: Pick<Design, 'factors' | 'epochBegan'>,
): CountMove[] {
  const now = new Map<string, Enrolled>();
  return events.flatMap((event) => {
    const { participantId = '', randomizedAt } = event.data;
    const act = actOf(event.type);
    if (act?.about !== 'participant' || !act.apply) return [];
    const before = now.get(participantId) ?? asRandomized(enrolled(participantId));
    // A wrong entry that another one has replaced was removed before: it has left nothing in the urns.
    if (!before || before.revision !== randomizedAt) return [];
    const after = act.apply(before, event, { factors });
    now.set(participantId, after);
    const levels = factors.flatMap((factor, i) => {
      const [from, to] = [before, after].map((one) =>
        levelIn(factor, countedLevels(one, { epochBegan })?.[i]),
      );
      return from === to
        ? []
        : [from, to].flatMap((level) => (level ? [{ factor: factor.name, level }] : []));
    });
    return levels.length > 0
      ? [{ revision: event.revision, type: event.type, id: participantId, levels }]
      : [];
  });
}

function asRandomized(participant: Enrolled | undefined): Enrolled | undefined {
  if (!participant) return undefined;
  const { participantId, levels, revision, forced } = participant;
  return { participantId, levels, revision, ...(forced && { forced }) };
}

/** A correction says the names of its time. */
function levelIn(factor: Factor, level: string | undefined): string | undefined {
  return level === undefined ? undefined : levelNow(factor, level);
}
