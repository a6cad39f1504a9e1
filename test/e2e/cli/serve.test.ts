import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from '../../../src/store/sqlite/library.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { certificate } from '../../support/hostile.ts';
import { issueKey, PROGRAM, type Service, serve, urn, urnOk } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const PROJECT = dirname(dirname(PROGRAM));
const WEAK = 'A:\n  starting_seed: 1\n  treatments: [a, b]\n  factors: {x: [y]}\n';
const INSECURE = 'listening beyond this machine without TLS';

async function withService(options: Parameters<typeof serve>[0], use: (service: Service) => Promise<void>) {
  const service = await serve(options);
  try {
    await use(service);
  } finally {
    await service.stop();
  }
}

const serving = (args: readonly string[]) => ['serve', '--port', '0', '--data', newFolder(), ...args];
/** By the real program, once it tries to listen. */
const refused = (...args: string[]) => urn(serving(args));
/** Before the service starts, in this process. */
const refusedHere = (...args: string[]) => command(serving(args));
const register = async (data: string, studies: string) => (await serveHere(data, studies)).stop();

describe('the first key', () => {
  /** Runs the line for curl that is printed, as it is printed. */
  const curl = (printed: string) => {
    const [, line = ''] = /^ {2}(curl .*)$/m.exec(printed) ?? [];
    const { stdout, stderr } = spawnSync('sh', ['-c', `${line} -sS`], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  };

  it('is printed once, at the end, with a curl line that works as printed, and never again', async () => {
    const data = newFolder();
    // As npm start does: in the project's folder, on its example.
    const example = { data, cwd: PROJECT, args: ['--first-key'] };
    let key = '';
    await withService(example, async ({ url, output }) => {
      await within(10_000, async () => output.stdout.includes('curl'));
      const keys = output.stdout.match(/urn_[A-Za-z0-9_-]{43}/g) ?? [];
      key = keys[0] ?? '';
      expect(keys).toEqual([key, key]);
      const inOrder = [
        /Verifier key of this log/,
        /urn keys add USER --scope read,audit/,
        new RegExp(`The service is ready at ${url};`),
        /It is shown only now and cannot be shown again/,
        /^ {2}urn_/m,
        /^ {2}curl .*\n\n$/m,
      ].map((one) => output.stdout.search(one));
      expect(inOrder).toEqual(inOrder.filter((place) => place >= 0).toSorted((a, b) => a - b));
      expect(output.stderr).not.toContain(key);
      expect(curl(output.stdout)).toMatchObject({ status: 200, results: [{ id: '001', user: 'admin' }] });
      expect((await clientOf(url, key).list('CHS JCOIN')).results).toHaveLength(1);
    });
    await withService(example, async ({ url, output }) => {
      await within(10_000, async () => output.stderr.includes('urn keys add USER'));
      expect(output.stdout).toBe('');
      expect(output.stderr).not.toContain(key);
      expect((await clientOf(url, key).list('CHS JCOIN')).status).toBe(200);
    });
    expect(storedLog(data).filter(({ record }) => record.type === 'ApiKeyIssued')).toHaveLength(1);
  });

  it('has a curl line that works whatever the name of the study', async () => {
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
    // Its own process: while curl runs, this one does nothing.
    await withService({ data: newFolder(), studies, args: ['--first-key'] }, async ({ output }) => {
      await within(10_000, async () => output.stdout.includes('curl'));
      expect(curl(output.stdout)).toMatchObject({
        status: 200,
        results: [{ 'f_age group = @': "<18 & 'young'", 'f_größe [cm]': '$HOME `id` \\ {a,b}' }],
      });
    });
  });
});

describe('the studies file', () => {
  const folder = newFolder();
  const file = (name: string, text: string | Buffer) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it.each([
    ['is missing', 'nowhere.yaml', 'there is no studies file nowhere.yaml (hint: name one with --studies)\n'],
    ['is not UTF-8', file('latin1.yaml', Buffer.from('Gr\u00f6\u00dfe:\n', 'latin1')), 'UTF-8'],
    ['is a folder', folder, folder],
  ])('is refused if it %s', async (_, path, why) => {
    const { code, stdout, stderr } = await refusedHere('--studies', path);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(why);
  });

  it('is refused if it is invalid, with every reason, its line, and no treatment', async () => {
    const path = file('wrong.yaml', 'A:\n  treatments: [ZZTREATA]\n  factors: {}\nB: 1\n');
    const { code, stderr } = await refusedHere('--studies', path);
    expect(code).toBe(2);
    expect(stderr).toContain(`${path}:2: study "A": it has fewer than two treatments (hint:`);
    expect(stderr).toContain(`${path}:3: study "A": it has no factor (hint:`);
    expect(stderr).toContain(`${path}:4: `);
    expect(stderr).not.toContain('ZZTREATA');
  });

  it('causes its warnings at every start, and no key is issued where nobody would see it', async () => {
    const data = newFolder();
    await register(data, WEAK);
    await withService({ data, studies: WEAK }, async ({ output }) => {
      expect(output.stderr).toMatch(
        /^warning: .*studies-\d+\.yaml:2: study "A": starting_seed is below 2\^96/m,
      );
      expect(output.stderr).not.toContain(INSECURE);
      expect(output.stdout).toBe('');
    });
    expect(storedLog(data).some(({ record }) => record.type === 'ApiKeyIssued')).toBe(false);
  });
});

it('a service without a studies file is ready when it says so, and sees studies and keys from other processes', async () => {
  const data = newFolder();
  await register(data, TRIALS);
  await withService({ data, cwd: newFolder() }, async ({ url }) => {
    expect((await ask(url, '/readyz')).status).toBe(200);
    const key = (await urnOk(['keys', 'add', 'late', '--data', data])).trim();
    await within(1_000, async () => (await clientOf(url, key).config('Sleep')).status === 200);
    await register(data, 'Later:\n  treatments: [a, b]\n  factors: {x: [y]}\n');
    await within(1_000, async () => (await clientOf(url, key).config('Later')).status === 200);
  });
});

describe('options', () => {
  it('each have an environment variable, and options take precedence', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'trials.yaml'), TRIALS);
    const env = {
      ...{ URN_STUDIES: 'trials.yaml', URN_PORT: '1', URN_HOST: 'localhost' },
      URN_DATETIME_FORMAT: 'sql',
    };
    const data = join(folder, 'data');
    const key = await issueKey(data, 'edc');
    await withService({ data, env, cwd: folder, args: ['--host', '127.0.0.1'] }, async ({ url }) => {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const { results } = await clientOf(url, key).randomize('Sleep', '1', COOK);
      expect(results[0].datetime).toMatch(/^\d{4}-/);
    });
  });

  it('a port that is in use is refused with a plain message', async () => {
    const taken = await new Promise<Server>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
    });
    const { port } = taken.address() as { port: number };
    const { code, stdout, stderr } = await refused('--port', String(port));
    taken.close();
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 2, stdout: '' },
      stderr: 'urn: the port is in use (hint: another service runs there; choose another with --port)\n',
    });
  });

  it('an address that does not belong to this machine is refused', async () => {
    expect(await refused('--host', '192.0.2.1')).toMatchObject({ code: 2, stdout: '' });
  });

  it.each([
    ['--trust-proxy', '10.0.0.0/99', 'is neither a number of proxies nor their addresses (hint: '],
    ['--trust-proxy', '10.0.0.0/0', 'is neither a number of proxies nor their addresses (hint: '],
    ['--connections-per-address', '0', 'must be a number from 1 to 999999'],
    ['--connections-per-address', 'many', 'must be a number from 1 to 999999'],
  ])('%s %s is refused with a sentence', async (option, value, why) => {
    const { code, stdout, stderr } = await refusedHere(option, value);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^urn: .*\n$/);
    expect(stderr).toContain(why);
  });

  it('--store memory: stores nothing on disk', async () => {
    const data = newFolder();
    await withService(
      { data, cwd: PROJECT, args: ['--store', 'memory:', '--first-key'] },
      async ({ url, output }) => {
        await within(10_000, async () => output.stdout.includes('curl'));
        const key = /urn_[\w-]{43}/.exec(output.stdout)?.[0] ?? '';
        expect((await clientOf(url, key).config('CHS JCOIN')).status).toBe(200);
      },
    );
    expect(readdirSync(data)).toEqual([]);
  });

  it.each(['redis://127.0.0.1:6379', 'postgres:', 'urn.sqlite'])('--store %s is refused', async (store) => {
    const { code, stdout, stderr } = await refusedHere('--store', store);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`"${store}" (hint: --store sqlite:<file>`);
  });

  it('--log-name names a new log, and must match the name of an existing one', async () => {
    const data = newFolder();
    await issueKey(data, 'edc', '--log-name', 'trials.example.org');
    expect(storedLog(data)[0]?.record.data.logName).toBe('trials.example.org');
    expect(readFileSync(join(data, 'signing-key'), 'utf8')).toMatch(/^PRIVATE\+KEY\+trials\.example\.org\+/);
    const other = await command(['keys', 'list', '--data', data, '--log-name', 'other']);
    expect(other).toMatchObject({ code: 2, stdout: '' });
    expect(other.stderr).toContain(
      'this log is named "trials.example.org", not "other" (hint: leave out --log-name)',
    );
    expect((await command(['keys', 'list', '--data', data])).code).toBe(0);
  });

  it.each(['two words', 'a+b', ' '])('--log-name %j is refused', async (name) => {
    expect(await refusedHere('--log-name', name)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('cannot name a log'),
    });
  });
});

describe('the data folder', () => {
  it('is refused if its signing key is missing, damaged or different, and no new key is made', async () => {
    const [data, other] = [newFolder(), newFolder()];
    await issueKey(data, 'edc');
    await issueKey(other, 'edc');
    const file = join(data, 'signing-key');
    const restart = () => refusedHere('--data', data);
    chmodSync(file, 0o600);
    writeFileSync(file, readFileSync(join(other, 'signing-key')));
    expect(await restart()).toMatchObject({ code: 2, stderr: expect.stringContaining("not this log's") });
    writeFileSync(file, 'PRIVATE+KEY+urn+00000000+AAAA\n');
    expect(await restart()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('holds no signing key'),
    });
    rmSync(file);
    expect(await restart()).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/signing key .* is missing/),
    });
    expect(readdirSync(data)).not.toContain('signing-key');
  });
});

describe('SIGTERM', () => {
  const connected = (url: string): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname, () => resolve(socket)).once('error', reject);
    });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    '(here %s) lets accepted requests finish, and the service exits with 0',
    async (signal) => {
      const data = newFolder();
      const key = await issueKey(data, 'edc');
      const service = await serve({ data, studies: TRIALS });
      // Another process holds the log for a moment, so that the request is under way when the signal comes.
      const other = new Database(join(data, 'urn.sqlite'));
      other.exec('BEGIN IMMEDIATE');
      const answer = clientOf(service.url, key).randomize('Sleep', 'last', COOK);
      await new Promise((resolve) => setTimeout(resolve, 300));
      service.child.kill(signal);
      await within(10_000, async () => service.output.stderr.includes('shutting down'));
      // Until the service no longer listens. Connecting to find out would be one more connection, which prolongs that.
      await new Promise((resolve) => setTimeout(resolve, 700));
      other.exec('COMMIT');
      other.close();
      expect(await answer).toMatchObject({ status: 200, results: [{ id: 'last' }] });
      await service.stop();
      expect(lastOfStudies(data)?.participantId).toBe('last');
    },
  );

  it('does not wait for clients that have sent no request, or disconnected with requests still queued', async () => {
    const data = newFolder();
    const key = await issueKey(data, 'edc');
    const service = await serve({ data, studies: TRIALS });
    const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
    const silent = await connected(service.url);
    const slow = await connected(service.url);
    slow.write(health);
    const idle = await connected(service.url);
    idle.write(`${health}\r\n`);
    await new Promise((resolve) => idle.once('data', resolve));
    const other = new Database(join(data, 'urn.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const gone = await connected(service.url);
    const query = new URLSearchParams({ study: 'Sleep', id: 'gone', ...COOK, api_key: key });
    gone.write(`POST /study_participants?${query} HTTP/1.1\r\nHost: x\r\n\r\n${`${health}\r\n`.repeat(2)}`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    gone.resetAndDestroy();
    other.exec('COMMIT');
    other.close();
    for (const socket of [silent, slow, idle]) socket.on('error', () => undefined);
    const started = performance.now();
    await service.stop();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(lastOfStudies(data)?.participantId).toBe('gone');
  });

  it('is also handled at the moment that the service says it is ready', async () => {
    const service = await serve({ data: newFolder(), studies: TRIALS, args: ['--first-key'] });
    await service.stop();
  });
});

describe('a service reachable from other machines', () => {
  const folder = newFolder();
  const { cert, key: certKey } = certificate(folder);

  it.each([
    ['warns, once, that anyone can eavesdrop', [], 1],
    ['does not warn behind a proxy', ['--trust-proxy', '10.0.0.0/8, loopback'], 0],
  ])('%s', async (_, args, warnings) => {
    const options = { data: newFolder(), studies: TRIALS, args: ['--host', '0.0.0.0', ...args] };
    await withService(options, async ({ output }) => {
      expect(output.stderr.split(INSECURE)).toHaveLength(warnings + 1);
    });
  });

  it('with --tls-cert and --tls-key serves HTTPS directly, without the warning', async () => {
    const args = ['--host', '0.0.0.0', '--tls-cert', cert, '--tls-key', certKey];
    await withService({ data: newFolder(), studies: TRIALS, args }, async ({ url, output }) => {
      expect(url).toMatch(/^https:/);
      expect(output.stderr).not.toContain(INSECURE);
      const status = await new Promise((resolve, reject) => {
        const target = `${url.replace('0.0.0.0', '127.0.0.1')}/readyz`;
        const options = { ca: readFileSync(cert), agent: false };
        get(target, options, ({ statusCode }) => resolve(statusCode)).on('error', reject);
      });
      expect(status).toBe(200);
    });
  });

  it('refuses a certificate that cannot be read', async () => {
    const nonsense = join(folder, 'nonsense.pem');
    writeFileSync(nonsense, 'nonsense');
    for (const [file, why] of [
      ['nowhere.pem', 'nowhere.pem'],
      [nonsense, 'urn: '],
    ] as const) {
      const { code, stdout, stderr } = await refused('--tls-cert', file, '--tls-key', file);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(why);
      expect(stderr).not.toContain('unexpected');
    }
  });
});

/** The last event of any study; the end of the service is recorded after it. */
function lastOfStudies(data: string) {
  return storedLog(data).findLast(({ stream }) => stream.startsWith('study-'))?.record.data;
}
