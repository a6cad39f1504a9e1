/** Every act of a study, sent twice with the same Idempotency-Key: the second answer says that it repeats the first. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const data = temporaryFolders()();
const STUDIES = `
Relief:
  mode: test
  treatments: [A, B]
  factors:
    site: [Cook, Kane]
  visits: [V2, V3]
`;
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }];

let service: ServiceHere;
let keys: Record<'site' | 'office', string>;
const pack = new Map<string, string>();

beforeAll(async () => {
  keys = await issueKeys(data, {
    site: ['site', '--scope', 'randomize,read'],
    office: ['office', '--scope', 'read,correct,force,manage,supply,unblind'],
  });
  service = await serveHere(data, STUDIES);
  const entries = Array.from({ length: 40 }, (_, n) => ({ code: `P-${n}`, treatment: n % 2 ? 'A' : 'B' }));
  await registerPacks(data, 'Relief', [{ entries }]);
  for (const id of ['1', '2', '3']) {
    const { results } = await clientOf(service.url, keys.site).randomize('Relief', id, { site: 'Cook' });
    pack.set(id, results[0]['urn.code']);
  }
});
afterAll(() => service.stop());

it('is answered as before, with Urn-Repeated, and not recorded again', async () => {
  const dispensed = await postJson(service.url, '/dispensations', keys.site, {
    ...{ study: 'Relief', id: '3', visit: 'V2' },
  });
  const atV2 = dispensed.results.code;
  const spare = () => {
    const used = new Set([...pack.values(), atV2]);
    return Array.from({ length: 40 }, (_, n) => `P-${n}`).filter((code) => !used.has(code));
  };
  const occurred_at = new Date().toISOString();
  const body = { id: '1', note: 'slip' };
  const [free = '', withdrawn = ''] = spare().filter((code) => Number(code.slice(2)) % 2 === 1);
  const acts: [string, object][] = [
    // Before a pack is chosen, which might be this one.
    [
      '/forced_allocations',
      {
        id: '4',
        levels: { site: 'Cook' },
        treatment: 'A',
        occurred_at,
        cause: 'outage',
        note: 'x',
        code: free,
      },
    ],
    [
      '/level_corrections',
      { ...body, cause: 'entry', changes: [{ factor: 'site', from: 'Cook', to: 'Kane' }] },
    ],
    ['/id_corrections', { id: '1', to: '01', cause: 'entry' }],
    ['/code_withdrawals', { codes: [withdrawn], reason: 'the cold chain broke' }],
    ['/code_replacements', { id: '1', code: pack.get('1'), cause: 'damaged' }],
    ['/dispensations', { id: '1', visit: 'v2' }],
    ['/dispensation_corrections', { ...body, id: '3', code: atV2, to: 'v3', cause: 'entry' }],
    ['/voids', { ...body, cause: 'duplicate', analysis: 'exclude' }],
    ['/reinstatements', body],
    ['/code_breaks', { id: '2', category: 'emergency', reason: 'anaphylaxis' }],
    ['/unblindings', { id: '3', how: 'label', occurred_at, reason: 'the label was torn' }],
    [
      '/amendments',
      { amendment: 1, reason: 'more', changes: [{ kind: 'target', value: 9 }], approvals: APPROVALS },
    ],
    ['/study_state', { action: 'pause', reason: 'data review' }],
    ['/study_state', { action: 'resume', reason: 'data reviewed' }],
    ['/study_state', { action: 'close', cause: 'target', reason: 'all are in' }],
    ['/study_state', { action: 'reopen', reason: 'more are needed', approvals: APPROVALS }],
  ];
  for (const [n, [path, asked]] of acts.entries()) {
    const send = (more = {}) =>
      postJson(
        service.url,
        path,
        keys.office,
        { study: 'Relief', ...asked, ...more },
        { 'Idempotency-Key': `k-${n}` },
      );
    const first = await send();
    expect([path, first.status, first.headers.get('urn-repeated')]).toEqual([path, 200, null]);
    const records = storedLog(data).length;
    const second = await send();
    expect([path, second.status, second.headers.get('urn-repeated')]).toEqual([path, 200, 'true']);
    expect(second.results).toEqual(first.results);
    expect(second.headers.get('urn-receipt')).not.toBeNull();
    expect((await send({ dry_run: true })).headers.get('urn-repeated')).toBeNull();
    const written = storedLog(data)
      .slice(records)
      .map(({ record }) => record.type);
    expect(written.filter((type) => type !== 'EvidenceDisclosed')).toEqual([]);
  }
});
