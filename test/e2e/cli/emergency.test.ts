/** Breaking a code on the machine itself: from any folder, by the printed page, and without the signing key. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { command, commandOk } from '../../support/command.ts';
import { issueKey, urn } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const CASE = ['--study', 'Sleep', '--id', 'c1', '--category', 'emergency', '--reason', 'anaphylaxis'];
let arm: string;

beforeAll(async () => {
  const key = await issueKey(data, 'edc');
  const service = await serveHere(data, TRIALS);
  const { results } = await clientOf(service.url, key).randomize('Sleep', 'c1', COOK);
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
    // The rest of it is the document.
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
});

it('a data folder that this user may not look into is called that, not a folder without a log', async () => {
  const closed = newFolder();
  chmodSync(closed, 0);
  const { code, stderr } = await urn(['reveal', ...CASE, '--data', closed], { heedsModes: true });
  chmodSync(closed, 0o700);
  expect(code).toBe(2);
  expect(stderr).toContain(`this user may not look into ${closed}, where the log should be (hint: `);
});

it('without the signing key, an emergency shows the arm and says that it is not recorded yet; nothing else does', async () => {
  const [key, away, file] = ['signing-key', 'put-away', 'reveals.pending'].map((name) =>
    join(data, name),
  ) as [string, string, string];
  const recorded = async () =>
    JSON.parse(await commandOk(['code-breaks', '--study', 'Sleep', '--json', '--data', data])) as unknown[];
  const before = await recorded();
  renameSync(key, away);
  const shown = await command(['reveal', ...CASE, '--data', data]);
  expect(shown).toMatchObject({ code: 0, stdout: `c1 is on ${arm}\n` });
  expect(shown.stderr).toContain('the signing key is not here, so this is NOT recorded yet');
  expect(shown.stderr).toContain(`waits in ${file}`);
  const planned = CASE.map((word) => (word === 'emergency' ? 'planned' : word));
  const refused = await command(['reveal', ...planned, '--data', data]);
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('signing key') });
  renameSync(away, key);
  expect(readFileSync(file, 'utf8')).not.toContain(arm);

  // The service records it, and says what that is worth.
  const service = await serveHere(data, TRIALS);
  await expect.poll(() => service.output.stderr).toMatch(/is in the log now .*is not signed/);
  await service.stop();
  expect(existsSync(file)).toBe(false);
  expect(await recorded()).toHaveLength(before.length + 1);
});
