/**
 * Studies made by a program that shares no code with the service (test/vectors/make-life-histories.py): the service
 * reads them, folds them to the same state after every record, would write the same bytes, and both verifiers find the
 * same in them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CONTENTS } from '../../events/content.ts';
import { decodeRecord, encodeRecord, type LogEvent } from '../../events/record.ts';
import { BgState } from '../../events/study.ts';
import { access } from '../../projections/access.ts';
import { logHistory } from '../../projections/log.ts';
import { isMoveEvent } from '../../projections/movement.ts';
import { Runner } from '../../projections/runner.ts';
import { writeBundle } from '../../src/bundle/bundle.ts';
import { openIdentity } from '../../src/ledger/identity.ts';
import { MerkleTree } from '../../src/ledger/merkle-tree.ts';
import { parseSigningKey } from '../../src/ledger/signing-key.ts';
import { NO_STREAM } from '../../src/store/event-store.ts';
import { MemoryStore } from '../../src/store/memory.ts';
import { evolve, type StudyState } from '../../src/study/state.ts';
import type { LifeReport, StreamReport } from '../../src/verify/report.ts';
import { storeSource } from '../../src/verify/verifications.ts';
import { verifyLog } from '../../src/verify/verify.ts';
import { systemTools } from '../../src/write/tools.ts';
import { bothVerifiers } from '../support/both-verifiers.ts';
import { OPERATOR } from '../support/facts.ts';
import { requiredPython } from '../support/numpy.ts';
import { openGate } from '../support/open-gate.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const RecordText = z.strictObject({ record: z.string(), sealed: z.string(), leaf: z.string() });
const Vector = z.strictObject({
  about: z.string(),
  log: z.strictObject({ id: z.string(), name: z.string() }),
  study: z.string(),
  stream: z.string(),
  findings: z.strictObject({
    life: z.strictObject({
      state: z.string(),
      revealed: z.record(z.string(), z.int()),
      unblindingReported: z.int(),
    }),
    warnings: z.record(z.string(), z.strictObject({ count: z.int(), revision: z.int() })),
  }),
  streams: z.record(z.string(), z.array(RecordText)),
  /** After each record of the study. */
  expected: z.array(
    z.strictObject({
      status: z.string(),
      enrolled: z.int(),
      /** By factor, level and arm. */
      counts: z.array(z.array(z.array(z.int()))),
      bgState: BgState,
      /** Of the stream's tree. */
      root: z.string(),
    }),
  ),
});
type Vector = z.infer<typeof Vector>;

const { privateKey, studies } = z
  .strictObject({ numpy: z.string(), privateKey: z.string(), studies: z.array(Vector) })
  .parse(JSON.parse(readFileSync(new URL('../vectors/life-histories.json', import.meta.url), 'utf8')));

const found = requiredPython('numpy, cryptography');
const newFolder = temporaryFolders();

function rowsOf({ streams }: Vector, stream: string) {
  return (streams[stream] ?? []).map(({ record, sealed, leaf }, revision) => ({
    ...{ stream, revision, record: Buffer.from(record), sealed: Buffer.from(sealed) },
    leaf: Buffer.from(leaf, 'hex'),
  }));
}

const eventsOf = (vector: Vector, stream: string) => rowsOf(vector, stream).map((row) => decodeRecord(row));

/** The fact of an event, without the salts that stand in its sections, and these salts in the order of the sections. */
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

async function bundles(vector: Vector): Promise<string[]> {
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

/** What a report says of the study, as the vectors say it: only the warnings that its life gives. */
function findingsOf({ life, warnings }: StreamReport) {
  const { state, revealed = {}, unblindingReported = 0 } = life as LifeReport;
  const known = [
    'approval-asserted',
    'recorded-late',
    'revealed',
    'revealed-in-emergency',
    'unblinding-reported',
  ];
  const ofLife = warnings.filter(({ code }) => known.includes(code));
  return {
    life: { state, revealed, unblindingReported },
    warnings: Object.fromEntries(ofLife.map(({ code, count, revision }) => [code, { count, revision }])),
  };
}

describe('the life histories', () => {
  it('are twenty studies that hold every event of a study, in every version', () => {
    expect(studies).toHaveLength(20);
    const kinds = studies.flatMap((vector) =>
      (vector.streams[vector.stream] ?? []).map(({ record }) => {
        const { type, version } = JSON.parse(record);
        return `${type}@${version}`;
      }),
    );
    expect([...new Set(kinds)].sort()).toEqual([
      'AllocationRevealed@1',
      'LogArrived@1',
      'LogMoved@1',
      'LogReopened@1',
      'ParticipantRandomized@1',
      'StudyClosed@1',
      'StudyPaused@1',
      'StudyPaused@2',
      'StudyRecovered@1',
      'StudyRegistered@1',
      'StudyRegistered@2',
      'StudyReopened@1',
      'StudyResumed@1',
      'StudyResumed@2',
      'UnblindingReported@1',
    ]);
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
    let state: StudyState = { status: 'unregistered' };
    const events = eventsOf(vector, vector.stream);
    const ids = events.flatMap((event) =>
      event.type === 'ParticipantRandomized' ? [event.data.participantId] : [],
    );
    const states = events.map((event) => {
      // As in every fold: a move of the log does not concern what is decided.
      if (!isMoveEvent(event)) state = evolve(state, event);
      if (state.status === 'unregistered') throw new Error('nothing was registered');
      const { status, configuration, enrolled, counts, bgState } = state;
      const table = configuration.factors.map(({ levels }, factor) =>
        levels.map((_, level) => [...counts.of(factor, level)]),
      );
      const known = ids.filter((id) => enrolled.get(id) !== undefined).length;
      return { status, enrolled: known, counts: table, bgState };
    });
    expect(states).toEqual(vector.expected.map(({ root: _, ...expected }) => expected));
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
    const source = await storeSource(await storeOf(vector));
    const report = await verifyLog({ source, trusted: [], checkpoints: [] });
    expect(report.streams.filter(({ sound }) => !sound)).toEqual([]);
    expect(report.ok).toBe(true);
    const study = report.streams.find(({ stream }) => stream === vector.stream) as StreamReport;
    expect(study.participants).toBe(vector.expected.at(-1)?.enrolled);
    expect(study.root).toBe(vector.expected.at(-1)?.root);
    expect(findingsOf(study)).toEqual(vector.findings);
  });
});

describe.skipIf(found === undefined)('both verifiers find the same in a bundle', () => {
  const verifyBoth = bothVerifiers(found ?? '');

  it.each(studies)('of $study, with all sections, with the arms, and with none', async (vector) => {
    for (const file of await bundles(vector)) {
      const { code, stdout, own } = await verifyBoth(file, ['--trust', publicKeyOf(vector)]);
      expect(code, stdout).toBe(0);
      expect(findingsOf(own.report?.streams.at(-1) as StreamReport)).toEqual(vector.findings);
    }
  });
});
