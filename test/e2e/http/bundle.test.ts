/** GET /bundle on the real service: the file that `urn bundle` makes, recorded before its first byte. */
import { hash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ZipReader } from '../../../src/evidence/bundle/zip-reader.ts';
import { ask, clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const temporary = newFolder();
let service: Service;
let keys: Record<'edc' | 'auditor' | 'reader' | 'ward', string>;

const download = (content: string, key = keys.auditor, init: RequestInit = {}) =>
  fetch(`${service.url}/bundle?study=Sleep&content=${content}`, {
    ...init,
    headers: { 'X-API-Key': key },
  });

async function saved(response: Response): Promise<{ file: string; bytes: Buffer }> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const file = join(newFolder(), 'bundle.zip');
  writeFileSync(file, bytes);
  return { file, bytes };
}

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'read,randomize'],
    auditor: ['auditor', '--scope', 'audit'],
    reader: ['reader', '--scope', 'read'],
    ward: ['ward', '--scope', 'audit', '--study', 'Ward'],
  });
  service = await serve({ data, studies: TRIALS, env: { TMPDIR: temporary } });
  const edc = clientOf(service.url, keys.edc);
  for (const [id, levels] of [
    ['001', COOK],
    ['002', DUPAGE],
    ['003', COOK],
  ] as const)
    await edc.randomize('Sleep', id, levels);
});
afterAll(() => service.kill());

describe('the bundle', () => {
  it.each(['full', 'open', 'blinded'])('%s verifies, and its digest is recorded', async (content) => {
    const response = await download(content);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect(response.headers.get('content-disposition')).toContain(`Sleep-TEST-${content}.zip`);
    const { file, bytes } = await saved(response);
    const sha256 = hash('sha256', bytes);
    expect(response.headers.get('urn-bundle-sha256')).toBe(sha256);
    const { streams } = JSON.parse(await commandOk(['verify', '--bundle', file, '--json']));
    expect(streams.map(({ sound }: { sound: boolean }) => sound)).toEqual([true, true, true]);
    const { results } = await ask(service.url, '/operations', { key: keys.auditor });
    expect(results.map(({ actor, data }: never) => [actor, data])).toContainEqual([
      expect.objectContaining({ user: 'auditor' }),
      expect.objectContaining({ what: 'bundle', study: 'Sleep', content, sha256 }),
    ]);
  });

  it('leaves nothing on the disk', async () => {
    await saved(await download('full'));
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('has no arms in its records if it is blinded', async () => {
    const { file } = await saved(await download('blinded'));
    const zip = await ZipReader.open(file);
    const path = zip.paths.find((one) => one.startsWith('records/study-')) ?? '';
    let lines = '';
    for await (const piece of zip.read(path)) lines += piece;
    await zip.close();
    expect(lines).toContain('001');
    expect(lines).not.toContain('"treatment"');
  });
});

describe('a bundle is refused', () => {
  it('without the scope, and to a limited key', async () => {
    expect((await download('blinded', keys.reader)).status).toBe(403);
    const other = await fetch(`${service.url}/bundle?study=Ward&content=blinded`, {
      headers: { 'X-API-Key': keys.ward },
    });
    expect(other.status).toBe(403);
  });

  it('for an unknown content', async () => {
    const response = await download('all');
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      message: 'content is missing or not one of full, open, blinded',
    });
  });
});
