/** Moves a log as versions up to 0.3.0 did: LogMoved and LogArrived are in every stream, not in `log` alone. */
import type { MoveFact } from '../../events/move.ts';
import { encodeRecord } from '../../events/record.ts';
import { systemTools } from '../../src/base/tools.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { OPERATOR } from './facts.ts';

export class EarlierMove {
  readonly #store: EventStore;
  readonly #logId: string;
  readonly #tools = systemTools();
  readonly #move = this.#tools.newId();

  /** @param store where the log is */
  constructor(store: EventStore, logId: string) {
    this.#store = store;
    this.#logId = logId;
  }

  close(): Promise<void> {
    return this.#append({ type: 'LogMoved', data: { move: this.#move, to: 'there' }, sections: {} });
  }

  /** As in the target, which holds all that the source did. */
  arrive(): Promise<void> {
    return this.#append({ type: 'LogArrived', data: { move: this.#move, from: 'here' }, sections: {} });
  }

  async #append(fact: MoveFact): Promise<void> {
    const sizes = new Map<string, number>();
    for await (const page of this.#store.readAll())
      for (const { stream, revision } of page) sizes.set(stream, revision + 1);
    const { newId, newSalt, now } = this.#tools;
    for (const [stream, revision] of sizes) {
      const at = now().toISOString();
      const header = { id: newId(), log: this.#logId, stream, revision, at, actor: OPERATOR };
      await this.#store.append(stream, revision - 1, [encodeRecord(header, fact, newSalt)]);
    }
  }
}
