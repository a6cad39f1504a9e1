/**
 * A study with every kind of amendment: both verifiers accept its bundles and say the same about them. In all contents,
 * both find at the same place what somebody altered who also corrected seals, leaves, manifest and references.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
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
  type Json,
  moved,
  PERSON,
  warningLines,
  without,
} from '../support/altered-bundles.ts';
import {
  type AmendedLog,
  APPROVAL,
  AT,
  added,
  CHANGES,
  CITY,
  COOK,
  closed,
  DUPAGE,
  FEMALE,
  limited,
  MALE,
  MAN,
  MCLEAN,
  makeAmendedLog,
  renamed,
  reopened,
  SEX,
  SITE,
} from '../support/amended-log.ts';
import { makeAmendedImport } from '../support/imported-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { firstDivergence, verifyOurselves } from '../support/own-verifier.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

const NAMES = CHANGES.names;
const changes = (revision: number, list: readonly object[]) => data(revision, { changes: list });
const unchanged: Change = (rows) => rows;
/** Of sites, each the limit that one of them was registered with. */
const limits = (...levels: readonly string[]) => ({
  ...{ kind: 'limits', value: { levels: levels.map((level) => ({ factor: SITE, level, max: 2 })) } },
});
/** Of the policies, in a study whose sites are not blinded. */
const DEFAULTS = {
  ...{ stopAtLimit: false, levelCounts: 'as-randomized', voidCounts: 'kept', forcedCounts: 'counted' },
};
/** With another change of that kind or policy in `rules`, or without it. */
const rules = (name: string, ...instead: readonly object[]) =>
  changed(AT.rules, ({ data: members }) => {
    members.changes = members.changes.flatMap((change: Json) =>
      (change.name ?? change.kind) === name ? instead : [change],
    );
  });
const withLevels = (revision: number, ...levels: string[]) =>
  changed(revision, (record) => {
    for (const [i, level] of levels.entries()) record.data.levels[i].level = level;
  });

describe.skipIf(found === undefined)('both verifiers of a study with amendments', () => {
  const bundles = alteredBundles(python, newFolder);
  const findings = (altering: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, altering, prepare);
  /** Only in blinded content, for what is in the clear. */
  const findingInTheClear = async (altering: Change): Promise<Finding> => {
    const { own } = await bundles.verified(log, 'blinded', altering);
    return firstDivergence(own)?.revision ?? 'ok';
  };
  let log: AmendedLog;

  beforeAll(async () => {
    log = await makeAmendedLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, and say how often it was amended', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      '  The study is open; amendments: 5; levels corrected: 3; voided: 1 never-enrolled; ',
    );
    expect(own.text).toContain('\n  open; amendments: 5; levels corrected: 3; voided: 1 never-enrolled\n');
    const { life, warnings = [] } = own.report?.streams.at(-1) ?? {};
    expect(life).toMatchObject({ state: 'open', amendments: 5 });
    expect(warnings.map((warning) => [warning.code, warning.count, warning.revision])).toEqual([
      ['approval-asserted', 6, AT.sites],
      ['voided', 1, AT.voided],
      ['counts-removed', 1, AT.voided],
    ]);
    expect(stdout.split('\n').filter((line) => line.startsWith('WARNING'))).toEqual(warningLines(own));
  });

  it.each<[string, Change, Findings]>([
    ['another number', data(AT.names, { amendment: 3 }), AT.names],
    ['another reason', data(AT.names, { reason: 'another' }), 'ok'],
    ['another level that is added', changes(AT.sites, [added('x'), closed(DUPAGE)]), AT['004']],
    ['another level that is closed', changes(AT.sites, [added(MCLEAN), closed(COOK)]), AT['005']],
    ['no level that is reopened', changes(AT.again, [renamed(SEX, MAN, MALE)]), AT['007']],
    ['another new name', changes(AT.names, [renamed(SITE, COOK, 'x'), NAMES[1]]), AT['005']],
    ['a lower limit', rules('limits', limited(6, 3, 2)), AT['008']],
    ['the registered limits, under the new name', rules('limits'), AT['008']],
    ['another policy of corrections', rules('levelCounts'), AT.source],
    [
      'another policy of voids, and those counts',
      both(rules('voidCounts'), data(AT.voided, { counts: 'kept' })),
      inFull(AT['007']),
    ],
    ['nobody’s approval', data(AT.names, { approvals: [] }), AT.names],
    ['no history', without(AT.sites, 'history'), AT.sites],
    ['the Idempotency-Key of another', asked(AT.again, 'amendment-1'), inFull(AT.again)],
    ['no amendment', gone(AT.sites), AT['004'] - 1],
    ['no amendment while it is closed', gone(AT.again), AT['007'] - 1],
    ['no amendment at the end', gone(AT.protocol), 'ok'],
    ['an amendment after the next draw', moved(AT.sites), AT.sites],
    ['two of them', doubled(AT.sites), AT.sites + 1],
    ['a participant of a closed level', withLevels(AT['006'], FEMALE, DUPAGE), AT['006']],
    ['a participant under an alias', withLevels(AT['005'], MAN, COOK), AT['005']],
  ])('find what was altered: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Finding]>([
    ['no level that is closed', changes(AT.sites, [added(MCLEAN)]), AT.again],
    ['no way back to the old name', changes(AT.again, [reopened(DUPAGE)]), AT['007']],
    ['an old name that is not an alias', changes(AT.names, [renamed(SITE, COOK, CITY), NAMES[1]]), 'ok'],
    ['a lower limit of a renamed level', rules('limits', limited(7, 2, 2)), AT['008']],
    ['a lower limit, reached by corrections', rules('limits', limited(7, 3, 1)), AT['007']],
    ['no more limits', rules('limits', { kind: 'limits' }), 'ok'],
    ['limits that stop nobody', both(rules('stopAtLimit'), rules('limits', limited(1, 1, 1))), 'ok'],
    ['another policy of voids', rules('voidCounts'), AT.voided],
    [
      'a day that does not exist',
      data(AT.names, { approvals: [{ ...APPROVAL, on: '2027-02-29' }] }),
      AT.names,
    ],
    ['a history that nothing changes', data(AT.rules, { history: 'keep' }), AT.rules],
    ['an amendment before the draw before it', moved(AT['004']), AT['004'] + 1],
    ['an amendment before the closing', moved(AT.closed), 'ok'],
    ['a participant of no level', withLevels(AT['006'], FEMALE, 'x'), AT['006']],
    ['a participant under an old name', withLevels(AT['005'], MALE, CITY), AT['005']],
    ['a participant beyond a limit that was reached', withLevels(AT['006'], FEMALE, CITY), AT['006']],
    [
      'a correction under an old name',
      data(AT.corrected, { changes: [{ factor: SEX, from: MALE, to: FEMALE }] }),
      AT.corrected,
    ],
  ])('find what was altered in the clear: %s', async (_, altering, expected) => {
    expect(await findingInTheClear(altering)).toEqual(expected);
  });

  it.each<[string, number, readonly object[]]>([
    ['nothing', AT.names, []],
    ['a level of no factor', AT.sites, [{ ...added(MCLEAN), factor: 'x' }]],
    ['a level that is there, added', AT.sites, [added(COOK)]],
    ['a level that is closed, added', AT.names, [added(DUPAGE)]],
    ['a level under a former name, added', AT.again, [added(COOK)]],
    ['a level added twice', AT.sites, [added(MCLEAN), added(MCLEAN)]],
    ['no level, closed', AT.sites, [closed(MCLEAN)]],
    ['a level under an old name, closed', AT.again, [closed(COOK)]],
    ['a level closed twice', AT.names, [closed(DUPAGE)]],
    ['the only open level, closed', AT.sites, [closed(COOK), closed(DUPAGE)]],
    [
      'the only level that is still open, closed',
      AT.names,
      [closed(COOK), renamed(SITE, MCLEAN, 'x'), closed('x')],
    ],
    ['a level that is open, reopened', AT.sites, [reopened(COOK)]],
    ['a level renamed to its own name', AT.sites, [renamed(SITE, COOK, COOK)]],
    ['a level renamed to that of another', AT.sites, [renamed(SITE, COOK, DUPAGE)]],
    ['a level renamed to a closed one', AT.names, [renamed(SITE, COOK, DUPAGE)]],
    ['a level renamed to what another was called', AT.again, [renamed(SITE, MCLEAN, COOK)]],
    [
      'a level renamed to what another was called a moment ago',
      AT.sites,
      [renamed(SEX, MALE, MAN), renamed(SEX, FEMALE, MALE)],
    ],
    ['no level, renamed', AT.sites, [renamed(SITE, 'x', MCLEAN)]],
    ['limits without a limit', AT.names, [{ kind: 'limits', value: {} }]],
    ['a limit of no level', AT.sites, [limits(CITY)]],
    ['a limit of what a level was called', AT.rules, [limits(COOK)]],
    ['limits in another order', AT.rules, [limits(DUPAGE, CITY)]],
    ['a limit twice', AT.rules, [limits(CITY, CITY)]],
    ['the limits that are in force', AT.sites, [limits(COOK)]],
    ['the limits that are in force under a new name', AT.names, [NAMES[0], limits(CITY)]],
    ['no limits where there are none', AT.names, [{ kind: 'limits' }, { kind: 'limits' }]],
    ['the pattern that is in force', AT.names, [{ kind: 'id-pattern', value: '[0-9]{3}' }]],
    ['no target where there is none', AT.names, [{ kind: 'target' }]],
    ['the blinding that is in force', AT.names, [{ kind: 'blinding', value: 'open' }]],
    ...Object.entries(DEFAULTS).map(([name, value]): [string, number, readonly object[]] => [
      `the default of ${name}`,
      AT.names,
      [{ kind: 'policy', name, value }],
    ]),
    [
      'the value of another policy',
      AT.names,
      [{ kind: 'policy', name: 'voidCounts', value: 'as-corrected' }],
    ],
    ['a policy without a value', AT.names, [{ kind: 'policy', name: 'stopAtLimit' }]],
    ['a change of its own', AT.names, [{ kind: 'arm-closed', treatment: 'MART' }]],
    ['a member of another change', AT.sites, [{ ...added(MCLEAN), alias: true }]],
    ['an alias that is false', AT.names, [{ ...NAMES[0], alias: false }]],
  ])('find an amendment that the design before it does not allow: %s', async (_, revision, list) => {
    const touched = list.some((change) => 'level' in change);
    const altering = both(
      changes(revision, list),
      touched ? data(revision, { history: 'keep' }) : without(revision, 'history'),
    );
    expect(await findingInTheClear(altering)).toBe(revision);
  });

  it('find a key without the scope, and accept a person', async () => {
    expect(await findings(by(AT.sites, log.actors.nurse))).toEqual(inEach(AT.sites));
    expect(await findings(by(AT.sites, PERSON))).toEqual(inEach('ok'));
  });

  it('hold the limits of a key against every name of a level', async () => {
    const to = (level: string) => issuedWith(2, { where: [{ factor: SITE, levels: [level] }] });
    expect(await findings(unchanged, to(CITY))).toEqual(inEach('ok'));
    expect(await findings(unchanged, to(MCLEAN))).toEqual(inEach(AT.corrected));
    expect(await findings(unchanged, to(MAN))).toEqual(inEach(AT.corrected));
  });

  it('accept an import after an amendment, with a row of a closed level', async () => {
    const amended = await makeAmendedImport(newFolder(), CHANGES.sites, MCLEAN);
    for (const content of CONTENTS) {
      const { code, stdout } = await bundles.verifyBoth(amended.files[content]);
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('imported: 0 drawn again, 2 unproven; amendments: 1;');
    }
  });

  it('accept an amendment without approval in a test study', async () => {
    const [test, shown] = configured({ mode: 'test' });
    const unapproved = both(test, data(AT.names, { approvals: [] }));
    expect(await findings(unapproved, shown)).toEqual(inEach('ok'));
  });

  // The verifier in Python does not read patterns, which are ECMAScript expressions.
  it.each<[string, Change, number | undefined]>([
    ['the new one', unchanged, undefined],
    ['an id off the new one', data(AT['006'], { participantId: '006' }), AT['006']],
    ['another new one', rules('id-pattern', { kind: 'id-pattern', value: '[0-9]{4}' }), AT['006']],
    ['no pattern any more', rules('id-pattern', { kind: 'id-pattern' }), undefined],
    ['none that is new', rules('id-pattern'), AT['006']],
    [
      'one that other engines read differently',
      rules('id-pattern', { kind: 'id-pattern', value: '.*' }),
      AT.rules,
    ],
    ['a new one after the next participant', moved(AT.rules), AT.rules],
  ])('compare ids with the pattern in force, with this software: %s', async (_, altering, expected) => {
    const file = await bundles.make(log, 'blinded', altering);
    expect(firstDivergence(await verifyOurselves(file, []))?.revision).toBe(expected);
  });
});
