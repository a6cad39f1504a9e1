/**
 * The EventStoreDB server of the tests as a program of its own, for benchmarks of several processes on one log. It keeps
 * everything in memory and flushes nothing, so it measures this program and its client, not EventStoreDB.
 */
import { EventStoreDbServer } from '../test/support/eventstoredb/server.ts';

const server = await new EventStoreDbServer({ port: Number(process.argv[2] ?? 0) }).start();
process.stdout.write(`${JSON.stringify({ address: server.connectionString(), apiKey: '' })}\n`);
