/**
 * A study with visits, a stopped arm and packs of closed arms: both verifiers accept its bundles, and find at the same place
 * what somebody altered who also corrected seals, leaves, manifest and references.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
import type { Written } from '../support/acts.ts';
import {
  alteredBundles,
  both,
  type Change,
  changed,
  configured,
  data,
  type Findings,
  inEach,
  inFull,
  version,
} from '../support/altered-bundles.ts';
import { APPROVAL } from '../support/amended-log.ts';
import { CONFIGURATION, OPERATOR, SEED } from '../support/facts.ts';
import { type BundledStudy, bundledStudy } from '../support/life-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

const [A = '', B = '', C = ''] = CONFIGURATION.treatments;
const visits = (...value: string[]) => ({ kind: 'visits', value });
const arm = (kind: string, treatment = C) => ({ kind, treatment });
const AT = { registered: 0, visits: 1, closed: 2, ofClosed: 3, ofOpen: 4, stopped: 5, reopened: 6 } as const;

function makeLog(folder: string): Promise<BundledStudy<never>> {
  const configuration = { ...CONFIGURATION, visits: ['V2', 'Week 12'] };
  return bundledStudy(folder, { configuration, seed: SEED }, async (_, submit) => {
    const by = (command: object) => submit(OPERATOR, { ...command, user: 'operator' } as Written);
    let amendment = 0;
    const amend = (...changes: object[]) =>
      by({ type: 'amend', amendment: ++amendment, changes, reason: 'protocol 3', approvals: [APPROVAL] });
    const register = (list: number, ...arms: string[]) =>
      by({
        ...{ type: 'register-packs', list, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
        entries: arms.map((treatment, i) => ({ code: `P${list}-${i}`, treatment })),
      });
    await amend(visits('V2', 'V3', 'Week 12'));
    await amend(arm('arm-closed'));
    await register(1, A, C);
    await register(2, A, B);
    await amend(arm('arm-stopped'), visits());
    await amend(arm('arm-reopened'));
    return {};
  });
}

describe.skipIf(found === undefined)('both verifiers of a study with visits', () => {
  const bundles = alteredBundles(python, newFolder);
  let log: BundledStudy<never>;

  beforeAll(async () => {
    log = await makeLog(newFolder());
  });

  const changes = (revision: number, ...list: readonly object[]) => data(revision, { changes: list });
  const closedArms = (revision: number, to: 1 | 2): Change =>
    both(
      version(revision, to),
      changed(revision, (_, { codes }) => {
        if (to === 2) codes.closedArms = true;
        else delete codes.closedArms;
      }),
    );

  it.each(CONTENTS)('accept it, content %s', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(own.text).toContain('amendments: 4');
  });

  it.each<[string, Change, Findings]>([
    ['a visit twice', changes(AT.visits, visits('V2', 'v2')), AT.visits],
    ['the name of an arm', changes(AT.visits, visits('V2', `no ${A}`)), AT.visits],
    ['what is so already', changes(AT.visits, visits('V2', 'Week 12')), AT.visits],
    ['no change of visits', changes(AT.stopped, arm('arm-stopped')), 'ok'],
    ['a history', data(AT.visits, { history: 'keep' }), AT.visits],
    ['an arm that is not closed', changes(AT.stopped, arm('arm-stopped', A)), AT.stopped],
    ['an arm that is stopped twice', changes(AT.stopped, arm('arm-stopped'), arm('arm-stopped')), AT.stopped],
    [
      'an arm whose name is in a visit',
      changes(AT.visits, { kind: 'arm-added', treatment: 'Week' }),
      AT.visits,
    ],
    ['packs of a closed arm, and nothing that says so', closedArms(AT.ofClosed, 1), inFull(AT.ofClosed)],
    ['packs of open arms that are said to be of closed ones', closedArms(AT.ofOpen, 2), inFull(AT.ofOpen)],
    [
      'packs of an arm that is stopped',
      both(version(AT.closed, 2), changes(AT.closed, arm('arm-closed'), arm('arm-stopped'))),
      // It cannot be stopped again.
      { full: AT.ofClosed, open: AT.stopped, blinded: AT.stopped },
    ],
  ])('find what was altered: %s', async (_, altering, expected) => {
    expect(await bundles.findings(log, altering)).toEqual(inEach(expected));
  });

  it.each<[string, readonly [Change, (bundle: BundleFiles) => void]]>([
    ['twice', configured({ visits: ['V2', 'v2'] })],
    ['that is an arm', configured({ visits: ['V2', C.toLowerCase()] })],
    ['that is none', configured({ visits: ['V2 '] })],
    ['with a line feed', configured({ visits: ['V2\n'] })],
  ])('find that it was registered with a visit %s', async (_, [altering, prepare]) => {
    expect(await bundles.findings(log, altering, prepare)).toEqual(inEach(AT.registered));
  });
});
