/**
 * The verifier that 0.2.0 put into its bundles, run on bundles of this version: it accepts what has no visits, with the same words as
 * the verifier of now, and otherwise stops at the first record that it does not know, with nothing to say of those before it.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../events/amendment.ts';
import { BundleFiles } from '../e2e/audit/bundle-file.ts';
import { APPROVAL, makeAmendedLog } from '../support/amended-log.ts';
import { makeArmsLog } from '../support/arms-log.ts';
import { makeCorrectedLog } from '../support/corrected-log.ts';
import { CONFIGURATION, LEVELS, OPERATOR } from '../support/facts.ts';
import { makeForcedLog } from '../support/forced-log.ts';
import { makeImportedLog } from '../support/imported-log.ts';
import { type BundledStudy, bundledStudy, makeLifeLog } from '../support/life-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { OldLog } from '../support/old-log.ts';
import { makePacksLog } from '../support/packs-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { loadedVerifier } from '../support/verifier.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();
const verifyNow = loadedVerifier(python);
let loaded: ReturnType<typeof loadedVerifier> | undefined;

function verifyThen(bundle: string): ReturnType<typeof verifyNow> {
  const file = join(newFolder(), 'verify_bundle.py');
  const old = BundleFiles.unpack(python, new OldLog('0.2.0/every-act').file('full.zip'));
  writeFileSync(file, old.text('verify_bundle.py'));
  loaded ??= loadedVerifier(python, file);
  return loaded([bundle]);
}

const closed: DesignChange = { kind: 'arm-closed', treatment: 'RMC-A' };
const visits: DesignChange = { kind: 'visits', value: ['V2'] };
const stopped: DesignChange = { kind: 'arm-stopped', treatment: 'RMC-A' };
const amended = (amendment: number, change: DesignChange) => ({
  ...{ type: 'amend', user: 'operator', amendment, changes: [change], reason: 'protocol 3' },
  approvals: [APPROVAL],
});
const listed = {
  ...{ type: 'register-packs', list: 1, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
  entries: CONFIGURATION.treatments.map((treatment, n) => ({ code: `P-${n}`, treatment })),
};
const dispensed = {
  act: 'PackDispensed',
  user: 'operator',
  participantId: '001',
  visit: 'U1',
  isSupply: true,
};
/** After the registration, which has no visits, and one participant. */
const studyWith = (folder: string, commands: readonly object[]): Promise<BundledStudy<'nurse'>> =>
  bundledStudy(folder, { configuration: CONFIGURATION }, async (issue, submit) => {
    const nurse = await issue('nurse', ['randomize']);
    await submit(nurse, { type: 'randomize', participantId: '001', levels: LEVELS, user: 'nurse' });
    for (const command of commands) await submit(OPERATOR, command as never);
    return { nurse };
  });

describe.skipIf(found === undefined)('the verifier of 0.2.0', () => {
  it.each<[string, (folder: string) => Promise<BundledStudy<string>>]>([
    ['a life', makeLifeLog],
    ['corrections', makeCorrectedLog],
    ['amendments', makeAmendedLog],
    ['entries by hand', makeForcedLog],
    ['arms', makeArmsLog],
    ['packs', makePacksLog],
    ['an import', makeImportedLog],
  ])('accepts a study without visits, in the words of the verifier of now: %s', async (_, make) => {
    const { files } = await make(newFolder());
    for (const file of Object.values(files)) {
      const then = await verifyThen(file);
      const now = await verifyNow([file]);
      expect([then.code, then.stdout], then.stderr).toEqual([0, now.stdout]);
    }
  });

  it.each<[string, number, readonly object[]]>([
    ['visits are amended', 2, [amended(1, visits), listed]],
    ['an arm is stopped', 3, [amended(1, closed), amended(2, stopped)]],
    ['packs of a closed arm are registered', 3, [amended(1, closed), listed]],
    ['a pack is given out at a visit', 3, [listed, dispensed]],
  ])('stops where %s: it does not know the event, and says no more', async (_, revision, commands) => {
    const { files, stream } = await studyWith(newFolder(), commands);
    for (const file of Object.values(files)) {
      const { code, stdout } = await verifyThen(file);
      expect(stdout.match(/^FAILED .*/gm)).toEqual([
        `FAILED  ${stream}, revision ${revision}: Divergence in field type and version: an event that this program knows`,
      ]);
      expect(stdout).toContain('sound up to the divergence, and not checked after it');
      // It has no code of its own for what it does not know (docs/upgrading.md).
      expect(code).toBe(1);
      expect((await verifyNow([file])).code).toBe(0);
    }
  });
});
