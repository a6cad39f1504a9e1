/**
 * How an event is defined: type, version, stream, and the schemas of the clear data and the sealed sections. Below it, the
 * schemas that several events share.
 */
import { z } from 'zod';

/** The kinds of stream a log has. `study` stands for every `study-<studyId>`. */
export type StreamKind = 'log' | 'access' | 'study' | 'operations';

type Shape = Readonly<Record<string, z.core.$ZodShape>>;
type Parse = (value: unknown) => z.ZodSafeParseResult<unknown>;

interface Section {
  readonly name: string;
  readonly schema: z.ZodType;
  /** Without the salt. */
  readonly shape: Shape[string];
  readonly isOptional: boolean;
}

export interface EventDefinition<
  T extends string = string,
  D extends z.ZodType = z.ZodType,
  S extends Shape = Shape,
  O extends Shape = Shape,
> {
  readonly type: T;
  readonly version: number;
  readonly stream: StreamKind;
  readonly data: D;
  /** Schema of the sealed part as it is stored: section name to section, each with its salt. */
  readonly sealed: z.ZodType;
  /** The same, section by section. */
  readonly sections: readonly Section[];
  readonly parseData: Parse;
  readonly parseSealed: Parse;
  /** For a sealed part that holds only some of its sections. */
  readonly parsePartial: Parse;
  /** Only carries the types of the sections; never read. */
  readonly shapes?: { readonly required: S; readonly optional: O };
}

/** What `defineEvent` gets besides type and version. */
interface EventParts<D extends z.ZodType, S extends Shape, O extends Shape> {
  stream: StreamKind;
  data: D;
  sections: S;
  optionalSections: O;
}

export function defineEvent<T extends string, D extends z.ZodType, S extends Shape, O extends Shape>(
  type: T,
  version: number,
  parts: EventParts<D, S, O>,
): EventDefinition<T, D, S, O> {
  const sectionsOf = (shapes: Shape, isOptional: boolean): Section[] =>
    Object.entries(shapes).map(([name, shape]) => {
      return { name, schema: z.strictObject({ ...shape, salt: Salt }), shape, isOptional };
    });
  const sections = [...sectionsOf(parts.sections, false), ...sectionsOf(parts.optionalSections, true)];
  const sealed = z.strictObject(
    Object.fromEntries(
      sections.map(({ name, schema, isOptional }) => [name, isOptional ? schema.optional() : schema]),
    ),
  );
  const partial = sealed.partial();
  return {
    type,
    version,
    stream: parts.stream,
    data: parts.data,
    sealed,
    sections,
    parseData: (value) => parts.data.safeParse(value),
    parseSealed: (value) => sealed.safeParse(value),
    parsePartial: (value) => partial.safeParse(value),
  };
}

/** 128 random bits in lower-case hex. Without them, a sealed treatment could be found by trying each name. */
const Salt = z.string().regex(/^[0-9a-f]{32}$/);

/** What a decider returns: the fact itself, still without id, revision, time and seals. */
export type FactOf<E> =
  E extends EventDefinition<infer T, infer D, infer S, infer O>
    ? {
        readonly type: T;
        readonly data: z.infer<D>;
        readonly sections: Sections<S> & Partial<Sections<O>>;
      }
    : never;

type Sections<S extends Shape> = { readonly [K in keyof S]: z.infer<z.ZodObject<S[K]>> };

// What several events share.

/** Free text of 1 to 2,000 code points, without control characters except line feeds and tabs. */
export const FreeText = z.string().regex(/^(?:[^\p{Cc}]|[\n\t]){1,2000}$/u);

/** A digest, in lower-case hex. */
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** `YYYY-MM-DD`. Whether it is a day of the calendar is checked when it is written and when it is verified. */
const Day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

/** Somebody who decided something outside the system, as the writer asserts. */
export const Approval = z.strictObject({
  name: z.string().min(1),
  role: z.string().min(1),
  on: Day,
  reference: z.string().min(1).optional(),
});
export type Approval = z.infer<typeof Approval>;

/** The version of the trial's protocol from here on. */
export const Protocol = z.strictObject({ version: z.string().min(1), date: Day.optional() });
export type Protocol = z.infer<typeof Protocol>;

export const Revision = z.int().nonnegative();

/** The participant: the id as randomized, never a corrected one, and the revision of the event that enrolled them. */
export const participant = { participantId: z.string().min(1), randomizedAt: Revision };

/** Sealed, because it is free text about one participant. */
export const note = { note: { text: FreeText } };
