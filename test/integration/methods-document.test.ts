/** What docs/methods.md shows is true: its Python prints what it says, and its example is accepted. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { requiredPython } from '../support/numpy.ts';

const DOCUMENT = readFileSync(new URL('../../docs/methods.md', import.meta.url), 'utf8');
const python = requiredPython();

/** The texts of code blocks in this language; '' is that of what is printed. */
function blocksOf(language: string): string[] {
  return [...DOCUMENT.matchAll(/^```(\w*)\n(.*?)^```\n/gms)]
    .filter(([, name]) => name === language)
    .map(([, , text = '']) => text);
}

describe('docs/methods.md', () => {
  it.skipIf(python === undefined)('prints with numpy what it says', () => {
    const program = blocksOf('python').join('\n');
    const { stdout, stderr } = spawnSync(python as string, ['-c', program], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout).toBe(blocksOf('').join(''));
  });

  it('has an example of a study, with every method', () => {
    const [example = ''] = blocksOf('yaml');
    const [first = '', ...others] = [...example.matchAll(/\{name: .*\}/g)].map(([method]) => method);
    expect(others).toHaveLength(3);
    for (const method of [first, ...others])
      expect(checkStudiesFile(example.replace(first, method), 'studies.yaml').refusals).toEqual([]);
  });
});
