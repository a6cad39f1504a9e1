/** What several files say together: who signed each, whether those of a log agree, and what a proof shows. */
import type { Hash, KeptCheckpoint, KeyParts } from '../../core/log/formats.ts';
import {
  type FileContent,
  isBeginning,
  isIncluded,
  type Proof,
  readFile,
  type Signature,
  signatureOf,
} from './check.ts';

/** What the checkpoints of one log say. Each is compared with the next larger one: that suffices for all of them. */
export interface CheckedLog {
  readonly origin: string;
  /** In ascending order of size. */
  readonly notes: readonly CheckedNote[];
  /** How many are compared: one of each size, but the largest. */
  readonly compared: number;
  /** Of these, which are not shown to be the beginning of the next larger one. */
  readonly unproven: readonly Pair[];
  /** Of the same size, and yet different. */
  readonly contradictions: readonly Pair[];
}

export interface CheckedNote {
  readonly where: string;
  readonly size: number;
  /** Undefined without a key. */
  readonly signature: Signature | undefined;
}

export type Pair = readonly [CheckedNote, CheckedNote];

/** A proof that a single record is in a checkpoint's tree. */
export interface CheckedRecord {
  readonly revision: number;
  readonly size: number;
  readonly is: 'included' | 'not-included' | 'no-checkpoint';
}

export interface Findings {
  readonly logs: readonly CheckedLog[];
  readonly records: readonly CheckedRecord[];
  readonly unreadable: readonly { readonly name: string; readonly why: string }[];
}

export interface GivenFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export async function examine(files: readonly GivenFile[], key: KeyParts | undefined): Promise<Findings> {
  const read = files.map((file): [GivenFile, FileContent] => [file, readFile(file.bytes, file.name)]);
  const kept = read.flatMap(([, one]) => (one.type === 'checkpoints' ? one.checkpoints : []));
  const proofs = read.flatMap(([, one]) => (one.type === 'proof' ? [one.proof] : []));
  const unreadable = read.flatMap(([{ name }, one]) =>
    one.type === 'unreadable' ? [{ name, why: one.why }] : [],
  );
  const byOrigin = groupedBy(kept, ({ claims }) => claims.origin);
  const logs = await Promise.all([...byOrigin].map(([origin, own]) => examineLog(origin, own, proofs, key)));
  const bySize = groupedBy(kept, ({ claims }) => claims.size);
  const records = await Promise.all(
    proofs.flatMap((proof) =>
      proof.kind === 'inclusion' ? [examineRecord(proof, bySize.get(proof.size) ?? [])] : [],
    ),
  );
  return { logs, records, unreadable };
}

export function groupedBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** What one or more checkpoints say that a log was. */
interface Tree {
  readonly size: number;
  readonly root: Hash;
  /** The first of these checkpoints. */
  readonly note: CheckedNote;
  /** Larger ones of which it is shown to be the beginning. */
  readonly continued: Tree[];
  /** The largest one that follows from these; or itself. */
  last: Tree | undefined;
}

async function examineLog(
  origin: string,
  kept: readonly KeptCheckpoint[],
  proofs: readonly Proof[],
  key: KeyParts | undefined,
): Promise<CheckedLog> {
  const notes: CheckedNote[] = [];
  const trees = new Map<string, Tree>();
  for (const { where, note, claims } of kept.toSorted((a, b) => a.claims.size - b.claims.size)) {
    const { size, root } = claims;
    const checked = { where, size, signature: key && (await signatureOf(note, key)) };
    notes.push(checked);
    const name = `${size} ${root}`;
    if (!trees.has(name)) trees.set(name, { size, root, note: checked, continued: [], last: undefined });
  }
  const bySize = groupedBy([...trees.values()], ({ size }) => size);
  await followProofs(bySize, proofs);
  const sizes = [...bySize.values()];
  const firsts = sizes.flatMap(([first]) => first ?? []);
  const contradictions = sizes.flatMap(([first, ...others]) =>
    first ? others.map(({ note }): Pair => [first.note, note]) : [],
  );
  const unproven = firsts.flatMap((larger, i): Pair[] => {
    const smaller = firsts[i - 1];
    // Two beginnings of the same tree are in each other, too.
    const isProven = !smaller || smaller.continued.includes(larger) || smaller.last === larger.last;
    return isProven ? [] : [[smaller.note, larger.note]];
  });
  return { origin, notes, compared: firsts.length - 1, unproven, contradictions };
}

/** Finds out which trees each one is the beginning of. A proof that fits none shows nothing: it may be about another log. */
async function followProofs(
  bySize: ReadonlyMap<number, readonly Tree[]>,
  proofs: readonly Proof[],
): Promise<void> {
  for (const one of proofs) {
    if (one.kind !== 'consistency') continue;
    const { first, second, proof } = one;
    for (const smaller of bySize.get(first) ?? [])
      for (const larger of bySize.get(second) ?? [])
        if (second > first && (await isBeginning(smaller, larger, proof))) smaller.continued.push(larger);
  }
  for (const tree of [...bySize.values()].flat().reverse()) {
    const [last] = tree.continued.flatMap(({ last }) => last ?? []).toSorted((a, b) => b.size - a.size);
    tree.last = last ?? tree;
  }
}

async function examineRecord(
  { revision, size, leaf, proof }: Extract<Proof, { kind: 'inclusion' }>,
  fitting: readonly KeptCheckpoint[],
): Promise<CheckedRecord> {
  if (fitting.length === 0) return { revision, size, is: 'no-checkpoint' };
  for (const { claims } of fitting)
    if (await isIncluded(leaf, revision, claims, proof)) return { revision, size, is: 'included' };
  return { revision, size, is: 'not-included' };
}
