/** Bundles of the reference's 2,100 allocations, and the stand-alone verifier under the machine's own numpy. */
import { describe, expect, it } from 'vitest';
import { bundledStudy } from '../../support/bundled-study.ts';
import { randomize } from '../../support/facts.ts';
import { requiredPython } from '../../support/numpy.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { referenceHistories } from '../../support/vectors.ts';
import { loadedVerifier } from '../../support/verifier.ts';

const python = requiredPython();
const newFolder = temporaryFolders();
const verify = loadedVerifier(python ?? '');

describe.skipIf(python === undefined)('the verifier repeats the reference’s draws', () => {
  it.each(referenceHistories())('in $configuration.name', async ({ participants, ...study }) => {
    const { factors } = study.configuration;
    const { files } = await bundledStudy(
      newFolder(),
      study,
      async ({ issue, submit }) => {
        const nurse = await issue('nurse', ['randomize']);
        for (const [i, { levelIndexes }] of participants.entries()) {
          const levels = levelIndexes.map((level, factor) => factors[factor]?.levels[level] ?? '');
          await submit(nurse, randomize(String(i), { levels }));
        }
        return { nurse };
      },
      ['full'],
    );
    const { code, stdout } = await verify([files.full]);
    expect([0, 3], stdout).toContain(code);
    expect(stdout).toContain(`${participants.length} allocations, drawn again with numpy`);
    expect(stdout).toContain('RESULT  nothing wrong was found');
  });
});
