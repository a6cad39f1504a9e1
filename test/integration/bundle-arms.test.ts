/**
 * A study whose arms, ratio, urns and factors were amended: both verifiers accept its bundles, and find at the same
 * place what somebody altered who also corrected seals, leaves, manifest and references.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
import {
  alteredBundles,
  both,
  by,
  type Change,
  changed,
  configured,
  data,
  doubled,
  type Findings,
  gone,
  inEach,
  inFull,
  type Json,
  moved,
  version,
  without,
} from '../support/altered-bundles.ts';
import { COOK, FEMALE, MALE, SEX, SITE } from '../support/amended-log.ts';
import {
  A,
  type ArmsLog,
  AT,
  added,
  B,
  C,
  CHANGES,
  closed,
  D,
  E,
  makeArmsLog,
  ratio,
  reopened,
  retired,
  urn,
} from '../support/arms-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { firstDivergence } from '../support/own-verifier.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

const changes = (revision: number, ...list: readonly object[]) => data(revision, { changes: list });
const sealed = (revision: number, change: (sections: Json) => void) =>
  changed(revision, (_, sections) => change(sections));
const onArm = (revision: number, treatment: string) =>
  sealed(revision, ({ allocation }) => Object.assign(allocation, { treatment }));
const inSlot = (revision: number, slot: number, section = 'allocation') =>
  sealed(revision, (sections) => Object.assign(sections[section], { slot }));
const noSlot = (revision: number, section = 'allocation') =>
  sealed(revision, (sections) => delete sections[section].slot);
/** Where arms are shown. */
const withArms = (revision: number): Findings => ({ full: revision, open: revision, blinded: 'ok' });
/** A ratio, and the version of the algorithm that goes with it. */
const registered = (ratioOf: readonly number[] | undefined, algorithm: number) => {
  const [altering, prepare] = configured({ ratio: ratioOf });
  const versioned = changed(AT.registered, ({ data: members }) => {
    members.algorithm.version = algorithm;
  });
  return [both(altering, versioned), prepare] as const;
};
const level = (factor: string, name: string) => ({ factor, level: name });

describe.skipIf(found === undefined)('both verifiers of a study with amended arms', () => {
  const bundles = alteredBundles(python, newFolder);
  const findings = (altering: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, altering, prepare);
  let log: ArmsLog;

  beforeAll(async () => {
    log = await makeArmsLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s', async (content) => {
    const { code, stdout } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('  The study is open; entered by hand: 3 outage; amendments: 8; ');
  });

  it.each<[string, Change, Findings]>([
    ['the history is kept', data(AT.restarted, { history: 'keep' }), inFull(AT['009'])],
    ['the history is not kept', data(AT.kept, { history: 'restart' }), inFull(AT['008'])],
    ['the history is kept with new slots', data(AT.ratio, { history: 'keep' }), AT.ratio],
    ['no history', without(AT.closed, 'history'), AT.closed],
    ['the epoch is ignored', data(AT.urn, { history: 'keep' }), inFull(AT['018'])],
    [
      'no arm is closed',
      gone(AT.closed),
      { full: AT['005'] - 1, open: AT.reopened - 1, blinded: AT.reopened - 1 },
    ],
    ['no urn is changed', changes(AT.reopened, reopened(C)), inFull(AT['007'])],
    [
      'another number of balls',
      changes(AT.reopened, reopened(C), urn({ w: 3, alpha: 1 })),
      inFull(AT['007']),
    ],
    // Of one factor, no measure matters.
    ['another measure', changes(AT.urn, urn({ beta: 2, D: 'variance' })), 'ok'],
    ['another ratio', changes(AT.ratio, ratio(1, 1, 1, 1, 2), closed(B)), inFull(AT['012'])],
    ['no arm is closed with the ratio', changes(AT.ratio, ratio(1, 1, 1, 1, 3)), inFull(AT['012'])],
    ['the ratio goes on', changes(AT.equal, ratio(2, 1, 1, 1, 1)), AT['016']],
    ['the ratio ends at once', changes(AT.ratio, ratio(1, 1, 1, 1, 1), closed(B)), AT['012']],
    ['one slot for an arm', changes(AT.restarted, added(E)), inFull(AT['009'])],
    ['an arm that nobody was on has another name', changes(AT.kept, added('F')), 'ok'],
    ['no factor is retired', gone(AT.retired), AT.retired],
    ['another factor is retired', changes(AT.retired, retired(SEX)), AT['014']],
    ['a new arm after its first participant', moved(AT.restarted), withArms(AT.restarted)],
    ['a closing after the next draw', moved(AT.closed), inFull(AT.closed)],
    ['two of them', doubled(AT.closed), AT.closed + 1],
    ['two ratios', doubled(AT.ratio), AT.ratio + 1],
    [
      'a level of the retired factor is recorded',
      data(AT['014'], { levels: [level(SEX, MALE), level(SITE, COOK)] }),
      AT['014'],
    ],
    ['no level of it before', data(AT['013'], { levels: [level(SEX, FEMALE)] }), AT['013']],
    [
      'a level of it is corrected',
      data(AT.corrected, { changes: [{ factor: SITE, from: COOK, to: COOK }] }),
      AT.corrected,
    ],
    ['somebody of an earlier epoch is voided', gone(AT.early), 'ok'],
    ['somebody of this epoch is not corrected', gone(AT.corrected), inFull(AT['015'] - 1)],
    ['by a key of a retired factor', (rows) => by(AT['015'], log.actors.local)(rows), AT['015']],
  ])('find what was altered: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another slot of the arm, drawn', inSlot(AT['001'], 7, 'draw'), inFull(AT['001'])],
    ['no slot, drawn', noSlot(AT['001'], 'draw'), inFull(AT['001'])],
    ['a slot without a ratio, drawn', inSlot(AT['016'], 0, 'draw'), inFull(AT['016'])],
    ['version 1 with a ratio', version(AT['001'], 1), AT['001']],
    ['version 2 without one', version(AT['016'], 2), AT['016']],
    ['the other slot of the arm, entered', inSlot(AT.forcedAgain, 6), inFull(AT.forcedAgain)],
    ['a slot of another arm, entered', inSlot(AT.forced, 2), withArms(AT.forced)],
    ['a slot that does not exist, entered', inSlot(AT.forced, 40), withArms(AT.forced)],
    ['no slot, entered', noSlot(AT.forced), withArms(AT.forced)],
    ['a closed arm, drawn', onArm(AT['005'], C), withArms(AT['005'])],
    ['another open arm, drawn', onArm(AT['018'], 'x'), withArms(AT['018'])],
    ['an arm before it is added, drawn', onArm(AT['007'], D), withArms(AT['007'])],
    [
      'a closed arm, entered',
      (rows) => data(AT.before, { occurredAt: JSON.parse(`${rows[AT.before]?.record}`).at })(rows),
      withArms(AT.before),
    ],
    [
      'an arm before it was added, entered',
      (rows) => data(AT.forcedAgain, { occurredAt: JSON.parse(`${rows[AT['001']]?.record}`).at })(rows),
      withArms(AT.forcedAgain),
    ],
    [
      'an arm before its closing, which the draws after it do not see',
      both(moved(AT['006']), moved(AT['005']), moved(AT.closed)),
      'ok',
    ],
  ])('find another slot or arm: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, readonly number[] | undefined, number, Findings]>([
    ['another ratio', [1, 2, 1], 2, { full: AT['001'], open: AT.forced, blinded: 'ok' }],
    ['ones', [1, 1, 1], 1, AT.registered],
    ['a common divisor', [2, 2, 4], 2, AT.registered],
    ['too few numbers', [2, 1], 2, AT.registered],
    ['41 slots', [20, 20, 1], 2, AT.registered],
    ['21 slots of one arm', [21, 1, 1], 2, AT.registered],
    ['version 1 of the algorithm', [2, 1, 1], 1, AT.registered],
    ['no ratio', undefined, 1, AT['001']],
    ['version 2 without a ratio', undefined, 2, AT.registered],
  ])('follow the study that is registered: %s', async (_, ratioOf, algorithm, expected) => {
    expect(await findings(...registered(ratioOf, algorithm))).toEqual(inEach(expected));
  });

  it.each<[string, number, readonly object[]]>([
    ['no arm, closed', AT.closed, [closed('x')]],
    ['an arm closed twice', AT.closed, [closed(C), closed(C)]],
    ['all but one arm, closed', AT.closed, [closed(C), closed(B)]],
    ['an open arm, reopened', AT.closed, [reopened(C)]],
    ['an arm with the name of another', AT.kept, [added(A)]],
    ['an arm with the name of a closed one', AT.retired, [added(B)]],
    ['an arm with one slot, said', AT.kept, [added(D, { ratio: 1 })]],
    ['an arm with too many slots', AT.kept, [added(D, { ratio: 20 }), added(E, { ratio: 17 })]],
    ['an urn of nothing', AT.closed, [urn({})]],
    ['an urn that is in force', AT.closed, [urn({ w: 1, beta: 2 })]],
    ['an urn without balls', AT.closed, [urn({ w: 0 })]],
    ['too many balls', AT.closed, [urn({ w: 1_000_001 })]],
    ['the ratio that is in force', AT.closed, [ratio(2, 1, 1)]],
    ['a ratio with a divisor', AT.closed, [ratio(2, 4, 2)]],
    ['a ratio of other arms', AT.closed, [ratio(2, 1)]],
    ['a ratio of 41 slots', AT.closed, [ratio(20, 20, 1)]],
    ['no factor, retired', AT.closed, [retired('x')]],
    ['a factor retired twice', AT.equal, [retired(SITE)]],
    ['the last factor, retired', AT.equal, [retired(SEX)]],
    ['a level of a retired factor', AT.equal, [{ kind: 'level-closed', ...level(SITE, COOK) }]],
    ['a target, with a history', AT.closed, [{ kind: 'target', value: 5 }]],
  ])('find an amendment that the design before it does not allow: %s', async (_, revision, list) => {
    const hasRatio = list.some((change) => (change as Json).kind === 'ratio');
    const altering = both(
      changes(revision, ...list),
      data(revision, { history: hasRatio ? 'restart' : 'keep' }),
    );
    const { own } = await bundles.verified(log, 'blinded', altering);
    expect(firstDivergence(own)?.revision).toBe(revision);
  });

  it('accept what the changes of one amendment make possible together', async () => {
    const exchanged = changes(AT.urn, ...CHANGES.urn, closed(A), closed(C), closed(D), added('F'));
    const { code, stdout } = await bundles.verified(log, 'blinded', exchanged);
    expect(code, stdout).toBe(0);
  });
});
