/**
 * Checks a study's events without deciding them again: what the decider takes for granted because it was checked when the
 * request arrived, who acted, and where a recovery must be. Also adds warnings.
 */
import { v5 } from 'uuid';
import type { StudyFact } from '../../../events/catalogue.ts';
import { canonicalJson, type PartialEvent } from '../../../events/record.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { defaultLevelCounts } from '../../../projections/design.ts';
import { isDay } from '../../base/day.ts';
import { lookAlikeForm } from '../../base/text.ts';
import { isWeakSeed } from '../../random/weak-seed.ts';
import { ACTS, type Status } from '../../study/acts.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import { IdPattern } from '../../study/id-pattern.ts';
import type { Enrolled } from '../../study/life.ts';
import { problemsOfId } from '../../study/participant-id.ts';
import { CLOCK_TOLERANCE_MS } from '../../write/clock-tolerance.ts';
import type { LifeReport, Mismatch } from '../report.ts';
import type { Warnings } from '../warnings.ts';
import { mismatch } from './differences.ts';
import type { KeyHistory } from './key-history.ts';
import { LifeTally } from './life-report.ts';

type Of<T extends PartialEvent['type']> = Extract<PartialEvent, { type: T }>;
/** Withheld sections are not checked. */
export type PartialStudyEvent = Of<StudyFact['type']>;

/** What a recovery of the log says of a study. */
export type Recovered = Of<'StudyRecovered'>['data'];

const UNDECIDED: Partial<Record<StudyOutcome['type'], string>> = {
  'already-registered': 'the study is registered already',
  'not-registered': 'no study is registered in this stream before it',
  'already-recovered': 'its generator has already been restarted for this recovery or a later one',
  'already-paused': 'the study is paused already',
  'not-paused': 'the study is not paused',
  'already-closed': 'the study is closed already',
  'not-closed': 'the study is not closed',
  'already-recorded': 'the same code-break is recorded already',
  'no-such-participant': 'no participant with that id is randomized before it',
  duplicate: 'a participant with that id is randomized already',
  full: 'the study, or one of its levels, has reached its limit',
  repeated: 'its idempotency key belongs to an earlier request of the same user',
  'done-before': 'its idempotency key belongs to an earlier request of the same user',
  'idempotency-key-reused': 'its idempotency key belongs to an earlier request of the same user',
};

/** The mismatch of an event that the decider would have refused. */
export function undecided(type: PartialStudyEvent['type'], outcome: StudyOutcome): Mismatch {
  if (outcome.type === 'impossible')
    return mismatch(`data.${outcome.field}`, 'what is possible in this study', undefined, outcome.why);
  const why =
    outcome.type === 'refused'
      ? `the study is ${outcome.because}${type === 'ParticipantRandomized' ? ' and takes no participants' : ''}`
      : (UNDECIDED[outcome.type] ?? 'it would not have been decided');
  return mismatch('type', undefined, type, why);
}

export class StudyChecks {
  readonly #keys: KeyHistory;
  readonly #warnings: Warnings;
  readonly #recoveredAt: ReadonlyMap<number, Recovered>;
  #factors: readonly { readonly name: string; readonly levels: ReadonlySet<string> }[] | undefined;
  #idPattern: IdPattern | undefined;
  #name: string | undefined;
  readonly #life: LifeTally;
  readonly #seeds: Map<string, string>;
  /** The few ids that differ from their `lookAlikeForm`, by that form. */
  readonly #unlike = new Map<string, string>();

  /**
   * @param recoveredAt by revision: where the generator must restart, according to the log's recoveries
   * @param seeds of the studies checked before, with the name of the first study that has each
   */
  constructor(
    keys: KeyHistory,
    warnings: Warnings,
    recoveredAt: ReadonlyMap<number, Recovered>,
    seeds: Map<string, string> = new Map(),
  ) {
    this.#keys = keys;
    this.#seeds = seeds;
    this.#warnings = warnings;
    this.#recoveredAt = recoveredAt;
    this.#life = new LifeTally(warnings);
  }

  lifeReport(status: Status | undefined): LifeReport | undefined {
    return this.#life.report(status);
  }

  /** The name in the registration, even if that diverges. */
  get name(): string | undefined {
    return this.#name;
  }

  /** What is wrong with an event, regardless of the decision. */
  mismatch(event: PartialStudyEvent): Mismatch | undefined {
    if (event.type === 'StudyRegistered') {
      this.#name ??= event.data.configuration.name;
      return registrationMismatch(event);
    }
    const recovered = recoveryMismatch(event, this.#recoveredAt.get(event.revision));
    if (recovered) return recovered;
    if (event.type === 'ParticipantRandomized') return this.#participantMismatch(event.data);
    return futureMismatch(event);
  }

  /** @param enrolled finds the participants enrolled before the event */
  actorMismatch(
    event: PartialStudyEvent,
    enrolled: (id: string) => Enrolled | undefined,
  ): Mismatch | undefined {
    const { actor, type } = event;
    const { cli, scopes } = ACTS[type];
    if ('cli' in actor)
      return cli
        ? undefined
        : mismatch('actor', 'an API key', actor, 'nobody randomizes from the command line');
    if (scopes.length === 0)
      return mismatch('actor', 'a person at the command line', actor.keyId, 'no key can do this');
    const use = { study: this.name ?? '', scopes, levels: this.#levelsIn(event, enrolled) };
    const shownAt = type === 'AllocationRevealed' ? event.data.shownAt : undefined;
    return this.#keys.judge(shownAt === undefined ? event : { ...event, at: shownAt }, use, this.#warnings);
  }

  /** The levels that a key's limits are compared with; empty for an event that is not about a participant. */
  #levelsIn(
    event: PartialStudyEvent,
    enrolled: (id: string) => Enrolled | undefined,
  ): readonly { readonly factor: string; readonly level: string }[] {
    if (event.type === 'ParticipantRandomized') return event.data.levels;
    if (event.type !== 'AllocationRevealed' && event.type !== 'UnblindingReported') return [];
    const levels = enrolled(event.data.participantId)?.levels ?? [];
    return levels.map((level, i) => ({ factor: this.#factors?.[i]?.name ?? '', level }));
  }

  /**
   * Adds a correct event to the state, and warnings about it.
   * @param isKnown whether there already was a participant with this id
   */
  take(event: PartialStudyEvent, isKnown: (id: string) => boolean): void {
    if (event.type === 'StudyRegistered') {
      this.#begin(event);
      this.#warnOfSharedSeed(event);
    }
    if (event.type === 'ParticipantRandomized') this.#compareId(event);
    if (event.type === 'StudyRecovered') this.#warnOfRecovery(event);
    if (event.type === 'ParticipantRandomized') this.#warnOfLookAlike(event, isKnown);
    else this.#life.take(event);
  }

  /** Earlier versions accepted such ids, so old logs may hold them. */
  #warnOfLookAlike({ data, revision }: Of<'ParticipantRandomized'>, isKnown: (id: string) => boolean): void {
    const { participantId: id } = data;
    const form = lookAlikeForm(id);
    const earlier = this.#unlike.get(form) ?? (form !== id && isKnown(form) ? form : undefined);
    if (form !== id) this.#unlike.set(form, id);
    if (earlier !== undefined)
      this.#warnings.add(
        'look-alike-ids',
        `participant ${JSON.stringify(id)} looks like participant ${JSON.stringify(earlier)}: it may be one person who was randomized twice`,
        revision,
      );
  }

  #participantMismatch({ participantId, levels }: Of<'ParticipantRandomized'>['data']): Mismatch | undefined {
    const factors = this.#factors;
    if (!factors) return undefined;
    if (levels.length !== factors.length)
      return mismatch(
        'data.levels',
        `${factors.length} levels`,
        levels.length,
        'there must be one of each factor',
      );
    for (const [i, { factor, level }] of levels.entries()) {
      const known = factors[i];
      if (factor !== known?.name)
        return mismatch(
          `data.levels[${i}].factor`,
          known?.name,
          factor,
          'not the factor in the configuration',
        );
      if (!known.levels.has(level))
        return mismatch(
          `data.levels[${i}].level`,
          [...known.levels],
          level,
          'no such level in the configuration',
        );
    }
    const [invalid] = problemsOfId(participantId);
    if (invalid !== undefined)
      return mismatch('data.participantId', 'an id that the service takes', participantId, invalid);
    if (this.#idPattern?.isLinear && !this.#idPattern.matches(participantId))
      return mismatch('data.participantId', this.#idPattern.text, participantId, 'not an id of this study');
    return undefined;
  }

  #warnOfSharedSeed({ data, sections, revision }: Of<'StudyRegistered'>): void {
    const { seed } = sections.generator ?? {};
    if (seed === undefined) return;
    const other = this.#seeds.get(seed);
    if (other === undefined) this.#seeds.set(seed, data.configuration.name);
    else
      this.#warnings.add(
        'seed-shared',
        `the seed is that of the study ${JSON.stringify(other)}, so both drew the same numbers`,
        revision,
      );
  }

  #begin({ data, revision }: Of<'StudyRegistered'>): void {
    const { factors, idPattern } = data.configuration;
    this.#factors = factors.map(({ name, levels }) => ({ name, levels: new Set(levels) }));
    if (idPattern !== undefined) this.#idPattern = new IdPattern(idPattern);
    if (data.seedWeak)
      this.#warnings.add(
        'weak-seed',
        'the seed is below 2^96: it can be found by search from published allocations',
        revision,
      );
  }

  /** For a pattern whose verdict depends on the engine or the machine: a warning, never a failure. */
  #compareId({ data, revision }: Of<'ParticipantRandomized'>): void {
    if (!this.#idPattern || this.#idPattern.isLinear) return;
    const matches = this.#idPattern.matches(data.participantId);
    if (matches) return;
    const verdict =
      matches === undefined
        ? 'the id could not be compared with the idPattern in time; later ids were not compared'
        : 'the id does not match the idPattern, as the engine of this program reads it';
    this.#warnings.add(
      matches === undefined ? 'id-not-compared' : 'id-not-matching',
      `${verdict}; new studies cannot have this pattern, because other engines read it differently`,
      revision,
    );
    // The next id would take just as long.
    if (matches === undefined) this.#idPattern = undefined;
  }

  #warnOfRecovery({ data, sections, revision }: Of<'StudyRecovered'>): void {
    const { recovery, kept, signed } = data;
    const lost =
      signed && signed.size > kept
        ? `at least ${signed.size - kept} records after the first ${kept} were lost`
        : `no lost record is known, but there may have been some after the first ${kept}`;
    this.#warnings.add(
      'recovered',
      `recovery ${recovery} of the log: ${lost}; from here on the generator runs from another seed; nothing shows whether that seed was drawn or chosen`,
      revision,
    );
    if (sections.generator && isWeakSeed(BigInt(sections.generator.seed)))
      this.#warnings.add(
        'weak-seed',
        'the seed of a recovery is below 2^96, which hardly ever happens when 128 bits are drawn',
        revision,
      );
  }
}

/** What happened before an event cannot be dated after it. */
function futureMismatch(event: PartialStudyEvent): Mismatch | undefined {
  const [field, time] =
    event.type === 'AllocationRevealed'
      ? ['data.shownAt', event.data.shownAt]
      : event.type === 'UnblindingReported'
        ? ['data.occurredAt', event.data.occurredAt]
        : ['', undefined];
  if (time === undefined || Date.parse(time) <= Date.parse(event.at) + CLOCK_TOLERANCE_MS) return undefined;
  return mismatch(field, `at most ${event.at}`, time, 'it is later than the event itself');
}

/** The generator must restart exactly where a recovery of the log says, and with the same data. */
function recoveryMismatch(
  event: Exclude<PartialStudyEvent, Of<'StudyRegistered'>>,
  expected: Recovered | undefined,
): Mismatch | undefined {
  if (event.type !== 'StudyRecovered')
    return expected
      ? mismatch(
          'type',
          'StudyRecovered',
          event.type,
          `recovery ${expected.recovery} of the log kept ${expected.kept} records: the generator must be restarted directly after them`,
        )
      : undefined;
  if (!expected)
    return mismatch(
      'type',
      undefined,
      event.type,
      'no recovery of the log says that the generator is restarted here',
    );
  const { data, sections } = event;
  if (canonicalJson(data) !== canonicalJson(expected))
    return mismatch('data', expected, data, 'not what the recovery of the log says about this study');
  if (sections.generator && !has128Bits(sections.generator))
    return mismatch('generator.seed', '128 bits', sections.generator.seed, 'the seed of a recovery is drawn');
  return undefined;
}

/** The name of a study determines its id, and the id its stream. Names listed twice would be ambiguous. */
function registrationMismatch({ data, log, stream, sections }: Of<'StudyRegistered'>): Mismatch | undefined {
  const { studyId, configuration, seedSource } = data;
  const expected = v5(configuration.name, log);
  if (studyId !== expected)
    return mismatch('data.studyId', expected, studyId, "not that of the study's name");
  if (stream !== `study-${expected}`)
    return mismatch('stream', `study-${expected}`, stream, "not that of the study's name");
  if (seedSource === 'drawn' && sections.generator && !has128Bits(sections.generator))
    return mismatch('data.seedSource', 'configured', seedSource, 'a seed that is drawn has 128 bits');
  return configurationMismatch(configuration);
}

function has128Bits({ seed }: { readonly seed: string }): boolean {
  return BigInt(seed) >> 128n === 0n;
}

function configurationMismatch(configuration: StudyConfiguration): Mismatch | undefined {
  const { treatments, factors, protocol } = configuration;
  const where = 'data.configuration';
  const lists: [string, readonly string[]][] = [
    [`${where}.treatments`, treatments],
    [`${where}.factors`, factors.map(({ name }) => name)],
    ...factors.map(({ levels }, i): [string, string[]] => [`${where}.factors[${i}].levels`, levels]),
  ];
  for (const [field, names] of lists)
    if (new Set(names).size < names.length)
      return mismatch(field, 'names that differ', names, 'a name occurs twice');
  if (protocol?.date !== undefined && !isDay(protocol.date))
    return mismatch(`${where}.protocol.date`, 'a day of the calendar', protocol.date, 'there is no such day');
  return policiesMismatch(configuration, where) ?? limitsMismatch(configuration, where);
}

/** A default is left out, so that one configuration has one form. */
function policiesMismatch({ policies, blinding }: StudyConfiguration, where: string): Mismatch | undefined {
  if (!policies) return undefined;
  if (Object.keys(policies).length === 0)
    return mismatch(`${where}.policies`, undefined, policies, 'without a policy it is left out');
  if (policies.levelCounts === defaultLevelCounts(blinding))
    return mismatch(
      `${where}.policies.levelCounts`,
      undefined,
      policies.levelCounts,
      'the default is left out',
    );
  return undefined;
}

/** Each limit is of a level of the study, once, in the order of the study. */
function limitsMismatch({ limits, factors }: StudyConfiguration, where: string): Mismatch | undefined {
  if (!limits) return undefined;
  if (Object.keys(limits).length === 0)
    return mismatch(`${where}.limits`, undefined, limits, 'without a limit it is left out');
  const places = (limits.levels ?? []).map(({ factor, level }) => {
    const index = factors.findIndex(({ name }) => name === factor);
    return [index, factors[index]?.levels.indexOf(level) ?? -1] as const;
  });
  for (const [i, [factor, level]] of places.entries()) {
    const [lastFactor, lastLevel] = places[i - 1] ?? [-1, -1];
    const follows = factor > lastFactor || (factor === lastFactor && level > lastLevel);
    if (factor < 0 || level < 0 || !follows)
      return mismatch(
        `${where}.limits.levels[${i}]`,
        'a level of the study, in its order',
        limits.levels?.[i],
        'there is no such level, or it is not in the order of the configuration',
      );
  }
  return undefined;
}
