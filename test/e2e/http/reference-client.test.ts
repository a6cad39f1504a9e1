import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { requiredPython } from '../../support/numpy.ts';
import { served } from '../../support/served.ts';
import { COOK, SLEEP_SEED, TRIALS } from '../../support/trials.ts';

const CLIENT = fileURLToPath(new URL('../../support/reference-client.py', import.meta.url));
const python = requiredPython('requests');

describe.skipIf(python === undefined)('an unmodified client of the reference (Python requests)', () => {
  const http = served(TRIALS, {
    edc: ['edc'],
    predictor: ['replay', '--scope', 'read,randomize,audit', '--allow-prediction'],
  });
  const run = async (key: string) => {
    const args = [CLIENT, http.url, key, 'Sleep', JSON.stringify(COOK)];
    return JSON.parse((await promisify(execFile)(python ?? 'python3', args)).stdout);
  };

  it('reads, randomizes and gets error answers; the large integers for audit are exact', async () => {
    const { config, randomized, again, participants, no_study, no_key, no_level } = await run(http.keys.edc);
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

    const audited = await run(http.keys.predictor);
    expect([audited.seed, audited.config.http_status]).toEqual([SLEEP_SEED, 200]);
    expect(audited.again.body.results[0].bg_state.bit_generator).toBe('PCG64');
  });
});
