/** GET /bundle on the real service: the file that `urn bundle` makes, recorded before its first byte. */
import { hash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ZipReader } from '../../../src/evidence/bundle/zip-reader.ts';
import { commandOk } from '../../support/command.ts';
import { served } from '../../support/served.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, DUPAGE, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const [temporary, own] = [newFolder(), newFolder()];
const http = served(
  TRIALS,
  {
    edc: ['edc', '--scope', 'read,randomize'],
    auditor: ['auditor', '--scope', 'audit'],
    reader: ['reader', '--scope', 'read'],
    ward: ['ward', '--scope', 'audit', '--study', 'Ward'],
  },
  {
    data: newFolder(),
    filled: async (one) => {
      for (const [id, levels] of Object.entries({ 1: COOK, 2: DUPAGE, 3: COOK }))
        await one.as('edc').randomize('Sleep', `00${id}`, levels);
    },
  },
);

const download = (content: string, name: keyof typeof http.keys = 'auditor', study = 'Sleep') =>
  fetch(`${http.url}/bundle?study=${study}&content=${content}`, {
    headers: { 'X-API-Key': http.keys[name] },
  });

describe('the bundle', () => {
  beforeAll(() => void vi.stubEnv('TMPDIR', temporary));
  afterAll(() => void vi.unstubAllEnvs());

  it.each(['full', 'open', 'blinded'])(
    '%s verifies, its digest is recorded, and nothing is left',
    async (content) => {
      const response = await download(content);
      const { headers } = response;
      expect([response.status, headers.get('content-type')]).toEqual([200, 'application/zip']);
      expect(headers.get('content-disposition')).toContain(`Sleep-TEST-${content}.zip`);
      const bytes = Buffer.from(await response.arrayBuffer());
      const sha256 = hash('sha256', bytes);
      expect(headers.get('urn-bundle-sha256')).toBe(sha256);
      expect(readdirSync(temporary)).toEqual([]);
      const file = join(own, `${content}.zip`);
      writeFileSync(file, bytes);
      const { streams } = JSON.parse(await commandOk(['verify', '--bundle', file, '--json']));
      expect(streams.map(({ sound }: { sound: boolean }) => sound)).toEqual([true, true, true]);
      const { results } = await http.get('auditor', '/operations');
      expect(results.map(({ actor, data }: never) => [actor, data])).toContainEqual([
        expect.objectContaining({ user: 'auditor' }),
        expect.objectContaining({ what: 'bundle', study: 'Sleep', content, sha256 }),
      ]);
      const zip = await ZipReader.open(file);
      const path = zip.paths.find((one) => one.startsWith('records/study-')) ?? '';
      let lines = '';
      for await (const piece of zip.read(path)) lines += piece;
      await zip.close();
      expect(lines).toContain('001');
      expect(lines.includes('"treatment"')).toBe(content !== 'blinded');
    },
  );
});

it.each([
  ['without the scope', 'reader', 'Sleep', 'blinded', 403, /^This API key lacks the scope audit$/],
  ['to a limited key', 'ward', 'Ward', 'blinded', 403, /limited/],
  ['for another content', 'auditor', 'Sleep', 'all', 400, /^content is .* one of full, open, blinded$/],
] as const)('a bundle is refused %s', async (_, name, study, content, status, message) => {
  const answer = await http.get(name, '/bundle', { study, content });
  expect(answer).toMatchObject({ status, message: expect.stringMatching(message) });
});
