import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { command } from '../../support/command.ts';
import { PROGRAM, urn } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { TRIALS } from '../../support/trials.ts';

const temporaryFolder = temporaryFolders();
const COMMANDS = [
  [],
  ['init'],
  ['serve'],
  ['keys'],
  ['keys', 'add'],
  ['keys', 'list'],
  ['keys', 'revoke'],
  ['verify'],
  ['bundle'],
  ['report'],
  ['simulate'],
  ['explain'],
  ['operations'],
  ['relay'],
  ['studies'],
  ['studies', 'check'],
  ['studies', 'list'],
  ['studies', 'show'],
  ['studies', 'pause'],
  ['studies', 'resume'],
  ['codes'],
  ['codes', 'add'],
  ['codes', 'list'],
  ['codes', 'accountability'],
  ['codes', 'withdraw'],
  ['codes', 'replace'],
];

describe('urn', () => {
  it.each(COMMANDS.map((words) => [words.join(' '), words] as const))(
    '%s --help prints help on stdout',
    async (_, words) => {
      const { code, stdout, stderr } = await command([...words, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: urn ${words.join(' ')}`);
      expect(stdout.split('\n').length).toBeGreaterThan(5);
    },
  );

  it('--help names every command of every group', async () => {
    const namesOf = (help: string) =>
      [...help.matchAll(/^ {2}([a-z][a-z-]*)\b(?! \[command\])/gm)].map(([, name]) => name);
    const { stdout } = await command(['--help']);
    for (const group of ['keys', 'studies', 'participants', 'codes', 'code-breaks']) {
      const about = stdout.split(new RegExp(`^ {2}${group} `, 'm'))[1]?.split(/^ {2}\S/m)[0];
      for (const name of namesOf((await command([group, '--help'])).stdout).filter((one) => one !== 'help'))
        expect(about, group).toMatch(new RegExp(`[ ,:]${name}\\b`));
    }
  });

  it('--help says where the documentation is', async () => {
    const { stdout } = await urn(['--help']);
    for (const place of ['/docs ', 'docs/ ', 'docs/studies-file.md ']) expect(stdout).toContain(`  ${place}`);
  });

  it('names the environment variable of each option', async () => {
    const { stdout } = await command(['serve', '--help']);
    for (const name of [
      'STUDIES',
      'DATA',
      'STORE',
      'HOST',
      'PORT',
      'LOG_NAME',
      'TLS_CERT',
      'TLS_KEY',
      'TRUST_PROXY',
    ])
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`env: URN_${name})`);
  });

  it('--version prints its version, and the commit that it was built from', async () => {
    const here = dirname(dirname(PROGRAM));
    const inGit = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: here, encoding: 'utf8' });
    expect(await urn(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        inGit.status === 0
          ? new RegExp(`^\\d+\\.\\d+\\.\\d+ \\(commit ${inGit.stdout.trim()}\\b.*\\)\\n$`)
          : /^\d+\.\d+\.\d+ \(commit not known: it was not built in a checkout of git\)\n$/,
      ),
    });
  });

  it.each([
    ['no command', []],
    ['an unknown command', ['randomize']],
    ['an unknown command of a group', ['keys', 'delete']],
    ['a group without a command', ['keys']],
    ['an unknown option', ['serve', '--prot', '1']],
    ['an option without its value', ['serve', '--port']],
    ['a missing argument', ['keys', 'add']],
    ['an argument too many', ['keys', 'list', 'all']],
    ['a missing option', ['studies', 'pause', 'A']],
    ['a value that is not among the choices', ['serve', '--log-level', 'loud']],
    ['another', ['serve', '--datetime-format', 'iso']],
    ['a port that is not a number', ['serve', '--port', 'http']],
    ['a port above 65535', ['serve', '--port', '65536']],
    ['a certificate without its key', ['serve', '--tls-cert', 'cert.pem']],
    ['a key without its certificate', ['serve', '--tls-key', 'key.pem']],
    ['a proxy that is not an address', ['serve', '--trust-proxy', 'nginx']],
    ['a relay without brokers', ['serve', '--relay']],
    ['a broker that is a URL', ['relay', '--kafka-brokers', 'kafka://localhost:9092']],
    ['a broker without a port', ['relay', '--kafka-brokers', 'localhost']],
    ['certificates without TLS', ['relay', '--kafka-brokers', 'localhost:9092', '--kafka-ca', 'ca.pem']],
    [
      'a certificate file that does not exist',
      ['relay', '--kafka-brokers', 'localhost:9092', '--kafka-tls', '--kafka-ca', 'none.pem'],
    ],
    [
      'a password without a user',
      ['relay', '--kafka-brokers', 'localhost:9092', '--kafka-password-file', 'p'],
    ],
    [
      'a metrics port that is not a number',
      ['relay', '--kafka-brokers', 'localhost:9092', '--metrics-port', 'x'],
    ],
  ])('wrong usage exits with 2, with output only on stderr: %s', async (_, args) => {
    const { code, stdout, stderr } = await command(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toBe('');
    expect(stderr).not.toContain('unexpected');
  });

  it('suggests what was probably meant', async () => {
    expect((await urn(['serve', '--prot', '1'])).stderr).toMatch(
      /Did you mean --port\?[\s\S]*hint: add --help/,
    );
  });
});

it('a command in the process of the tests says and returns what the program does', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'studies.yaml'), TRIALS);
  const env = { URN_DATA: join(cwd, 'none'), URN_STUDIES: 'studies.yaml' };
  for (const args of [
    [],
    ['--version'],
    ['codes', '--help'],
    ['keys', 'delete'],
    ['keys', 'list'],
    ['studies', 'check'],
    ['serve', '--port', 'x'],
    ['simulate', '--study', 'Ward', '--participants', '10', '--reps', '100', '--require', 'guess.known < 0'],
  ])
    expect(await command(args, { cwd, env })).toEqual(await urn(args, { cwd, env }));
});
