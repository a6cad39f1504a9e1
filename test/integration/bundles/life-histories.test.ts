/**
 * Studies made by a program that shares no code with the service (test/vectors/make-life-histories.py): the service
 * reads them, folds them to the same state after every record, would write the same bytes, and both verifiers find the
 * same in them.
 */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content, decodeRecord, encodeRecord, type LogEvent } from '../../../events/record.ts';
import { access } from '../../../projections/access.ts';
import { logHistory } from '../../../projections/log.ts';
import { Runner } from '../../../projections/runner.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { openIdentity } from '../../../src/core/log/identity.ts';
import { parseSigningKey } from '../../../src/core/log/signing.ts';
import type { Tally } from '../../../src/core/model/balance.ts';
import type { Design } from '../../../src/core/model/design.ts';
import type { Model } from '../../../src/core/model/model.ts';
import { idByPack } from '../../../src/core/model/packs.ts';
import type { Participant } from '../../../src/core/model/participants.ts';
import {
  currentId,
  currentLevels,
  type Enrolled,
  isEnrolment,
  NONE,
  type Voided,
} from '../../../src/core/model/participants.ts';
import { balance, design, participants, type StudyState, studyState } from '../../../src/core/study/fold.ts';
import { writeBundle } from '../../../src/evidence/bundle/bundle.ts';
import type { LifeReport, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import type { BundleFiles } from '../../e2e/audit/bundle-file.ts';
import type { Row } from '../../e2e/audit/database.ts';
import {
  hasPython,
  type Json,
  show,
  verifyBoth,
  verifyFiles,
  verifyInPython,
  withholdIdleKeys,
} from '../../support/altered-bundles.ts';
import { OPERATOR } from '../../support/facts.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { openGate } from '../../support/open-gate.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { factOf } from '../../support/writing-process.ts';

interface RecordText {
  readonly record: string;
  readonly sealed: string;
  readonly leaf: string;
}
/** A study of the vectors: the members are described in test/vectors/README.md. */
interface Vector {
  readonly about: string;
  readonly study: string;
  readonly stream: string;
  readonly streams: Readonly<Record<string, readonly RecordText[]>>;
  /** After each record. Design and packs are in the file only where they differ from those before. */
  readonly expected: readonly Json[];
  readonly findings: Json;
  readonly log: { readonly name: string };
  readonly decidedByDesign?: number;
  readonly altered?: readonly Altered[];
}
interface Altered extends RecordText {
  readonly about: string;
  readonly found: readonly Content[];
  readonly fields?: readonly string[];
  readonly pattern?: true;
}

const file = new URL('../../vectors/life-histories.json', import.meta.url);
const vectors: { privateKey: string; studies: Vector[] } = JSON.parse(readFileSync(file, 'utf8'));
const studies = vectors.studies.map((vector): Vector => {
  let last: Json = {};
  const expected = vector.expected.map((state) => {
    const { design = last.design, packs = last.packs } = state;
    last = { design, packs };
    return { ...state, ...last };
  });
  return { ...vector, expected };
});

const newFolder = temporaryFolders();

const rowOf = ({ record, sealed, leaf }: RecordText, stream: string, revision: number): Row => ({
  ...{ stream, revision, record: Buffer.from(record), sealed: Buffer.from(sealed) },
  leaf: Buffer.from(leaf, 'hex'),
});
const rowsOf = ({ streams }: Vector, stream: string) =>
  (streams[stream] ?? []).map((text, revision) => rowOf(text, stream, revision));

const eventsOf = (vector: Vector, stream: string) => rowsOf(vector, stream).map((row) => decodeRecord(row));

/** The verifier key of the log, which its first record names. */
function publicKeyOf(vector: Vector): string {
  const [created] = eventsOf(vector, 'log');
  if (created?.type !== 'LogCreated') throw new Error('the log has no beginning');
  return created.data.publicKey;
}

/** The log's key, whose private half is published. */
function signingKeyOf(vector: Vector) {
  const [name, keyId] = publicKeyOf(vector).split('+');
  const typed = Buffer.concat([Buffer.of(1), Buffer.from(vectors.privateKey, 'hex')]).toString('base64');
  return parseSigningKey(`PRIVATE+KEY+${name}+${keyId}+${typed}`, 'the vectors');
}

/** The bundle of each study with all sections. */
const bundles = new Map<string, Promise<BundleFiles>>();
function bundleOf(vector: Vector): Promise<BundleFiles> {
  const made = bundles.get(vector.study) ?? makeBundle(vector);
  bundles.set(vector.study, made);
  return made;
}

async function makeBundle(vector: Vector): Promise<BundleFiles> {
  const { stream } = vector;
  const store = new MemoryStore();
  for (const name of Object.keys(vector.streams)) await store.append(name, NO_STREAM, rowsOf(vector, name));
  const key = signingKeyOf(vector);
  const keys = { load: () => key, loadOrMake: () => key, loadOrMakeNext: () => key };
  const identity = await openIdentity(store, keys, vector.log.name, OPERATOR, systemTools());
  const runner = new Runner(store, identity.logId, [logHistory, access]);
  await runner.rebuild();
  const out = join(newFolder(), 'full.zip');
  await writeBundle({
    ...{ store, identity, gate: openGate(runner), stream, content: 'full', out },
    ...{ lastCheckpoints: undefined, checkpoints: [], version: 'test' },
  });
  return bundleFiles(out);
}

/** The bundle of the study with these records, which nobody signed. Keys that did nothing until then are withheld. */
async function altered(vector: Vector, rows: readonly Row[], content: Content): Promise<BundleFiles> {
  const bundle = (await bundleOf(vector)).copy();
  bundle.set('checkpoints.txt', '');
  show(bundle, vector.stream, rows, content);
  withholdIdleKeys(bundle, vector.stream);
  return bundle;
}

/**
 * Whoever sees more finds no less, and no later (any-life.test.ts): what all find at one place, or none of those who do
 * not see all sections, is not asked of those in between, or of those who see less.
 */
function asked(found: readonly Content[]): readonly Content[] {
  if (found.length === CONTENTS.length) return ['full', 'blinded'];
  return found.length === 1 ? ['full', 'open'] : CONTENTS;
}

/** Reads the state of the study after each of its records. */
function folded<R>(
  vector: Vector,
  read: (state: Exclude<StudyState, { status: 'unregistered' }>, expected: Json) => R,
): R[] {
  let state = studyState.initial();
  const events = eventsOf(vector, vector.stream);
  return vector.expected.map((expected, revision) => {
    state = studyState.apply(state, events[revision] as LogEvent);
    if (state.status === 'unregistered') throw new Error('nothing was registered');
    return read(state, expected);
  });
}

/** The ids of all who are in the study at some time, as they were when they came. */
function idsIn(vector: Vector): string[] {
  const ids = eventsOf(vector, vector.stream).flatMap((event) =>
    isEnrolment(event) ? [event.data.participantId] : [],
  );
  return [...new Set(ids)];
}

const named = (level: string) => (level === NONE ? null : level);
/** By the id as randomized. */
const byId = (of: Json, shown: (one: Json) => Json) =>
  Object.fromEntries(Object.entries(of ?? {}).map(([id, one]) => [id, shown(one)]));

/** Those with corrections, as the vectors have them, without their former ids. */
const correctedOf = (people: readonly (Enrolled | undefined)[]) =>
  Object.fromEntries(
    people.flatMap((person) => {
      if (!person?.corrected) return [];
      const { countedLevels, voided } = person.corrected;
      const levels = currentLevels(person).map(named);
      const shown = { id: currentId(person), levels, countedLevels: countedLevels.map(named) };
      return [[person.participantId, { ...shown, voided: voided ? voidedOf(voided) : null }]];
    }),
  );
const correctedIn = ({ corrected }: Json) => byId(corrected, ({ formerIds: _, ...known }) => known);

function voidedOf({ cause, isRemoved, revision, duplicateOf }: Voided): Json {
  const counts = isRemoved ? 'removed' : 'kept';
  return { cause, counts, voidedAt: revision, ...(duplicateOf !== undefined && { duplicateOf }) };
}

/** The owner of each id, present or former, of those with corrections or allocated outside. */
const owners = ({ corrected, forced }: Json): [id: string, owner: string][] =>
  Object.entries<Json>({ ...byId(corrected, ({ id, formerIds }) => [id, ...formerIds]) })
    .concat(Object.entries<Json>(byId(forced, ({ ids }) => ids)))
    .flatMap(([owner, ids]) => ids.map((id: string) => [id, owner]));

/** Those who were allocated outside, as the vectors have them, without what only their records or the lists have. */
const forcedOf = (people: readonly (Enrolled | undefined)[]) =>
  Object.fromEntries(
    people.flatMap((person) =>
      person?.forced
        ? [[person.participantId, { revision: person.revision, counted: person.forced.isCounted }]]
        : [],
    ),
  );
const enteredIn = ({ forced }: Json) => byId(forced, ({ revision, counted }) => ({ revision, counted }));

/** When those who were allocated outside were allocated, in the order of the list. */
const occurrences = (people: readonly Participant[]) =>
  people.flatMap(({ participantId, occurredAt }) => (occurredAt ? [[participantId, occurredAt]] : []));

/** Who was imported last, as randomized. */
function newestImported(people: readonly Participant[]): Json {
  const newest = people.findLast(({ original }) => original);
  if (!newest?.original) return null;
  const { participantId: id, levels, treatment, user, at, original } = newest;
  return { id, levels: levels.map(named), treatment, user, at, ...original };
}

/** A design as the vectors have it. */
function designOf(effective: Design, { decidedByDesign }: Vector): Json {
  const { amendment, factors, limits, policies, idPattern, target, blinding, protocol } = effective;
  return {
    ...{ amendment, limits, policies, idPattern, target, blinding, protocol },
    ...(decidedByDesign === undefined ? {} : urnsOf(effective)),
    factors: factors.map(factorOf),
  };
}

function urnsOf({ treatments, closedTreatments, slots, epoch, method }: Design) {
  if (method.name !== 'urn') throw new Error('the design has no urns');
  const { w, alpha, beta, D } = method;
  return {
    treatments: treatments.map((name) => ({ name, closed: closedTreatments.includes(name) })),
    ...{ slots: [...slots], epoch, urn: { w, alpha, beta, D } },
  };
}

function factorOf({ name, levels, closed, earlierNames, isRetired }: Design['factors'][number]) {
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

/** The packs of a study, as the vectors have them. */
function packsOf(state: Model, ids: readonly string[]): Json {
  const { lists, given, packs, withdrawn, participants: people } = state;
  if (lists === 0) return undefined;
  const current = ids.flatMap((id) => {
    const { code, replacements } = people.get(id)?.pack ?? {};
    return code === undefined ? [] : [[id, { code, replacements }]];
  });
  const codes = [...packs.entries()].map(([code]) => code);
  const isGiven = (code: string) => given.get(code) !== undefined;
  const isWithdrawn = (code: string) => withdrawn.get(code) !== undefined;
  const holders = codes.filter(isGiven).map((code) => [code, idByPack(state, code) ?? null]);
  return {
    ...{ lists, current: Object.fromEntries(current), given: Object.fromEntries(holders) },
    withdrawn: codes.filter(isWithdrawn),
    free: codes.filter((code) => !isGiven(code) && !isWithdrawn(code)),
  };
}

/** Counts by treatment: those of its slots together. */
function byTreatment({ counts, design: inForce }: Json): number[][][] {
  const { treatments, slots } = inForce ?? {};
  if (!treatments || !slots) return counts;
  const together = (row: readonly number[]) =>
    treatments.map(({ name }: Json) => sum(row.filter((_, slot) => slots[slot] === name)));
  return counts.map((levels: number[][]) => levels.map(together));
}

const tableOf = (tally: Pick<Tally, 'factors'> | undefined) =>
  tally?.factors.map(({ levels }) => levels.map(({ counts }) => [...counts])) ?? [];

const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);

/**
 * What a report says of the study, as the vectors have it: only the warnings about its life, and not what is worth a look, which
 * came later.
 */
function findingsOf({ life: shown, warnings }: StreamReport) {
  const { secondDraws: _, undoneAmendments: __, ...life }: Partial<LifeReport> = shown ?? {};
  const nothing = {
    ...{ corrected: 0, idsCorrected: 0, voided: {}, changedAfterClosing: {}, revealed: {} },
    unblindingReported: 0,
  };
  const known = [
    ...['approval-asserted', 'changed-after-closing', 'corrected-after-reveal', 'counts-removed'],
    ...['entered-late', 'forced', 'generator-known-elsewhere', 'imported-unproven', 'recorded-late'],
    ...['revealed', 'revealed-in-emergency', 'unblinding-reported', 'voided'],
  ];
  const ofLife = warnings.filter(({ code }) => known.includes(code));
  return {
    life: { ...nothing, ...life },
    warnings: Object.fromEntries(ofLife.map(({ code, count, revision }) => [code, { count, revision }])),
  };
}

it('no vector was changed by accident', () => {
  const folder = new URL('../../vectors/', import.meta.url);
  const vectors = readdirSync(folder).filter((name) => /\.(csv|db|json|yaml)$/.test(name));
  const sums = vectors.map((name) => `${hash('sha256', readFileSync(new URL(name, folder)))}  ${name}`);
  const kept = readFileSync(new URL('SHA256SUMS', folder), 'utf8').trimEnd().split('\n');
  expect(kept.sort()).toEqual(sums.sort());
});

it('the life histories are forty-nine studies with every event of a study but those of visits and lists', () => {
  expect(studies).toHaveLength(49);
  const kinds = studies.flatMap((vector) => eventsOf(vector, vector.stream).map(({ type }) => type));
  expect(new Set(kinds).size).toBe(21);
});

describe.each(studies)('$study: $about', (vector) => {
  it('is read, and would be written in the same bytes', () => {
    for (const stream of Object.keys(vector.streams))
      for (const row of rowsOf(vector, stream)) {
        const event = decodeRecord(row);
        const salts = Object.values<Json>(JSON.parse(`${row.sealed}`)).map(({ salt }) => salt);
        const { id, log, revision, at, actor } = event;
        const header = { id, log, stream, revision, at, actor };
        const again = encodeRecord(header, factOf(event), () => salts.shift());
        expect(again.record.toString()).toBe(row.record.toString());
        expect(again.sealed.toString()).toBe(row.sealed.toString());
        expect(again.leaf).toEqual(row.leaf);
      }
  });

  it('is folded to the same state after every record, and shows the same participants, balance and design', () => {
    const ids = idsIn(vector);
    const states = folded(vector, (state, expected) => {
      const { status, counts, bgState, participants: people } = state;
      const known = ids.map((id) => people.get(id));
      const { inOrder } = participants.select(state);
      const view = balance.select(state)?.view();
      const inForce = design.select(state);
      return {
        ...{ status, bgState, enrolled: known.filter((person) => person !== undefined).length },
        counts: state.design.factors.map(({ levels }, factor) =>
          levels.map((_, level) => [...counts.of(factor, level)]),
        ),
        corrected: [correctedOf(known), correctedOf(inOrder)],
        forced: [forcedOf(known), forcedOf(inOrder)],
        // An id that somebody had is nobody else's.
        owners: owners(expected).map(([id]) => [id, people.find(id)?.participantId]),
        filled: expected.filled && state.filled,
        packs: packsOf(state, ids),
        codes: Object.fromEntries(
          inOrder.flatMap(({ participantId, pack }) => (pack ? [[participantId, pack.code]] : [])),
        ),
        occurred: occurrences(inOrder),
        ...{ counted: tableOf(view?.counted), randomized: tableOf(view) },
        ...{ totals: [...(view?.totals ?? [])], voided: [...(view?.voided ?? [])] },
        newest: expected.newest && newestImported(inOrder),
        designs: expected.design && [state.design, inForce].map((one) => one && designOf(one, vector)),
      };
    });
    const expected = vector.expected.map((state) => {
      const { status, enrolled, bgState, filled, packs, design: inForce, newest } = state;
      const counted = byTreatment(state);
      const randomized: number[][][] = state.randomized ?? counted;
      const arms = randomized[0]?.[0] ?? [];
      // Everybody has a level of a factor that is never retired.
      const totalOf = (arm: number) =>
        Math.max(...randomized.map((levels) => sum(levels.map((row) => row[arm] ?? 0))));
      return {
        ...{ status, enrolled, bgState, counts: state.counts, filled, packs, owners: owners(state) },
        ...{ counted, randomized, newest, designs: inForce && [inForce, inForce] },
        corrected: Array(2).fill(correctedIn(state)),
        forced: Array(2).fill(enteredIn(state)),
        codes: byId(packs?.current, ({ code }) => code),
        occurred: Object.entries(byId(state.forced, ({ occurredAt }) => occurredAt)),
        totals: arms.map((_, arm) => totalOf(arm)),
        voided: state.voidedByArm ?? arms.map(() => 0),
      };
    });
    expect(states).toEqual(expected);
  });

  it.skipIf(!hasPython)(
    'is sound for both verifiers with its last root, with all sections, with the arms, and with none',
    async () => {
      const full = await bundleOf(vector);
      for (const content of CONTENTS) {
        const bundle = full.copy();
        show(bundle, vector.stream, full.rows(vector.stream), content);
        const file = await bundle.pack(join(newFolder(), `${content}.zip`));
        const { code, stdout, own } = await verifyBoth(file, ['--trust', publicKeyOf(vector)]);
        expect(code, stdout).toBe(0);
        const study = own.report?.streams.at(-1) as StreamReport;
        const { enrolled, root } = vector.expected.at(-1) ?? {};
        expect(study.participants).toBe(enrolled);
        expect(study.root).toBe(root);
        expect(findingsOf(study)).toEqual(vector.findings);
      }
    },
  );

  // Of each, the verifier in Python reads the bundle with one of the contents.
  it.skipIf(!hasPython).each((vector.altered ?? []).map((one, place) => [one.about, one, place] as const))(
    'is detected, altered: %s',
    async (_, one, place) => {
      const { found, fields, pattern } = one;
      const { stream } = vector;
      const { revision } = JSON.parse(one.record);
      // Only the first divergence is told: none comes before it.
      const before = rowsOf(vector, stream).slice(0, revision);
      const rows = [...before, rowOf(one, stream, revision)];
      const contents = asked(found);
      for (const [n, content] of contents.entries()) {
        const bundle = await altered(vector, rows, content);
        const { report } = await verifyFiles(bundle, stream, content);
        const first = report.streams.find(({ divergence }) => divergence);
        const field = fields?.[found.indexOf(content)];
        const divergence = expect.objectContaining({ revision, ...(field !== undefined && { field }) });
        const expected = found.includes(content) ? { stream, divergence } : undefined;
        expect(first && { stream: first.stream, divergence: first.divergence }).toEqual(expected);
        expect(report.ok).toBe(first === undefined);
        if (pattern || n !== place % contents.length) continue;
        const inPython = await verifyInPython(await bundle.pack(join(newFolder(), 'altered.zip')));
        expect(inPython.first).toEqual(expected && { stream, revision });
        expect(inPython.code, inPython.stdout).toBe(expected ? 1 : 0);
      }
    },
  );
});
