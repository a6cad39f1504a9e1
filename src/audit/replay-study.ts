/**
 * The stream of a study: each event decided again, with the decider that the service uses, from the configuration, the
 * participants before it and the state of the generator that the event before left behind.
 *
 * What is kept of the participants is their number by level and treatment, their ids, and idempotency keys: some 100
 * bytes for each, and no event.
 */
import { v5 } from 'uuid';
import { canonicalJson, type LogEvent } from '../../events/record.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { isWeakSeed } from '../random/weak-seed.ts';
import type { StudyCommand, StudyOutcome } from '../study/commands.ts';
import { decide } from '../study/decide.ts';
import { ForkableMap } from '../study/forkable-map.ts';
import { IdPattern, problemsOfId } from '../study/participant-id.ts';
import { type Enrolled, evolve, type RegisteredState, type StudyState } from '../study/state.ts';
import { type Difference, factDifferences, problem } from './differences.ts';
import { DigestSet } from './digest-set.ts';
import type { KeyHistory } from './key-history.ts';
import { asProblems, mostTelling, type Replay } from './replay.ts';
import type { Problem } from './report.ts';
import type { Warnings } from './warnings.ts';

type Of<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;
type StudyEvent = Of<
  'StudyRegistered' | 'ParticipantRandomized' | 'StudyPaused' | 'StudyResumed' | 'StudyRecovered'
>;

/** What a recovery of the log says of a study. */
export type Recovered = Of<'StudyRecovered'>['data'];

/** What was before the draw, the draw, what came of it. */
const TELLING = [
  'data.',
  'draw.bgStateBefore',
  'draw.candidates',
  'draw.selectedFactor',
  'draw.counts',
  'draw.balls',
  'draw.uniform53',
  'allocation.',
];

const UNDECIDED: Partial<Record<StudyOutcome['type'], string>> = {
  'already-registered': 'the study is registered already',
  'not-registered': 'no study is registered in this stream before it',
  'already-recovered': 'its generator was begun anew for this recovery before, or for a later one',
  'already-paused': 'the study is paused already',
  'not-paused': 'the study is not paused',
  duplicate: 'a participant of that id is randomized already',
  repeated: 'its idempotency key belongs to an earlier request of the same user',
  'idempotency-key-reused': 'its idempotency key belongs to an earlier request of the same user',
  refused: 'the study is paused and takes no participants',
};

export class StudyReplay implements Replay {
  readonly #keys: KeyHistory;
  readonly #warnings: Warnings;
  readonly #recoveredAt: ReadonlyMap<number, Recovered>;
  #state: StudyState = { status: 'unregistered' };
  #idPattern: IdPattern | undefined;
  #name: string | undefined;
  participants = 0;

  /** @param recoveredAt by revision: where the log's recoveries say that the generator begins anew */
  constructor(keys: KeyHistory, warnings: Warnings, recoveredAt: ReadonlyMap<number, Recovered>) {
    this.#keys = keys;
    this.#warnings = warnings;
    this.#recoveredAt = recoveredAt;
  }

  /** As the registration says, also when it diverges. */
  get name(): string | undefined {
    return this.#name;
  }

  take(event: LogEvent): readonly Problem[] {
    const state = this.#state;
    if (event.type === 'StudyRegistered') this.#name ??= event.data.configuration.name;
    const problems = this.#problems(state, event as StudyEvent);
    if (problems.length > 0) return problems;
    const next = evolve(state, event);
    if (event.type === 'StudyRegistered' && next.status !== 'unregistered') this.#begin(event, next);
    else this.#state = next;
    if (event.type === 'ParticipantRandomized') this.participants++;
    if (event.type === 'StudyRecovered') this.#tellOfRecovery(event);
    return [];
  }

  #begin({ data, revision }: Of<'StudyRegistered'>, state: RegisteredState): void {
    this.#state = { ...state, enrolled: new Known(), requests: new Known() };
    const { idPattern } = data.configuration;
    if (idPattern !== undefined) this.#idPattern = new IdPattern(idPattern);
    if (data.seedWeak)
      this.#warnings.add(
        'weak-seed',
        'the seed is below 2^96: it can be found by search from published allocations',
        revision,
      );
  }

  #tellOfRecovery({ data, sections, revision }: Of<'StudyRecovered'>): void {
    const { recovery, kept, signed } = data;
    const lost =
      signed && signed.size > kept
        ? `at least ${signed.size - kept} records behind the first ${kept} were lost`
        : `no lost record is known, but there can have been some behind the first ${kept}`;
    this.#warnings.add(
      'recovered',
      `recovery ${recovery} of the log: ${lost}; from here on the generator has fresh entropy`,
      revision,
    );
    if (isWeakSeed(BigInt(sections.generator.seed)))
      this.#warnings.add(
        'weak-seed',
        'the seed of a recovery is below 2^96, which hardly ever comes of drawing 128 bits',
        revision,
      );
  }

  #problems(state: StudyState, event: StudyEvent): readonly Problem[] {
    const cannotBe = this.#formProblem(state, event);
    if (cannotBe) return [cannotBe];
    const { fact, outcome } = decide(state, commandOf(event));
    if (!fact)
      return [
        problem('type', undefined, event.type, UNDECIDED[outcome.type] ?? 'it would not have been decided'),
      ];
    const differences = factDifferences(fact, event);
    if (differences.length > 0) return differenceProblems(differences);
    return this.#actorProblem(event) ?? [];
  }

  /** What the decider relies on, because it was checked when the request came in. */
  #formProblem(state: StudyState, event: StudyEvent): Problem | undefined {
    if (event.type === 'StudyRegistered') return registrationProblem(event);
    const recovered = recoveryProblem(event, this.#recoveredAt.get(event.revision));
    if (recovered) return recovered;
    if (event.type !== 'ParticipantRandomized' || state.status === 'unregistered') return undefined;
    const { participantId, levels } = event.data;
    const { factors } = state.configuration;
    if (levels.length !== factors.length)
      return problem('data.levels', `${factors.length} levels`, levels.length, 'one of each factor');
    for (const [i, { factor, level }] of levels.entries()) {
      const { name, levels: known } = factors[i] ?? { name: '', levels: [] };
      if (factor !== name)
        return problem(`data.levels[${i}].factor`, name, factor, 'not as the configuration has it');
      if (!state.levelIndexes[i]?.has(level))
        return problem(`data.levels[${i}].level`, known, level, 'no such level in the configuration');
    }
    const [unfit] = problemsOfId(participantId);
    if (unfit !== undefined)
      return problem('data.participantId', 'an id that the service takes', participantId, unfit);
    if (this.#idPattern && !this.#idPattern.matches(participantId))
      return problem(
        'data.participantId',
        state.configuration.idPattern,
        participantId,
        'not an id of this study',
      );
    return undefined;
  }

  #actorProblem(event: StudyEvent): Problem[] | undefined {
    const { actor } = event;
    const isRandomized = event.type === 'ParticipantRandomized';
    if ('cli' in actor)
      return isRandomized
        ? [problem('actor', 'an API key', actor, 'nobody randomizes from the command line')]
        : undefined;
    if (!isRandomized)
      return [problem('actor', 'a person at the command line', actor.keyId, 'no key can do this')];
    const use = { study: this.name ?? '', levels: event.data.levels };
    const found = this.#keys.judge(event, use, this.#warnings);
    return found && [found];
  }
}

function commandOf(event: StudyEvent): StudyCommand {
  switch (event.type) {
    case 'StudyRegistered': {
      const { studyId, configuration, seedSource } = event.data;
      const seed = BigInt(event.sections.generator.seed);
      return { type: 'register', studyId, configuration, seed, seedSource };
    }
    case 'ParticipantRandomized':
      return {
        type: 'randomize',
        participantId: event.data.participantId,
        levels: event.data.levels.map(({ level }) => level),
        user: event.actor.user,
        idempotencyKey: event.sections.request?.idempotencyKey,
      };
    case 'StudyPaused':
      return { type: 'pause', reason: event.data.reason };
    case 'StudyResumed':
      return { type: 'resume', reason: event.data.reason };
    case 'StudyRecovered':
      return { type: 'recover', ...event.data, seed: BigInt(event.sections.generator.seed) };
  }
}

/** Where a recovery of the log says so, and nowhere else, the generator begins anew, as it says. */
function recoveryProblem(event: StudyEvent, expected: Recovered | undefined): Problem | undefined {
  if (event.type !== 'StudyRecovered')
    return expected
      ? problem(
          'type',
          'StudyRecovered',
          event.type,
          `recovery ${expected.recovery} of the log kept ${expected.kept} records: behind them the generator must begin anew before anything else`,
        )
      : undefined;
  if (!expected)
    return problem(
      'type',
      undefined,
      event.type,
      'no recovery of the log says that the generator begins anew here',
    );
  const { data, sections } = event;
  if (canonicalJson(data) !== canonicalJson(expected))
    return problem('data', expected, data, 'not what the recovery of the log says of this study');
  if (BigInt(sections.generator.seed) >> 128n > 0n)
    return problem('generator.seed', '128 bits', sections.generator.seed, 'the seed of a recovery is drawn');
  return undefined;
}

/** A study's name makes its id, and its id its stream; what is listed twice could be read in two ways. */
function registrationProblem({ data, log, stream, sections }: Of<'StudyRegistered'>): Problem | undefined {
  const { studyId, configuration, seedSource } = data;
  const expected = v5(configuration.name, log);
  if (studyId !== expected) return problem('data.studyId', expected, studyId, "not that of the study's name");
  if (stream !== `study-${expected}`)
    return problem('stream', `study-${expected}`, stream, "not that of the study's name");
  if (seedSource === 'drawn' && BigInt(sections.generator.seed) >> 128n > 0n)
    return problem('data.seedSource', 'configured', seedSource, 'a seed that is drawn has 128 bits');
  return configurationProblem(configuration);
}

function configurationProblem({ treatments, factors, idPattern }: StudyConfiguration): Problem | undefined {
  const where = 'data.configuration';
  const lists: [string, readonly string[]][] = [
    [`${where}.treatments`, treatments],
    [`${where}.factors`, factors.map(({ name }) => name)],
    ...factors.map(({ levels }, i): [string, string[]] => [`${where}.factors[${i}].levels`, levels]),
  ];
  for (const [field, names] of lists)
    if (new Set(names).size < names.length)
      return problem(field, 'names that differ', names, 'a name stands there twice');
  try {
    if (idPattern !== undefined) new IdPattern(idPattern);
    return undefined;
  } catch {
    return problem(`${where}.idPattern`, 'a regular expression', idPattern, 'it cannot be used');
  }
}

function differenceProblems(differences: readonly Difference[]): Problem[] {
  const sorted = mostTelling(differences, TELLING);
  const first = sorted[0]?.field ?? '';
  return asProblems(
    sorted,
    first.startsWith('draw.bgStateBefore')
      ? 'it does not begin with the state that the event before left: an event was changed, removed or put in before it, or this one was'
      : 'deciding it again from the configuration and the participants before gives something else',
  );
}

const SOMEBODY: Enrolled = { participantId: '', levels: [] };

/** Which participants, or requests, there were; not what they were, which a replay has no use for. */
class Known extends ForkableMap<string, Enrolled> {
  readonly #keys = new DigestSet();

  override get(key: string): Enrolled | undefined {
    return this.#keys.has(key) ? SOMEBODY : undefined;
  }

  override set(key: string): void {
    this.#keys.add(key);
  }
}
