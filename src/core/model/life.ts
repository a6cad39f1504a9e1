/**
 * What happened in a study besides its allocations, counted once for everything that shows it: verification, the report of a
 * bundle, `urn studies show`. Nothing here says anything about arms.
 *
 * A count is a member of `NO_LIFE`, a line in `COUNTED` with its event, and one in `SHOWN` with its name and words.
 * What the model knows anyway (who is voided, how far an import is) is not counted again, but has its line in `SHOWN`.
 */
import { z } from 'zod';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { PartialEvent, PartialEventOf } from '../../../events/record.ts';
import { counted } from '../../base/wording.ts';
import type { Model } from './model.ts';
import { voidedByCause } from './participants.ts';

/** Numbers by what they are of. */
type Counts = Readonly<Record<string, number>>;

/** An act of somebody that may have chosen an arm (steering.ts). */
export interface Deed {
  readonly revision: number;
  readonly at: string;
  readonly by: string;
}

export interface Voiding extends Deed {
  /** As randomized. */
  readonly participantId: string;
}

/** Before anything happened. */
export const NO_LIFE = {
  /** `corrected`: what is recorded of a pack of a visit. */
  packs: { lists: 0, registered: 0, replaced: 0, withdrawn: 0, dispensed: 0, corrected: 0 },
  /** Of lists of allocations that were made elsewhere. */
  entries: { lists: 0, registered: 0, skipped: 0 },
  /** By cause. */
  forced: {} as Counts,
  corrected: { levels: 0, ids: 0 },
  /** By type of event. */
  changedAfterClosing: {} as Counts,
  /** By category. */
  codeBreaks: {} as Counts,
  /** `ofPacks`: how many of the code-breaks were for a pack that nobody had. `reported`: without the service. */
  unblindings: { ofPacks: 0, reported: 0 },
  /** In order. */
  amendments: [] as readonly Deed[],
};

/** It is replaced, and never changed: forks share it. */
export type Life = { readonly [N in keyof typeof NO_LIFE]: Readonly<(typeof NO_LIFE)[N]> };

/** What is added to a `Life`. */
type Addition = {
  readonly [N in keyof Life]?: Life[N] extends readonly unknown[] ? Life[N] : Partial<Life[N]>;
};

/** Who was randomized is a participant, and a registration begins the model: neither comes here (`fold`). */
type Countable = Exclude<StudyFact['type'], 'StudyRegistered' | 'ParticipantRandomized'>;

const COUNTED: { readonly [T in Countable]?: (event: PartialEventOf<T>) => Addition } = {
  CodesRegistered: ({ data }) => ({ packs: { lists: 1, registered: data.count } }),
  CodeReplaced: () => ({ packs: { replaced: 1 } }),
  CodesWithdrawn: ({ data }) => ({ packs: { withdrawn: data.count } }),
  PackDispensed: () => ({ packs: { dispensed: 1 } }),
  DispensationCorrected: () => ({ packs: { corrected: 1 } }),
  ListRegistered: ({ data }) => ({ entries: { lists: 1, registered: data.count } }),
  EntriesSkipped: ({ data }) => ({
    entries: { skipped: data.skipped.reduce((n, { count }) => n + count, 0) },
  }),
  AllocationForced: ({ data }) => ({ forced: { [data.cause]: 1 } }),
  LevelsCorrected: () => ({ corrected: { levels: 1 } }),
  ParticipantIdCorrected: () => ({ corrected: { ids: 1 } }),
  AllocationRevealed: ({ data: { category, participantId } }) => ({
    codeBreaks: { [category]: 1 },
    ...(participantId === undefined && { unblindings: { ofPacks: 1 } }),
  }),
  UnblindingReported: () => ({ unblindings: { reported: 1 } }),
  StudyAmended: (event) => ({ amendments: [deedOf(event)] }),
};

function deedOf({ revision, at, actor }: PartialEvent): Deed {
  return { revision, at, by: actor.user };
}

/** Counts an event in the model. @param model of the study before the event @param isCorrection of something recorded */
export function live(model: Model, event: PartialEvent, isCorrection: boolean): void {
  const { type } = event;
  const addition = COUNTED[type as Countable] as ((of: PartialEvent) => Addition) | undefined;
  if (addition) model.life = plus(model.life, addition(event));
  if (model.status === 'closed' && isCorrection)
    model.life = plus(model.life, { changedAfterClosing: { [type]: 1 } });
  if (type === 'AllocationVoided') {
    const { participantId, randomizedAt } = event.data;
    model.voidings.set(randomizedAt, { participantId, ...deedOf(event) });
  }
  if (type === 'AllocationRevealed') unblind(model, event.data.participantId, event.data.category);
  if (type === 'UnblindingReported') unblind(model, event.data.participantId, `reported: ${event.data.how}`);
}

function plus(life: Life, addition: Addition): Life {
  const sums = Object.entries(addition).map(([name, more]) => {
    const before = life[name as keyof Life];
    return [
      name,
      Array.isArray(before) ? [...before, ...(more as [])] : sumOf(before as Counts, more as Counts),
    ];
  });
  return { ...life, ...Object.fromEntries(sums) };
}

function sumOf(counts: Counts, more: Counts): Counts {
  const sums = Object.entries(more).map(([of, n]) => [of, (counts[of] ?? 0) + n]);
  return { ...counts, ...Object.fromEntries(sums) };
}

/** @param id as randomized; undefined for a pack that nobody had */
function unblind({ participants }: Model, id: string | undefined, how: string): void {
  const participant = participants.get(id ?? '');
  if (!participant) return;
  const { unblinded = [] } = participant;
  if (!unblinded.includes(how)) participants.replace({ ...participant, unblinded: [...unblinded, how] });
}

/** How a count is shown. */
interface Shown<T> {
  readonly label: string;
  readonly schema: z.ZodOptional<z.ZodType<T>>;
  /** Undefined: it is not shown. */
  readonly of: (model: Model) => T | undefined;
  /** What follows the label in the report of a verification. */
  readonly text: (value: T) => string;
  /** The same among the facts of a study. Absent: verification alone shows it, or it has a place of its own there. */
  readonly fact?: (value: T) => string;
  /** In place of label and text. */
  readonly sentence?: (value: T) => string;
}

type Words<T> = Partial<Pick<Shown<T>, 'text' | 'fact' | 'sentence'>>;

function number(
  label: string,
  description: string,
  of: (model: Model) => number,
  words: Words<number> = {},
): Shown<number> {
  const schema = z.int().optional().meta({ description });
  return { label, schema, of: (model) => of(model) || undefined, text: String, ...words };
}

function byKind(
  label: string,
  description: string,
  of: (model: Model) => Counts,
  words: Words<Counts> = {},
): Shown<Counts> {
  const schema = z.record(z.string(), z.int()).optional().meta({ description });
  const known = (counts: Counts) => (Object.keys(counts).length > 0 ? counts : undefined);
  return { label, schema, of: (model) => known(of(model)), text: sortedText, ...words };
}

const PackCounts = z.strictObject({
  ...{ registered: z.int(), replaced: z.int(), withdrawn: z.int() },
  ...{ dispensed: z.int().optional(), corrected: z.int().optional() },
});
type PackCounts = z.infer<typeof PackCounts>;

/** In the order of the JSON, and of the facts. */
const SHOWN = {
  imported: {
    label: 'imported',
    schema: z.strictObject({ redrawn: z.int(), unproven: z.int() }).optional().meta({
      description: 'Number of participants that came from another system',
    }),
    of: importedSoFar,
    text: ({ redrawn, unproven }) => `${redrawn} drawn again, ${unproven} unproven`,
  } satisfies Shown<{ redrawn: number; unproven: number }>,
  amendments: number(
    'amendments',
    'Number of amendments of the design',
    ({ life }) => life.amendments.length,
  ),
  packs: {
    label: 'packs',
    schema: PackCounts.optional().meta({
      description:
        'How many packs are on the lists, were replaced, and were withdrawn; how many were given out at visits, and how often that was corrected',
    }),
    of: packCounts,
    text: (packs) => packsText(packs),
  } satisfies Shown<PackCounts>,
  forced: byKind(
    'entered by hand',
    'How many allocations were entered by hand, by cause',
    ({ life }) => life.forced,
  ),
  corrected: number(
    'levels corrected',
    'Number of corrections of levels',
    ({ life }) => life.corrected.levels,
  ),
  idsCorrected: number('ids corrected', 'Number of corrections of ids', ({ life }) => life.corrected.ids),
  voided: byKind('voided', 'Number of participants who are voided, by cause', ({ participants }) =>
    voidedByCause(participants.inOrder),
  ),
  changedAfterClosing: byKind(
    'changed after a closing',
    'Number of corrections while the study was closed, by type of event',
    ({ life }) => life.changedAfterClosing,
  ),
  revealed: byKind(
    'code-breaks',
    'Number of code-breaks by category, without those that did not occur',
    ({ life }) => life.codeBreaks,
    { text: emergenciesText, fact: describeNumbers },
  ),
  unblindingReported: number(
    'unblinded outside',
    'Number of reports that a participant was unblinded outside the service',
    ({ life }) => life.unblindings.reported,
    {
      sentence: (reports) => `${counted(reports, 'unblinding')} without the service reported`,
      fact: (reports) => `${reports} reported`,
    },
  ),
  peopleUnblinded: number(
    'people unblinded',
    'Number of participants whose arm somebody learned, by code-breaks or without the service, each once',
    ({ participants }) => participants.inOrder.filter(({ unblinded }) => unblinded).length,
    { fact: String },
  ),
};

type Name = keyof typeof SHOWN;
type Schemas = { readonly [N in Name]: (typeof SHOWN)[N]['schema'] };
/** What happened; a count that came to nothing is left out. */
export type LifeCounts = z.infer<z.ZodObject<Schemas>>;

const rowsOf = (shown: object) => Object.entries(shown) as readonly (readonly [Name, Shown<unknown>])[];
const rows = rowsOf(SHOWN);

/** The members of `LifeCounts`. */
export const LIFE_SCHEMAS = Object.fromEntries(rows.map(([name, { schema }]) => [name, schema])) as Schemas;

/** @param isShown which of them; by default, all */
export function lifeCounts(model: Model, isShown: (one: Shown<unknown>) => unknown = () => true): LifeCounts {
  const counts = rows.map(([name, one]) => [name, isShown(one) ? one.of(model) : undefined] as const);
  return Object.fromEntries(counts.filter(([, count]) => count !== undefined));
}

/** What verification says of them, each by itself: first where participants and packs came from, then what changed. */
export function lifeTexts(counts: LifeCounts): string[] {
  const { imported, forced, packs, ...changes } = SHOWN;
  return rowsOf({ imported, forced, packs, ...changes }).flatMap(([name, { label, text, sentence }]) => {
    const count = counts[name];
    return count === undefined ? [] : [sentence?.(count) ?? `${label}: ${text(count)}`];
  });
}

/** The counts that stand among the facts of a study, and those facts. */
export function lifeFacts(model: Model) {
  const counts = lifeCounts(model, ({ fact }) => fact);
  const facts = rows.flatMap(([name, { label, fact }]) =>
    fact && counts[name] !== undefined ? [{ name, label, text: fact(counts[name]) }] : [],
  );
  return { counts, facts };
}

/** Of an import that is under way, the rows that are in. */
function importedSoFar({ importing, registered }: Model) {
  const { redrawn, unproven } = importing
    ? { redrawn: importing.redrawn, unproven: importing.taken - importing.redrawn }
    : (registered.imported ?? { redrawn: 0, unproven: 0 });
  return redrawn + unproven > 0 ? { redrawn, unproven } : undefined;
}

/** Undefined in a study without packs. */
export function packCounts({ life }: Model): PackCounts | undefined {
  const { lists, dispensed, corrected, ...packs } = life.packs;
  return lists > 0 ? { ...packs, ...(dispensed > 0 && { dispensed, corrected }) } : undefined;
}

/** @param given how many are, or were, given to somebody, if that is shown */
export function packsText(
  { registered, replaced, withdrawn, dispensed = 0, corrected = 0 }: PackCounts,
  given?: number,
): string {
  const ofThem = given === undefined ? '' : `, ${given} given`;
  const atVisits = dispensed > 0 ? `, ${dispensed} given at visits (${corrected} corrected)` : '';
  return `${registered} registered${ofThem}, ${replaced} replaced, ${withdrawn} withdrawn${atVisits}`;
}

/** How many entries the lists of a study have, without those that an amendment voided. */
export interface EntryNumbers {
  readonly lists: number;
  /** By participants, or skipped. */
  readonly used: number;
  readonly left: number;
  /** Then nobody is randomized. */
  readonly skipOwed: boolean;
}

/** Says nothing about strata either. Undefined in a study that follows no list. */
export function entryNumbers({ entries, methodDesign }: Model): EntryNumbers | undefined {
  if (methodDesign.method !== 'list') return undefined;
  const used = [...entries.strata.values()].reduce((sum, one) => sum + one.used, 0);
  return { lists: entries.lists, used, left: entries.leftInAll, skipOwed: entries.isSkipOwed };
}

function emergenciesText({ emergency = 0, ...others }: Counts): string {
  const other = total(others);
  return [
    ...(emergency > 0 ? [`${emergency} in ${emergency === 1 ? 'an emergency' : 'emergencies'}`] : []),
    ...(other > 0 ? [`${other} other`] : []),
  ].join(', ');
}

/** How many there are in all, and of each kind. */
export function describeNumbers(counts: Counts): string {
  return `${total(counts)}: ${kindsOf(counts).join(', ')}`;
}

function sortedText(counts: Counts): string {
  return kindsOf(counts).sort().join(', ');
}

function kindsOf(counts: Counts): string[] {
  return Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
}

function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
