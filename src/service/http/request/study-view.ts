/**
 * A study as HTTP shows it, in JSON or CSV. Parameters and bodies are checked against the study's factors and become a
 * participant or a filter; participants become records, rendered according to the scopes of the key. Every record is checked
 * against a strict schema first, so that a scope never sees more than the contract gives it.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Scope } from '../../../../events/access.ts';
import { VoidCause } from '../../../../events/corrections.ts';
import { askedLevel, type Design, type Factor, levelNow, openLevels } from '../../../core/model/design.ts';
import { patternProblem } from '../../../core/model/id-pattern.ts';
import { allowed, noSuchLevel } from '../../../core/model/limits.ts';
import { ParticipantId } from '../../../core/model/members.ts';
import {
  currentId,
  currentLevels,
  type Enrolled,
  NONE,
  type Participant,
  presentPacks,
} from '../../../core/model/participants.ts';
import { columnsOf, headLine, rowLines, type TableOptions } from '../../../evidence/export/columns.ts';
import {
  BG_STATE,
  EXCEL,
  hintsAmong,
  MOMENT_PARAMETERS,
  PAGE_PARAMETERS,
  type Query,
  VIEW,
} from './parameters.ts';
import { HttpProblem, problemList } from './problem.ts';
import { bare, checked } from './reply.ts';

export class StudyViews {
  /** A design never changes: an amendment makes a new one. */
  readonly #views = new WeakMap<Design, StudyView>();
  readonly #datetimeFormat: DatetimeFormat;

  constructor(datetimeFormat: DatetimeFormat) {
    this.#datetimeFormat = datetimeFormat;
  }

  of(design: Design): StudyView {
    const existing = this.#views.get(design);
    if (existing) return existing;
    const view = new StudyView(design, this.#datetimeFormat);
    this.#views.set(design, view);
    return view;
  }
}

export type DatetimeFormat = 'http-date' | 'sql';

interface NewParticipant {
  readonly id: string;
  /** One level per factor, in the order of the design, under their current names; `NONE` for retired factors. */
  readonly levels: readonly string[];
  /** Why the design has no such participant. Its amendments do not change the answer to a repeated request. */
  readonly problems: readonly string[];
}

interface Filter {
  readonly id: string | undefined;
  /** The level asked for, per factor in the order of the design. */
  readonly levels: readonly (string | undefined)[];
  readonly sortedBy: SortedBy;
}

/** What a list is sorted by: the order of randomization, the id in use, or the level of a factor of the study. */
export type SortedBy = 'time' | 'id' | { readonly factor: number };

export const SHOWN_LEVELS = ['current', 'as_randomized'] as const;

/** What a record shows besides the contract's members. */
export interface RecordView {
  /** Which levels the members `f_<factor>` are. */
  readonly levels: (typeof SHOWN_LEVELS)[number];
  /** Whether the record gives its place in the order of randomization. */
  readonly place: boolean;
}

const AS_IN_CONTRACT: RecordView = { levels: 'current', place: false };

/** How records are rendered: the members that the scopes and the list asked for give them. */
interface Rendering {
  readonly schema: z.ZodType;
  /** For a participant who was corrected, or entered by hand. */
  readonly fullSchema: z.ZodType;
  readonly treatment: boolean;
  readonly bgState: boolean;
  readonly shown: RecordView;
}

/** How many participants are rendered before other work gets a turn: about a millisecond's worth. */
export const SLICE = 250;

export class StudyView {
  readonly #design: Design;
  readonly #factorNames: readonly string[];
  /** Their names in a record. */
  readonly #memberNames: readonly string[];
  readonly #renderings = new Map<string, Rendering>();
  readonly #datetime: (at: string) => string;

  constructor(design: Design, datetimeFormat: DatetimeFormat) {
    this.#design = design;
    this.#factorNames = design.factors.map(({ name }) => name);
    this.#memberNames = this.#factorNames.map((name) => `f_${name}`);
    this.#datetime = datetimeFormat === 'sql' ? (at) => at.slice(0, 19).replace('T', ' ') : httpDate();
  }

  /**
   * @param found problems already found in the request
   * @throws HttpProblem 400 naming every problem at once
   */
  newParticipant(query: Query, found: readonly string[]): NewParticipant {
    const form = [...found, ...prefixedParameters(query)];
    const problems: string[] = [];
    const id = checkedParameter(ParticipantId, query.get('id'), form);
    const problemOfId = id === undefined ? undefined : patternProblem(id, this.#design);
    if (problemOfId !== undefined) problems.push(`id ${problemOfId}`);
    const levels = this.#levelsFrom((name) => query.get(name), form, problems);
    if (form.length > 0 || id === undefined) throw new HttpProblem(400, problemList([...form, ...problems]));
    return { id: ownText(id), levels, problems };
  }

  /** The levels that a body gives by factor, one per factor in the order of the design, and what is wrong with them. */
  levelsIn(given: Readonly<Record<string, string>>): { levels: string[]; problems: string[] } {
    const problems = Object.keys(given)
      .filter((name) => !this.#factorNames.includes(name))
      .map((name) => `the study has no factor ${JSON.stringify(name)}`);
    const levelOfFactor = (name: string) => (Object.hasOwn(given, name) ? given[name] : undefined);
    const levels = this.#levelsFrom(levelOfFactor, problems, problems);
    return { levels, problems };
  }

  /**
   * @param given the level that a request gives of a factor
   * @param missing gets a problem for each factor without a level
   * @param problems gets one for each unknown level
   */
  #levelsFrom(
    given: (factor: string) => string | undefined,
    missing: string[],
    problems: string[],
  ): string[] {
    return this.#design.factors.map((factor) => {
      const asked = given(factor.name);
      if (factor.isRetired) {
        if (asked === undefined) return NONE;
        problems.push(`${factor.name} is retired (hint: leave it out)`);
        return levelNow(factor, asked);
      }
      if (asked === undefined) missing.push(`${factor.name} is missing ${allowed(openLevels(factor))}`);
      return asked === undefined ? '' : levelOf(factor, asked, openLevels(factor), problems);
    });
  }

  /**
   * @param found problems already found in the request
   * @throws HttpProblem 400 naming every problem at once: a misspelt filter would silently list everybody
   */
  filter(query: Query, found: readonly string[] = []): Filter {
    const problems = [...found, ...prefixedParameters(query), ...this.#unknownParameters(query)];
    const id = query.get('id');
    if (id !== undefined) checkedParameter(ParticipantId, id, problems);
    const levels = this.#design.factors.map((factor) => {
      const wanted = query.get(factor.name);
      return wanted === undefined ? undefined : levelOf(factor, wanted, factor.levels, problems);
    });
    const sortedBy = this.#sortedBy(query.get('urn.sort') ?? 'time', problems);
    if (problems.length > 0) throw new HttpProblem(400, problemList(problems));
    return { id, levels, sortedBy };
  }

  /** Never by treatment: the order of a list must not reveal what its records do not. */
  #sortedBy(asked: string, problems: string[]): SortedBy {
    if (asked === 'time' || asked === 'id') return asked;
    const factor = this.#memberNames.indexOf(asked);
    if (factor < 0)
      problems.push(`urn.sort must be one of ${['time', 'id', ...this.#memberNames].join(', ')}`);
    return { factor };
  }

  /** Parameters that are not known here. `prefixedParameters` reports those with the prefix f_. */
  #unknownParameters(query: Query): string[] {
    const unknown = [...query.keys()].filter(
      (name) => !OWN_PARAMETERS.has(name) && !this.#factorNames.includes(name) && !name.startsWith('f_'),
    );
    const known = ['id', ...this.#factorNames].join(', ');
    const hintFor = hintsAmong([...OWN_PARAMETERS, ...this.#factorNames]);
    return unknown.map((name) => {
      const hint = hintFor(name);
      return `${name} is not a parameter of this study (${hint === undefined ? `there are: ${known}` : `hint: ${hint}`})`;
    });
  }

  /** JSON of the records as the scopes may see them, checked against the contract. */
  records(participants: readonly Participant[], scopes: readonly Scope[], shown = AS_IN_CONTRACT): string {
    const rendering = this.#rendering(scopes, shown);
    const records = participants.map((participant) => this.#record(participant, rendering));
    return rendering.bgState ? `[${records.map(withBgState).join(',')}]` : JSON.stringify(records);
  }

  /** Like `records`, in pieces of `SLICE` participants. */
  *slices(
    participants: readonly Participant[],
    scopes: readonly Scope[],
    shown = AS_IN_CONTRACT,
  ): Generator<string, void> {
    for (let from = 0; from < participants.length; from += SLICE) {
      const records = this.records(participants.slice(from, from + SLICE), scopes, shown);
      yield `${from === 0 ? '[' : ','}${records.slice(1, -1)}`;
    }
    yield participants.length === 0 ? '[]' : ']';
  }

  /** The list for statisticians, in pieces of `SLICE` participants. Without the scope `read`, it has no column of arms. */
  *csvSlices(
    participants: readonly Participant[],
    scopes: readonly Scope[],
    options: Omit<TableOptions, 'isBlinded'>,
  ): Generator<string, void> {
    const columns = columnsOf(this.#design, { isBlinded: !scopes.includes('read'), ...options });
    yield headLine(columns);
    for (let from = 0; from < participants.length; from += SLICE)
      yield rowLines(columns, participants.slice(from, from + SLICE));
  }

  #record(participant: Participant, rendering: Rendering): object {
    const { treatment, bgState, shown } = rendering;
    const record: Record<string, unknown> = {
      id: currentId(participant),
      ...this.#named(levelsShown(participant, shown.levels)),
    };
    if (treatment) record['trt'] = participant.treatment;
    record['datetime'] = this.#datetime(participant.at);
    record['user'] = participant.user;
    if (bgState) record['bg_state'] = participant.bgStateAfter;
    if (shown.place) {
      record['urn.sequence'] = participant.sequence;
      record['urn.revision'] = participant.revision;
    }
    const { corrected, occurredAt, pack, dispensed } = participant;
    if (!corrected && occurredAt === undefined && !pack && !dispensed)
      return checked(rendering.schema, record) as object;
    return checked(rendering.fullSchema, { ...record, ...this.#remarks(participant) }) as object;
  }

  #named(levels: readonly string[]): Record<string, unknown> {
    const named: Record<string, unknown> = {};
    this.#memberNames.forEach((name, i) => {
      if (levels[i] !== NONE) named[name] = levels[i];
    });
    return named;
  }

  /** The packs, and whatever differs from an ordinary randomization. */
  #remarks(participant: Participant): object {
    const { participantId, levels, corrected, occurredAt, pack } = participant;
    const packs = presentPacks(participant).map(({ visit, code, at }) => {
      return { visit, code, datetime: this.#datetime(at) };
    });
    const forced = {
      ...(occurredAt !== undefined && { 'urn.occurred_at': occurredAt }),
      ...(pack && { 'urn.code': pack.code }),
      ...(packs.length > 0 && { 'urn.packs': packs }),
    };
    if (!corrected) return forced;
    const isMoved = corrected.levels.some((level, i) => level !== levels[i]);
    return {
      ...forced,
      ...(isMoved && { 'urn.as_randomized': this.#named(levels) }),
      ...(corrected.id !== participantId && { 'urn.id_as_randomized': participantId }),
      ...(corrected.voided && { 'urn.voided': corrected.voided.cause }),
    };
  }

  /** The schema is strict: for scopes that may not see the treatment, a record that holds one fails the check. */
  #rendering(scopes: readonly Scope[], shown: RecordView): Rendering {
    const treatment = scopes.includes('read');
    const bgState = scopes.includes('audit');
    const cacheKey = `${treatment} ${bgState} ${shown.levels} ${shown.place}`;
    const cached = this.#renderings.get(cacheKey);
    if (cached) return cached;
    const { factors, treatments } = this.#design;
    const { id, datetime, user, bg_state } = recordMembers;
    const named = Object.fromEntries(
      factors.map(({ name, levels, isRetired }) => [
        `f_${name}`,
        isRetired ? oneOf(levels).optional() : oneOf(levels),
      ]),
    );
    const schema = z.strictObject({
      id,
      ...named,
      ...(treatment ? { trt: oneOf(treatments) } : {}),
      datetime,
      user,
      // Another system may have drawn without recording its state.
      ...(bgState ? { bg_state: bg_state.optional() } : {}),
      ...(shown.place ? placeMembers : {}),
    });
    const fullSchema = schema.extend({
      ...remarkMembers,
      'urn.as_randomized': z.strictObject(named).optional(),
    });
    const rendering = { schema, fullSchema, treatment, bgState, shown };
    this.#renderings.set(cacheKey, rendering);
    return rendering;
  }
}

/** Parameters that are not factors. */
const OWN_PARAMETERS = new Set([
  ...['api_key', 'study', 'id', BG_STATE, VIEW, EXCEL],
  ...MOMENT_PARAMETERS,
  ...PAGE_PARAMETERS,
]);

function prefixedParameters(query: Query): string[] {
  return [...query.keys()]
    .filter((name) => name.startsWith('f_'))
    .map((name) => `${name}: the prefix f_ belongs to records only; send ${name.slice(2)}`);
}

/** Returns the parsed value, and adds any problems to the list. */
function checkedParameter<T>(schema: z.ZodType<T>, input: unknown, problems: string[]): T | undefined {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  for (const { message } of parsed.error.issues) problems.push(message);
  return undefined;
}

/** A copy in memory of its own: a substring of a URL would keep the whole URL in memory. */
function ownText(part: string): string {
  return Buffer.from(part).toString();
}

/** The level that is meant, under its current name. Adds a problem if the name is unknown, or no longer in use. */
function levelOf(factor: Factor, asked: string, choices: readonly string[], problems: string[]): string {
  const { levels } = factor;
  const known = askedLevel(factor, asked);
  // The text of the design, because a substring of a URL would keep the whole URL in memory.
  if (known !== undefined) return levels.find((level) => level === known) ?? known;
  problems.push(noSuchLevel(factor, asked, choices));
  return levelNow(factor, asked);
}

/** The levels that a record shows and that filters apply to. */
export function levelsShown(participant: Enrolled, which: RecordView['levels']): readonly string[] {
  return which === 'current' ? currentLevels(participant) : participant.levels;
}

/** Formats HTTP dates. Each day is formatted once for consecutive participants, which halves the time of a long list. */
function httpDate(): (at: string) => string {
  let day = '';
  let shownDay = '';
  return (at) => {
    if (!at.startsWith(day) || day === '') {
      day = at.slice(0, 'YYYY-MM-DD'.length);
      shownDay = new Date(at).toUTCString().slice(0, 'Wed, 10 Feb 2021'.length);
    }
    return `${shownDay} ${at.slice('YYYY-MM-DDT'.length, 'YYYY-MM-DDTHH:MM:SS'.length)} GMT`;
  };
}

/** JSON.stringify cannot write the integers of a generator's state as bare numbers. */
function withBgState(record: object): string {
  const shown = record as { bg_state: BgStateResult | undefined };
  const { bg_state } = shown;
  if (!bg_state) return JSON.stringify(record);
  shown.bg_state = undefined;
  const { bit_generator, has_uint32, state, uinteger } = bg_state;
  const stateText = `{"inc":${state.inc},"state":${state.state}}`;
  return `${JSON.stringify(shown).slice(0, -1)},"bg_state":{"bit_generator":"${bit_generator}","has_uint32":${has_uint32},"state":${stateText},"uinteger":${uinteger}}}`;
}

/** z.enum is no use here: it keeps its values as keys of an object, and a treatment or level may have any name. */
function oneOf(values: readonly string[]): z.ZodType<string> {
  const own = new Set(values);
  return z.string().refine((value) => own.has(value), { error: 'not among the allowed values' });
}

// The members of a record, and of other results, for the checks and the OpenAPI document

/** Decimal digits that the answer shows as a bare number. JavaScript numbers are too small to hold it. */
export const BareUint128 = z.string().regex(/^(?:0|[1-9]\d{0,38})$/);

export const BgStateResult = z
  .strictObject({
    bit_generator: z.literal('PCG64'),
    has_uint32: z.union([z.literal(0), z.literal(1)]),
    state: z.strictObject({ inc: BareUint128, state: BareUint128 }),
    uinteger: z.int(),
  })
  .meta({
    description:
      "The generator's state after the draw, in the form of numpy's bit_generator.state. Only shown to a key with the scope `audit`.",
  });

export type BgStateResult = z.infer<typeof BgStateResult>;

/** Members of a participant record, without the `f_<factor>` ones. */
export const recordMembers = {
  id: z.string().meta({ description: 'The participant identifier' }),
  trt: z.string().meta({ description: 'The assigned treatment. Only shown to a key with the scope `read`.' }),
  datetime: z
    .string()
    .meta({ description: 'Time of randomization (UTC)', examples: ['Wed, 10 Feb 2021 00:01:08 GMT'] }),
  user: z.string().meta({ description: 'The user of the key that was used for the randomization' }),
  bg_state: BgStateResult,
};

/** Members of a record in a list that was asked for with `urn.view`. */
export const placeMembers = {
  'urn.sequence': z
    .int()
    .meta({ description: '1, 2, … in the order of randomization. Only with the parameter `urn.view`' }),
  'urn.revision': z.int().meta({
    description:
      'The revision of the event that enrolled the participant. Only with the parameter `urn.view`',
  }),
};

/** A component of its own in the OpenAPI document. */
export const PackOfVisit = z.strictObject({
  visit: z.string(),
  code: z.string().meta({ description: 'The pack that the participant has for the visit' }),
  datetime: z.string().meta({
    description:
      'When a pack was first given out for the visit (UTC), in the format of the `datetime` of the record. Neither a replacement nor a correction changes it',
    examples: ['Wed, 10 Mar 2021 09:30:00 GMT'],
  }),
});

/** Members that a record has only if they say something. */
export const remarkMembers = {
  'urn.code': z
    .string()
    .optional()
    .meta({ description: 'The pack that the participant has; not one of a visit' }),
  'urn.packs': z.array(PackOfVisit).optional().meta({
    description:
      'The packs of visits that the participant has, in the order in which they were given out. Absent if there are none',
  }),
  'urn.occurred_at': z.string().optional().meta({
    description:
      'When the allocation was made, if it was made outside the service and entered by hand (ISO 8601, UTC)',
  }),
  'urn.as_randomized': z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: 'The levels (`f_<factor>`) as randomized, if levels were corrected since' }),
  'urn.id_as_randomized': z
    .string()
    .optional()
    .meta({ description: 'The id as randomized, if it was corrected since' }),
  'urn.voided': VoidCause.optional().meta({
    description: 'Why the participant was voided: they were randomized in error',
  }),
};

/** Besides `enrolled`, which counts everybody in the list. */
export const HEADS = {
  voided: z.int().meta({ description: 'How many of them are voided' }),
  filled: z.int().meta({
    description:
      'How many of them fill a place of the target and of the limits: all but those voided as duplicates or as never enrolled',
  }),
};

export const GoalResult = z
  .strictObject({
    kind: z.enum(['target', 'limit']).meta({ description: '`limit`: there are no more places' }),
    places: z.int(),
  })
  .meta({
    description:
      'What `filled` is measured against: the target of the study, or if it has none its limit. For a key that is limited to levels of one factor, the limits of these levels together. Absent if nobody has said how many there may be',
  });

// JSON or CSV

export const CSV = 'text/csv';
const JSON_TYPE = 'application/json';

/** Around a list without the envelope. */
export const BARE_CSV = bare(`${CSV}; charset=utf-8; header=present`);

/**
 * Whether a client wants comma-separated values. Only one that names `text/csv` gets them, unless it prefers JSON: that is the
 * default, also for clients that name no type or accept any.
 */
export function wantsCsv({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { accept } = headers;
  if (accept === undefined || !accept.toLowerCase().includes(CSV)) return false;
  const weights = new Map<string, number>();
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    weights.set(type, Math.max(weightOf(parameters), weights.get(type) ?? 0));
  }
  const weight = weights.get(CSV) ?? 0;
  return weight > 0 && weight >= (weights.get(JSON_TYPE) ?? 0);
}

/** Whether the texts of the list are for a spreadsheet. Adds any problem with the parameter to the problems. */
export function isForExcel(
  { http, query }: { readonly http: IncomingMessage; readonly query: Query },
  problems: string[],
): boolean {
  const value = query.get(EXCEL);
  if (value === undefined) return false;
  if (value !== 'true') problems.push(`${EXCEL} must be true`);
  else if (!wantsCsv(http)) problems.push(`${EXCEL} needs the header Accept: ${CSV}`);
  return true;
}

/** RFC 9110, section 12.4.2. A weight that is not valid counts as none. */
function weightOf(parameters: readonly string[]): number {
  const [, value] = parameters.map((parameter) => parameter.split('=')).find(([name]) => name === 'q') ?? [
    '',
    '1',
  ];
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(value ?? '') ? Number(value) : 0;
}
