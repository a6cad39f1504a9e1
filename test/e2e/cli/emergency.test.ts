/** Breaking a code on the machine itself: from any folder, by the printed page, and without the signing key. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { issueKeys, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const CASE = ['--study', 'Sleep', '--id', 'c1', '--category', 'emergency', '--reason', 'anaphylaxis'];
let keys: Record<'edc' | 'night', string>;
let arm: string;

beforeAll(async () => {
  keys = await issueKeys(data, {
    edc: ['edc', '--scope', 'randomize,read'],
    night: ['night', '--scope', 'blinded,unblind'],
  });
  const service = await serveHere(data, TRIALS);
  const { results } = await clientOf(service.url, keys.edc).randomize('Sleep', 'c1', COOK);
  arm = results[0].trt;
  await service.stop();
});

describe('the printed page', () => {
  const page = (...args: string[]) => commandOk(['code-breaks', 'page', '--data', data, ...args]);

  it('has a command that shows the arm, from any folder', async () => {
    const [, printed = ''] = /```sh\n(sudo [^`]*)```/.exec(await page()) ?? [];
    expect(printed).toContain(` --data ${data} `);
    const typed = printed
      .replace(/^sudo (-u \S+ )?/, '')
      .replace('STUDY', 'Sleep')
      .replace('PATIENT NUMBER', 'c1');
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', typed], { cwd: '/' });
    expect(stdout).toMatch(new RegExp(`^c1 is on ${arm} `));
    expect(stderr).toContain(`log: ${data}\n`);
  });

  it('is the document, with that one command in place of another', async () => {
    const document = readFileSync(new URL('../../../docs/emergency.md', import.meta.url), 'utf8');
    const [before = '', after = ''] = document.split(/^urn reveal /m);
    const text = await page();
    expect(text.startsWith(before)).toBe(true);
    expect(text.trimEnd().endsWith(after.trimEnd())).toBe(true);
  });

  it('has the options of the service, and no password', async () => {
    const args = ['--store', 'esdb://admin:p@ss/w0rd@db:2113?tls=true', '--signing-key', '/key/it is here'];
    const text = await page(...args, '--stream-prefix', 'trial');
    expect(text).toContain("--store 'esdb://NAME:PASSWORD@db:2113?tls=true'");
    expect(text).toContain("--signing-key '/key/it is here'");
    expect(text).toContain('--stream-prefix trial');
    expect(text).not.toMatch(/p@ss|w0rd|admin/);
  });

  it('is not printed where there is no log, and the message says how to name one', async () => {
    const elsewhere = newFolder();
    for (const args of [
      ['code-breaks', 'page'],
      ['code-breaks', '--study', 'Sleep'],
      ['reveal', ...CASE],
    ]) {
      const { code, stdout, stderr } = await command([...args, '--data', elsewhere]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(
        `there is no log in ${elsewhere} (hint: name its folder with --data or URN_DATA`,
      );
    }
  });
});

it('a data folder that this user may not look into is called that, not a folder without a log', async () => {
  const closed = newFolder();
  chmodSync(closed, 0);
  const { code, stderr } = await urn(['reveal', ...CASE, '--data', closed], { heedsModes: true });
  chmodSync(closed, 0o700);
  expect(code).toBe(2);
  expect(stderr).toContain(`this user may not look into ${closed}, where the log should be (hint: `);
});

describe('without the signing key', () => {
  const key = join(data, 'signing-key');
  const away = join(data, 'put-away');
  const file = join(data, 'reveals.pending');
  const recorded = async () =>
    JSON.parse(await commandOk(['code-breaks', '--study', 'Sleep', '--json', '--data', data])) as unknown[];

  it('an emergency shows the arm and says that it is not recorded yet; nothing else is shown', async () => {
    const before = await recorded();
    renameSync(key, away);
    const shown = await command(['reveal', ...CASE, '--data', data]);
    expect(shown).toMatchObject({ code: 0, stdout: `c1 is on ${arm}\n` });
    expect(shown.stderr).toContain('the signing key is not here, so this is NOT recorded yet');
    expect(shown.stderr).toContain(`waits in ${file}`);
    const planned = CASE.map((word) => (word === 'emergency' ? 'planned' : word));
    const refused = await command(['reveal', ...planned, '--data', data]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('signing key');
    renameSync(away, key);
    expect(readFileSync(file, 'utf8')).not.toContain(arm);

    // The service records it, and says what that is worth.
    const service = await serveHere(data, TRIALS);
    const list = async () =>
      (await ask(service.url, '/code_breaks', { key: keys.night, parameters: { study: 'Sleep' } })).results;
    await expect.poll(async () => (await list()).length, { timeout: 20_000 }).toBe(before.length + 1);
    await expect.poll(() => service.output.stderr).toMatch(/is in the log now .*is not signed/);
    await service.stop();
    expect(existsSync(file)).toBe(false);
    expect(await recorded()).toHaveLength(before.length + 1);
  });
});
