/** What only `urn serve` as a program does: its first key, what it refuses before it listens, its warnings and its end. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { clientOf, within } from '../../support/client.ts';
import { command, refusal } from '../../support/command.ts';
import { open } from '../../support/hostile.ts';
import { issueKey, launch, type Service, serve } from '../../support/service.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const file = temporaryFiles('studies.yaml');
/** Without TLS, this is worth a warning, unless a proxy has it. */
const TO_OTHERS = ['--host', '0.0.0.0'];
const INSECURE = 'listening beyond this machine without TLS';

async function withService(options: Parameters<typeof serve>[0], use: (service: Service) => Promise<void>) {
  const service = await serve(options);
  await use(service).finally(service.stop);
}

/** Runs the line for curl that is printed, as it is printed. */
const curl = (printed: string) => {
  const [, line = ''] = /^ {2}(curl .*)$/m.exec(printed) ?? [];
  const { stdout, stderr } = spawnSync('sh', ['-c', `${line} -sS`], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
};

// That the project's example has one, too, is in test/e2e/readme.test.ts.
it('the first key is printed once, at the end, with a curl line that works as printed, and never again', async () => {
  const data = newFolder();
  const studies = `
"Patterned first":
  id_pattern: "[0-9]+"
  treatments: [a, b]
  factors: {x: [y]}
"It's 100 % – & more":
  treatments: [a, b]
  factors:
    "age group = @": ["<18 & 'young'", b]
    "größe [cm]": ["$HOME \`id\` \\\\ {a,b}"]
`;
  let key = '';
  // Its own process: while curl runs, this one does nothing.
  await withService({ data, studies, args: ['--first-key', ...TO_OTHERS] }, async ({ url, output }) => {
    await within(10_000, async () => output.stdout.includes('curl'));
    const keys = output.stdout.match(/urn_[A-Za-z0-9_-]{43}/g) ?? [];
    key = keys[0] ?? '';
    expect(keys).toEqual([key, key]);
    const inOrder = [
      /Verifier key of this log/,
      new RegExp(`The service is ready at ${url};`),
      /It is shown only now and cannot be shown again/,
      /^ {2}urn_/m,
      /^ {2}curl .*\n\n$/m,
    ].map((one) => output.stdout.search(one));
    expect(inOrder).toEqual(inOrder.filter((place) => place >= 0).toSorted((a, b) => a - b));
    expect(output.stderr).not.toContain(key);
    expect(curl(output.stdout)).toMatchObject({
      status: 200,
      results: [
        {
          ...{ id: '001', user: 'admin' },
          ...{ 'f_age group = @': "<18 & 'young'", 'f_größe [cm]': '$HOME `id` \\ {a,b}' },
        },
      ],
    });
    expect(output.stderr.split(INSECURE)).toHaveLength(2);
    expect(output.stderr, 'urns keep no secret parameter').not.toContain('keep secret');
  });
  const behindProxy = [...TO_OTHERS, '--trust-proxy', '10.0.0.0/8, loopback'];
  await withService({ data, args: ['--first-key', ...behindProxy] }, async ({ url, output }) => {
    await within(10_000, async () => output.stderr.includes('urn keys add USER'));
    expect(output.stdout).toBe('');
    expect(output.stderr).not.toContain(key);
    expect((await clientOf(url, key).list("It's 100 % – & more")).results).toHaveLength(1);
    expect(output.stderr).not.toContain(INSECURE);
  });
  expect(storedLog(data).filter(({ record }) => record.type === 'ApiKeyIssued')).toHaveLength(1);
});

const folder = newFolder();
const wrong = file('A:\n  treatments: [ZZTREATA]\n  factors: {}\nB: 1\n');
const latin1 = join(folder, 'latin1.yaml');
writeFileSync(latin1, 'Gr\u00f6\u00dfe:\n', 'latin1');
const NUMBER = 'must be a number from 1 to 999999';

it.each<readonly [option: string, value: string, why: string]>([
  ['--studies', 'nowhere.yaml', 'there is no studies file nowhere.yaml (hint: name one with --studies)\n'],
  ['--studies', latin1, 'UTF-8'],
  ['--studies', folder, folder],
  ['--studies', wrong, `${wrong}:2: study "A": it has fewer than two treatments (hint:`],
  ['--trust-proxy', '10.0.0.0/99', 'is neither a number of proxies nor their addresses (hint: '],
  ...['0', 'many'].map((value) => ['--connections-per-address', value, NUMBER] as const),
  ...['redis://127.0.0.1:6379', 'urn.sqlite'].map(
    (store) => ['--store', store, `"${store}" (hint: --store sqlite:<file>`] as const,
  ),
  ...['two words', ' '].map((name) => ['--log-name', name, 'cannot name a log'] as const),
  ...['http://urn.example.org', 'urn.example.org', 'https://urn.example.org/urn', 'https://a@b'].map(
    (url) => ['--public-url', url, '--public-url'] as const,
  ),
  ['--tls-cert', 'nowhere.pem', 'nowhere.pem'],
  ['--tls-cert', wrong, 'urn: '],
])('before it begins, it refuses %s %j', async (option, value, why) => {
  const args = ['serve', '--port', '0', '--data', newFolder(), option, value];
  const said = await refusal(command(option === '--tls-cert' ? [...args, '--tls-key', value] : args));
  expect(said).toContain(why);
  expect(said).not.toContain('ZZTREATA');
});

it('SIGTERM lets accepted requests finish, but waits for no client that has sent none, or disconnected', async () => {
  const data = newFolder();
  const key = await issueKey(data, 'edc');
  const service = await serve({ data, studies: TRIALS });
  const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
  // It sends nothing.
  await open(service.url);
  const slow = await open(service.url);
  slow.write(health);
  const idle = await open(service.url);
  idle.write(`${health}\r\n`);
  await new Promise((resolve) => idle.once('data', resolve));
  // Another process holds the log for a moment, so that requests are under way when the signal comes.
  const other = new Database(join(data, 'urn.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  const gone = await open(service.url);
  const query = new URLSearchParams({ study: 'Sleep', id: 'gone', ...COOK, api_key: key });
  gone.write(`POST /study_participants?${query} HTTP/1.1\r\nHost: x\r\n\r\n${`${health}\r\n`.repeat(2)}`);
  const answer = clientOf(service.url, key).randomize('Sleep', 'last', COOK);
  await delay(300);
  gone.resetAndDestroy();
  const started = performance.now();
  service.child.kill('SIGINT');
  await within(10_000, async () => service.output.stderr.includes('shutting down'));
  // Until the service no longer listens. Connecting to find out would be one more connection, which prolongs that.
  await delay(700);
  other.exec('COMMIT');
  other.close();
  expect(await answer).toMatchObject({ status: 200, results: [{ id: 'last' }] });
  expect(await service.exited).toBe(0);
  expect(performance.now() - started).toBeLessThan(5_000);
  const ids = storedLog(data).map(({ record }) => record.data.participantId);
  expect(ids).toEqual(expect.arrayContaining(['gone', 'last']));
});

it('waits for a wrong studies file to be mended where it is told to, as in a container, and SIGTERM ends that', async () => {
  const studies = file('A: 1\n');
  const begin = () => launch({ data: newFolder(), args: ['--studies', studies, '--await-studies'] });
  const [mended, stopped] = [begin(), begin()];
  for (const { output } of [mended, stopped])
    await within(30_000, async () => output.stderr.includes('read again in 10 s'));
  expect(mended.output.stderr).toContain(`${studies}:1: `);
  stopped.child.kill('SIGTERM');
  expect(await stopped.exited).toBe(0);
  writeFileSync(studies, TRIALS);
  await within(30_000, async () => mended.output.stderr.includes('"msg":"ready"'));
  mended.child.kill('SIGTERM');
  expect(await mended.exited).toBe(0);
});

// The first process of a container would ignore the signal otherwise, and be killed half a minute later.
it('SIGTERM while it starts ends it, whenever it comes: it is handled before anything is opened', async () => {
  const stopAfter = async (ms: number) => {
    const data = join(newFolder(), 'data');
    const { child, output, exited } = launch({ data });
    await within(30_000, async () => existsSync(data));
    await delay(ms);
    child.kill('SIGTERM');
    expect(await exited, `${ms} ms: ${output.stderr}`).toBe(0);
  };
  await Promise.all([0, 30, 60, 120, 240, 480].map(stopAfter));
});

it('a service reachable from other machines does not warn with a certificate, but of a weak seed and of what others may read; issues no key where nobody would see it', async () => {
  const data = newFolder();
  const secret = 'method: {name: minimization, p: 0.7}';
  const studies = file(`A:\n  starting_seed: 1\n  treatments: [a, b]\n  factors: {x: [y]}\n  ${secret}\n`);
  chmodSync(studies, 0o644);
  chmodSync(data, 0o777);
  const { certFile, keyFile } = makeCertificate(newFolder(), 'IP:127.0.0.1');
  const args = [...TO_OTHERS, '--studies', studies, '--tls-cert', certFile, '--tls-key', keyFile];
  await withService({ data, args }, async ({ url, output }) => {
    expect(url).toMatch(/^https:/);
    expect(output.stderr).not.toContain(INSECURE);
    expect(output.stderr).toContain(`warning: ${studies}:2: study "A": starting_seed is below 2^96`);
    const warnings = output.stderr.split('\n').filter((line) => line.includes('hint: chmod'));
    expect(warnings.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, msg: expect.stringContaining('mode 0777') },
      { level: 40, msg: expect.stringContaining(`keep secret (mode 0644; hint: chmod o= ${studies})`) },
    ]);
    expect(output.stdout).toBe('');
    await within(10_000, async () => output.stderr.includes('no key yet: urn keys add NAME'));
  });
  expect(storedLog(data).some(({ record }) => record.type === 'ApiKeyIssued')).toBe(false);
  // As a folder from somebody whose umask is 077, mounted in a container.
  chmodSync(studies, 0);
  const { output: refused, exited } = launch({ data, args, heedsModes: true });
  expect(await exited, refused.stderr).toBe(2);
  expect(refused.stderr).toContain(`cannot read ${studies}: user ${process.getuid?.()} may not (hint: chown`);
});
