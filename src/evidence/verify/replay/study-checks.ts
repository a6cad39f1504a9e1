/**
 * Checks a study's events without deciding them again: what the decider takes for granted because it was checked when the
 * request arrived (levels and ids, rows of an import, times), who acted, and where a recovery must be. Also warns of what is
 * possible but suspect. What the decider itself refuses is put in the words of a mismatch at the end.
 *
 * It needs nothing that a bundle may withhold, so both replays of a study use it.
 */
import {
  canonicalJson,
  type PartialEvent,
  type PartialEventOf,
  type PartialStudyEvent,
} from '../../../../events/record.ts';
import { lookAlikeForm } from '../../../base/text.ts';
import { CLOCK_TOLERANCE_MS, microsecondsOf } from '../../../base/time.ts';
import { counted, plural } from '../../../base/wording.ts';
import { actOf, mayOf, stakeIn } from '../../../core/acts/acts.ts';
import { activeFactors, amendedDesign, type Design, methodText } from '../../../core/model/design.ts';
import { IdPattern } from '../../../core/model/id-pattern.ts';
import { ROWS_BACK } from '../../../core/model/import-proof.ts';
import type { LimitedPack, Stake } from '../../../core/model/key-limits.ts';
import { lifeCounts } from '../../../core/model/life.ts';
import type { Model } from '../../../core/model/model.ts';
import { type StudyOutcome, whyImpossible } from '../../../core/model/outcomes.ts';
import { problemsOfId } from '../../../core/model/participant-id.ts';
import { type EnrolmentEvent, isEnrolment, levelsByFactor } from '../../../core/model/participants.ts';
import { isWeakSeed } from '../../../core/random/pcg64.ts';
import { secondDraws, undoneAmendments } from '../../../core/study/steering.ts';
import type { LifeReport, Mismatch, Warnings } from '../report/report.ts';
import type { KeyHistory } from './key-history.ts';
import { LifeWarnings } from './life-warnings.ts';
import { has128Bits, registrationMismatch } from './registration-checks.ts';
import { mismatch } from './replay.ts';

/** What a recovery of the log says of a study. */
export type Recovered = PartialEventOf<'StudyRecovered'>['data'];

export class StudyChecks {
  readonly #keys: KeyHistory;
  readonly #warnings: Warnings;
  readonly #recoveredAt: ReadonlyMap<number, Recovered>;
  #ids: IdChecks | undefined;
  readonly #times = new TimeChecks();
  readonly #imports = new ImportChecks();
  #name: string | undefined;
  readonly #life: LifeWarnings;
  /** Draws in which only one arm was possible. Undefined until a draw by such a method was seen. */
  #certain: number | undefined;
  readonly #seeds: Map<string, string>;

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
    this.#life = new LifeWarnings(warnings);
  }

  /** Whether the author of the event may know which treatment packs hold. */
  isSupply({ actor }: PartialStudyEvent): boolean {
    return 'cli' in actor || (this.#keys.state.byId.get(actor.keyId)?.scopes.includes('supply') ?? false);
  }

  /** @param model of the study after its last event; undefined before its registration */
  lifeReport(model: Model | undefined): LifeReport | undefined {
    if (model === undefined) return undefined;
    const { configuration } = model.registered;
    const draws = secondDraws(model);
    const undone = undoneAmendments(model);
    return {
      state: model.status,
      ...('method' in configuration && { method: configuration.method.name }),
      ...(this.#certain !== undefined && { certain: this.#certain }),
      ...lifeCounts(model),
      ...(draws.length > 0 && { secondDraws: draws }),
      ...(undone.length > 0 && { undoneAmendments: undone }),
    };
  }

  /** The name in the registration, even if that diverges. */
  get name(): string | undefined {
    return this.#name;
  }

  /**
   * What is wrong with an event, regardless of the decision.
   * @param sections names of all its sections, also of those that are withheld
   * @param model of the study before it; undefined before its registration
   */
  mismatch(
    event: PartialStudyEvent,
    sections: readonly string[],
    model: Model | undefined,
  ): Mismatch | undefined {
    if (event.type === 'StudyRegistered') {
      this.#name ??= event.data.configuration.name;
      return registrationMismatch(event, sections);
    }
    const recovered = recoveryMismatch(event, this.#recoveredAt.get(event.revision));
    if (recovered) return recovered;
    if (isEnrolment(event))
      return (
        this.#participantMismatch(event.data, model) ??
        drawMismatch(event, sections, model) ??
        this.#imports.mismatch(event, sections) ??
        this.#times.future(event)
      );
    if (event.type === 'HistoryImported') return importedSeedMismatch(event);
    if (event.type === 'HistoryImportEnded') return this.#imports.mismatch(event, sections);
    if (event.type === 'ParticipantIdCorrected') return this.#ids?.mismatch(event.data.to, 'data.to');
    return this.#times.future(event);
  }

  #participantMismatch(
    { participantId, levels }: EnrolmentEvent['data'],
    model: Model | undefined,
  ): Mismatch | undefined {
    if (!model) return undefined;
    const factors = activeFactors(model.design);
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
        return mismatch(`data.levels[${i}].factor`, known?.name, factor, 'not the factor in the design');
      if (!known.levels.includes(level))
        return mismatch(`data.levels[${i}].level`, known.levels, level, 'no such level in the design');
    }
    return this.#ids?.mismatch(participantId, 'data.participantId');
  }

  /**
   * What is wrong with an event that was decided as it is: its times, and who wrote it.
   * @param model of the study before the event
   * @param packs those of the event, if it is about packs that nobody has; none if their levels are withheld
   */
  mismatchOfDecided(
    event: PartialStudyEvent,
    model: Model | undefined,
    packs: readonly LimitedPack[] = [],
  ): Mismatch | undefined {
    return this.#times.early(event) ?? this.#actorMismatch(event, model, packs);
  }

  #actorMismatch(
    event: PartialStudyEvent,
    model: Model | undefined,
    packs: readonly LimitedPack[],
  ): Mismatch | undefined {
    const { actor, type } = event;
    const { commandLine, scopes } = mayOf(type);
    if ('cli' in actor)
      return commandLine
        ? undefined
        : mismatch('actor', 'an API key', actor, 'nobody randomizes from the command line');
    if (scopes.length === 0)
      return mismatch('actor', 'a person at the command line', actor.keyId, 'no key can do this');
    const design = model?.design ?? { factors: [] };
    const use = {
      study: this.name ?? '',
      scopes,
      design,
      stake: () => stakeOf(event, design, model),
      packs,
    };
    const shownAt = type === 'AllocationRevealed' ? event.data.shownAt : undefined;
    return this.#keys.judge(shownAt === undefined ? event : { ...event, at: shownAt }, use, this.#warnings);
  }

  /**
   * Adds a correct event to the state, and warnings about it.
   * @param model of the study before it
   * @param sections names of all its sections, also of those that are withheld
   */
  take(event: PartialStudyEvent, model: Model | undefined, sections: readonly string[]): void {
    const isRandomized = (id: string) => model?.participants.get(id) !== undefined;
    this.#times.take(event);
    this.#imports.take(event, sections);
    if (isEnrolment(event))
      this.#ids?.take(event.data, event.data.participantId, event.revision, isRandomized);
    switch (event.type) {
      case 'ParticipantRandomized':
        this.#takeDraw(event, model);
        break;
      case 'StudyRegistered':
        this.#begin(event);
        this.#warnOfSharedSeed(event);
        break;
      case 'StudyRecovered':
        this.#warnOfRecovery(event);
        break;
      case 'StudyAmended':
        if (model) this.#ids?.expect(amendedDesign(model.design, event.data).idPattern);
        break;
      case 'ParticipantIdCorrected':
        this.#ids?.take(event.data, event.data.to, event.revision, isRandomized);
    }
    this.#life.take(event, model);
  }

  #takeDraw({ sections }: PartialEventOf<'ParticipantRandomized'>, model: Model | undefined): void {
    if (!sections.pick || !model) return;
    const { weights } = sections.pick;
    const possible = new Set(model.methodDesign.slots.filter((_, slot) => (weights[slot] ?? 0) > 0));
    this.#certain = (this.#certain ?? 0) + Number(possible.size === 1);
  }

  #begin({ data, revision }: PartialEventOf<'StudyRegistered'>): void {
    this.#ids = new IdChecks(this.#warnings, data.configuration.idPattern);
    if (data.seedWeak)
      this.#warnings.add(
        'weak-seed',
        'the seed is below 2^96: it can be found by search from published allocations',
        revision,
      );
  }

  #warnOfSharedSeed({ data, sections, revision }: PartialEventOf<'StudyRegistered'>): void {
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

  #warnOfRecovery({ data, sections, revision }: PartialEventOf<'StudyRecovered'>): void {
    const { recovery, kept, signed } = data;
    const lost =
      signed && signed.size > kept
        ? `at least ${counted(signed.size - kept, 'record')} after the first ${kept} ${plural(signed.size - kept, 'was', 'were')} lost`
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

/** The generator must restart exactly where a recovery of the log says, and with the same data. */
function recoveryMismatch(
  event: Exclude<PartialStudyEvent, PartialEventOf<'StudyRegistered'>>,
  expected: Recovered | undefined,
): Mismatch | undefined {
  if (event.type !== 'StudyRecovered')
    return expected
      ? mismatch(
          'type',
          'StudyRecovered',
          event.type,
          `recovery ${expected.recovery} of the log kept ${counted(expected.kept, 'record')}: the generator must be restarted directly after them`,
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

/** The name of the section with the evidence of a draw tells the method, even where it is withheld. */
function drawMismatch(
  { type }: EnrolmentEvent,
  sections: readonly string[],
  model: Model | undefined,
): Mismatch | undefined {
  if (type !== 'ParticipantRandomized' || !model) return undefined;
  const { method } = model.design;
  const own = method.name === 'urn' ? 'draw' : method.name === 'list' ? 'entry' : 'pick';
  const evidence = sections.filter((name) => name === 'draw' || name === 'pick' || name === 'entry');
  if (evidence.join() === own) return undefined;
  return mismatch('seals', own, sections, `not the evidence of ${methodText(method)}`);
}

/** A fresh generator is drawn like that of a recovery. */
function importedSeedMismatch({
  sections: { generator },
}: PartialEventOf<'HistoryImported'>): Mismatch | undefined {
  const { seed } = generator ?? {};
  return seed === undefined || has128Bits({ seed })
    ? undefined
    : mismatch('generator.seed', '128 bits', seed, 'the seed of a fresh generator is drawn');
}

/** The levels with which the limits of a key are compared. No limited key may do what is not about a participant. */
function stakeOf(
  event: PartialStudyEvent,
  { factors }: Pick<Design, 'factors'>,
  model: Model | undefined,
): Stake {
  if (isEnrolment(event)) return { need: 'all', of: [levelsByFactor(event.data.levels, factors)] };
  // A pack that nobody had. Its levels may be withheld.
  if (event.type === 'AllocationRevealed' && event.data.participantId === undefined)
    return { need: 'any', of: [] };
  if (event.type === 'CodesWithdrawn') return { need: 'any', of: [] };
  const id = 'participantId' in event.data ? event.data.participantId : undefined;
  const participant = id === undefined ? undefined : model?.participants.get(id);
  const act = actOf(event.type);
  return participant && act?.about === 'participant'
    ? stakeIn(act, event, participant, { factors })
    : { need: 'all', of: [[]] };
}

/** Checks the ids of a study's participants against its pattern, and warns of ids that look like others. */
export class IdChecks {
  readonly #warnings: Warnings;
  #pattern: IdPattern | undefined;
  /** The few ids that differ from their `lookAlikeForm`, by that form. */
  readonly #unlike = new Map<string, string>();
  /** By corrected id: the id as randomized of the participant who has, or had, it. */
  readonly #corrected = new Map<string, string>();

  /** @param pattern of the study */
  constructor(warnings: Warnings, pattern: string | undefined) {
    this.#warnings = warnings;
    this.expect(pattern);
  }

  /** From here on, ids must match this pattern. */
  expect(pattern: string | undefined): void {
    this.#pattern = pattern === undefined ? undefined : new IdPattern(pattern);
  }

  /** @param field path of the id in the record */
  mismatch(id: string, field: string): Mismatch | undefined {
    const [invalid] = problemsOfId(id);
    if (invalid !== undefined) return mismatch(field, 'an id that the service takes', id, invalid);
    if (this.#pattern && !this.#pattern.matches(id))
      return mismatch(field, this.#pattern.text, id, 'not an id of this study');
    return undefined;
  }

  /**
   * Warns about an id that a participant is given.
   * @param of the participant, by the id as randomized
   * @param isRandomized whether a participant had an id as randomized before
   */
  take(
    of: { readonly participantId: string },
    id: string,
    revision: number,
    isRandomized: (id: string) => boolean,
  ): void {
    this.#warnOfLookAlike(of, id, revision, isRandomized);
    if (id !== of.participantId) this.#corrected.set(id, of.participantId);
  }

  #warnOfLookAlike(
    { participantId }: { readonly participantId: string },
    id: string,
    revision: number,
    isRandomized: (id: string) => boolean,
  ): void {
    const form = lookAlikeForm(id);
    const isOther = (known: string) => {
      const original = this.#corrected.get(known) ?? known;
      return original !== participantId && isRandomized(original);
    };
    const alike = [this.#unlike.get(form), form === id ? undefined : form];
    const earlier = alike.find((known) => known !== undefined && isOther(known));
    if (form !== id) this.#unlike.set(form, id);
    if (earlier !== undefined)
      this.#warnings.add(
        'look-alike-ids',
        `participant ${JSON.stringify(id)} looks like participant ${JSON.stringify(earlier)}: it may be one person who was randomized twice`,
        revision,
      );
  }
}

type ImportedRow = PartialEventOf<'ParticipantImported'>;

/**
 * Checks the rows of an import by what is never withheld: their numbers and the names of their sections, which show for
 * which rows the generator's state is recorded.
 */
class ImportChecks {
  /** Data of the import that is under way. */
  #begun: PartialEventOf<'HistoryImported'>['data'] | undefined;
  /** Numbers of the rows imported so far. */
  #rows = new Set<number>();
  /** How many rows there have been since the last one with a known state. */
  #sinceState = Number.POSITIVE_INFINITY;
  /** The row with the latest instant; if several have it, the first. */
  #latest: { readonly instant: number; readonly hasState: boolean } | undefined;

  /** @param sections names of all sections of the event, including withheld ones */
  mismatch(event: PartialStudyEvent, sections: readonly string[]): Mismatch | undefined {
    if (!this.#begun) return undefined;
    if (event.type === 'ParticipantImported') return this.#rowMismatch(event, this.#begun, sections);
    if (event.type !== 'HistoryImportEnded' || 'aborted' in event.data) return undefined;
    return this.#begun.generator === 'fresh' || this.#latest?.hasState
      ? undefined
      : mismatch(
          'data.import',
          'a state of the generator in the row with the largest instant',
          undefined,
          'the generator cannot go on from there',
        );
  }

  /** Adds an event that passed. */
  take(event: PartialStudyEvent, sections: readonly string[]): void {
    if (event.type === 'HistoryImported') {
      this.#begun = event.data;
      this.#rows = new Set();
      this.#sinceState = Number.POSITIVE_INFINITY;
      this.#latest = undefined;
    } else if (event.type === 'ParticipantImported') this.#takeRow(event, hasState(sections));
    else if (event.type === 'HistoryImportEnded') this.#begun = undefined;
  }

  #takeRow({ data: { original, row } }: ImportedRow, isStateKnown: boolean): void {
    this.#rows.add(row);
    this.#sinceState = isStateKnown ? 0 : this.#sinceState + 1;
    const instant = microsecondsOf(original.datetime) ?? 0;
    if (!this.#latest || instant > this.#latest.instant) this.#latest = { instant, hasState: isStateKnown };
  }

  #rowMismatch(
    { data: { cause, redrawn, row } }: ImportedRow,
    { seedKnown, source: { format } }: PartialEventOf<'HistoryImported'>['data'],
    sections: readonly string[],
  ): Mismatch | undefined {
    if (this.#rows.has(row)) return mismatch('data.row', 'a new row', row, 'this row is in already');
    if (redrawn !== (cause === undefined))
      return mismatch(
        'data.cause',
        redrawn ? undefined : 'a cause',
        cause,
        'either it was drawn again, or there is a cause',
      );
    const isEarlierKnown = seedKnown === true || this.#sinceState < ROWS_BACK;
    const causes = causesOf(format, hasState(sections), isEarlierKnown);
    if (!causes.includes(cause))
      return mismatch('data.cause', causes, cause, 'not as the recorded states of the generator have it');
    const isStateExpected = format === 'reference' && hasState(sections);
    const expected = redrawn ? 'draw' : isStateExpected ? 'state' : undefined;
    const found = sections.filter((name) => name !== 'allocation');
    return found.length === (expected ? 1 : 0) && found[0] === expected
      ? undefined
      : mismatch('seals', expected ?? 'no draw, no state', found, 'not the sections of such a row');
  }
}

type RowCause = ImportedRow['data']['cause'];

/** The causes that a row can state; undefined if the row may have been redrawn. */
function causesOf(
  format: 'reference' | 'csv',
  isStateKnown: boolean,
  isEarlierKnown: boolean,
): readonly RowCause[] {
  if (format === 'csv') return ['other-system'];
  if (!isStateKnown) return ['no-state'];
  return isEarlierKnown ? [undefined, 'override', 'differs'] : ['first'];
}

function hasState(sections: readonly string[]): boolean {
  return sections.includes('draw') || sections.includes('state');
}

/** Checks the times that events of a study state besides their own. */
class TimeChecks {
  /** When participants were randomized, in ms, by revision. Takes 8 to 12 bytes for each. */
  readonly #randomized: number[] = [];
  #registered = '';

  take({ type, revision, at }: PartialStudyEvent): void {
    if (type === 'StudyRegistered') this.#registered = at;
    if (type !== 'ParticipantRandomized') return;
    // Without holes, which would take more memory.
    while (this.#randomized.length < revision) this.#randomized.push(Number.NaN);
    this.#randomized.push(Date.parse(at));
  }

  /** What happened before an event cannot be dated after it. Only an emergency is shown before it is recorded. */
  future(event: PartialStudyEvent): Mismatch | undefined {
    if (event.type === 'AllocationRevealed' && event.data.shownAt && event.data.category !== 'emergency')
      return mismatch(
        'data.shownAt',
        undefined,
        event.data.shownAt,
        'only an emergency is shown before it is recorded',
      );
    const [field, time] =
      event.type === 'AllocationRevealed'
        ? ['data.shownAt', event.data.shownAt]
        : 'occurredAt' in event.data
          ? ['data.occurredAt', event.data.occurredAt]
          : ['', undefined];
    if (time === undefined || Date.parse(time) <= Date.parse(event.at) + CLOCK_TOLERANCE_MS) return undefined;
    return mismatch(field, `at most ${event.at}`, time, 'it is later than the event itself');
  }

  /**
   * Nobody is allocated before the study is registered, and no arm is shown before it is drawn. The event must name the
   * right participant.
   */
  early(event: PartialStudyEvent): Mismatch | undefined {
    if (isEnrolment(event) && 'occurredAt' in event.data)
      return this.#beforeRegistration(event.data.occurredAt);
    if (event.type !== 'AllocationRevealed' || event.data.shownAt === undefined) return undefined;
    const { shownAt, randomizedAt } = event.data;
    const randomized = this.#randomized[randomizedAt ?? -1] ?? Number.NaN;
    // An unknown time cannot be contradicted.
    if (!(Date.parse(shownAt) < randomized - CLOCK_TOLERANCE_MS)) return undefined;
    const earliest = new Date(randomized).toISOString();
    return mismatch('data.shownAt', `at least ${earliest}`, shownAt, 'it is earlier than the randomization');
  }

  #beforeRegistration(occurredAt: string): Mismatch | undefined {
    if (Date.parse(occurredAt) >= Date.parse(this.#registered)) return undefined;
    return mismatch(
      'data.occurredAt',
      `at least ${this.#registered}`,
      occurredAt,
      'it is earlier than the registration',
    );
  }
}

/** The mismatch of an event that the decider would have refused. */
export function undecided(type: PartialStudyEvent['type'], outcome: StudyOutcome): Mismatch {
  const why = whyImpossible(outcome);
  switch (outcome.type) {
    case 'impossible':
      return mismatch(memberPath(type, outcome.field), 'what is possible in this study', undefined, why);
    case 'not-amendable':
    case 'unfit':
      return mismatch(
        `data.${outcome.problems[0]?.field}`,
        'what the design before it allows',
        undefined,
        why,
      );
    case 'stale':
      return mismatch(
        outcome.field === undefined ? 'type' : memberPath(type, outcome.field),
        'what was so before',
        undefined,
        why,
      );
    default:
      return mismatch('type', undefined, type, why);
  }
}

/** The path of a member named by a decider. */
function memberPath(type: PartialStudyEvent['type'], field: string): string {
  const inList = type === 'ListRegistered' && /^(?:entries|first)\b/.test(field);
  return `${inList ? 'list' : (SECTION_OF_MEMBER.get(field) ?? 'data')}.${field}`;
}

/** The sealed section that holds a member named by a decider. All other members are in the clear. */
const SECTION_OF_MEMBER = new Map([
  ['treatment', 'allocation'],
  ['slot', 'allocation'],
  ['entries', 'codes'],
  ['codes', 'withdrawn'],
]);

/** How many more participants a study has after an event. */
export function enrolments(event: PartialEvent): number {
  return isEnrolment(event) && !('replaces' in event.data) ? 1 : 0;
}
