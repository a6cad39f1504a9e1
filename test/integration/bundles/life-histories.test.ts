/**
 * Studies made by a program that shares no code with the service (test/vectors/make-life-histories.py): the service
 * reads them, folds them to the same state after every record, would write the same bytes, and both verifiers find the
 * same in them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { DesignChange } from '../../../events/amendment.ts';
import { CONTENTS, type Content, includedSections } from '../../../events/content.ts';
import { VoidCause } from '../../../events/corrections.ts';
import { UnprovenCause } from '../../../events/import.ts';
import { decodeRecord, encodeRecord, type LogEvent } from '../../../events/record.ts';
import { BgState, ImbalanceMeasure, type Level, Limits } from '../../../events/study.ts';
import { Protocol } from '../../../events/text.ts';
import { access } from '../../../projections/access.ts';
import type { Tally } from '../../../projections/balance.ts';
import type { Design as EffectiveDesign } from '../../../projections/design.ts';
import {
  currentId,
  currentLevels,
  type Enrolled,
  isEnrolment,
  NONE,
  type Voided,
} from '../../../projections/enrolled.ts';
import { logHistory } from '../../../projections/log.ts';
import { isMoveEvent } from '../../../projections/movement.ts';
import { projectionOf, type Readable, shownIn } from '../../../projections/projection.ts';
import { Runner } from '../../../projections/runner.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { openIdentity } from '../../../src/core/ledger/identity.ts';
import { MerkleTree } from '../../../src/core/ledger/merkle-tree.ts';
import { parseSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { idByPack, type Model } from '../../../src/core/model/model.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import { decide } from '../../../src/core/study/decide.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { balance, design, participants } from '../../../src/core/study/views.ts';
import { writeBundle } from '../../../src/evidence/bundle/bundle.ts';
import type { Report, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import { storeSource } from '../../../src/evidence/verify/verifications.ts';
import { verifyLog } from '../../../src/evidence/verify/verify.ts';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { altered as alteredRow } from '../../e2e/audit/database.ts';
import { asCommand } from '../../support/acts.ts';
import { withholdIdleKeys } from '../../support/altered-bundles.ts';
import { bothVerifiers } from '../../support/both-verifiers.ts';
import { OPERATOR } from '../../support/facts.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { requiredPython } from '../../support/numpy.ts';
import { openGate } from '../../support/open-gate.ts';
import { firstDivergence, verifyOurselves } from '../../support/own-verifier.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const RecordText = z.strictObject({ record: z.string(), sealed: z.string(), leaf: z.string() });
/** By factor, level, and slot or arm. */
const Table = z.array(z.array(z.array(z.int())));
/** A participant with corrections. */
const Person = z.strictObject({
  id: z.string(),
  formerIds: z.array(z.string()),
  /** Null at a factor that was retired before. */
  levels: z.array(z.string().nullable()),
  countedLevels: z.array(z.string().nullable()),
  voided: z
    .strictObject({
      cause: VoidCause,
      counts: z.enum(['kept', 'removed']),
      voidedAt: z.int(),
      duplicateOf: z.string().optional(),
    })
    .nullable(),
});
type Person = z.infer<typeof Person>;
const Imported = z.strictObject({
  id: z.string(),
  levels: z.array(z.string().nullable()),
  treatment: z.string(),
  row: z.int(),
  user: z.string(),
  datetime: z.string(),
  at: z.string(),
});
/** A participant who was allocated outside. */
const Forced = z.strictObject({
  /** Of the entry that counts: a wrong one gives way to it. */
  revision: z.int(),
  counted: z.boolean(),
  occurredAt: z.string(),
  /** The one in use and all earlier ones, those of wrong entries too. */
  ids: z.array(z.string()),
});
/** Of a study with packs. */
const Packs = z.strictObject({
  lists: z.int(),
  /** These two are in the order of the lists. */
  free: z.array(z.string()),
  withdrawn: z.array(z.string()),
  /** By code, of every pack that was ever given out: who has or had it, as randomized; null of a wrong entry. */
  given: z.record(z.string(), z.string().nullable()),
  /** By the id as randomized. */
  current: z.record(z.string(), z.strictObject({ code: z.string(), replacements: z.int() })),
});
type Packs = z.infer<typeof Packs>;
const Design = z.strictObject({
  amendment: z.int(),
  /** This and the next three are in studies whose arms, ratio, urns or factors change. */
  treatments: z.array(z.strictObject({ name: z.string(), closed: z.boolean() })).optional(),
  /** The treatment of each. */
  slots: z.array(z.string()).optional(),
  epoch: z.int().optional(),
  urn: z.strictObject({ w: z.int(), alpha: z.int(), beta: z.int(), D: ImbalanceMeasure }).optional(),
  factors: z.array(
    z.strictObject({
      name: z.string(),
      retired: z.literal(true).optional(),
      levels: z.array(
        z.strictObject({
          name: z.string(),
          earlierNames: z.array(z.string()),
          /** Those of them that requests may still use. */
          aliases: z.array(z.string()),
          closed: z.boolean(),
        }),
      ),
    }),
  ),
  limits: Limits.optional(),
  policies: z.strictObject({
    stopAtLimit: z.boolean(),
    levelCounts: z.string(),
    voidCounts: z.string(),
    forcedCounts: z.string(),
  }),
  idPattern: z.string().optional(),
  target: z.int().optional(),
  blinding: z.string(),
  protocol: Protocol.optional(),
});
const State = z.strictObject({
  status: z.string(),
  enrolled: z.int(),
  /** What the urns hold, by slot. */
  counts: Table,
  bgState: BgState,
  /** Of the stream's tree. */
  root: z.string(),
  /** The rest is there from the first correction on. By the id as randomized. */
  corrected: z.record(z.string(), Person).optional(),
  /** Everybody, at their current levels. */
  randomized: Table.optional(),
  voidedByArm: z.array(z.int()).optional(),
  /** How many participants each limit counts, of those that stop them. */
  filled: z.array(z.int()).optional(),
  /** Who was allocated outside, by the id as randomized; there from the first of them on. */
  forced: z.record(z.string(), Forced).optional(),
  /** Who was imported last, as the other system has them; there while a study imports or has imported somebody. */
  newest: Imported.nullable().optional(),
  /** There if it differs from that after the record before. Only for studies that are amended. */
  design: Design.optional(),
  /** There if they differ from those after the record before. Only for studies with packs. */
  packs: Packs.optional(),
});
type State = z.infer<typeof State>;
const Vector = z.strictObject({
  about: z.string(),
  log: z.strictObject({ id: z.string(), name: z.string() }),
  study: z.string(),
  stream: z.string(),
  /** How many participants would have another arm if corrections did the opposite to the counts. */
  decidedByCounts: z.int(),
  /** How many would have another arm if the urn of a level began anew when it was renamed or reopened. */
  decidedByAmendments: z.int().optional(),
  /** How many would if the urns counted those from outside whom they do not count, and not those whom they do. */
  decidedByForced: z.int().optional(),
  /** How many would if the urns were read otherwise than the design says. There where arms, ratio, urns or factors change. */
  decidedByDesign: z.int().optional(),
  findings: z.strictObject({
    life: z.strictObject({
      state: z.string(),
      amendments: z.int().optional(),
      corrected: z.int(),
      idsCorrected: z.int(),
      voided: z.record(z.string(), z.int()),
      changedAfterClosing: z.record(z.string(), z.int()),
      revealed: z.record(z.string(), z.int()),
      unblindingReported: z.int(),
      imported: z.strictObject({ redrawn: z.int(), unproven: z.int() }).optional(),
      forced: z.record(z.string(), z.int()).optional(),
      packs: z.strictObject({ registered: z.int(), replaced: z.int(), withdrawn: z.int() }).optional(),
    }),
    warnings: z.record(z.string(), z.strictObject({ count: z.int(), revision: z.int() })),
  }),
  streams: z.record(z.string(), z.array(RecordText)),
  /** After each record of the study. */
  expected: z.array(State),
  /** Copies of the log: the study up to a record that must not be there, with that record. */
  altered: z
    .array(
      RecordText.extend({
        about: z.string(),
        found: z.array(z.enum(CONTENTS)),
        /** The member that is wrong, for each of these contents. */
        fields: z.array(z.string()).optional(),
        /** Only the pattern of ids shows it, with which the verifier in Python compares no id. */
        pattern: z.literal(true).optional(),
      }),
    )
    .default([]),
});
type Vector = z.infer<typeof Vector>;
type Altered = Vector['altered'][number];

const { privateKey, studies } = z
  .strictObject({ numpy: z.string(), privateKey: z.string(), studies: z.array(Vector) })
  .parse(JSON.parse(readFileSync(new URL('../../vectors/life-histories.json', import.meta.url), 'utf8')));

/**
 * Code-breaks with `shownAt` that are no emergency, by study. The generator writes them, the service never did, and both
 * verifiers refuse them: `shownAt` moves the time at which a key is judged.
 */
const SHOWN_BEFORE: Readonly<Record<string, readonly number[]>> = {
  'CODE-BREAKS': [9, 11, 15],
  'IMPORTED, FRESH': [29],
};

const shownBefore = ({ study }: Vector) => SHOWN_BEFORE[study] ?? [];

/** The study, with each of these records as it would be if its arm had been shown when it was recorded. */
function shownInTime(vector: Vector): Vector {
  const { stream, streams, findings } = vector;
  const places = shownBefore(vector);
  if (places.length === 0) return vector;
  const texts = rowsOf(vector, stream).map((row) => {
    const { record, sealed, leaf } = places.includes(row.revision)
      ? alteredRow(row, ({ data }) => delete data.shownAt)
      : row;
    return { record: `${record}`, sealed: `${sealed}`, leaf: leaf.toString('hex') };
  });
  const late = texts.flatMap(({ record }, revision) =>
    JSON.parse(record).data.shownAt === undefined ? [] : [revision],
  );
  const { 'recorded-late': _, ...warnings } = findings.warnings;
  if (late[0] !== undefined) warnings['recorded-late'] = { count: late.length, revision: late[0] };
  return { ...vector, streams: { ...streams, [stream]: texts }, findings: { ...findings, warnings } };
}

const amended = studies.filter(({ altered }) => altered.length > 0);

const stocked = studies.filter(({ expected }) => expected.some(({ packs }) => packs));

const found = requiredPython('numpy, cryptography');
const verifyBoth = bothVerifiers(found ?? '');
const newFolder = temporaryFolders();

function rowsOf({ streams }: Vector, stream: string) {
  return (streams[stream] ?? []).map(({ record, sealed, leaf }, revision) => ({
    ...{ stream, revision, record: Buffer.from(record), sealed: Buffer.from(sealed) },
    leaf: Buffer.from(leaf, 'hex'),
  }));
}

const eventsOf = (vector: Vector, stream: string) => rowsOf(vector, stream).map((row) => decodeRecord(row));

/** The fact of an event, without the salts in its sections, and these salts in the order of the sections. */
function unsalted({ type, data, sections }: LogEvent) {
  const parts = Object.entries(sections as Record<string, { salt?: string }>).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const facts = parts.map(([name, { salt: _, ...section }]) => [name, section]);
  const fact = { type, data, sections: Object.fromEntries(facts) } as Parameters<typeof encodeRecord>[1];
  return { fact, salts: parts.map(([, { salt = '' }]) => salt) };
}

/** The verifier key of the log, which its first record names. */
function publicKeyOf(vector: Vector): string {
  const [created] = eventsOf(vector, 'log');
  if (created?.type !== 'LogCreated') throw new Error('the log has no beginning');
  return created.data.publicKey;
}

/** The log's key, whose private half is published. */
function signingKeyOf(vector: Vector) {
  const [name, keyId] = publicKeyOf(vector).split('+');
  const typed = Buffer.concat([Buffer.of(1), Buffer.from(privateKey, 'hex')]).toString('base64');
  return parseSigningKey(`PRIVATE+KEY+${name}+${keyId}+${typed}`, 'the vectors');
}

async function storeOf(vector: Vector): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const stream of Object.keys(vector.streams))
    await store.append(stream, NO_STREAM, rowsOf(vector, stream));
  return store;
}

/** The bundles of each study as it is, in the order of `CONTENTS`. */
const bundles = new Map<Vector, Promise<string[]>>();
function bundlesOf(vector: Vector): Promise<string[]> {
  const made = bundles.get(vector) ?? makeBundles(vector);
  bundles.set(vector, made);
  return made;
}

async function makeBundles(vector: Vector): Promise<string[]> {
  const store = await storeOf(vector);
  const key = signingKeyOf(vector);
  const keys = { load: () => key, loadOrMake: () => key, loadOrMakeNext: () => key };
  const identity = await openIdentity(store, keys, vector.log.name, OPERATOR, systemTools());
  const runner = new Runner(store, identity.logId, [logHistory, access]);
  await runner.rebuild();
  const folder = newFolder();
  const parts = {
    store,
    identity,
    gate: openGate(runner),
    stream: vector.stream,
    lastCheckpoints: undefined,
  };
  const files: string[] = [];
  for (const content of CONTENTS) {
    const out = join(folder, `${content}.zip`);
    await writeBundle({ ...parts, content, out, checkpoints: [], version: 'test' });
    files.push(out);
  }
  return files;
}

/**
 * The bundles of the study up to the record that must not be there, with that record. Nothing else in them changes, but keys
 * that did nothing until then are withheld.
 */
async function bundlesOfAltered(vector: Vector, { record, sealed, leaf }: Altered): Promise<string[]> {
  const { stream } = vector;
  const revision = revisionOf(record);
  const folder = newFolder();
  const files: string[] = [];
  for (const [i, file] of (await bundlesOf(vector)).entries()) {
    const content = CONTENTS[i] as Content;
    const bundle = await bundleFiles(file);
    bundle.set('checkpoints.txt', '');
    const row = {
      ...{ stream, revision, record: Buffer.from(record), leaf: Buffer.from(leaf, 'hex') },
      sealed: Buffer.from(includedSections(Buffer.from(sealed), content)),
    };
    bundle.setRows(stream, [...bundle.rows(stream).slice(0, revision), row]);
    withholdIdleKeys(bundle, stream);
    files.push(await bundle.pack(join(folder, `${content}.zip`)));
  }
  return files;
}

const revisionOf = (record: string): number => JSON.parse(record).revision;

/** Where each bundle of an altered copy should diverge: at the record, in the contents that show it. */
function divergencesOf({ found, record }: Altered): (number | undefined)[] {
  const at = (content: Content) => (found.includes(content) ? revisionOf(record) : undefined);
  return CONTENTS.map(at);
}

/** Reads the state of a fold after each record of the study. */
function folded<S, R>(
  readable: Readable<S>,
  { vector, read }: { vector: Vector; read: (state: S, expected: State) => R },
): R[] {
  const projection = projectionOf(readable);
  let state = projection.initial();
  const events = eventsOf(vector, vector.stream);
  return vector.expected.map((expected, revision) => {
    const event = events[revision] as LogEvent;
    // As in every fold: a move of the log does not concern what is decided.
    if (!isMoveEvent(event)) state = projection.apply(state, event);
    return read(shownIn(readable, state), expected);
  });
}

/** What the service decides by after each record of the study. */
function decidedBy<R>(vector: Vector, read: (state: Model, expected: State) => R): R[] {
  return folded(studyState, {
    vector,
    read(state, expected) {
      if (state.status === 'unregistered') throw new Error('nothing was registered');
      return read(state, expected);
    },
  });
}

/** The ids of all who are in the study at some time, as they were when they came. */
function idsIn(vector: Vector): string[] {
  const ids = eventsOf(vector, vector.stream).flatMap((event) =>
    isEnrolment(event) ? [event.data.participantId] : [],
  );
  return [...new Set(ids)];
}

type Known = Omit<Person, 'formerIds'>;

/** Those with corrections, as the vectors have them. */
function correctedOf(people: readonly (Enrolled | undefined)[]): Record<string, Known> {
  const known: Record<string, Known> = {};
  for (const person of people) {
    if (!person?.corrected) continue;
    const { countedLevels, voided } = person.corrected;
    known[person.participantId] = {
      id: currentId(person),
      levels: currentLevels(person).map(named),
      countedLevels: countedLevels.map(named),
      voided: voided ? voidedOf(voided) : null,
    };
  }
  return known;
}

const named = (level: string) => (level === NONE ? null : level);

function voidedOf({ cause, isRemoved, revision, duplicateOf }: Voided): Person['voided'] {
  const counts = isRemoved ? 'removed' : 'kept';
  return { cause, counts, voidedAt: revision, ...(duplicateOf !== undefined && { duplicateOf }) };
}

function withoutFormerIds({ corrected = {} }: State): Record<string, Known> {
  return Object.fromEntries(
    Object.entries(corrected).map(([participantId, { formerIds: _, ...known }]) => [participantId, known]),
  );
}

/** The owner of each id, present or former, of those with corrections or allocated outside. */
function owners({ corrected = {}, forced = {} }: State): [id: string, participantId: string][] {
  const corrections = Object.entries(corrected).map(
    ([participantId, { id, formerIds }]) => [participantId, [id, ...formerIds]] as const,
  );
  const entries = Object.entries(forced).map(([participantId, { ids }]) => [participantId, ids] as const);
  return [...corrections, ...entries].flatMap(([participantId, ids]) =>
    ids.map((id): [string, string] => [id, participantId]),
  );
}

/** Those who were allocated outside, as the vectors have them, without what only their records or the lists have. */
function forcedOf(people: readonly (Enrolled | undefined)[]) {
  const entered: Record<string, { revision: number; counted: boolean }> = {};
  for (const person of people) {
    if (!person?.forced) continue;
    const { participantId, revision, forced } = person;
    entered[participantId] = { revision, counted: forced.isCounted };
  }
  return entered;
}

function enteredIn({ forced = {} }: State): ReturnType<typeof forcedOf> {
  return Object.fromEntries(
    Object.entries(forced).map(([participantId, { revision, counted }]) => [
      participantId,
      { revision, counted },
    ]),
  );
}

/** When those who were allocated outside were allocated, in the order of the list. */
const occurrences = (people: readonly Participant[]) =>
  people.flatMap(({ participantId, occurredAt }) => (occurredAt ? [[participantId, occurredAt]] : []));

/** Who was imported last, as randomized. */
function newestImported(people: readonly Participant[]): z.infer<typeof Imported> | null {
  const newest = people.findLast(({ original }) => original);
  if (!newest?.original) return null;
  const { participantId: id, levels, treatment, user, at, original } = newest;
  return { id, levels: levels.map(named), treatment, user, at, ...original };
}

/** A design as the vectors have it. */
function designOf(effective: EffectiveDesign, { decidedByDesign }: Vector): z.infer<typeof Design> {
  const { amendment, factors, limits, policies, idPattern, target, blinding, protocol } = effective;
  return {
    ...{ amendment, limits, policies, idPattern, target, blinding, protocol },
    ...(decidedByDesign === undefined ? {} : urnsOf(effective)),
    factors: factors.map(factorOf),
  };
}

function urnsOf({ treatments, closedTreatments, slots, epoch, method }: EffectiveDesign) {
  if (method.name !== 'urn') throw new Error('the design has no urns');
  const { w, alpha, beta, D } = method;
  return {
    treatments: treatments.map((name) => ({ name, closed: closedTreatments.includes(name) })),
    ...{ slots: [...slots], epoch, urn: { w, alpha, beta, D } },
  };
}

function factorOf({ name, levels, closed, earlierNames, isRetired }: EffectiveDesign['factors'][number]) {
  const said = levels.map((level) => {
    const earlier = earlierNames.filter(({ now }) => now === level);
    const aliases = earlier.filter(({ isAlias }) => isAlias);
    return {
      ...{ name: level, closed: closed.includes(level) },
      ...{ earlierNames: earlier.map((one) => one.name), aliases: aliases.map((one) => one.name) },
    };
  });
  return { name, levels: said, ...(isRetired && { retired: true as const }) };
}

/** The design in force after each record, as the vectors have it. */
const designsIn = ({ expected }: Vector) => lastSaid(expected.map((state) => state.design));

/** Values that are given only where they differ from those before. */
function lastSaid<T>(values: readonly (T | undefined)[]): (T | undefined)[] {
  let last: T | undefined;
  return values.map((value) => {
    last = value ?? last;
    return last;
  });
}

/** The packs of a study, as the vectors have them. */
function packsOf(state: Model, ids: readonly string[]): Packs | undefined {
  const { lists, given, packs, withdrawn, participants: people } = state;
  if (lists === 0) return undefined;
  const current: Packs['current'] = {};
  for (const id of ids) {
    const pack = people.get(id)?.pack;
    if (pack) current[id] = { code: pack.code, replacements: pack.replacements };
  }
  const codes = [...packs.entries()].map(([code]) => code);
  const isGiven = (code: string) => given.get(code) !== undefined;
  const isWithdrawn = (code: string) => withdrawn.get(code) !== undefined;
  const holders = codes.filter(isGiven).map((code) => [code, idByPack(state, code) ?? null]);
  return {
    ...{ lists, current, given: Object.fromEntries(holders), withdrawn: codes.filter(isWithdrawn) },
    free: codes.filter((code) => !isGiven(code) && !isWithdrawn(code)),
  };
}

/** Counts by treatment: those of its slots together. */
function byTreatment({ counts }: State, designInForce: State['design']): z.infer<typeof Table> {
  const { treatments, slots } = designInForce ?? {};
  if (!treatments || !slots) return counts;
  const together = (row: readonly number[]) =>
    treatments.map(({ name }) => sum(row.filter((_, slot) => slots[slot] === name)));
  return counts.map((levels) => levels.map(together));
}

const tableOf = ({ factors }: Pick<Tally, 'factors'>) =>
  factors.map(({ levels }) => levels.map(({ counts }) => [...counts]));

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/** What a report says of the study, as the vectors have it: only the warnings about its life. */
function findingsOf({ life, warnings }: StreamReport) {
  const nothing = {
    ...{ corrected: 0, idsCorrected: 0, voided: {}, changedAfterClosing: {}, revealed: {} },
    unblindingReported: 0,
  };
  const known = [
    'approval-asserted',
    'changed-after-closing',
    'corrected-after-reveal',
    'counts-removed',
    'entered-late',
    'forced',
    'generator-known-elsewhere',
    'imported-unproven',
    'recorded-late',
    'revealed',
    'revealed-in-emergency',
    'unblinding-reported',
    'voided',
  ];
  const ofLife = warnings.filter(({ code }) => known.includes(code));
  return {
    life: { ...nothing, ...life },
    warnings: Object.fromEntries(ofLife.map(({ code, count, revision }) => [code, { count, revision }])),
  };
}

/** For each imported row that was drawn again: how many rows back its state is, with the counts of that time or later ones. */
function proofsIn(vector: Vector): string[] {
  const designs = decidedBy(vector, (state) => state.design);
  let states: { state: string; revision: number }[] = [];
  const proofs: string[] = [];
  for (const { type, data, sections, revision } of eventsOf(vector, vector.stream)) {
    if (type === 'HistoryImported') states = [];
    if (type !== 'ParticipantImported') continue;
    const { draw, state } = sections;
    if (draw) {
      const factors = designs[revision]?.factors ?? [];
      const before = JSON.stringify(draw.bgStateBefore);
      const factor = factors.findIndex(({ name }) => name === draw.selectedFactor);
      const level = factors[factor]?.levels.indexOf(levelOf(data.levels, draw.selectedFactor)) ?? -1;
      const isThen = (at: number) =>
        JSON.stringify(vector.expected[at]?.counts[factor]?.[level]) === JSON.stringify(draw.counts);
      const newest = states.findLastIndex((row) => row.state === before);
      const then = states.findLastIndex((row) => row.state === before && isThen(row.revision));
      const place = then < 0 ? newest : then;
      const from = place < 0 ? 'the seed' : `${states.length - place} back`;
      const hasThen = place < 0 ? draw.counts.every((count) => count === 0) : then >= 0;
      proofs.push(`${from}, ${hasThen ? 'then' : 'later'}`);
    }
    states.push({ state: JSON.stringify(draw?.bgStateAfter ?? state?.bgState ?? ''), revision });
  }
  return proofs;
}

/** A record leaves out factors that are retired. */
const levelOf = (levels: readonly Level[], factor: string) =>
  levels.find((one) => one.factor === factor)?.level ?? '';

/** The kind of a change, and what it says. */
function kindsOf(change: DesignChange): string | string[] {
  switch (change.kind) {
    case 'policy':
      return `policy ${change.name}: ${change.value}`;
    case 'level-renamed':
      return change.alias ? 'level-renamed with an alias' : change.kind;
    case 'limits':
    case 'id-pattern':
    case 'target':
      return change.value === undefined ? `no ${change.kind}` : change.kind;
    case 'arm-added':
      return change.ratio === undefined ? change.kind : 'arm-added, several slots';
    case 'ratio':
      return change.value.every((slots) => slots === 1) ? 'ratio of ones' : change.kind;
    case 'urn':
      return Object.keys(change).flatMap((name) => (name === 'kind' ? [] : [`urn ${name}`]));
    default:
      return change.kind;
  }
}

const distinct = (kinds: readonly (string | undefined)[]) => [...new Set(kinds)].sort();
/** Texts between semicolons. */
const listed = (text: string) => text.trim().split(/;\s+/);

describe('the life histories', () => {
  it('are forty-nine studies with every event of a study, in every version', () => {
    expect(studies).toHaveLength(49);
    const kinds = studies.flatMap((vector) =>
      (vector.streams[vector.stream] ?? []).map(({ record }) => {
        const { type, version } = JSON.parse(record);
        return `${type}@${version}`;
      }),
    );
    expect(distinct(kinds)).toEqual(
      listed(`
        AllocationForced@1; AllocationReinstated@1; AllocationRevealed@1; AllocationVoided@1;
        CodeReplaced@1; CodesRegistered@1; CodesWithdrawn@1; HistoryImportEnded@1; HistoryImported@1;
        LevelsCorrected@1; LogArrived@1; LogMoved@1; LogReopened@1; ParticipantIdCorrected@1;
        ParticipantImported@1; ParticipantRandomized@1; ParticipantRandomized@2; StudyAmended@1;
        StudyClosed@1; StudyPaused@1; StudyPaused@2; StudyRecovered@1; StudyRegistered@1;
        StudyRegistered@2; StudyReopened@1; StudyResumed@1; StudyResumed@2; UnblindingReported@1`),
    );
  });

  it('have arms that would differ if corrections did not move the counts as they do', () => {
    expect(studies.filter(({ decidedByCounts }) => decidedByCounts > 0).length).toBeGreaterThan(10);
  });

  it('have corrections for every cause, and under both values of each policy', () => {
    const corrections = studies
      .flatMap((vector) => eventsOf(vector, vector.stream))
      .flatMap(({ type, data }) =>
        'cause' in data &&
        type !== 'StudyClosed' &&
        type !== 'ParticipantImported' &&
        type !== 'AllocationForced' &&
        type !== 'CodeReplaced'
          ? [[type, data.cause, ...('counts' in data ? [data.counts] : [])].join(' ')]
          : [],
      );
    expect(distinct(corrections)).toEqual(
      listed(`
        AllocationVoided duplicate kept; AllocationVoided duplicate removed;
        AllocationVoided entry removed; AllocationVoided ineligible kept;
        AllocationVoided never-enrolled kept; AllocationVoided never-enrolled removed;
        AllocationVoided other kept; LevelsCorrected definition as-corrected;
        LevelsCorrected definition as-randomized; LevelsCorrected entry as-corrected;
        LevelsCorrected entry as-randomized; LevelsCorrected other as-corrected;
        LevelsCorrected other as-randomized; LevelsCorrected source as-corrected;
        LevelsCorrected source as-randomized; LevelsCorrected transfer as-randomized;
        ParticipantIdCorrected entry; ParticipantIdCorrected other; ParticipantIdCorrected pattern`),
    );
  });

  it('have amendments of every kind, in every state that allows them, by keys and by people', () => {
    const amendments = amended.flatMap((vector) =>
      eventsOf(vector, vector.stream).flatMap(({ type, data, actor, revision }) => {
        if (type !== 'StudyAmended') return [];
        const by = 'cli' in actor ? 'a person' : 'a key';
        return [vector.expected[revision]?.status, by, ...data.changes.flatMap(kindsOf)];
      }),
    );
    expect(distinct(amendments)).toEqual(
      listed(`
        a key; a person; arm-added; arm-added, several slots; arm-closed; arm-reopened; blinding; closed;
        factor-retired; id-pattern; level-added; level-closed; level-renamed; level-renamed with an alias;
        level-reopened; limits; no id-pattern; no limits; no target; open; paused;
        policy forcedCounts: counted; policy forcedCounts: not-counted; policy levelCounts: as-corrected;
        policy levelCounts: as-randomized; policy stopAtLimit: false; policy stopAtLimit: true;
        policy voidCounts: kept; policy voidCounts: removed; ratio; ratio of ones; target; urn D;
        urn alpha; urn beta; urn w`),
    );
  });

  it('have arms that would differ if a level began anew when it is renamed or reopened', () => {
    const decided = amended.filter(({ decidedByAmendments = 0 }) => decidedByAmendments > 0);
    expect([amended.length, decided.length]).toEqual([23, 9]);
  });

  it('have allocations from outside for every cause, in every state, and arms that would differ without them', () => {
    const entered = studies.filter(({ decidedByForced }) => decidedByForced !== undefined);
    expect(entered).toHaveLength(12);
    // Those that are about little else.
    for (const { decidedByForced } of entered.slice(0, 3)) expect(decidedByForced).toBeGreaterThan(1);
    const kinds = entered.flatMap((vector) =>
      eventsOf(vector, vector.stream).flatMap(({ type, data, actor, revision }) => {
        if (type !== 'AllocationForced') return [];
        const { cause, counted, replaces } = data;
        const what = [counted ? 'counted' : 'not counted', ...(replaces === undefined ? [] : ['replaces'])];
        const by = 'cli' in actor ? 'a person' : 'a key';
        return [`${vector.expected[revision]?.status}, ${what.join(', ')}`, by, cause];
      }),
    );
    expect(distinct(kinds)).toEqual(
      listed(`
        a key; a person; closed, counted; closed, counted, replaces; closed, not counted; elsewhere;
        open, counted; open, counted, replaces; open, not counted; open, not counted, replaces; other;
        outage; paused, counted; protocol`),
    );
  });

  it('have lists, replacements for every cause, withdrawals and code-breaks of packs, by all who may', () => {
    const kinds = stocked.flatMap((vector) =>
      eventsOf(vector, vector.stream).flatMap(({ type, data, actor, revision }) => {
        const status = vector.expected[revision]?.status;
        const by = 'cli' in actor ? 'a person' : actor.user.replace(/-.*/, '');
        switch (type) {
          case 'CodeReplaced':
            return [`another by ${by}`, data.cause, `another, ${status}`];
          case 'CodesRegistered':
            return [`a list${data.where ? ' of a level' : ''}, ${status}`];
          case 'CodesWithdrawn':
            return [`withdrawn by ${by}, ${status}`];
          case 'AllocationRevealed':
            return data.code === undefined
              ? []
              : [
                  `a code-break of ${data.participantId === undefined ? 'a pack alone' : 'somebody'}, ${status}`,
                ];
          default:
            return [];
        }
      }),
    );
    expect(distinct(kinds)).toEqual(
      listed(`
        a code-break of a pack alone, importing; a code-break of a pack alone, open;
        a code-break of somebody, closed; a code-break of somebody, open; a list of a level, open;
        a list of a level, paused; a list, closed; a list, open; a list, paused; another by a person;
        another by nurse; another by pharmacy; another, closed; another, open; damaged; expired; lost;
        other; withdrawn by a person, open; withdrawn by pharmacy, closed; withdrawn by pharmacy, open`),
    );
  });

  it('have imports of both formats and both generators, and rows for every cause', () => {
    const events = studies.flatMap((vector) => eventsOf(vector, vector.stream));
    const imports = events.flatMap(({ type, data }) =>
      type === 'HistoryImported'
        ? [`${data.source.format} ${data.generator}${data.seedKnown ? ', seed known' : ''}`]
        : [],
    );
    expect([...new Set(imports)].sort()).toEqual([
      'csv fresh',
      'reference continued',
      'reference continued, seed known',
      'reference fresh',
      'reference fresh, seed known',
    ]);
    const causes = events.flatMap(({ type, data }) => (type === 'ParticipantImported' ? [data.cause] : []));
    expect(new Set(causes)).toEqual(new Set([undefined, ...UnprovenCause.options]));
  });

  it('have rows that were drawn from earlier states, with the counts of that time and with later ones', () => {
    const proofs = studies.flatMap((vector) => proofsIn(vector));
    expect(distinct(proofs)).toEqual(
      listed(`
        1 back, then; 2 back, then; 3 back, later; 3 back, then; 32 back, later; 32 back, then;
        4 back, later; the seed, later; the seed, then`),
    );
  });
});

describe.each(studies)('$study: $about', (vector) => {
  it('is read, and would be written in the same bytes', () => {
    for (const stream of Object.keys(vector.streams))
      for (const row of rowsOf(vector, stream)) {
        const event = decodeRecord(row);
        const { fact, salts } = unsalted(event);
        const { id, log, revision, at, actor } = event;
        const again = encodeRecord(
          { id, log, stream, revision, at, actor },
          fact,
          () => salts.shift() as string,
        );
        expect(again.record.toString()).toBe(row.record.toString());
        expect(again.sealed.toString()).toBe(row.sealed.toString());
        expect(again.leaf).toEqual(row.leaf);
      }
  });

  it('is folded to the same status, counts and generator after every record', () => {
    const ids = idsIn(vector);
    const states = decidedBy(vector, ({ status, design, participants: people, counts, bgState }) => {
      const table = design.factors.map(({ levels }, factor) =>
        levels.map((_, level) => [...counts.of(factor, level)]),
      );
      const known = ids.filter((id) => people.get(id) !== undefined).length;
      return { status, enrolled: known, counts: table, bgState };
    });
    const expected = vector.expected.map(({ status, enrolled, counts, bgState }) => {
      return { status, enrolled, counts, bgState };
    });
    expect(states).toEqual(expected);
  });

  it('decides by the same corrections after every record', () => {
    const ids = idsIn(vector);
    const states = decidedBy(vector, (state, expected) => ({
      corrected: correctedOf(ids.map((id) => state.participants.get(id))),
      // An id that somebody had is nobody else's.
      owners: owners(expected).map(([id]) => [id, state.participants.find(id)?.participantId]),
      filled: expected.filled && state.filled,
      forced: forcedOf(ids.map((id) => state.participants.get(id))),
    }));
    const expected = vector.expected.map((state) => ({
      ...{ corrected: withoutFormerIds(state), owners: owners(state), filled: state.filled },
      forced: enteredIn(state),
    }));
    expect(states).toEqual(expected);
  });

  it('gives nobody an id that somebody else has or had', () => {
    const ids = idsIn(vector);
    const outcomes = decidedBy(vector, (state, expected) =>
      owners(expected).map(([id, owner]) => {
        const { levels = [] } = state.participants.get(owner) ?? {};
        const other = ids.find((each) => each !== owner && state.participants.get(each)) ?? '';
        const user = 'nobody';
        const enrolled = decide(state, { type: 'randomize', user, participantId: id, levels });
        const rename = asCommand({
          act: 'ParticipantIdCorrected',
          user,
          participantId: other,
          to: id,
          cause: 'entry',
        });
        const renamed = decide(state, rename);
        return [id, enrolled.outcome.type, renamed.outcome.type];
      }),
    );
    const expected = vector.expected.map((state) => {
      const renamed = state.enrolled > 1 ? 'impossible' : 'no-such-participant';
      return owners(state).map(([id]) => [id, 'duplicate', renamed]);
    });
    expect(outcomes).toEqual(expected);
  });

  it('shows the same participants and the same balance after every record', () => {
    const shown = folded(studyState, {
      vector,
      read(state, expected) {
        const list = shownIn(participants, state);
        const view = shownIn(balance, state)?.view();
        return {
          corrected: correctedOf(list.inOrder),
          occurred: occurrences(list.inOrder),
          forced: forcedOf(list.inOrder),
          owners: owners(expected).map(([id]) => [id, list.find(id)?.participantId]),
          counted: tableOf(view?.counted ?? { factors: [] }),
          randomized: tableOf(view ?? { factors: [] }),
          totals: [...(view?.totals ?? [])],
          voided: [...(view?.voided ?? [])],
          newest: expected.newest && newestImported(list.inOrder),
        };
      },
    });
    const designs = designsIn(vector);
    const expected = vector.expected.map((state, revision) => {
      const counts = byTreatment(state, designs[revision]);
      const { randomized = counts } = state;
      const arms = randomized[0]?.[0] ?? [];
      // Everybody has a level of a factor that is never retired.
      const totalOf = (arm: number) =>
        Math.max(...randomized.map((levels) => sum(levels.map((row) => row[arm] ?? 0))));
      return {
        ...{ corrected: withoutFormerIds(state), owners: owners(state), counted: counts, randomized },
        occurred: Object.entries(state.forced ?? {}).map(([id, { occurredAt }]) => [id, occurredAt]),
        forced: enteredIn(state),
        totals: arms.map((_, arm) => totalOf(arm)),
        voided: state.voidedByArm ?? arms.map(() => 0),
        newest: state.newest,
      };
    });
    expect(shown).toEqual(expected);
  });

  it('has the same root after every record', () => {
    const tree = new MerkleTree();
    const roots = rowsOf(vector, vector.stream).map(({ leaf }) => {
      tree.append(leaf);
      return Buffer.from(tree.root()).toString('base64');
    });
    expect(roots).toEqual(vector.expected.map(({ root }) => root));
  });

  it('is a sound log, each of whose decisions comes out the same', async () => {
    const report = await verified(shownInTime(vector));
    expect(report.streams.filter(({ sound }) => !sound)).toEqual([]);
    expect(report.ok).toBe(true);
    const study = studyIn(report, vector);
    expect(study.participants).toBe(vector.expected.at(-1)?.enrolled);
    expect(findingsOf(study)).toEqual(shownInTime(vector).findings);
  });

  it('is found with its last root, and diverges only where an arm was shown before, without an emergency', async () => {
    const { root, divergence } = studyIn(await verified(vector), vector);
    expect(root).toBe(vector.expected.at(-1)?.root);
    expect(divergence?.revision).toBe(shownBefore(vector)[0]);
    expect(divergence?.field).toBe(divergence && 'data.shownAt');
  });
});

async function verified(vector: Vector): Promise<Report> {
  const source = await storeSource(await storeOf(vector));
  return verifyLog({ source, trusted: [], checkpoints: [] });
}

const studyIn = ({ streams }: Report, { stream }: Vector) =>
  streams.find((report) => report.stream === stream) as StreamReport;

describe.each(stocked)('$study: $about', (vector) => {
  const expected = lastSaid(vector.expected.map(({ packs }) => packs));

  it('has the same packs after every record', () => {
    const ids = idsIn(vector);
    expect(decidedBy(vector, (state) => packsOf(state, ids))).toEqual(expected);
  });

  it('shows the same packs of the participants after every record', () => {
    const shown = folded(participants, {
      vector,
      read: (list) =>
        Object.fromEntries(
          list.inOrder.flatMap(({ participantId, pack }) => (pack ? [[participantId, pack.code]] : [])),
        ),
    });
    const current = expected.map((packs) =>
      Object.fromEntries(Object.entries(packs?.current ?? {}).map(([id, { code }]) => [id, code])),
    );
    expect(shown).toEqual(current);
  });
});

describe.each(amended)('$study: $about', (vector) => {
  it('has the same design in force after every record', () => {
    const designs = folded(design, { vector, read: (effective) => effective && designOf(effective, vector) });
    expect(designs).toEqual(designsIn(vector));
    expect(decidedBy(vector, (state) => designOf(state.design, vector))).toEqual(designsIn(vector));
  });

  it.skipIf(found === undefined).each(vector.altered)('is detected, altered: $about', async (altered) => {
    const divergences: (number | undefined)[] = [];
    const fields: string[] = [];
    for (const file of await bundlesOfAltered(vector, altered)) {
      const args = ['--trust', publicKeyOf(vector)];
      const verdict = altered.pattern
        ? await verifyOurselves(file, args)
        : (await verifyBoth(file, args)).own;
      const divergence = firstDivergence(verdict);
      expect(divergence?.stream ?? vector.stream, verdict.text).toBe(vector.stream);
      expect(verdict.code, verdict.text).toBe(divergence ? 1 : 0);
      divergences.push(divergence?.revision);
      if (divergence) fields.push(divergence.field);
    }
    expect(divergences).toEqual(divergencesOf(altered));
    expect(fields).toEqual(altered.fields ?? fields);
  });
});

describe.skipIf(found === undefined)('both verifiers find the same in a bundle', () => {
  it.each(studies)('of $study, with all sections, with the arms, and with none', async (vector) => {
    const inTime = shownInTime(vector);
    for (const file of await bundlesOf(inTime)) {
      const { code, stdout, own } = await verifyBoth(file, ['--trust', publicKeyOf(vector)]);
      expect(code, stdout).toBe(0);
      expect(findingsOf(own.report?.streams.at(-1) as StreamReport)).toEqual(inTime.findings);
    }
  });

  const refused = studies.flatMap((vector) =>
    shownBefore(vector).map((revision) => [vector.study, revision, vector] as const),
  );
  it.each(refused)(
    'of %s, revision %i, which was shown before without an emergency',
    async (_, revision, vector) => {
      // Alone: only the first divergence is told.
      const { stream, streams } = vector;
      const mended = shownInTime(vector).streams[stream] ?? [];
      const rows = mended.map(
        (text, place) => (place === revision ? streams[stream]?.[place] : undefined) ?? text,
      );
      for (const file of await makeBundles({ ...vector, streams: { ...streams, [stream]: rows } })) {
        const { code, own } = await verifyBoth(file, ['--trust', publicKeyOf(vector)]);
        expect(code).toBe(1);
        expect(firstDivergence(own)).toMatchObject({ stream, revision, field: 'data.shownAt' });
      }
    },
  );
});
