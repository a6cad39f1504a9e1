/**
 * README.md, from top to bottom, as a reader follows it: in a fresh clone, in an empty home. Its blocks of commands are run as
 * they stand; only the key and the address are put in, as README says. `npm ci` is what has installed the clone that the
 * tests run in; README_FROM_NOTHING=1 runs it here, too, with the registry that this user's npm has, which takes minutes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { within } from '../support/client.ts';
import { freePorts } from '../support/free-ports.ts';
import { copyProject, PROJECT } from '../support/project-copy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const README = readFileSync(join(PROJECT, 'README.md'), 'utf8');
const FROM_NOTHING = process.env['README_FROM_NOTHING'] === '1';
const newFolder = temporaryFolders();

/** The commands of each block, in order. */
const blocks = [...README.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const [first = '', second = '', ...others] = blocks;

describe('README.md', () => {
  const clone = newFolder();
  const home = newFolder();
  let git: (...args: string[]) => string;
  let env: Record<string, string>;
  let stop: () => Promise<unknown>;
  const printed = { all: '' };

  /** A terminal: what it is given, and what it shows. */
  function terminal(commands: string) {
    // One pipe for both, which keeps the order.
    const child = spawn('bash', ['-euo', 'pipefail', '-c', `exec 2>&1\n${commands}`], {
      cwd: clone,
      env,
      detached: true,
      // Not a pipe: bash would take it for a connection, and read the settings of an interactive one.
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const output = { all: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.all += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { pid: child.pid ?? 0, output, ended };
  }

  beforeAll(async () => {
    copyProject(clone, { isInstalled: !FROM_NOTHING });
    git = (...args) =>
      execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x', ...args], {
        cwd: clone,
        encoding: 'utf8',
      });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'x');
    // Another service may have the usual port.
    env = { HOME: home, PATH: process.env['PATH'] ?? '', URN_PORT: String((await freePorts(1))[0]) };
    if (FROM_NOTHING)
      Object.assign(env, {
        NPM_CONFIG_USERCONFIG: join(homedir(), '.npmrc'),
        NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] ?? '',
      });
    expect(first).toBe('npm ci && npm start\n');
    const service = terminal(FROM_NOTHING ? first : 'npm start');
    let isRunning = true;
    const ended = service.ended.then(() => {
      isRunning = false;
    });
    stop = async () => {
      // Control-C reaches every process of a terminal.
      if (isRunning) process.kill(-service.pid, 'SIGINT');
      await ended;
    };
    await within(600_000, async () => !isRunning || / {2}curl .*\n/.test(service.output.all));
    expect(isRunning, service.output.all).toBe(true);
    printed.all = service.output.all;
  }, 700_000);
  afterAll(() => stop());

  it('runs: every command succeeds, and the files it makes are no concern of git and lint', async () => {
    expect(second).toBe('npm ci && npm test\n'); // of which this is a part
    expect(README.split('\n').length - 1).toBeLessThanOrEqual(130);
    // The service says last what is needed: address, key, and a curl command.
    if (!FROM_NOTHING) expect(printed.all.split('\n').length).toBeLessThan(60);
    expect(printed.all).not.toContain('npx');
    const randomizeFirst = printed.all.trimEnd().split('\n').at(-1);
    expect(randomizeFirst).toMatch(/^ {2}curl /);
    expect(others.length).toBeGreaterThanOrEqual(3);
    const key = /^ {2}(urn_\S{43})$/m.exec(printed.all)?.[1] ?? '';
    const address = /The service is ready at (\S+);/.exec(printed.all)?.[1] ?? '';
    const given = others.join('echo; echo "== next block"\n').replace('urn_…', key);
    expect(given).toContain('URL=http://127.0.0.1:8080\n');
    const commands = [
      given.replace('http://127.0.0.1:8080', address),
      'echo "== next block"\n',
      randomizeFirst,
    ];
    const { output, ended } = terminal(`${commands.join('')} -sS`);
    expect(await ended, output.all).toBe(0);

    const [installed = '', session = '', design = '', asPrinted = ''] = output.all.split('== next block');
    expect(installed).toMatch(/^\d+\.\d+\.\d+(-dev)? \(commit [0-9a-f]{40}\)\n/);
    const answers = session.match(/\{"message".*?"status":\d+\}/g) ?? [];
    expect(answers.map((answer) => JSON.parse(answer))).toEqual(
      Array(2).fill({ message: 'Success', status: 200, results: [expect.objectContaining({ id: '017' })] }),
    );
    expect(session).toContain('Why participant 017 was assigned to');
    expect(session.match(/RESULT: no fault was found/g)).toHaveLength(2);
    expect(existsSync(join(clone, 'study.zip'))).toBe(true);
    expect(design).toContain('arms: range after 300');
    expect(JSON.parse(asPrinted)).toMatchObject({ status: 200, results: [{ id: '001', user: 'admin' }] });

    expect(git('status', '--porcelain')).toBe('');
    const made = [...git('status', '--porcelain', '--ignored').matchAll(/^!! (.*)$/gm)].map(
      ([, name]) => name,
    );
    expect(made).toEqual(expect.arrayContaining(['data/', 'my.yaml', 'study.zip']));
    const lint = terminal(`node_modules/.bin/biome check --no-errors-on-unmatched ${made.join(' ')}`);
    expect(await lint.ended, lint.output.all).toBe(0);
    expect(lint.output.all).toMatch(/Checked 0 files/);
  });
});

describe('the documents', () => {
  const documents = [
    ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md', 'test/vectors/README.md'],
    ...readdirSync(join(PROJECT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ];
  const textOf = (name: string) => readFileSync(join(PROJECT, name), 'utf8');

  it.each(documents)('%s has no link that leads nowhere', (name) => {
    const missing = [...textOf(name).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? name : join(dirname(name), path);
        if (!existsSync(join(PROJECT, target))) return true;
        return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
      });
    expect(missing).toEqual([]);
  });

  it('spell the command in one way', () => {
    for (const name of documents.filter((one) => one !== 'CHANGELOG.md'))
      expect(textOf(name).replace('never run `npx urn`', ''), name).not.toContain('npx urn');
  });
});

/** Of its headings, as on the web pages of a repository. */
function anchorsOf(text: string): string[] {
  return [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
