/** Bundles made on request: how many at a time, and what ends one early. */
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bundles } from '../../../src/evidence/bundle/bundles.ts';
import { openLog } from '../../../src/service/open/open-log.ts';
import { CONFIGURATION, OPERATOR, SEED } from '../../support/facts.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const forever = new AbortController().signal;
let bundles: Bundles;
let temporary: string;
const make = (asker = forever) => bundles.make({ stream, content: 'blinded' }, asker);
let stream: string;

beforeEach(async () => {
  temporary = newFolder();
  const data = newFolder();
  vi.stubEnv('TMPDIR', temporary);
  const log = await openLog({ data, store: 'memory:' }, OPERATOR);
  await log.rebuild();
  await log.studies.register(CONFIGURATION, SEED, OPERATOR);
  stream = log.studies.streamOf(CONFIGURATION.name);
  const { store, identity, gate } = log;
  bundles = new Bundles({ store, identity, gate, lastCheckpoints: undefined, version: '1' });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

it('one is made at a time', async () => {
  const first = make();
  await expect(make()).rejects.toThrow('only one can run at a time');
  (await first).file.destroy();
});

it('no more are made while four wait for their readers', async () => {
  const made = [await make(), await make(), await make(), await make()];
  await expect(make()).rejects.toThrow('other bundles are being sent');
  const [first] = made;
  await new Promise((resolve) => first?.file.once('close', resolve).destroy());
  made.push(await make());
  for (const { file } of made) file.destroy();
});

it('one that nobody waits for ends, and leaves no file', async () => {
  const gone = new AbortController();
  const making = make(gone.signal);
  gone.abort();
  await expect(making).rejects.toThrow(/^nobody is waiting for the bundle any more$/);
  expect(readdirSync(temporary)).toEqual([]);
});

it('a shutdown ends the one that is being made, and lets no other begin', async () => {
  const isRefused = () => expect(make()).rejects.toThrow(/^the service is shutting down$/);
  const making = isRefused();
  await bundles.stop();
  await making;
  await isRefused();
  expect(readdirSync(temporary)).toEqual([]);
});
