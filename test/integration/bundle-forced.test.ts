/**
 * A study with allocations made outside the service: both verifiers accept its bundles and say the same about
 * them. In all contents, both find at the same place what somebody altered who also corrected seals, leaves, manifest and
 * references.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
import type { Row } from '../e2e/audit/database.ts';
import {
  alteredBundles,
  asked,
  both,
  by,
  type Change,
  changed,
  configured,
  data,
  doubled,
  type Finding,
  type Findings,
  gone,
  inEach,
  inFull,
  issuedWith,
  moved,
  noted,
  PERSON,
  unnoted,
  warningLines,
  without,
} from '../support/altered-bundles.ts';
import { COOK, closed, DUPAGE, FEMALE, MALE, SEX, SITE } from '../support/amended-log.ts';
import { AT, FIRST, type ForcedLog, LIMITS, makeForcedLog, POLICIES, THIRD } from '../support/forced-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { firstDivergence } from '../support/own-verifier.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

const DAY_MS = 24 * 3600 * 1000;

const withLevels = (revision: number, sex: string, site: string) =>
  data(revision, {
    levels: [
      { factor: SEX, level: sex },
      { factor: SITE, level: site },
    ],
  });
const withArm = (revision: number, treatment: string) =>
  changed(revision, (_, sealed) => Object.assign(sealed.allocation, { treatment }));
const writtenAt = (rows: readonly Row[], revision: number): number =>
  Date.parse(JSON.parse(`${rows[revision]?.record}`).at);
/** Says that it happened this long after another event was written. */
const occurred =
  (revision: number, after: number, ms: number): Change =>
  (rows) =>
    data(revision, { occurredAt: new Date(writtenAt(rows, after) + ms).toISOString() })(rows);
/** Everybody is counted. */
const counting = both(
  data(AT.amended, { changes: [closed(DUPAGE)] }),
  data(AT.uncounted, { counted: true }),
  data(AT.late, { counted: true }),
);

describe.skipIf(found === undefined)('both verifiers of a study with allocations made outside', () => {
  const bundles = alteredBundles(python, newFolder);
  const findings = (altering: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, altering, prepare);
  let log: ForcedLog;

  beforeAll(async () => {
    log = await makeForcedLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, and say what was entered', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      '  The study is open; entered by hand: 1 elsewhere, 1 other, 3 outage, 1 protocol; amendments: 1; ',
    );
    // The one is replaced, and the other one reinstated.
    expect(stdout).not.toContain('; voided: ');
    if (content === 'full') expect(stdout).toContain('  7 allocations, drawn again');
    const { life, participants, warnings = [] } = own.report?.streams.at(-1) ?? {};
    expect(participants).toBe(12);
    expect(life).toEqual({
      ...{ state: 'open', amendments: 1, corrected: 1, idsCorrected: 1, revealed: { emergency: 1 } },
      forced: { outage: 3, elsewhere: 1, protocol: 1, other: 1 },
    });
    expect(warnings.map((warning) => [warning.code, warning.count, warning.revision])).toEqual([
      ['forced', 6, AT.outage],
      ['revealed-in-emergency', 1, AT.revealed],
      ['voided', 2, AT.voided],
      ['counts-removed', 2, AT.voided],
      ['approval-asserted', 2, AT.amended],
    ]);
    expect(stdout.split('\n').filter((line) => line.startsWith('WARNING'))).toEqual(warningLines(own));
  });

  it('warn of what was entered more than seven days after it was made', async () => {
    const early = changed(AT.registered, (record) => {
      record.at = new Date(Date.parse(record.at) - 8 * DAY_MS).toISOString();
    });
    const late = async (ms: number) => {
      const altering = both(early, occurred(AT.outage, AT.outage, -ms));
      const { code, stdout, own } = await bundles.verified(log, 'blinded', altering);
      expect(code, stdout).toBe(0);
      const [entered, ...others] = warningLines(own).filter((line) => line.includes('seven days'));
      expect(others).toEqual([]);
      expect(stdout.split('\n').find((line) => line.includes('seven days'))).toBe(entered);
      return own.report?.streams.at(-1)?.warnings.filter((warning) => warning.code === 'entered-late');
    };
    expect(await late(7 * DAY_MS)).toEqual([]);
    expect(await late(7 * DAY_MS + 1)).toMatchObject([{ count: 1, revision: AT.outage }]);
  });

  it.each<[string, Change, Findings]>([
    ['not counted against the policy', data(AT.outage, { counted: false }), AT.outage],
    ['counted against the policy', data(AT.uncounted, { counted: true }), AT.uncounted],
    ['another policy, and counted by it', counting, inFull(AT['006'])],
    ['only another policy', data(AT.amended, { changes: [closed(DUPAGE)] }), AT.uncounted],
    ['another arm', withArm(AT.outage, THIRD), inFull(AT['003'])],
    ['another arm of one who is not counted', withArm(AT.uncounted, FIRST), 'ok'],
    ['another arm of a wrong entry', withArm(AT.wrong, THIRD), inFull(AT['004'])],
    ['another arm of what replaced it', withArm(AT.replaced, THIRD), inFull(AT['005'])],
    ['no arm of the study', withArm(AT.late, 'x'), { full: AT.late, open: AT.late, blinded: 'ok' }],
    ['another level', withLevels(AT.outage, MALE, COOK), inFull(AT['003'])],
    [
      'another level of somebody who was corrected',
      withLevels(AT.elsewhere, FEMALE, DUPAGE),
      { full: AT['005'], open: AT['007'], blinded: AT['007'] },
    ],
    [
      'another level of what replaced an entry',
      withLevels(AT.replaced, FEMALE, COOK),
      { full: AT['005'], open: AT['007'], blinded: AT['007'] },
    ],
    ['no level', withLevels(AT.elsewhere, 'x', DUPAGE), AT.elsewhere],
    ['no level of a factor', data(AT.outage, { levels: [{ factor: SEX, level: MALE }] }), AT.outage],
    ['a closed level', withLevels(AT.late, MALE, DUPAGE), AT.late],
    ['another cause', data(AT.outage, { cause: 'protocol' }), 'ok'],
    ['a cause of its own', data(AT.outage, { cause: 'paper' }), AT.outage],
    ['the id of somebody', data(AT.outage, { participantId: '001' }), AT.outage],
    ['a space at the end of an id', data(AT.late, { participantId: 'F5 ' }), AT.late],
    ['a note of 2,001 characters', noted(AT.outage, 'x'.repeat(2001)), inFull(AT.outage)],
    ['no note', changed(AT.outage, unnoted), AT.outage],
    ['the Idempotency-Key of another', asked(AT.wrong, 'f-1'), inFull(AT.wrong)],
    ['none of them', gone(AT.outage), { full: 3, open: AT.revealed - 1, blinded: AT.revealed - 1 }],
    ['none at the end', gone(AT.late), 'ok'],
    ['one after the next draw', moved(AT.outage), inFull(AT.outage)],
    ['one after the next draw that is not counted', moved(AT.reinstated), 'ok'],
    ['one in an open study', moved(AT.paused), 'ok'],
    ['two of them', doubled(AT.outage), AT.outage + 1],
  ])('find what was altered: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Finding]>([
    ['a moment later than the event', occurred(AT.outage, AT.outage, 1000), 'ok'],
    ['later than that', occurred(AT.outage, AT.outage, 1001), AT.outage],
    ['when the study was registered', occurred(AT.outage, AT.registered, 0), 'ok'],
    ['before that', occurred(AT.outage, AT.registered, -1), AT.outage],
    ['just before the closing', occurred(AT.late, AT.closed, -1), 'ok'],
    ['at the closing', occurred(AT.late, AT.closed, 0), AT.late],
    ['at the closing, entered before it', both(occurred(AT.late, AT.closed, 0), moved(AT.closed)), 'ok'],
    [
      'at the closing, entered after the reopening',
      both(occurred(AT.late, AT.closed, 0), moved(AT.late)),
      'ok',
    ],
    ['at an impossible time', data(AT.outage, { occurredAt: '2026-02-29T00:00:00.000Z' }), AT.outage],
    ['a code shown before', data(AT.revealed, { shownAt: '2026-01-01T00:00:00.000Z' }), 'ok'],
  ])('compare times, which are in the clear: %s', async (_, altering, expected) => {
    const { own } = await bundles.verified(log, 'blinded', altering);
    expect(firstDivergence(own)?.revision ?? 'ok').toBe(expected);
  });

  it.each<[string, Change, Findings]>([
    ['nothing', without(AT.replaced, 'replaces'), AT.replaced],
    ['another revision', data(AT.replaced, { replaces: AT.outage }), AT.replaced],
    ['that of the void', data(AT.replaced, { replaces: AT.voided }), AT.replaced],
    ['another participant', data(AT.replaced, { participantId: 'F1', replaces: AT.outage }), AT.replaced],
    ['a corrected id', data(AT.replaced, { participantId: 'F30' }), AT.replaced],
    ['somebody who was drawn', data(AT.replaced, { participantId: '001', replaces: AT['001'] }), AT.replaced],
    ['nobody', data(AT.uncounted, { replaces: AT.outage }), AT.uncounted],
    ['it before it is voided', moved(AT.voided), AT.voided],
    ['it twice', doubled(AT.replaced), AT.replaced + 1],
    ['it after the next draw', moved(AT.replaced), inFull(AT.replaced)],
    ['it without a void', gone(AT.voided), AT.replaced - 1],
    [
      'one that is voided for another cause',
      data(AT.voided, { cause: 'never-enrolled', counts: 'kept' }),
      AT.replaced,
    ],
    // A wrong entry fills a place until it is replaced.
    [
      'nothing any more',
      gone(AT.replaced),
      { full: AT['005'] - 1, open: AT['007'] - 1, blinded: AT['007'] - 1 },
    ],
  ])('find an entry that replaces what it cannot: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['of somebody who was drawn', data(AT.voided, { participantId: '001', randomizedAt: 1 }), AT.voided],
    ['with the counts kept', data(AT.voided, { counts: 'kept' }), AT.voided],
    [
      'for another cause, of one who is not counted',
      data(AT.voidedToo, { cause: 'other', counts: 'kept' }),
      'ok',
    ],
    ['of one who is not counted, and none', gone(AT.reinstated), 'ok'],
    [
      'and a reinstatement of what was replaced',
      data(AT.reinstated, { participantId: 'F3', randomizedAt: AT.wrong, voidedAt: AT.voided }),
      AT.reinstated,
    ],
    [
      'and a reinstatement of what replaced it',
      data(AT.reinstated, { participantId: 'F3', randomizedAt: AT.replaced, voidedAt: AT.voided }),
      AT.reinstated,
    ],
    [
      'of what replaced it',
      data(AT.voidedToo, { participantId: 'F3', randomizedAt: AT.replaced }),
      AT.reinstated,
    ],
  ])('judge a void of a wrong entry: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it('find a key without the scope, or with other levels, and accept a person', async () => {
    const { nurse, desk, clerk } = log.actors;
    expect(await findings(by(AT.outage, nurse))).toEqual(inEach(AT.outage));
    expect(await findings(by(AT.replaced, clerk))).toEqual(inEach(AT.replaced));
    expect(await findings(by(AT.elsewhere, desk))).toEqual(inEach(AT.elsewhere));
    expect(await findings(by(AT.late, desk))).toEqual(inEach('ok'));
    expect(await findings(by(AT.outage, PERSON))).toEqual(inEach('ok'));
  });

  it.each<[string, object, Findings]>([
    ['that counts nobody', { policies: { ...POLICIES, forcedCounts: 'not-counted' } }, AT.outage],
    ['with one place less', { limits: { ...LIMITS, total: 11 } }, AT['007']],
    ['with one place less for women', { limits: { levels: [{ ...LIMITS.levels[0], max: 5 }] } }, AT['007']],
    // Nobody else is drawn then, but more are entered.
    ['with a place for each of those who were drawn first', { limits: { total: 2 } }, AT['003']],
    ['with no limit that stops', { limits: { total: 1 }, policies: { levelCounts: 'as-corrected' } }, 'ok'],
  ])('follow the study that is registered: %s', async (_, members, expected) => {
    expect(await findings(...configured(members))).toEqual(inEach(expected));
  });

  it.each<[string, object, string | undefined]>([
    ['blinded', { scopes: ['force', 'blinded'] }, 'access/1'],
    ['blinded, knowingly', { scopes: ['force', 'blinded'], allowPrediction: true }, 'access/1'],
    ['audit', { scopes: ['force', 'audit'], where: undefined }, 'access/1'],
    ['audit, knowingly', { scopes: ['force', 'audit'], where: undefined, allowPrediction: true }, undefined],
    ['randomize', { scopes: ['force', 'randomize'] }, 'access/1'],
    ['randomize, knowingly', { scopes: ['force', 'randomize'], allowPrediction: true }, undefined],
    ['correct', { scopes: ['force', 'correct'] }, undefined],
  ])('judge a key with force and other scopes: %s', async (_, members, expected) => {
    // The key of `desk`.
    const { own } = await bundles.verified(log, 'blinded', (rows) => rows, issuedWith(1, members));
    const divergence = firstDivergence(own);
    expect(divergence && `${divergence.stream}/${divergence.revision}`).toBe(expected);
  });
});
