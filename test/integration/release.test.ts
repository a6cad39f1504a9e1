/** What a release says of itself. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT } from '../support/project-copy.ts';

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
