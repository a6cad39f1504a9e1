import { MemoryStore } from '../../../src/store/memory.ts';
import { storeContract } from '../../support/store-contract.ts';

storeContract('the store in memory', () => new MemoryStore());
