/** Both verifiers find in the bundles of 0.2.0 what 0.2.0 found in them, warnings included. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Warning } from '../../../src/evidence/verify/report/report.ts';
import { bothVerifiers } from '../../support/both-verifiers.ts';
import { requiredPython } from '../../support/numpy.ts';
import { OldLog } from '../../support/old-log.ts';

interface Found {
  readonly stream: string;
  readonly warnings: readonly Pick<Warning, 'code' | 'count' | 'revision'>[];
}

const python = requiredPython('numpy, cryptography');
const verify = bothVerifiers(python ?? '');
const old = new OldLog('0.2.0/every-act');
const FINDINGS: Readonly<Record<string, readonly Found[]>> = JSON.parse(old.text('findings.json'));

/** What the verifier in Python says on the line of the stream, or not at all: the seed is sealed in most bundles. */
const ELSEWHERE_IN_PYTHON: ReadonlySet<Warning['code']> = new Set(['recovered', 'weak-seed']);

/** Stream, revision and number of each warning that the verifier in Python printed. */
const printed = (stdout: string) =>
  [...stdout.matchAll(/^WARNING {2}(\S+), revision (\d+): .*?(?: \(and (\d+) times more\))?$/gm)]
    .map(([, stream, revision, more = '0']) => `${stream} ${revision}: ${Number(more) + 1}`)
    .toSorted();

it('every bundle has findings that were frozen with it', () => {
  const bundles = readdirSync(old.file('.')).filter((name) => name.endsWith('.zip'));
  expect(Object.keys(FINDINGS).toSorted()).toEqual(bundles.toSorted());
  expect(bundles).toHaveLength(8);
});

it.skipIf(python === undefined).for(Object.entries(FINDINGS))('in %s', async ([name, found]) => {
  const { code, stdout, own } = await verify(old.file(name));
  expect(code, stdout).toBe(0);
  expect(own.report?.streams).toMatchObject(found);
  const warnings = found.flatMap(({ stream, warnings }) =>
    warnings
      .filter(({ code }) => !ELSEWHERE_IN_PYTHON.has(code))
      .map(({ revision, count }) => `${stream} ${revision}: ${count}`),
  );
  expect(printed(stdout)).toEqual(warnings.toSorted());
  expect(stdout).toMatch(/^ {2}study-.* RECOVERED from a backup after the first \d+$/m);
});
