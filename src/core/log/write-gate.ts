/**
 * Decides whether this process may write to a stream or sign a checkpoint of it. Every writer asks before each batch,
 * and the ledger before each signature. Nothing else decides.
 *
 * The gate is closed until the store has been compared with what the log signed last. If records are missing, it stays
 * closed until a recovery has declared the loss. If the store loses records while this process runs, it stays closed for
 * the life of the process, because what the process has folded is no longer what the store holds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { logHistory, type Recovery } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../base/errors.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { Gate, Permission } from '../write/writer.ts';
import {
  describeRollback,
  isLater,
  type KeptState,
  LAST_CHECKPOINTS,
  type LastCheckpoints,
  type Rollback,
  recoveryCovering,
} from './last-checkpoints.ts';
import type { Ledger } from './ledger.ts';
import { LOG_STREAM } from './log-stream.ts';

/** Without these two streams, nobody knows who may do what, or whether the log continues here. What clients call them. */
const NEEDED_BY_ALL = new Map([
  [LOG_STREAM, 'the history of the log'],
  ['access', 'the list of keys'],
]);

const ROLLBACK_HINT = `hint: restore the newest copy of the database, or declare the loss with urn recover; what the log signed last is in ${LAST_CHECKPOINTS}, see docs/operations.md`;

interface WriteGateParts {
  readonly runner: Pick<Runner, 'state' | 'halted'>;
  /** Why there is no key to sign with, if there is none: no write could get a receipt. */
  readonly missingKey?: () => DomainError | undefined;
}

export class WriteGate implements Gate {
  readonly #runner: WriteGateParts['runner'];
  readonly #missingKey: () => DomainError | undefined;
  #compared: 'all' | Set<string> = new Set();
  #rollbacks: readonly Rollback[] = [];
  #storeLoss: DomainError | undefined;
  readonly #endangered = new Map<string, DomainError>();

  constructor({ runner, missingKey = () => undefined }: WriteGateParts) {
    this.#runner = runner;
    this.#missingKey = missingKey;
  }

  /** Why it is refused; undefined when it is allowed. */
  refusal(stream: string, permission: Permission): DomainError | undefined {
    return (
      this.#missingKey() ??
      this.rollback(permission) ??
      (permission === 'sign' ? undefined : this.#unwritable(stream, permission)) ??
      this.#notCompared(stream)
    );
  }

  /** In what way the log no longer holds what it signed; undefined when it does. */
  rollback(permission: Permission = 'write'): DomainError | undefined {
    if (this.#storeLoss) return this.#storeLoss;
    if (this.#rollbacks.length === 0 || permission === 'recover') return undefined;
    const { recoveries } = this.#runner.state(logHistory, LOG_STREAM);
    const [first, ...others] = this.#rollbacks.filter(({ signed }) => !recoveryCovering(recoveries, signed));
    return first && rollbackError(first, others.length);
  }

  /** Why this stream is in danger of losing records in the store; undefined when it is not. */
  danger(stream: string): DomainError | undefined {
    return this.#endangered.get(stream);
  }

  /**
   * Notes that the log, or some of its streams, has been compared with what it signed last.
   * @param found the streams that do not extend what was signed
   */
  compared(streams: 'all' | readonly string[], found: readonly Rollback[]): void {
    const known = new Set(this.#rollbacks.map(({ signed }) => signed.stream));
    this.#rollbacks = [...this.#rollbacks, ...found.filter(({ signed }) => !known.has(signed.stream))];
    if (streams === 'all') this.#compared = 'all';
    else if (this.#compared !== 'all') for (const stream of streams) this.#compared.add(stream);
  }

  /** Whether `compared` has covered the whole log. */
  get isCompared(): boolean {
    return this.#compared === 'all';
  }

  /** The store no longer holds what was read from it. @param why a sentence without a full stop */
  storeLost(why: string): void {
    this.#storeLoss ??= new DomainError('rolled-back', `${why} (${ROLLBACK_HINT})`);
  }

  /** The store may remove records of this stream. @param why with a hint; undefined when the danger has passed */
  endanger(stream: string, why: string | undefined): void {
    if (why === undefined) this.#endangered.delete(stream);
    else this.#endangered.set(stream, new DomainError('endangered', why));
  }

  #unwritable(stream: string, permission: Permission): DomainError | undefined {
    const runner = this.#runner;
    const { moved } = runner.state(logHistory, LOG_STREAM);
    if (moved && permission !== 'recover')
      return new DomainError(
        'moved',
        `the log is moved to ${moved.to}, and nothing more is recorded in this store (hint: ask the service there; if this is that store, urn copy has to finish first)`,
      );
    for (const [needed, name] of NEEDED_BY_ALL)
      if (runner.halted(needed))
        return new DomainError(
          'halted',
          `${name} cannot be read completely; see the messages of the service`,
        );
    if (runner.halted(stream))
      return new DomainError(
        'halted',
        'this stream cannot be read completely; see the messages of the service',
      );
    return this.#endangered.get(stream);
  }

  #notCompared(stream: string): DomainError | undefined {
    if (this.#compared === 'all' || this.#compared.has(stream)) return undefined;
    return new DomainError('unavailable', 'the log has not been read completely yet; try again shortly');
  }
}

function rollbackError(first: Rollback, others: number): DomainError {
  const more = others > 0 ? `, and likewise ${others} more` : '';
  return new DomainError('rolled-back', `${describeRollback(first)}${more} (${ROLLBACK_HINT})`);
}

interface ComparisonParts {
  readonly store: EventStore;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly gate: WriteGate;
  /** Undefined for a log in memory, which has no past. */
  readonly lastCheckpoints: LastCheckpoints | undefined;
}

/** How long after a comparison that found records missing the store is read again, in ms. */
const RECHECK_MS = 1000;

/**
 * Folds what the store holds, compares it with what the log signed last, and reports the result to the write gate, which
 * is closed until then.
 */
export class Comparison {
  readonly #parts: ComparisonParts;

  constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /**
   * Folds the whole log, and opens the gate if nothing is missing. `onProgress` gets the number of records folded so
   * far.
   * @param also what else the log is known to have signed
   */
  async rebuild(also: readonly KeptState[], onProgress?: (records: number) => void): Promise<void> {
    const { runner, ledger, gate, lastCheckpoints } = this.#parts;
    await runner.rebuild(onProgress);
    const isSound = (stream: string) => !runner.halted(stream);
    const missing = async () =>
      newestOf(lastCheckpoints?.rollbacks(ledger, this.#recoveries, isSound, also) ?? []);
    const found = await this.#settled(missing, () => runner.rebuild());
    gate.compared('all', found);
    // So that commands know it without the witness. The gate is closed even if that fails.
    if (also.length > 0 && found.length > 0)
      await lastCheckpoints?.keep(found.map(({ signed }) => signed)).catch(() => undefined);
  }

  /** Folds one stream, and opens the gate for it and `log` if no stream ends before what the log signed of it. */
  async read(stream: string): Promise<void> {
    const { store, runner, ledger, gate, lastCheckpoints } = this.#parts;
    await runner.catchUp(stream);
    const recoveries = this.#recoveries;
    const isRead = (name: string) => name === LOG_STREAM || name === stream;
    const isSound = (name: string) => isRead(name) && !runner.halted(name);
    const missing = async () => [
      ...(lastCheckpoints?.rollbacks(ledger, recoveries, isSound) ?? []),
      ...((await lastCheckpoints?.shortened(store, recoveries, isRead)) ?? []),
    ];
    gate.compared([LOG_STREAM, stream], await this.#settled(missing, () => runner.catchUp(stream)));
  }

  get #recoveries(): readonly Recovery[] {
    return this.#parts.runner.state(logHistory, LOG_STREAM).recoveries;
  }

  /** Records must stay missing to count: while a cluster elects a leader, the new one knows less for a moment. */
  async #settled<R extends Rollback>(find: () => Promise<R[]>, readOn: () => Promise<void>): Promise<R[]> {
    const until = performance.now() + (this.#parts.store.settlesWithinMs ?? 0);
    for (;;) {
      const found = await find();
      if (found.length === 0 || performance.now() >= until) return found;
      await delay(RECHECK_MS);
      await readOn();
    }
  }
}

/** One for each stream: a witness may know of thousands of checkpoints that the log lacks. */
function newestOf<R extends Rollback>(rollbacks: readonly R[]): R[] {
  const newest = new Map<string, R>();
  for (const one of rollbacks) {
    const before = newest.get(one.signed.stream);
    if (!before || isLater(one.signed, before.signed)) newest.set(one.signed.stream, one);
  }
  return [...newest.values()];
}
