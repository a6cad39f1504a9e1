/** POST /study_participants while the log cannot be read: what is wrong with a request as far as is known is still said. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { StoreError } from '../../../src/store/event-store.ts';
import { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { clientOf } from '../../support/client.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const DESIGN = `
  mode: test
  treatments: [A, B]
  id_pattern: "[0-9]{3}"
  factors: {sex: [Male, Female]}
`;
const data = temporaryFolders()();
let service: ServiceHere;
let keys: Record<'edc' | 'manager', string>;

beforeAll(async () => {
  keys = await issueKeys(data, { edc: ['edc'], manager: ['manager', '--scope', 'manage'] });
  service = await serveHere(data, `Plain:${DESIGN}Amended:${DESIGN}`);
  const change = { kind: 'level-added', factor: 'sex', level: 'Other' };
  const body = { study: 'Amended', amendment: 1, reason: 'protocol 2', changes: [change] };
  expect((await postJson(service.url, '/amendments', keys.manager, body)).status).toBe(200);
  for (const study of ['Plain', 'Amended']) expect((await randomize(study, '001')).status).toBe(200);
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => service.stop());

const randomize = (study: string, id: string, sex = 'Male') =>
  clientOf(service.url, keys.edc).randomize(study, id, { sex });

describe.each(['Plain', 'Amended'])('while the log cannot be read, the study %s', (study) => {
  it.each([
    ['an id that does not match', 'x1', 'Male', /^id does not match/],
    ['an unknown level', '002', 'male', /^sex has no level/],
  ])('refuses %s with 400, as it does otherwise', async (_, id, sex, why) => {
    const before = await randomize(study, id, sex);
    expect(before).toMatchObject({ status: 400, message: expect.stringMatching(why) });
    const read = vi.spyOn(SqliteStore.prototype, 'readStream').mockImplementation(() => {
      throw new StoreError('unavailable', 'not-written', 'it is down');
    });
    expect(await randomize(study, id, sex)).toMatchObject({ status: 400, message: before.message });
    expect(read).toHaveBeenCalled();
  });
});
