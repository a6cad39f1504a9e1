import { systemTools } from '../../src/base/tools.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { OPERATOR, stored } from './facts.ts';

/** Closes a log as a move up to version 0.3.0 did: LogMoved is in every stream, not in `log` alone. */
export async function closeAsEarlier(store: EventStore, logId: string): Promise<void> {
  const tools = systemTools();
  const data = { move: tools.newId(), to: 'there' };
  const sizes = new Map<string, number>();
  for await (const page of store.readAll())
    for (const { stream, revision } of page) sizes.set(stream, revision + 1);
  for (const [stream, revision] of sizes) {
    const place = { stream, log: logId, actor: OPERATOR, tools };
    const moved = stored({ type: 'LogMoved', data, sections: {} }, revision, place);
    await store.append(stream, revision - 1, [moved]);
  }
}
