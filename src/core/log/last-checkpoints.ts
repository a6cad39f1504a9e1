/**
 * What this log signed last, kept beside its key and outside its store. It reveals a store that was restored from an old
 * backup, which would draw the lost allocations again, with arms that sites already know.
 *
 * The file holds the newest signed note of each stream. When several processes sign, the one with the larger size is
 * kept. The file is at most about a second behind, so a rollback by less than that goes unnoticed.
 */
import { randomBytes } from 'node:crypto';
import { constants, existsSync, readFileSync } from 'node:fs';
import { access, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { RecoveredStream } from '../../../events/log.ts';
import type { Recovery } from '../../../projections/log.ts';
import { DomainError } from '../../base/errors.ts';
import { counted } from '../../base/wording.ts';
import { BrokenStream, type EventStore } from '../../store/event-store.ts';
import { CheckpointReader, parseCheckpointFile, parseOrigin } from './formats.ts';
import type { LogIdentity } from './identity.ts';
import type { Ledger, SignedCheckpoint } from './ledger.ts';
import { openCheckpoint, parseVerifierKey } from './signing.ts';

/** In the data folder, beside the signing key. */
export const LAST_CHECKPOINTS = 'last-checkpoints';

/** A checkpoint, with the stream and the recovery that its origin names. */
export interface SignedState {
  readonly stream: string;
  readonly recovery: number;
  readonly size: number;
  readonly root: Uint8Array;
}

export type KeptState = SignedState & { readonly note: string };

/** What of a file is not compared with the log, and why, for the service log. */
export type Uncompared =
  /** How many places are no checkpoint that this log signed, and which is the first. */
  { readonly ignored: number; readonly first: string } | { readonly why: string };

export class LastCheckpoints {
  readonly #file: string;
  readonly #identity: LogIdentity;
  /** The file's contents before the log was read, since other processes go on signing. */
  readonly #before: readonly KeptState[];

  /** @throws DomainError `identity` when the file cannot be understood */
  constructor(file: string, identity: LogIdentity) {
    this.#file = file;
    this.#identity = identity;
    this.#before = this.#read();
  }

  /** What was signed last of each stream, according to the file before the log was read. */
  get signedBefore(): readonly SignedState[] {
    return this.#before;
  }

  /**
   * The streams that do not extend what was signed of them and whose loss no recovery has declared.
   * @param isFolded whether all records of a stream have been read
   * @param also what was signed of them according to others
   */
  rollbacks(
    ledger: Ledger,
    recoveries: readonly Recovery[],
    isFolded: (stream: string) => boolean,
    also: readonly KeptState[] = [],
  ): (Rollback & { readonly signed: KeptState })[] {
    return [...this.#before, ...also].flatMap((signed) => {
      const { stream, size, root } = signed;
      if (!isFolded(stream) || recoveryCovering(recoveries, signed)) return [];
      const tree = ledger.tree(stream);
      if (tree.size >= size && Buffer.compare(tree.root(size), root) === 0) return [];
      return [{ signed, present: tree.size }];
    });
  }

  /**
   * The same for streams that were not read. One look at each only shows which ones end too early.
   * @throws StoreError
   */
  async shortened(
    store: EventStore,
    recoveries: readonly Recovery[],
    isFolded: (stream: string) => boolean,
  ): Promise<Rollback[]> {
    const found: Rollback[] = [];
    for (const signed of this.#before) {
      if (isFolded(signed.stream) || recoveryCovering(recoveries, signed)) continue;
      if (!(await holds(store, signed.stream, signed.size - 1))) found.push({ signed, present: undefined });
    }
    return found;
  }

  /**
   * Makes the folder if it does not exist. Without it, a rollback would go unnoticed.
   * @throws DomainError `identity` when nothing can be written there
   */
  async expectWritable(): Promise<void> {
    const folder = dirname(this.#file);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, constants.W_OK | constants.X_OK);
    } catch (error) {
      throw new DomainError(
        'identity',
        `what the log signs last cannot be kept in ${folder}: ${(error as Error).message} (hint: name a folder that this user can write to with --data; without it, a log that was restored from an old backup is not recognized)`,
        error,
      );
    }
  }

  /** Replaces the notes of these streams, unless another process has saved later ones. */
  async keep(
    checkpoints: readonly Pick<SignedCheckpoint, 'stream' | 'recovery' | 'size' | 'note'>[],
  ): Promise<void> {
    type Note = Pick<KeptState, 'recovery' | 'size' | 'note'>;
    const newest = new Map(this.#read().map((kept) => [kept.stream, kept as Note]));
    for (const one of checkpoints) {
      const before = newest.get(one.stream);
      if (!before || isLater(one, before)) newest.set(one.stream, one);
    }
    const text = [...newest.values()].map(({ note }) => `${note}\n`).join('');
    // A crash leaves the old file or the new one. Each process writes its own draft.
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const draft = `${this.#file}.new-${randomBytes(6).toString('hex')}`;
    try {
      const handle = await open(draft, 'wx', 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, this.#file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  #read(): KeptState[] {
    if (!existsSync(this.#file)) return [];
    const signed = stateIn(this.#identity);
    try {
      return parseCheckpointFile(readFileSync(this.#file), this.#file).map(({ note, where }) => {
        const state = signed(note);
        if (!state)
          throw new Error(`${where} is not signed by a key of this log, or is not of a stream of it`);
        return state;
      });
    } catch (error) {
      throw new DomainError(
        'identity',
        `${this.#file}, which says what this log signed last, cannot be used: ${(error as Error).message} (hint: restore it; without it, a log that was restored from an old backup is not recognized)`,
        error,
      );
    }
  }
}

/** @returns what a note says that this log signed; undefined for any other note */
export function stateIn({ publicKeys, logName }: LogIdentity): (note: string) => KeptState | undefined {
  const trusted = publicKeys.map((key) => parseVerifierKey(key, 'a key of the log'));
  return (note) => {
    const opened = openCheckpoint(note, trusted);
    if (opened.type !== 'signed') return undefined;
    const { origin, size, root } = opened.checkpoint;
    const place = parseOrigin(logName, origin);
    return place && { ...place, size, root, note };
  };
}

/** Lines that are parsed, and notes that are verified, in one turn of the event loop, which takes a few ms. */
const LINES_A_TURN = 1000;
const NOTES_A_TURN = 20;

/**
 * Everything that a witness's file says that this log signed. What the log did not sign, or what was cut off, is passed over:
 * anybody may have written it, and it must not keep a service from starting.
 */
export async function readWitness(
  file: string,
  identity: LogIdentity,
  onUncompared: (what: Uncompared) => void = () => undefined,
): Promise<KeptState[]> {
  const unfit: string[] = [];
  const signed: KeptState[] = [];
  try {
    // A pipe cannot be read again, and nobody has begun the file yet if it is missing.
    if (!(await stat(file)).isFile()) return [];
    const bytes = await readFile(file);
    const reader = new CheckpointReader(file, (where) => unfit.push(where));
    for (let from = 0, end = 0, lines = 1; end >= 0; from = end + 1, lines++) {
      end = bytes.indexOf('\n', from);
      reader.take(bytes.subarray(from, end < 0 ? undefined : end));
      if (lines % LINES_A_TURN === 0) await new Promise(setImmediate);
    }
    const stateOf = stateIn(identity);
    for (const [i, { note, where }] of reader.finish().entries()) {
      const state = stateOf(note);
      if (state) signed.push(state);
      else unfit.push(where);
      if (i % NOTES_A_TURN === 0) await new Promise(setImmediate);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') onUncompared({ why: message });
  }
  const [first] = unfit.toSorted((one, other) => lineOf(one) - lineOf(other));
  if (first !== undefined) onUncompared({ ignored: unfit.length, first });
  return signed;
}

function lineOf(where: string): number {
  return Number(where.slice(where.lastIndexOf(':') + 1));
}

/** A stream that does not extend what was signed of it. */
export interface Rollback {
  readonly signed: SignedState;
  /**
   * How many records there are, if they were counted. If there are no fewer than were signed, they are other records.
   */
  readonly present: number | undefined;
}

/** The message, without a hint or a full stop. */
export function describeRollback({ signed: { stream, size }, present }: Rollback): string {
  const now =
    present === undefined ? 'ends earlier' : present < size ? `ends after ${present}` : 'holds others';
  return `the log is not the one that it was: it signed ${counted(size, 'record')} of ${stream}, which now ${now}`;
}

interface CoveringRecovery {
  readonly recovery: Recovery;
  /** What the recovery says of the stream. */
  readonly of: RecoveredStream;
  /** Whether the recovery knew that this much had been signed. If not, it declares less than was lost. */
  readonly isDeclared: boolean;
}

/**
 * The first recovery after which the signed state can no longer be found. Undefined when no recovery affects it: then the
 * records must still be there as they were signed.
 */
export function recoveryCovering(
  recoveries: readonly Recovery[],
  state: SignedState,
): CoveringRecovery | undefined {
  for (const recovery of recoveries) {
    const of = recovery.streams.get(state.stream);
    if (recovery.recovery <= state.recovery || !of || state.size <= of.kept) continue;
    return { recovery, of, isDeclared: isDeclared(of, state) };
  }
  return undefined;
}

function isDeclared({ signed }: RecoveredStream, state: SignedState): boolean {
  if (!signed) return false;
  // What was signed after an earlier recovery extends whatever that one kept.
  if (signed.recovery !== state.recovery) return signed.recovery > state.recovery;
  if (signed.size !== state.size) return signed.size > state.size;
  return signed.root === Buffer.from(state.root).toString('base64');
}

/** A broken stream passes here: it is reported elsewhere, and says nothing about the rest of the log. */
async function holds(store: EventStore, stream: string, revision: number): Promise<boolean> {
  try {
    for await (const page of store.readStream(stream, revision)) return page.length > 0;
    return false;
  } catch (error) {
    if (error instanceof BrokenStream) return true;
    throw error;
  }
}

type Signed = Pick<SignedState, 'recovery' | 'size'>;

/** After a recovery a stream may be shorter, and its new checkpoints still count as later. */
export function isLater(one: Signed, other: Signed): boolean {
  return one.recovery === other.recovery ? one.size > other.size : one.recovery > other.recovery;
}
