/** What several files say together: who signed each, which covers which, and what a proof shows. */
import type { KeptCheckpoint, KeyParts } from '../../core/log/formats.ts';
import {
  type FileContent,
  isBeginning,
  isIncluded,
  type Proof,
  readFile,
  type Signature,
  signatureOf,
} from './check.ts';

export interface CheckedNote {
  readonly where: string;
  readonly origin: string;
  readonly size: number;
  /** Undefined without a key. */
  readonly signature: Signature | undefined;
  /** Whether it agrees with the larger checkpoints of the same stream, as far as the proofs go. */
  readonly relations: readonly Relation[];
}

interface Relation {
  readonly with: string;
  readonly size: number;
  readonly is: 'beginning' | 'contradiction' | 'not-proven';
}

/** A proof that a single record is in a checkpoint's tree. */
export interface CheckedRecord {
  readonly revision: number;
  readonly size: number;
  readonly is: 'included' | 'not-included' | 'no-checkpoint';
}

export interface Findings {
  readonly notes: readonly CheckedNote[];
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
  const notes = await Promise.all(kept.map((one) => examineNote(one, kept, proofs, key)));
  const records = await Promise.all(
    proofs.flatMap((proof) => (proof.kind === 'inclusion' ? [examineRecord(proof, kept)] : [])),
  );
  return { notes, records, unreadable };
}

async function examineNote(
  { note, where, claims }: KeptCheckpoint,
  all: readonly KeptCheckpoint[],
  proofs: readonly Proof[],
  key: KeyParts | undefined,
): Promise<CheckedNote> {
  const { origin, size } = claims;
  const others = all.filter(
    (other) => other.where !== where && other.claims.origin === origin && other.claims.size >= size,
  );
  const relations = await Promise.all(
    others.map(async (other): Promise<Relation> => {
      const about = { with: other.where, size: other.claims.size };
      if (size === other.claims.size)
        return {
          ...about,
          is: (await isBeginning(claims, other.claims, [])) ? 'beginning' : 'contradiction',
        };
      const fitting = proofs.flatMap((proof) =>
        proof.kind === 'consistency' && proof.first === size && proof.second === other.claims.size
          ? [proof.proof]
          : [],
      );
      for (const proof of fitting)
        if (await isBeginning(claims, other.claims, proof)) return { ...about, is: 'beginning' };
      // A proof that fits neither may be about another study, so it shows nothing.
      return { ...about, is: 'not-proven' };
    }),
  );
  return { where, origin, size, signature: key && (await signatureOf(note, key)), relations };
}

async function examineRecord(
  { revision, size, leaf, proof }: Extract<Proof, { kind: 'inclusion' }>,
  all: readonly KeptCheckpoint[],
): Promise<CheckedRecord> {
  const fitting = all.filter(({ claims }) => claims.size === size);
  if (fitting.length === 0) return { revision, size, is: 'no-checkpoint' };
  for (const { claims } of fitting)
    if (await isIncluded(leaf, revision, claims, proof)) return { revision, size, is: 'included' };
  return { revision, size, is: 'not-included' };
}
