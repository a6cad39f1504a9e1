/** What docs/methods.md and docs/statistics.md show is true: their Python prints what they say, and their files are accepted. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkStudiesFile, parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { parseSharesFile } from '../../src/statistics/simulation/shares-file.ts';
import { simulateHere } from '../../src/statistics/simulation/simulate.ts';
import { requiredPython } from '../support/numpy.ts';

const documentAt = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
const [METHODS, STATISTICS] = [documentAt('methods'), documentAt('statistics')];
const python = requiredPython();

/** The texts of code blocks in this language; '' is that of what is printed. */
function blocksOf(document: string, language: string): string[] {
  return [...document.matchAll(/^```(\w*)\n(.*?)^```\n/gms)]
    .filter(([, name]) => name === language)
    .map(([, , text = '']) => text);
}

/** What the Python of a document prints. */
function ran(document: string) {
  const program = blocksOf(document, 'python').join('\n');
  const { stdout, stderr } = spawnSync(python as string, ['-c', program], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return { program, printed: stdout };
}

describe('docs/methods.md', () => {
  it.skipIf(python === undefined)('prints with numpy what it says', () => {
    expect(ran(METHODS).printed).toBe(blocksOf(METHODS, '').join(''));
  });

  it('has an example of a study, with every method', () => {
    const [example = ''] = blocksOf(METHODS, 'yaml');
    const [first = '', ...others] = [...example.matchAll(/\{name: .*\}/g)].map(([method]) => method);
    expect(others).toHaveLength(3);
    for (const method of [first, ...others])
      expect(checkStudiesFile(example.replace(first, method), 'studies.yaml').refusals).toEqual([]);
  });
});

describe('docs/statistics.md', () => {
  it.skipIf(python === undefined)('redraws with numpy what the service draws', () => {
    const { program, printed } = ran(STATISTICS);
    const promised = [...program.matchAll(/^print\(.*# (.*)$/gm)].map(([, output]) => output);
    expect(promised).toEqual(['5.16', '4875 0.4876']);
    expect(printed.trim().split('\n')).toEqual(promised);
  });

  it('has an example that can be simulated, with the same mean', () => {
    const [studies = '', shares = ''] = blocksOf(STATISTICS, 'yaml');
    const { configuration } = parseStudiesFile(studies, 'studies.yaml').studies[0] ?? {};
    if (!configuration || 'method' in configuration) throw new Error('the document has no study with urns');
    const { name, treatments, factors, w, alpha, beta, D } = configuration;
    const read = parseSharesFile(shares, 'shares.yaml', factors);
    if (!('shares' in read)) throw new Error(JSON.stringify(read.findings));
    const [result] = simulateHere({
      study: name,
      design: { treatments, ratio: treatments.map(() => 1), factors, w, alpha, beta, D },
      arrivals: read.shares,
      arrivalsSource: 'shares.yaml',
      comparators: [],
      siteFactor: undefined,
      participants: configuration.targetEnrollment ?? 0,
      reps: 200,
      seed: 1n,
      at: [180],
    });
    expect(result?.figures['overall.range@180.mean']?.value).toBeCloseTo(5.16, 10);
  });
});
