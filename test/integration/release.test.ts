/** What is released: what it contains, and what it says of itself. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT } from '../support/project-copy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();

const read = (name: string) => readFileSync(join(PROJECT, name), 'utf8');
const json = (name: string) => JSON.parse(read(name)) as { version: string; name: string };

const inOrder = (a = '', b = '') => a.localeCompare(b, 'en', { numeric: true });

it('the last version in the changelog is the version of the program, and what came after stands above it', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (.*)$/gm)].map(([, text = '']) => text);
  expect(headings[0]).toBe('Unreleased');
  const versions = headings
    .slice(1)
    .map((heading) => /^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$/.exec(heading)?.[1]);
  expect(versions[0]).toBe(json('package.json').version);
  expect(versions).toEqual([...new Set(versions)].toSorted(inOrder).toReversed());
  expect(json('package-lock.json')).toMatchObject({ version: versions[0], name: json('package.json').name });
});

it('the package runs without its sources, and has what its documents name', () => {
  const folder = newFolder();
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: PROJECT, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder);
  run('tar', '-xzf', join(folder, readdirSync(folder)[0] ?? ''), '-C', folder);
  const unpacked = join(folder, 'package');
  expect(readdirSync(unpacked)).not.toContain('src');
  for (const name of ['backup.sh', 'restore.sh', 'urn.service', 'urn.env', 'alerts.yml'])
    expect(readdirSync(join(unpacked, 'deploy'))).toContain(name);
  expect(readdirSync(join(unpacked, 'docs'))).toContain('production.md');
  expect(json('package.json')).toMatchObject({ files: expect.arrayContaining(['npm-shrinkwrap.json']) });

  symlinkSync(join(PROJECT, 'node_modules'), join(unpacked, 'node_modules'));
  // What npm runs when its packages are installed.
  expect(run('node', join(unpacked, 'tools/build.mjs'))).toBe('');
  const urn = join(unpacked, 'bin/urn.js');
  expect(run(urn, '--version')).toBe(run(join(PROJECT, 'bin/urn.js'), '--version'));
  expect(
    run(urn, 'studies', 'check', '--studies', join(unpacked, 'studies.yaml'), '--data', folder),
  ).toContain('CHS JCOIN');
});
