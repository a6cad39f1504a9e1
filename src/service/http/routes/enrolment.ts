/**
 * GET /enrolment: how a study has grown, by level and, for keys that may see arms in the list, by treatment. The counts are for
 * charts. They are made once for everybody who asks until the study changes.
 */
import { z } from 'zod';
import type { ApiKey } from '../../../../projections/access.ts';
import { toJson } from '../../../base/json.ts';
import type { Design } from '../../../core/model/design.ts';
import { isLevelWithin, isWithin } from '../../../core/model/key-limits.ts';
import { goalOf } from '../../../core/model/limits.ts';
import {
  currentLevels,
  type Enrolled,
  type HeadCount,
  HeadCounter,
  type Participant,
} from '../../../core/model/participants.ts';
import { filteredInTurns, inTurns, OfRevision, type Turn } from '../request/in-progress.ts';
import { ERRORS, MIN_REVISION, operation, ref, STUDY } from '../request/openapi-operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { checked, SUCCESS } from '../request/reply.ts';
import { type Services, studyHandler } from '../request/study-request.ts';
import { GoalResult, HEADS, SLICE } from '../request/study-view.ts';

const SCOPES = ['read', 'blinded'] as const;
const PARAMETERS = new Set(['api_key', 'study', 'urn.min_revision']);

/** A chart shows no more than this many points. */
export const MAX_POINTS = 200;

const enrolled = z.int().meta({
  description: 'Number of participants; for a key that is limited to some levels, within its limits',
});
const treatments = z.map(z.string(), z.int()).meta({
  description:
    'How many of them have each treatment. Only for a key with the scope `read` and without `blinded`',
});

const BEYOND = 'absent for a level beyond the limits of the key';
const levelHeads = {
  voided: HEADS.voided.optional().meta({ description: `Of these, voided; ${BEYOND}` }),
  filled: HEADS.filled.optional().meta({ description: `Of these, on a place; ${BEYOND}` }),
};

export const EnrolmentResult = resultWith({ enrolled, ...HEADS, treatments: treatments.optional() });
/** Strict: a result that names a treatment fails the check. */
const BlindedResult = resultWith({ enrolled, ...HEADS });
const UnblindedResult = resultWith({ enrolled, ...HEADS, treatments });

/** @param counts the members that count participants */
function resultWith<C extends z.ZodRawShape>(counts: C) {
  return z.strictObject({
    target: z.int().optional().meta({ description: 'Of the whole study' }),
    goal: GoalResult.optional(),
    ...counts,
    points: z
      .array(
        z.strictObject({
          sequence: z.int().meta({ description: 'Place in the order of randomization' }),
          at: z.string().meta({ description: 'When that participant was randomized, in ISO 8601 (UTC)' }),
          ...counts,
        }),
      )
      .meta({
        description: `At most ${MAX_POINTS} of the participants, evenly spaced and with the first and the last one; each with the counts up to that one`,
      }),
    levels: z
      .array(z.strictObject({ factor: z.string(), level: z.string(), ...counts, ...levelHeads }))
      .meta({
        description:
          'By current levels, including closed ones, in the order of the configuration. Participants who came after a factor was retired have no level of it',
      }),
  });
}

const EXAMPLE = {
  target: 300,
  goal: { kind: 'target', places: 300 },
  enrolled: 3,
  voided: 1,
  filled: 2,
  treatments: { MART: 1, 'RMC-Q': 2 },
  points: [
    {
      sequence: 1,
      at: '2021-02-10T00:01:08.417Z',
      enrolled: 1,
      voided: 0,
      filled: 1,
      treatments: { MART: 0, 'RMC-Q': 1 },
    },
    {
      sequence: 2,
      at: '2021-02-11T14:02:11.871Z',
      enrolled: 2,
      voided: 0,
      filled: 2,
      treatments: { MART: 0, 'RMC-Q': 2 },
    },
    {
      sequence: 3,
      at: '2021-02-12T09:40:00.003Z',
      enrolled: 3,
      voided: 1,
      filled: 2,
      treatments: { MART: 1, 'RMC-Q': 2 },
    },
  ],
  levels: [
    { factor: 'sex', level: 'Male', enrolled: 2, voided: 1, filled: 1, treatments: { MART: 1, 'RMC-Q': 1 } },
    {
      factor: 'sex',
      level: 'Female',
      enrolled: 1,
      voided: 0,
      filled: 1,
      treatments: { MART: 0, 'RMC-Q': 1 },
    },
  ],
};

export const enrolmentOperation = operation(
  'How many participants there are, over time and by level',
  'enrolment',
  SCOPES,
  {
    parameters: [STUDY, MIN_REVISION],
    result: ref('Enrolment'),
    example: EXAMPLE,
    empty: {},
    errors: ERRORS,
  },
);

export function getEnrolment(services: Services) {
  const { lists } = services.limits;
  const tallies = new OfRevision<EnrolmentTally>();
  const answers = new OfRevision<string>();
  return studyHandler(services, SCOPES, async (request) => {
    const { query, study, participants, response } = request;
    const { turn, accepted } = request;
    const { keyId, where, scopes } = accepted.key;
    refuseProblems(unknownParameters(query, PARAMETERS, 'enrolment'));
    // The counts of the whole study are made once for all keys.
    if (where && participants.inOrder.length > SLICE) await lists.begin(keyId, response);
    const inForce = request.design();
    const revision = services.runner.revision(study.stream);
    const name = where ? JSON.stringify(where) : 'all';
    const isUnblinded = scopes.includes('read') && !scopes.includes('blinded');
    const results = await answers.of(participants, revision, `${name} ${isUnblinded}`, async () => {
      const tally = await tallies.of(participants, revision, name, async () => {
        // A copy, because the study may grow meanwhile.
        const all = participants.inOrder.slice();
        const isKnown = (one: Participant) => isWithin(where, inForce, currentLevels(one));
        return tallied(inForce, where ? await filteredInTurns(all, isKnown, turn) : all, turn);
      });
      return turn.slice(() => enrolmentJson(tally, inForce, where, isUnblinded));
    });
    return { status: 200, message: SUCCESS, results, revision };
  });
}

/** The counts of some participants. */
interface Count extends HeadCount {
  /** How many have each treatment, in the order of the design. */
  readonly byTreatment: readonly number[];
}

interface EnrolmentTally extends Count {
  readonly treatments: readonly string[];
  /** Each counts the participants up to that one, in the order of randomization. */
  readonly points: readonly (Count & Pick<Participant, 'sequence' | 'at'>)[];
  /** At current levels, in the order of the design. */
  readonly levels: readonly (Count & { readonly factor: string; readonly level: string })[];
}

/**
 * Counts participants over time, by level and by treatment. Voided participants are counted, since the list shows them.
 * @param known those of whom the key may know
 */
export async function tallied(
  inForce: Design,
  known: readonly Participant[],
  turn: Pick<Turn, 'slice'>,
): Promise<EnrolmentTally> {
  const points = new Set(evenlySpaced(known.length, MAX_POINTS));
  const tally = new Tally(inForce);
  await inTurns(known, (participant, i) => tally.add(participant, points.has(i)), turn);
  return tally.result();
}

/** At most `most` indexes of a list, with the first and the last one. */
export function evenlySpaced(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (length - 1)) / (most - 1)));
}

class Tally {
  readonly #treatments: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #all: Counter;
  readonly #points: EnrolmentTally['points'][number][] = [];
  /** For each factor, by level. */
  readonly #factors: readonly { readonly name: string; readonly levels: ReadonlyMap<string, Counter> }[];

  constructor({ treatments, factors }: Design) {
    this.#treatments = treatments;
    this.#indexes = new Map(treatments.map((treatment, i) => [treatment, i]));
    this.#all = new Counter(treatments.length);
    this.#factors = factors.map(({ name, levels }) => ({
      name,
      levels: new Map(levels.map((level) => [level, new Counter(treatments.length)])),
    }));
  }

  add(participant: Participant, isPoint: boolean): void {
    const treatment = this.#indexes.get(participant.treatment);
    if (treatment === undefined)
      throw new Error('a participant with a treatment that the design does not have');
    this.#all.add(participant, treatment);
    // Participants who came after a factor was retired have no level of it.
    for (const [i, level] of currentLevels(participant).entries())
      this.#factors[i]?.levels.get(level)?.add(participant, treatment);
    const { sequence, at } = participant;
    if (isPoint) this.#points.push({ sequence, at, ...this.#all.now() });
  }

  result(): EnrolmentTally {
    const levels = this.#factors.flatMap(({ name, levels: counters }) =>
      [...counters].map(([level, counter]) => ({ factor: name, level, ...counter.now() })),
    );
    return { treatments: this.#treatments, ...this.#all.now(), points: this.#points, levels };
  }
}

/** A `Count` while it grows. */
class Counter {
  readonly #heads = new HeadCounter();
  readonly byTreatment: number[];

  constructor(treatments: number) {
    this.byTreatment = Array<number>(treatments).fill(0);
  }

  add(participant: Enrolled, treatment: number): void {
    this.#heads.add(participant);
    this.byTreatment[treatment] = (this.byTreatment[treatment] ?? 0) + 1;
  }

  now(): Count {
    return { ...this.#heads.now(), byTreatment: this.byTreatment.slice() };
  }
}

/** It has no generator states or balances of urns. It shows no more than the list of participants: it is not a disclosure. */
function enrolmentJson(
  { points, levels, treatments: names, ...all }: EnrolmentTally,
  inForce: Design,
  where: ApiKey['where'],
  isUnblinded: boolean,
): string {
  const shown = <T extends Count>({ byTreatment, ...count }: T) =>
    isUnblinded
      ? { ...count, treatments: new Map(names.map((treatment, i) => [treatment, byTreatment[i]])) }
      : count;
  const result = {
    ...{ target: inForce.target, goal: goalOf(inForce, where), ...shown(all), points: points.map(shown) },
    levels: levels.map((one) => {
      const { voided, filled, ...level } = shown(one);
      return isLevelWithin(where, one, inForce) ? { ...level, voided, filled } : level;
    }),
  };
  return toJson(checked<unknown>(isUnblinded ? UnblindedResult : BlindedResult, result));
}
