/**
 * Folds what the store holds, compares it with what the log signed last, and reports the result to the write gate, which
 * is closed until then.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { logHistory, type Recovery } from '../../../projections/log.ts';
import type { Runner } from '../../../projections/runner.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { LastCheckpoints, Rollback } from '../ledger/last-checkpoints.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { LOG_STREAM } from './log-writer.ts';
import type { WriteGate } from './write-gate.ts';

/** How long after a comparison that found records missing the store is read again, in ms. */
const RETRY_MS = 1000;

export interface ComparisonParts {
  readonly store: EventStore;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly gate: WriteGate;
  /** Undefined for a log in memory, which has no past. */
  readonly lastCheckpoints: LastCheckpoints | undefined;
}

export class Comparison {
  readonly #parts: ComparisonParts;

  constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /**
   * Folds the whole log, and opens the gate if nothing is missing. `onProgress` gets the number of records folded so
   * far.
   */
  async rebuild(onProgress?: (records: number) => void): Promise<void> {
    const { runner, ledger, gate, lastCheckpoints } = this.#parts;
    await runner.rebuild(onProgress);
    const isSound = (stream: string) => !runner.halted(stream);
    const missing = async () => lastCheckpoints?.rollbacks(ledger, this.#recoveries, isSound) ?? [];
    gate.compared('all', await this.#settled(missing, () => runner.rebuild()));
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
  async #settled(find: () => Promise<Rollback[]>, readOn: () => Promise<void>): Promise<Rollback[]> {
    const until = performance.now() + (this.#parts.store.settlesWithinMs ?? 0);
    for (;;) {
      const found = await find();
      if (found.length === 0 || performance.now() >= until) return found;
      await delay(RETRY_MS);
      await readOn();
    }
  }
}
