/** The signing key is rotated beside a running service, and what was signed before stays valid. */
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { hasPython, verifyInPython } from '../../support/altered-bundles.ts';
import { commandsOn } from '../../support/cli-log.ts';
import { clientOf } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';
import { verifyOurselves } from '../../support/verifier.ts';

const newFolder = temporaryFolders();
let data: string;
let key: string;
let service: Pick<ServiceHere, 'url' | 'stop'>;
let receipts: string[];
const POLL = { timeout: 5000, interval: 200 };

const file = (name: string) => join(data, name);
const { ok } = commandsOn(() => data);
const shown = async () => (await ok`signing-key show`).trim().split('\n');
const rotate = async () => (await ok`signing-key rotate --reason 'a new server'`).trim();
/** The key id in a note's signature line, which names the key as its verifier key does. */
const signer = (note: string) =>
  Buffer.from(/— urn (\S+)/.exec(note)?.[1] ?? '', 'base64').toString('hex', 0, 4);
const keyId = (verifierKey: string | undefined) => verifierKey?.split('+')[1];
async function randomize(id: string): Promise<string> {
  const answer = await clientOf(service.url, key).randomize('Sleep', id, COOK);
  expect(answer.status).toBe(200);
  const note = Buffer.from(answer.headers.get('urn-receipt') ?? '', 'base64').toString();
  receipts.push(note);
  return note;
}

beforeEach(async () => {
  data = newFolder();
  receipts = [];
  key = await issueKey(data, 'user');
  service = await serveHere(data, TRIALS);
});
afterEach(() => service.stop());

it('a new key signs from now on, also in a running service, and both keys verify', async () => {
  const [first] = await shown();
  expect(signer(await randomize('a'))).toBe(keyId(first));
  const second = await rotate();
  expect(await shown()).toEqual([first, second]);
  let n = 0;
  await expect.poll(async () => signer(await randomize(`b${n++}`)), POLL).toBe(keyId(second));
  expect(statSync(file('signing-key')).mode & 0o777).toBe(0o600);
  expect(existsSync(file('signing-key.next'))).toBe(false);
  await service.stop();
  service = await serveHere(data);
  await randomize('c');
  await service.stop();

  writeFileSync(file('receipts'), receipts.join('\n'));
  const verify = async (...args: string[]) => {
    const { code, stdout } = await command(['verify', '--json', '--checkpoint', file('receipts'), ...args]);
    const report: Report = JSON.parse(stdout);
    return { code, report };
  };
  const out = file('bundle.zip');
  await ok`bundle --study Sleep --out ${out}`;
  // The first key has endorsed the second one, so trust in it goes further.
  const report = { selfConsistentOnly: false, untrustedKey: false, log: { laterKeys: [second] } };
  for (const [option, of] of Object.entries({ '--data': data, '--bundle': out }))
    expect(await verify(option, of, '--trust', first ?? '')).toMatchObject({ code: 0, report });
  const later = await verify('--data', data, '--trust', second);
  expect(later.code).toBe(1);
  expect(later.report.unusedCheckpoints.map(({ because }) => because)).toContain('not-trusted');
  expect(later.report.streams.every(({ sound }) => sound)).toBe(true);

  const none = await verifyOurselves(out, ['--trust', second]);
  expect([none.code, none.report?.unusedCheckpoints]).toEqual([0, []]);
  if (!hasPython) return;
  const both = ['--trust', first ?? '', '--trust', second];
  const { code, stdout } = await verifyInPython(out, [...both, '--checkpoint', file('receipts')]);
  expect([code, stdout]).toEqual([0, expect.stringContaining('RESULT  nothing wrong was found')]);
  // Its checkpoints are under the second key.
  const endorsed = await verifyInPython(out, ['--trust', first ?? '']);
  const shows = expect.stringContaining('signed, but nothing kept elsewhere shows');
  expect([endorsed.code, endorsed.stdout]).toEqual([0, shows]);
});

it('a rotation interrupted between log and file is completed by the next start, which learns of two at once', async () => {
  await service.stop();
  const before = readFileSync(file('signing-key'));
  await rotate();
  const third = await rotate();
  // As if the process ended before the new key took its place.
  writeFileSync(file('signing-key.next'), readFileSync(file('signing-key')), { mode: 0o600 });
  writeFileSync(file('signing-key'), before);
  service = await serveHere(data);
  expect(signer(await randomize('a'))).toBe(keyId(third));
  expect(existsSync(file('signing-key.next'))).toBe(false);
  await service.stop();
  await ok`verify --checkpoint ${file('last-checkpoints')}`;
});

it('an instance with its own key file accepts participants again once it has the new key', async () => {
  const own = join(newFolder(), 'signing-key');
  copyFileSync(file('signing-key'), own);
  const other = await serveHere(data, undefined, { signingKey: own });
  const post = async (id: string) => (await clientOf(other.url, key).randomize('Sleep', id, COOK)).status;
  expect(await post('a')).toBe(200);
  await rotate();
  let n = 0;
  await expect.poll(() => post(`b${n++}`), POLL).toBe(503);
  await expect.poll(() => other.output.stderr, POLL).toContain('copy the new file here');
  // What a client is told says nothing of files.
  expect((await clientOf(other.url, key).randomize('Sleep', 'd', COOK)).message).toMatch(
    /^Not done: the service cannot sign records, and nothing is recorded until it can \(hint: ask the operator; /,
  );
  copyFileSync(file('signing-key'), own);
  await expect.poll(() => post('c'), { ...POLL, timeout: 30_000 }).toBe(200);
  await other.stop();
  await service.stop();
  await ok`verify --checkpoint ${file('last-checkpoints')}`;
});
