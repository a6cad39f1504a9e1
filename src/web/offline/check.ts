/**
 * Checks receipts, checkpoints and proofs in the browser. Formats and the shape of proofs come from the code that `urn verify`
 * uses; WebCrypto hashes and checks signatures. Nothing is sent anywhere.
 */
import {
  decodeBase64,
  type Hash,
  hashedForKeyId,
  isHash,
  type KeptCheckpoint,
  type KeyParts,
  keyIdIn,
  keyParts,
  parseCheckpointFile,
  parseNote,
} from '../../core/log/formats.ts';
import { consistencySteps, inclusionSteps, type Step } from '../../core/log/proof-steps.ts';

/** @throws Error when WebCrypto is missing, as on a page over plain HTTP */
export async function parseKey(text: string): Promise<KeyParts | undefined> {
  const parts = keyParts(text.trim());
  if (!parts) return undefined;
  const id = keyIdIn(await sha256(hashedForKeyId(parts.name, parts.raw)));
  return id === parts.keyId ? parts : undefined;
}

export type Signature = 'right' | 'wrong' | 'of-another-key';

/** Whether the key has signed the note. */
export async function signatureOf(note: string, key: KeyParts): Promise<Signature> {
  const parsed = parseNote(note);
  if (parsed.type === 'malformed') return 'wrong';
  const own = parsed.signatures.filter(({ name, keyId }) => name === key.name && keyId === key.keyId);
  if (own.length === 0) return 'of-another-key';
  const publicKey = await crypto.subtle.importKey('raw', ownBytes(key.raw), 'Ed25519', false, ['verify']);
  const text = ownBytes(new TextEncoder().encode(parsed.text));
  for (const { signature } of own)
    if (!(await crypto.subtle.verify('Ed25519', publicKey, ownBytes(signature), text))) return 'wrong';
  return 'right';
}

/** A proof as the service answers it, or as the page of the audit saves it. */
export type Proof =
  | { readonly kind: 'consistency'; readonly first: number; readonly second: number; readonly proof: Hash[] }
  | {
      readonly kind: 'inclusion';
      readonly revision: number;
      readonly size: number;
      readonly leaf: Hash;
      readonly proof: Hash[];
    };

export type FileContent =
  | { readonly type: 'checkpoints'; readonly checkpoints: readonly KeptCheckpoint[] }
  | { readonly type: 'proof'; readonly proof: Proof }
  | { readonly type: 'unreadable'; readonly why: string };

/** What a file contains: checkpoints, including receipts, or a proof. */
export function readFile(bytes: Uint8Array, name: string): FileContent {
  const proof = proofIn(bytes);
  if (proof) return { type: 'proof', proof };
  try {
    return { type: 'checkpoints', checkpoints: parseCheckpointFile(bytes, name) };
  } catch (error) {
    return { type: 'unreadable', why: (error as Error).message };
  }
}

function proofIn(bytes: Uint8Array): Proof | undefined {
  const json = jsonIn(bytes);
  const body = (json?.['results'] ?? json) as Record<string, unknown> | undefined;
  if (!Array.isArray(body?.['proof'])) return undefined;
  const proof = body['proof'].map(hashIn);
  if (!proof.every((hash) => hash !== undefined)) return undefined;
  const { first, second, revision, size } = body;
  if (isNumber(first) && isNumber(second)) return { kind: 'consistency', first, second, proof };
  const leaf = hashIn(body['leaf']);
  if (isNumber(revision) && isNumber(size) && leaf) return { kind: 'inclusion', revision, size, leaf, proof };
  return undefined;
}

function jsonIn(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function hashIn(value: unknown): Hash | undefined {
  const bytes = typeof value === 'string' ? decodeBase64(value) : undefined;
  return bytes && isHash(bytes) ? bytes : undefined;
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

interface Tree {
  readonly size: number;
  readonly root: Hash;
}

/** Whether the first tree is the beginning of the second. Trees of the same size need no proof. */
export async function isBeginning(first: Tree, second: Tree, proof: readonly Hash[]): Promise<boolean> {
  if (first.size === second.size) return same(first.root, second.root);
  const steps = consistencySteps(first.size, first.root, second.size, proof);
  if (!steps) return false;
  return (
    same(await climb(steps.start, steps.toFirst), first.root) &&
    same(await climb(steps.start, steps.toSecond), second.root)
  );
}

/** Whether the record with this hash is in the tree, at this revision. */
export async function isIncluded(
  leaf: Hash,
  revision: number,
  { size, root }: Tree,
  proof: readonly Hash[],
): Promise<boolean> {
  const steps = inclusionSteps(revision, size, proof);
  return steps !== undefined && same(await climb(leaf, steps), root);
}

async function climb(start: Hash, steps: readonly Step[]): Promise<Hash> {
  let node = start;
  for (const { side, sibling } of steps)
    node = await (side === 'left' ? nodeHash(sibling, node) : nodeHash(node, sibling));
  return node;
}

function nodeHash(left: Hash, right: Hash): Promise<Hash> {
  return sha256(Uint8Array.of(1, ...left, ...right));
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', ownBytes(bytes)));
}

function same(a: Hash, b: Hash): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** WebCrypto takes no views of memory that may be shared. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
