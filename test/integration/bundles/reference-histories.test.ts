/** Bundles of the reference's 2,100 allocations, and the stand-alone verifier under the machine's own numpy. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeBundle } from '../../../src/evidence/bundle/bundle.ts';
import { type OpenLog, openLog } from '../../../src/service/open/open-log.ts';
import { OPERATOR } from '../../support/facts.ts';
import { requiredPython } from '../../support/numpy.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { referenceHistories } from '../../support/vectors.ts';
import { loadedVerifier } from '../../support/verifier.ts';

const python = requiredPython();
const folder = temporaryFolders()();
const histories = referenceHistories();
const verify = loadedVerifier(python ?? '');
let log: OpenLog;
let keyId: string;

describe.skipIf(python === undefined)('the verifier repeats the reference’s draws', () => {
  beforeAll(async () => {
    log = await openLog({ data: folder, store: 'memory:' }, OPERATOR);
    await log.rebuild();
    const issued = await log.keys.issue({ user: 'replay', scopes: ['randomize'] }, OPERATOR);
    if ('refused' in issued) throw new Error(issued.refused);
    keyId = issued.keyId;
  });
  afterAll(() => log.close());

  it.each(histories)('in $configuration.name', async ({ configuration, seed, participants }) => {
    const { studies, store, identity, gate } = log;
    await studies.register(configuration, seed, OPERATOR);
    const stream = studies.streamOf(configuration.name);
    for (const [i, { levelIndexes }] of participants.entries()) {
      const levels = levelIndexes.map((level, factor) => configuration.factors[factor]?.levels[level] ?? '');
      const command = { type: 'randomize', participantId: String(i), levels, user: 'replay' } as const;
      const actor = { keyId, user: 'replay', accessRevision: 0 };
      await studies.submit(stream, { ...command, suspended: false, idempotencyKey: undefined }, actor);
    }
    const out = join(folder, `${configuration.name}.zip`);
    const bundle = await writeBundle({
      ...{ store, identity, gate, stream, out },
      ...{ content: 'full', lastCheckpoints: undefined, checkpoints: [], version: 'test' },
    });
    expect(bundle.participants).toBe(participants.length);
    const { code, stdout } = await verify([out]);
    expect([0, 3], stdout).toContain(code);
    expect(stdout).toContain(`${participants.length} allocations, drawn again with numpy`);
    expect(stdout).toContain('RESULT  nothing wrong was found');
  });
});
