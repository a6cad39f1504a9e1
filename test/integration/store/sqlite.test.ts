import { join } from 'node:path';
import { SqliteStore } from '../../../src/store/sqlite.ts';
import { storeContract } from '../../support/store-contract.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

storeContract('the store in SQLite', () => new SqliteStore(join(newFolder(), 'urn.sqlite')));
