/** What docs/statistics.md shows is true: its files can be read, and its Python gives the figures that it prints. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { simulateHere } from '../../src/statistics/simulation/blocks.ts';
import { parseSharesFile } from '../../src/statistics/simulation/shares-file.ts';
import { requiredPython } from '../support/numpy.ts';

const DOCUMENT = readFileSync(new URL('../../docs/statistics.md', import.meta.url), 'utf8');
const python = requiredPython();

function blocksOf(language: string): string[] {
  return [...DOCUMENT.matchAll(/```(\w+)\n(.*?)```\n/gs)]
    .filter(([, name]) => name === language)
    .map(([, , text = '']) => text);
}

describe('docs/statistics.md', () => {
  it.skipIf(python === undefined)('redraws with numpy what the service draws', () => {
    const program = blocksOf('python').join('\n');
    const { stdout, stderr } = spawnSync(python as string, ['-c', program], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const promised = [...program.matchAll(/^print\(.*# (.*)$/gm)].map(([, output]) => output);
    expect(promised).toEqual(['5.16', '4875 0.4876']);
    expect(stdout.trim().split('\n')).toEqual(promised);
  });

  it('has an example that can be simulated, with the same mean', () => {
    const [studies = '', shares = ''] = blocksOf('yaml');
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
