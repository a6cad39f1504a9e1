/** What leaves the operator's hands: receipts, checkpoints, proofs, records and bundles, checked against the records on disk. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Checkpoint } from '../../../src/core/log/formats.ts';
import { CompactRange, verifyConsistency, verifyInclusion } from '../../../src/core/log/merkle-tree.ts';
import { openCheckpoint, parseVerifierKey, type VerifierKey } from '../../../src/core/log/signing.ts';
import { type Answer, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedRecords } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const witness = join(newFolder(), 'checkpoints');
let trusted: VerifierKey[];

const http = served(
  TRIALS,
  {
    enrol: ['admin', '--scope', 'randomize'],
    audit: ['auditor', '--scope', 'audit'],
    read: ['reader', '--scope', 'read'],
    blind: ['blind', '--scope', 'blinded'],
    ward: ['ward', '--study', 'Ward', '--scope', 'read,audit'],
  },
  {
    ...{ data, settings: { witness } },
    filled: async () => {
      const { publicKey } = JSON.parse(`${recordsOf('log')[0]?.record}`).data;
      trusted = [parseVerifierKey(publicKey, 'LogCreated')];
    },
  },
);
type Name = keyof typeof http.keys;

const recordsOf = (wanted: string) => storedRecords(data).filter(({ stream }) => stream === wanted);

function rootOf(records: readonly { readonly leaf: Uint8Array }[], size = records.length): Buffer {
  const range = new CompactRange();
  for (const { leaf } of records.slice(0, size)) range.append(leaf);
  return range.root();
}

/** The contents of a note, after checking its signature. */
function opened(note: string): Checkpoint & { readonly root: Buffer } {
  const checked = openCheckpoint(note, trusted);
  if (checked.type !== 'signed') throw new Error(`a checkpoint is ${checked.type}`);
  // The roots below are buffers, as the store returns them.
  return { ...checked.checkpoint, root: Buffer.from(checked.checkpoint.root) };
}

const bytesOf = (base64: string) => Buffer.from(base64, 'base64');
const receiptOf = ({ headers }: Answer) => opened(bytesOf(headers.get('urn-receipt') ?? '').toString());
const streamOf = ({ origin }: { readonly origin: string }) => origin.slice('urn/'.length);
const get = (path: string, name: Name, parameters: Readonly<Record<string, string>> = {}) =>
  http.get(name, path, { study: 'Sleep', ...parameters });
const randomize = (id: string, levels: Record<string, string> = COOK, headers = {}) =>
  http.as('enrol').randomize('Sleep', id, levels, headers);

describe('the receipt of a POST', () => {
  it('is a signed checkpoint that includes the new allocation, even for 64 at once', async () => {
    const answers = await Promise.all(Array.from({ length: 64 }, (_, i) => randomize(`p-${i}`)));
    const records = recordsOf(streamOf(receiptOf(answers[0] as Answer)));
    for (const [i, answer] of answers.entries()) {
      const { size, root, extensions } = receiptOf(answer);
      expect([answer.status, root, extensions]).toEqual([200, rootOf(records, size), []]);
      const revision = Number(answer.headers.get('urn-revision'));
      expect(size).toBeGreaterThan(revision);
      expect(JSON.parse(`${records[revision]?.record}`).data.participantId).toBe(`p-${i}`);
      expect(answer.headers.get('urn-receipt')?.length).toBeLessThan(1000);
    }
  });

  it('is extended by every later one, also from another process and after a restart; refusals have none', async () => {
    const before = receiptOf(await randomize('here'));
    const other = await serveHere(data);
    const there = receiptOf(await clientOf(other.url, http.keys.enrol).randomize('Sleep', 'there', COOK));
    await other.stop();
    await http.service.stop();
    http.service = await serveHere(data, '', { witness });
    const after = receiptOf(await randomize('again'));
    const records = recordsOf(streamOf(after));
    for (const { origin, size, root } of [before, there, after])
      expect([origin, root]).toEqual([before.origin, rootOf(records, size)]);
    const refused = await randomize('again');
    expect([refused.status, refused.headers.get('urn-receipt')]).toEqual([400, null]);
  });
});

it('GET /checkpoint returns the current state, or an earlier one, to every key of the study', async () => {
  for (const name of ['blind', 'enrol', 'audit'] as const) {
    const { results, headers } = await get('/checkpoint', name);
    const { checkpoint } = results;
    const { origin, size, root } = opened(checkpoint);
    expect(results).toEqual({ origin, size, root: root.toString('base64'), checkpoint });
    expect(headers.get('urn-revision')).toBe(String(size - 1));
    expect(root).toEqual(rootOf(recordsOf(streamOf({ origin }))));
  }
  const { results } = await get('/checkpoint', 'read', { size: '1' });
  const first = opened(results.checkpoint);
  expect(first.root).toEqual(recordsOf(streamOf(first))[0]?.leaf);
  const shown = await commandOk(['studies', 'show', 'Sleep', '--data', data, '--json']);
  expect(JSON.parse(shown).firstCheckpoint).toBe(results.checkpoint);
});

describe('proofs, for audit keys', () => {
  it('show that a record is in the ledger, and that an earlier state is a prefix of a later one', async () => {
    const { results: now } = await get('/checkpoint', 'read');
    const { checkpoint, size, root } = now;
    const records = recordsOf(streamOf(opened(checkpoint)));
    for (const revision of [0, 7, size - 1]) {
      const { results } = await get('/inclusion_proof', 'audit', { revision: String(revision) });
      const leaf = bytesOf(results.leaf);
      expect(leaf).toEqual(records[revision]?.leaf);
      const proof = results.proof.map(bytesOf);
      expect(verifyInclusion(leaf, revision, results.size, proof, bytesOf(root))).toBe(true);
    }
    for (const first of [1, 5, size]) {
      const { results: then } = await get('/checkpoint', 'read', { size: String(first) });
      const { results } = await get('/consistency_proof', 'audit', { first: String(first) });
      expect(results).toMatchObject({ first, second: size });
      const proof = results.proof.map(bytesOf);
      expect(verifyConsistency(first, bytesOf(then.root), size, bytesOf(root), proof)).toBe(true);
    }
  });

  it.each([
    ['/inclusion_proof', {}, /^revision is missing/],
    ['/inclusion_proof', { revision: '3', size: '3' }, /^revision is "3" \(it must be between 0 and 2\)$/],
    ['/consistency_proof', { first: '0' }, /^first is "0" \(it must be between 1 and \d+\)$/],
    ['/consistency_proof', { first: '3', second: '2' }, /"3"|"2"/],
    ['/checkpoint', { size: '01' }, /^size is "01" \(it must be between 1 and \d+\)$/],
  ])('are refused if there is nothing to prove: %s %j', async (path, parameters, message) => {
    const answer = await get(path, 'audit', parameters);
    expect(answer).toMatchObject({ status: 400, message: expect.stringMatching(message), results: {} });
  });
});

it('GET /records returns the records as they are stored, page by page, to audit keys only, like the proofs', async () => {
  for (const path of ['/inclusion_proof', '/consistency_proof', '/records'])
    expect((await get(path, 'read')).status, path).toBe(403);
  const { results: now } = await get('/checkpoint', 'read');
  const stored = recordsOf(streamOf(opened(now.checkpoint)));
  const read: { revision: number; record: string; sealed: string; leaf: string }[] = [];
  while (read.length < stored.length) {
    const { results, headers } = await get('/records', 'audit', { from: String(read.length) });
    expect(headers.get('urn-revision')).toBe(String(stored.length - 1));
    expect(results.length).toBeGreaterThan(0);
    read.push(...results);
  }
  expect(read.map(({ revision, record, leaf }) => ({ revision, record, leaf }))).toEqual(
    stored.map(({ record, leaf }, revision) => {
      return { revision, record: `${record}`, leaf: Buffer.from(leaf).toString('base64') };
    }),
  );
  expect(JSON.parse(read[1]?.sealed ?? '')).toMatchObject({ allocation: {}, draw: {} });
  expect((await get('/records', 'audit', { from: String(stored.length) })).status).toBe(400);
});

it('checkpoints for a witness are those of each stream that grew, and agree with the log', async () => {
  await randomize('witnessed');
  const notes = () =>
    readFileSync(witness, 'utf8')
      .split(/\n\n(?!— )/)
      .flatMap((note) => (note === '' ? [] : [`${note.trimEnd()}\n`]));
  const last = () => opened(notes().findLast((note) => note.startsWith('urn/study-')) ?? '');
  await expect.poll(() => last().size === recordsOf(streamOf(last())).length, { timeout: 5000 }).toBe(true);
  for (const note of notes()) {
    const { origin, size, root } = opened(note);
    expect(root).toEqual(rootOf(recordsOf(streamOf({ origin })), size));
  }
  expect(new Set(notes().map((note) => note.split('\n', 1)[0]))).toContain('urn/access');
});

describe('GET /bundle, the file that `urn bundle` makes, recorded before its first byte,', () => {
  const [temporary, own] = [newFolder(), newFolder()];
  beforeAll(() => void vi.stubEnv('TMPDIR', temporary));
  afterAll(() => void vi.unstubAllEnvs());

  it('verifies, its digest is recorded, and nothing is left', async () => {
    const target = `${http.url}/bundle?study=Sleep&content=open&api_key=${http.keys.audit}`;
    const response = await fetch(target);
    const { headers } = response;
    expect([response.status, headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect(headers.get('content-disposition')).toContain('Sleep-TEST-open.zip');
    const bytes = Buffer.from(await response.arrayBuffer());
    const sha256 = hash('sha256', bytes);
    expect(headers.get('urn-bundle-sha256')).toBe(sha256);
    expect(readdirSync(temporary)).toEqual([]);
    const file = join(own, 'open.zip');
    writeFileSync(file, bytes);
    const { streams, bundle } = JSON.parse(await commandOk(['verify', '--bundle', file, '--json']));
    expect(bundle.content).toBe('open');
    expect(streams.map(({ sound }: { sound: boolean }) => sound)).toEqual([true, true, true]);
    const { results } = await http.get('audit', '/operations');
    expect(results.map(({ actor, data: said }: never) => [actor, said])).toContainEqual([
      expect.objectContaining({ user: 'auditor' }),
      expect.objectContaining({ what: 'bundle', study: 'Sleep', content: 'open', sha256 }),
    ]);
  });

  it.each([
    ['without the scope', 'read', 'Sleep', 'blinded', 403, /^This API key lacks the scope audit$/],
    ['to a limited key', 'ward', 'Ward', 'blinded', 403, /limited/],
    ['for another content', 'audit', 'Sleep', 'all', 400, /^content is .* one of full, open, blinded$/],
  ] as const)('is refused %s', async (_, name, study, content, status, message) => {
    const answer = await get('/bundle', name, { study, content });
    expect(answer).toMatchObject({ status, message: expect.stringMatching(message) });
  });
});
