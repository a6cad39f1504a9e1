import { afterAll } from 'vitest';
import { EventStoreDbStore } from '../../../src/store/eventstoredb.ts';
import { EventStoreDbServer } from '../../support/eventstoredb-server.ts';
import { storeContract } from '../../support/store-contract.ts';

const server = await new EventStoreDbServer().start();
afterAll(() => server.stop());
storeContract('EventStoreDB', () => new EventStoreDbStore(server.connectionString(), crypto.randomUUID()));
