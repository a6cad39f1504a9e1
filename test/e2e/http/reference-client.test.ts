import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inCi } from '../../support/in-ci.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, SLEEP_SEED, TRIALS } from '../../support/trials.ts';

const CLIENT = fileURLToPath(new URL('../../support/reference-client.py', import.meta.url));
const python = [process.env['PYTHON'] || 'python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import requests'], { stdio: 'ignore' }).status === 0,
);
const skipped = python === undefined && !inCi;
if (skipped) {
  // biome-ignore lint/suspicious/noConsole: a skipped test must be visible
  console.warn('SKIPPED: no Python with requests (hint: apt-get install python3-requests)');
}

describe.skipIf(skipped)('an unmodified client of the reference (Python requests)', () => {
  const data = temporaryFolders()();
  let service: Service;
  let keys: Record<'edc' | 'predictor', string>;

  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc'],
      predictor: ['replay', '--scope', 'read,randomize,audit', '--allow-prediction'],
    });
    service = await serve({ data, studies: TRIALS });
  });
  afterAll(() => service.stop());

  const run = (key: string) => {
    const args = [CLIENT, service.url, key, 'Sleep', JSON.stringify(COOK)];
    return JSON.parse(execFileSync(python ?? 'python3', args, { encoding: 'utf8' }));
  };

  it('reads, randomizes and gets error answers', () => {
    const { config, randomized, again, participants, no_study, no_key, no_level } = run(keys.edc);
    expect(config).toMatchObject({
      http_status: 200,
      content_type: 'application/json',
      body: { status: 200, message: 'Success', results: { treatments: ['ZZTREATA', 'ZZTREATB'] } },
    });
    const record = { id: 'py – 1 (a+b)', f_sex: COOK.sex, f_local_site: COOK.local_site, user: 'edc' };
    expect(randomized).toMatchObject({ http_status: 200, body: { results: [record] } });
    expect(participants.body.results).toEqual(randomized.body.results);
    expect(again).toMatchObject({
      http_status: 400,
      body: { status: 400, results: randomized.body.results },
    });
    expect(no_study).toMatchObject({ http_status: 404, body: { status: 404, results: {} } });
    expect(no_key).toMatchObject({ http_status: 401, body: { status: 401, results: {} } });
    expect(no_level).toMatchObject({ http_status: 400, body: { status: 400, results: [] } });
  });

  it('reads the large integers for audit exactly', () => {
    const { seed, again, config } = run(keys.predictor);
    expect(seed).toBe(SLEEP_SEED);
    expect(config.http_status).toBe(200);
    expect(again.body.results[0].bg_state.bit_generator).toBe('PCG64');
  });
});
