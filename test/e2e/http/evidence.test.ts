/** What leaves the operator's hands: receipts, checkpoints and proofs, checked against the records on disk. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/core/ledger/checkpoint.ts';
import type { Checkpoint } from '../../../src/core/ledger/checkpoint-text.ts';
import { CompactRange } from '../../../src/core/ledger/compact-range.ts';
import { verifyConsistency, verifyInclusion } from '../../../src/core/ledger/proofs.ts';
import { parseVerifierKey, type VerifierKey } from '../../../src/core/ledger/verifier-key.ts';
import { Database } from '../../../src/store/sqlite/library.ts';
import { type Answer, ask, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const witness = join(newFolder(), 'checkpoints');
let service: Service;
let keys: Record<'enrol' | 'audit' | 'read' | 'blind' | 'ward', string>;
let trusted: VerifierKey[];

beforeAll(async () => {
  keys = await issueKeys(data, {
    enrol: ['admin', '--scope', 'randomize'],
    audit: ['auditor', '--scope', 'audit'],
    read: ['reader', '--scope', 'read'],
    blind: ['blind', '--scope', 'blinded'],
    ward: ['ward', '--study', 'Ward', '--scope', 'read,audit'],
  });
  service = await serve({ data, studies: TRIALS, args: ['--witness', witness] });
  const { publicKey } = JSON.parse(recordsOf('log')[0]?.record ?? '').data;
  trusted = [parseVerifierKey(publicKey, 'LogCreated')];
});
afterAll(() => service.stop());

/** Reads the records straight from the database, bypassing the program. */
function recordsOf(stream: string): { record: string; leaf: Buffer }[] {
  const db = new Database(join(data, 'urn.sqlite'), { readonly: true });
  try {
    return db
      .prepare<[string], { record: Buffer; leaf: Buffer }>(
        'SELECT record, leaf FROM records WHERE stream = ? ORDER BY revision',
      )
      .all(stream)
      .map(({ record, leaf }) => ({ record: record.toString(), leaf }));
  } finally {
    db.close();
  }
}

function rootOf(leaves: readonly Uint8Array[]): Buffer {
  const range = new CompactRange();
  for (const leaf of leaves) range.append(leaf);
  return range.root();
}

/** The contents of a note, after checking its signature. */
function opened(note: string): Checkpoint {
  const checked = openCheckpoint(note, trusted);
  if (checked.type !== 'signed') throw new Error(`a checkpoint is ${checked.type}`);
  // The roots below are buffers, as the store returns them.
  return { ...checked.checkpoint, root: Buffer.from(checked.checkpoint.root) };
}

const receiptOf = ({ headers }: Answer) =>
  opened(Buffer.from(headers.get('urn-receipt') ?? '', 'base64').toString());
const streamOf = ({ origin }: Checkpoint) => origin.slice('urn/'.length);
const get = (path: string, key: string, parameters: Readonly<Record<string, string>> = {}) =>
  ask(service.url, path, { key, parameters: { study: 'Sleep', ...parameters } });

describe('the receipt of a POST', () => {
  it('is a signed checkpoint that includes the new allocation, even for 64 at once', async () => {
    const { randomize } = clientOf(service.url, keys.enrol);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, i) => randomize('Sleep', `p-${i}`, COOK)),
    );
    const records = recordsOf(streamOf(receiptOf(answers[0] as Answer)));
    for (const [i, answer] of answers.entries()) {
      expect(answer.status).toBe(200);
      const { size, root, extensions } = receiptOf(answer);
      expect(root).toEqual(rootOf(records.slice(0, size).map(({ leaf }) => leaf)));
      const revision = Number(answer.headers.get('urn-revision'));
      expect(size).toBeGreaterThan(revision);
      expect(JSON.parse(records[revision]?.record ?? '').data.participantId).toBe(`p-${i}`);
      expect(extensions).toEqual([]);
      expect(answer.headers.get('urn-receipt')?.length).toBeLessThan(1000);
    }
  });

  it('is sent again with a safe retry, but not with a refusal', async () => {
    const { randomize } = clientOf(service.url, keys.enrol);
    const retry = { 'Idempotency-Key': 'visit-1' };
    const first = await randomize('Sleep', 'retried', COOK, retry);
    await randomize('Sleep', 'after', COOK);
    const again = await randomize('Sleep', 'retried', COOK, retry);
    expect(again.status).toBe(200);
    expect(receiptOf(again).size).toBeGreaterThan(receiptOf(first).size);
    const duplicate = await randomize('Sleep', 'retried', COOK);
    expect([duplicate.status, duplicate.headers.get('urn-receipt')]).toEqual([400, null]);
    const bad = await randomize('Sleep', 'x', { ...COOK, sex: 'none' });
    expect([bad.status, bad.headers.get('urn-receipt')]).toEqual([400, null]);
  });

  it('is extended by every later one, including those from another process and after a restart', async () => {
    const { randomize } = clientOf(service.url, keys.enrol);
    const other = await serveHere(data);
    const before = receiptOf(await randomize('Sleep', 'here', COOK));
    const there = receiptOf(await clientOf(other.url, keys.enrol).randomize('Sleep', 'there', COOK));
    await other.stop();
    await service.kill();
    service = await serve({ data, args: ['--witness', witness] });
    const after = receiptOf(await clientOf(service.url, keys.enrol).randomize('Sleep', 'again', COOK));
    const leaves = recordsOf(streamOf(after)).map(({ leaf }) => leaf);
    for (const { origin, size, root } of [before, there, after]) {
      expect(origin).toBe(before.origin);
      expect(root).toEqual(rootOf(leaves.slice(0, size)));
    }
  });
});

describe('GET /checkpoint', () => {
  it('returns the current state, or an earlier one, to every key of the study', async () => {
    for (const key of [keys.read, keys.blind, keys.enrol, keys.audit]) {
      const { results, headers } = await get('/checkpoint', key);
      const { origin, size, root } = opened(results.checkpoint);
      expect(results).toEqual({
        origin,
        size,
        root: Buffer.from(root).toString('base64'),
        checkpoint: results.checkpoint,
      });
      expect(headers.get('urn-revision')).toBe(String(size - 1));
      expect(root).toEqual(rootOf(recordsOf(streamOf({ origin } as Checkpoint)).map(({ leaf }) => leaf)));
    }
    const { results } = await get('/checkpoint', keys.read, { size: '1' });
    const first = opened(results.checkpoint);
    const [registered] = recordsOf(streamOf(first));
    expect(first.root).toEqual(registered?.leaf);
    const shown = await commandOk(['studies', 'show', 'Sleep', '--data', data, '--json']);
    expect(JSON.parse(shown).firstCheckpoint).toBe(results.checkpoint);
  });

  it.each([
    [{ size: '0' }, /^size is "0" \(it must be between 1 and \d+\)$/],
    [{ size: '100000' }, /^size is "100000"/],
    [{ size: '01' }, /^size is "01"/],
    [{ size: '-1' }, /^size is "-1"/],
    [{ size: '' }, /^size is ""/],
    [{ sise: '1' }, /^sise is not a parameter of checkpoint \(hint: did you mean size\?\)$/],
  ])('refuses %o', async (parameters, message) => {
    const { status, message: actual, results } = await get('/checkpoint', keys.read, parameters);
    expect([status, results]).toEqual([400, {}]);
    expect(actual).toMatch(message);
  });

  it('is refused to keys of other studies', async () => {
    expect((await get('/checkpoint', keys.ward)).status).toBe(404);
  });
});

describe('proofs, for audit keys', () => {
  it('show that a record is in the ledger', async () => {
    const { results: now } = await get('/checkpoint', keys.read);
    const records = recordsOf(streamOf(opened(now.checkpoint)));
    for (const revision of [0, 1, 7, now.size - 1]) {
      const { results } = await get('/inclusion_proof', keys.audit, { revision: String(revision) });
      const leaf = Buffer.from(results.leaf, 'base64');
      expect(leaf).toEqual(records[revision]?.leaf);
      const proof = results.proof.map((node: string) => Buffer.from(node, 'base64'));
      const root = Buffer.from(now.root, 'base64');
      expect(verifyInclusion(leaf, revision, results.size, proof, root)).toBe(true);
      expect(verifyInclusion(leaf, (revision + 1) % now.size, results.size, proof, root)).toBe(false);
    }
  });

  it('show that an earlier state is a prefix of a later one', async () => {
    const { results: now } = await get('/checkpoint', keys.read);
    for (const size of [1, 2, 5, now.size]) {
      const { results: then } = await get('/checkpoint', keys.read, { size: String(size) });
      const { results } = await get('/consistency_proof', keys.audit, { first: String(size) });
      expect(results).toMatchObject({ first: size, second: now.size });
      const proof = results.proof.map((node: string) => Buffer.from(node, 'base64'));
      const [old, current] = [then.root, now.root].map((root) => Buffer.from(root, 'base64'));
      expect(verifyConsistency(size, old as Buffer, now.size, current as Buffer, proof)).toBe(true);
    }
  });

  it('are only for audit keys', async () => {
    for (const path of ['/inclusion_proof', '/consistency_proof'])
      for (const key of [keys.read, keys.blind, keys.enrol]) expect((await get(path, key)).status).toBe(403);
  });

  it('are refused if there is nothing to prove', async () => {
    const missing = await get('/inclusion_proof', keys.audit);
    expect([missing.status, missing.message]).toEqual([400, expect.stringMatching(/^revision is missing/)]);
    for (const [path, parameters] of [
      ['/inclusion_proof', { revision: '3', size: '3' }],
      ['/consistency_proof', { first: '0' }],
      ['/consistency_proof', { first: '3', second: '2' }],
    ] as const)
      expect((await get(path, keys.audit, parameters)).status).toBe(400);
  });
});

describe('GET /records', () => {
  it('returns the records as they are stored, page by page, to audit keys', async () => {
    const { results: now } = await get('/checkpoint', keys.read);
    const stored = recordsOf(streamOf(opened(now.checkpoint)));
    const read: { revision: number; record: string; sealed: string; leaf: string }[] = [];
    while (read.length < stored.length) {
      const { results, headers } = await get('/records', keys.audit, { from: String(read.length) });
      expect(headers.get('urn-revision')).toBe(String(stored.length - 1));
      expect(results.length).toBeGreaterThan(0);
      read.push(...results);
    }
    expect(read.map(({ revision }) => revision)).toEqual(stored.map((_, i) => i));
    expect(read.map(({ record }) => record)).toEqual(stored.map(({ record }) => record));
    expect(read.map(({ leaf }) => leaf)).toEqual(stored.map(({ leaf }) => leaf.toString('base64')));
    const [, first] = read;
    expect(JSON.parse(first?.sealed ?? '')).toMatchObject({ allocation: {}, draw: {} });
    expect((await get('/records', keys.audit, { from: String(stored.length) })).status).toBe(400);
  });

  it('refuses every other key', async () => {
    for (const key of [keys.read, keys.blind, keys.enrol])
      expect((await get('/records', key)).status).toBe(403);
  });
});

describe('checkpoints for a witness', () => {
  it('are appended to its file, the newest of each stream that grew, and agree with the log', async () => {
    await clientOf(service.url, keys.enrol).randomize('Sleep', 'witnessed', COOK);
    const present = () => recordsOf(streamOf(last('study-'))).length;
    const notes = () => readFileSync(witness, 'utf8').split(/\n\n(?!— )/);
    const last = (stream: string) => {
      const found = notes().filter((note) => note.startsWith(`urn/${stream}`));
      return opened(`${found.at(-1)?.trimEnd()}\n`);
    };
    await expect.poll(() => last('study-').size === present(), { timeout: 5000 }).toBe(true);
    for (const note of notes()) {
      if (note === '') continue;
      const { origin, size, root } = opened(`${note.trimEnd()}\n`);
      const leaves = recordsOf(origin.slice('urn/'.length)).map(({ leaf }) => leaf);
      expect(root).toEqual(rootOf(leaves.slice(0, size)));
    }
    expect(new Set(notes().map((note) => note.split('\n', 1)[0]))).toContain('urn/access');
  });
});
