/**
 * A study with every kind of correction: both verifiers accept its bundles and say the same about them. In all contents,
 * both find at the same place what somebody altered who also corrected seals, leaves, manifest and references.
 */
import { randomBytes } from 'node:crypto';
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
  type Findings,
  gone,
  inEach,
  inFull,
  issuedWith,
  type Json,
  moved,
  movedOn,
  noted,
  PERSON,
  renumbered,
  unnoted,
  version,
  warningLines,
  without,
} from '../support/altered-bundles.ts';
import {
  AT,
  type CorrectedLog,
  change,
  makeCorrectedLog,
  TO_COOK,
  TO_DUPAGE,
  TO_MALE,
} from '../support/corrected-log.ts';
import { CONFIGURATION } from '../support/facts.ts';
import { requiredPython } from '../support/numpy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

const of = (name: '001' | '002' | '003' | '004' | '005' | '006' | '007') => ({
  ...{ participantId: name, randomizedAt: AT[name] },
});
/** Changes of levels in their other direction. */
const back = ({ factor, from, to }: typeof TO_MALE) => ({ factor, from: to, to: from });
const withAnotherArm = (_: Json, { allocation }: Json) => {
  const others = CONFIGURATION.treatments.filter((treatment) => treatment !== allocation.treatment);
  Object.assign(allocation, { treatment: others[0] });
};

describe.skipIf(found === undefined)('both verifiers of a study with corrections', () => {
  const bundles = alteredBundles(python, newFolder);
  const findings = (altering: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, altering, prepare);
  let log: CorrectedLog;

  beforeAll(async () => {
    log = await makeCorrectedLog(newFolder());
  });

  /** The code, count, first revision and text of each warning, which the verifier in Python must also give. */
  async function warningsOf(altering: Change) {
    const { code, stdout, own } = await bundles.verified(log, 'blinded', altering);
    expect(code, stdout).toBe(0);
    expect(stdout.split('\n').filter((line) => line.startsWith('WARNING'))).toEqual(warningLines(own));
    return own.report?.streams.at(-1)?.warnings ?? [];
  }

  it.each(CONTENTS)('accept it, content %s, and say what was corrected', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      '  The study is open; levels corrected: 3; ids corrected: 2; voided: 1 duplicate, 1 ineligible; ' +
        'changed after a closing: 1 AllocationVoided, 1 ParticipantIdCorrected; codes broken: 1 planned\n',
    );
    expect(own.text).toContain(
      '\n  open; levels corrected: 3; ids corrected: 2; voided: 1 duplicate, 1 ineligible; ' +
        'changed after a closing: 1 AllocationVoided, 1 ParticipantIdCorrected; codes broken: 1 other\n',
    );
    expect(own.report?.streams.at(-1)?.life).toEqual({
      state: 'open',
      corrected: 3,
      idsCorrected: 2,
      voided: { duplicate: 1, ineligible: 1 },
      changedAfterClosing: { AllocationVoided: 1, ParticipantIdCorrected: 1 },
      revealed: { planned: 1 },
    });
  });

  it('warn of the same', async () => {
    const warnings = await warningsOf((rows) => rows);
    expect(warnings.map((warning) => [warning.code, warning.count, warning.revision])).toEqual([
      ['voided', 3, AT.duplicate],
      ['counts-removed', 2, AT.duplicate],
      ['revealed', 1, AT.revealed],
      ['corrected-after-reveal', 1, AT.source],
      ['changed-after-closing', 2, AT.again],
      ['approval-asserted', 1, AT.reopened],
    ]);
  });

  it.each<[string, string, string, number | undefined]>([
    ['that of another participant', '００4', '051', AT.renamed],
    ['that of somebody randomized later', '０0７', '051', AT['007']],
    ['the one that it corrects', '00５', '051', undefined],
    ['one that another participant had', '0\u200d50', '００４', AT.again],
    ['nobody’s', '０５0', '051', undefined],
  ])('warn of a corrected id that looks like %s', async (_, first, second, expected) => {
    const altering = both(data(AT.renamed, { to: first }), data(AT.again, { from: first, to: second }));
    const warned = (await warningsOf(altering)).find((warning) => warning.code === 'look-alike-ids');
    expect(warned?.revision).toBe(expected);
  });

  it.each<[string, Change, Findings]>([
    ['another cause', data(AT.levels, { cause: 'definition' }), 'ok'],
    ['a cause of its own', data(AT.levels, { cause: 'typo' }), AT.levels],
    ['a transfer', data(AT.levels, { cause: 'transfer' }), AT.levels],
    ['no transfer', data(AT.transfer, { cause: 'source' }), AT.transfer],
    ['the other counts', data(AT.levels, { counts: 'as-randomized' }), AT.levels],
    ['the other counts of a transfer', data(AT.transfer, { counts: 'as-corrected' }), AT.transfer],
    ['counts of its own', data(AT.levels, { counts: 'kept' }), AT.levels],
    ['another from', data(AT.levels, { changes: [back(TO_MALE)] }), AT.levels],
    ['the same from and to', data(AT.levels, { changes: [change('sex', 'Female', 'Female')] }), AT.levels],
    ['a to of another factor', data(AT.levels, { changes: [{ ...TO_MALE, to: TO_COOK.to }] }), AT.levels],
    ['another factor', data(AT.levels, { changes: [{ ...TO_MALE, factor: '9' }] }), AT.levels],
    [
      'a factor that the study does not have',
      data(AT.levels, { changes: [{ ...TO_MALE, factor: 'x' }] }),
      AT.levels,
    ],
    ['no change', data(AT.levels, { changes: [] }), AT.levels],
    ['one change fewer', data(AT.source, { changes: [TO_COOK] }), inFull(AT['008'])],
    ['changes in another order', data(AT.source, { changes: [TO_COOK, TO_MALE] }), AT.source],
    ['a factor twice', data(AT.source, { changes: [TO_MALE, back(TO_MALE)] }), AT.source],
    ['another member', data(AT.levels, { text: 'x' }), AT.levels],
    ['another participant', data(AT.levels, of('001')), AT.levels],
    ['nobody', data(AT.levels, { participantId: '009' }), AT.levels],
    ['another revision', data(AT.levels, { randomizedAt: AT['001'] }), AT.levels],
    ['a participant who comes later', data(AT.levels, of('006')), AT.levels],
    ['a corrected id', data(AT.source, { participantId: '050', randomizedAt: AT['005'] }), AT.source],
    ['no correction', gone(AT.levels), inFull(AT['005'] - 1)],
    ['a correction after the next draw', moved(AT.levels), inFull(AT.levels)],
    ['two of them', doubled(AT.levels), AT.levels + 1],
    ['no correction of two levels', gone(AT.source), inFull(AT['007'] - 1)],
    // Nobody of Cook County is randomized after 008, who would not have been randomized if 001 were still there.
    ['no transfer at all', gone(AT.transfer), AT['008'] - 1],
    ['a transfer at another time', moved(AT.transfer), 'ok'],
    ['a transfer twice', doubled(AT.transfer), AT.transfer + 1],
    ['a note with an escape', noted(AT.levels, 'a\u001b'), inFull(AT.levels)],
    ['a note of 2,000 characters', noted(AT.levels, '😀'.repeat(1999).concat('\t')), 'ok'],
    ['a note of 2,001 characters', noted(AT.levels, '😀'.repeat(2001)), inFull(AT.levels)],
    ['an empty note', noted(AT.levels, ''), inFull(AT.levels)],
    ['no note', changed(AT.levels, unnoted), AT.levels],
    ['version 2', version(AT.levels, 2), AT.levels],
    ['another arm', changed(AT['002'], withAnotherArm), inFull(AT['002'])],
  ])('find altered levels: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another analysis', data(AT.duplicate, { analysis: 'keep' }), 'ok'],
    ['no analysis', without(AT.duplicate, 'analysis'), AT.duplicate],
    ['another cause', data(AT.duplicate, { cause: 'never-enrolled' }), AT.duplicate],
    [
      'another cause, of nobody’s duplicate',
      both(data(AT.duplicate, { cause: 'never-enrolled' }), without(AT.duplicate, 'duplicateOf')),
      'ok',
    ],
    ['a cause with other counts', data(AT.ineligible, { cause: 'never-enrolled' }), AT.ineligible],
    [
      'a cause with other counts, and those counts',
      data(AT.ineligible, { cause: 'never-enrolled', counts: 'removed' }),
      inFull(AT['008']),
    ],
    ['an entry', data(AT.ineligible, { cause: 'entry' }), AT.ineligible],
    ['an entry, removed', data(AT.ineligible, { cause: 'entry', counts: 'removed' }), AT.ineligible],
    ['the other counts', data(AT.duplicate, { counts: 'kept' }), AT.duplicate],
    ['the other counts of an ineligible', data(AT.ineligible, { counts: 'removed' }), AT.ineligible],
    ['nobody’s duplicate', without(AT.duplicate, 'duplicateOf'), 'ok'],
    ['another’s duplicate', data(AT.duplicate, { duplicateOf: '001' }), 'ok'],
    ['their own duplicate', data(AT.duplicate, { duplicateOf: '004' }), AT.duplicate],
    ['an unknown duplicate', data(AT.duplicate, { duplicateOf: '009' }), AT.duplicate],
    ['a duplicate of somebody later', data(AT.duplicate, { duplicateOf: '006' }), AT.duplicate],
    ['each other’s duplicates', data(AT.duplicate, { duplicateOf: '003' }), AT.chained],
    [
      'each other’s duplicates through a third',
      both(
        data(AT.ineligible, { ...of('002'), cause: 'duplicate', duplicateOf: '003', counts: 'removed' }),
        gone(AT.reinstated),
      ),
      // Urns show that nobody is reinstated any more.
      { full: AT['007'] - 1, open: AT.ineligible - 1, blinded: AT.ineligible - 1 },
    ],
    [
      'duplicates of one who is reinstated',
      data(AT.ineligible, { ...of('002'), cause: 'duplicate', duplicateOf: '003', counts: 'removed' }),
      inFull(AT['008']),
    ],
    [
      'a duplicate by a corrected id',
      data(AT.ineligible, { cause: 'duplicate', duplicateOf: '051', counts: 'removed' }),
      AT.ineligible,
    ],
    ['a participant who is voided', data(AT.chained, of('004')), AT.chained],
    ['another participant', data(AT.ineligible, of('002')), 'ok'],
    ['another revision', data(AT.ineligible, { randomizedAt: AT['002'] }), AT.ineligible],
    ['no void', gone(AT.duplicate), AT.reinstated - 1],
    // 008 would not have been randomized.
    ['no void of somebody who stays voided', gone(AT.chained), AT['008'] - 1],
    ['a void that changes nothing', gone(AT.ineligible), 'ok'],
    // Of somebody of other levels.
    ['a void after the next draw', moved(AT.duplicate), 'ok'],
    ['a void before the draw before it', moved(AT['006']), inFull(AT.chained)],
    ['two of them', doubled(AT.duplicate), AT.duplicate + 1],
    ['a note of 2,001 characters', noted(AT.duplicate, 'x'.repeat(2001)), inFull(AT.duplicate)],
    ['no note', changed(AT.duplicate, unnoted), AT.duplicate],
    ['the Idempotency-Key of a later request', asked(AT.duplicate, 'ic-1'), inFull(AT.renamed)],
    ['that of another user', asked(AT.duplicate, 'lc-2'), 'ok'],
  ])('find altered voids: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another voidedAt', data(AT.reinstated, { voidedAt: AT.chained }), AT.reinstated],
    ['no voidedAt', without(AT.reinstated, 'voidedAt'), AT.reinstated],
    [
      'somebody else who is voided',
      data(AT.reinstated, { ...of('003'), voidedAt: AT.chained }),
      inFull(AT['007']),
    ],
    ['somebody who is not voided', data(AT.reinstated, of('002')), AT.reinstated],
    ['another revision', data(AT.reinstated, { randomizedAt: AT['003'] }), AT.reinstated],
    ['no reinstatement', gone(AT.reinstated), inFull(AT['007'] - 1)],
    ['a reinstatement after the next draw', moved(AT.reinstated), inFull(AT.reinstated)],
    ['two of them', doubled(AT.reinstated), AT.reinstated + 1],
    ['no note', changed(AT.reinstated, unnoted), AT.reinstated],
    ['the Idempotency-Key of the void', asked(AT.reinstated, 'v-1'), inFull(AT.reinstated)],
  ])('find altered reinstatements: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another cause', data(AT.renamed, { cause: 'pattern' }), 'ok'],
    ['a cause of its own', data(AT.renamed, { cause: 'typo' }), AT.renamed],
    ['another from', data(AT.renamed, { from: '004' }), AT.renamed],
    ['the id in use', data(AT.renamed, { to: '005' }), AT.renamed],
    ['the id of another', data(AT.renamed, { to: '001' }), AT.renamed],
    ['the former id of another', data(AT.again, { ...of('006'), from: '006', to: '005' }), AT.again],
    ['the id in use of another', data(AT.again, { ...of('006'), from: '006', to: '050' }), AT.again],
    ['their own former id', data(AT.again, { to: '005' }), 'ok'],
    ['another id', data(AT.again, { to: 'x' }), 'ok'],
    ['a former from', data(AT.again, { from: '005' }), AT.again],
    ['a space at the end', data(AT.again, { to: '051 ' }), AT.again],
    ['a control character', data(AT.again, { to: '0\u00851' }), AT.again],
    ['128 characters', data(AT.again, { to: '😀'.repeat(128) }), 'ok'],
    ['129 characters', data(AT.again, { to: '😀'.repeat(129) }), AT.again],
    ['no characters', data(AT.again, { to: '' }), AT.again],
    ['a former id for somebody new', data(AT['008'], { participantId: '050' }), AT['008']],
    ['the id in use for somebody new', data(AT['008'], { participantId: '051' }), AT['008']],
    ['the id as randomized for somebody new', data(AT['008'], { participantId: '005' }), AT['008']],
    ['no correction', gone(AT.renamed), AT.again - 1],
    ['no correction at the end', gone(AT.again), 'ok'],
    ['a correction later', moved(AT.renamed), 'ok'],
    ['a correction before the closing', renumbered(movedOn(AT.closed)), 'ok'],
    ['two of them', doubled(AT.renamed), AT.renamed + 1],
    [
      'a note',
      changed(AT.renamed, (record, sealed) => {
        record.seals.note = '';
        sealed.note = { text: 'x', salt: randomBytes(16).toString('hex') };
      }),
      AT.renamed,
    ],
    ['the Idempotency-Key of the void', asked(AT.renamed, 'v-1'), inFull(AT.renamed)],
  ])('find altered corrections of ids: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it.each(['levels', 'duplicate', 'reinstated', 'renamed'] as const)(
    'find a key without the scope, and accept a person: %s',
    async (name) => {
      expect(await findings(by(AT[name], log.actors.desk))).toEqual(inEach(AT[name]));
      expect(await findings(by(AT[name], log.actors.nurse))).toEqual(inEach(AT[name]));
      expect(await findings(by(AT[name], PERSON))).toEqual(inEach('ok'));
    },
  );

  it.each<[string, Change, Findings]>([
    ['levels of somebody outside', data(AT.levels, of('003')), AT.levels],
    ['levels to outside', data(AT.transfer, { cause: 'entry', counts: 'as-corrected' }), AT.transfer],
    ['levels from outside', (rows) => by(AT.source, log.actors.site)(rows), AT.source],
    ['a transfer from outside', data(AT.transfer, { ...of('003'), changes: [TO_COOK] }), AT['008']],
    [
      'a transfer that does not concern them',
      data(AT.transfer, { ...of('003'), changes: [TO_MALE] }),
      AT.transfer,
    ],
    ['a void of somebody outside', (rows) => by(AT.chained, log.actors.site)(rows), AT.chained],
    ['a void of somebody inside', (rows) => by(AT.duplicate, log.actors.site)(rows), 'ok'],
    ['a void of somebody who left', (rows) => by(AT.ineligible, log.actors.site)(rows), AT.ineligible],
    ['a reinstatement inside', (rows) => by(AT.reinstated, log.actors.site)(rows), 'ok'],
    ['an id of somebody inside', (rows) => by(AT.renamed, log.actors.site)(rows), 'ok'],
    [
      'an id of somebody outside',
      (rows) => both(by(AT.renamed, log.actors.site), data(AT.renamed, { ...of('003'), from: '003' }))(rows),
      AT.renamed,
    ],
  ])('judge a key with limits: %s', async (_, altering, expected) => {
    expect(await findings(altering)).toEqual(inEach(expected));
  });

  it('let a key with limits break the code of somebody who was, or is, within them', async () => {
    // The key of `desk`.
    const limited = (level: string) =>
      issuedWith(3, { where: [{ factor: TO_COOK.factor, levels: [level] }] });
    const reveal = (name: '001' | '002' | '003') =>
      both(by(AT.revealed, log.actors.desk), data(AT.revealed, of(name)));
    expect(await findings(reveal('001'), limited(TO_COOK.to))).toEqual(inEach('ok'));
    expect(await findings(reveal('001'), limited(TO_DUPAGE.to))).toEqual(inEach('ok'));
    expect(await findings(reveal('002'), limited(TO_DUPAGE.to))).toEqual(inEach(AT.revealed));
    expect(await findings(reveal('003'), limited(TO_COOK.to))).toEqual(inEach(AT.revealed));
  });

  it('accept a report of an unblinding by a key that may correct', async () => {
    const reported = changed(AT.revealed, (record) => {
      const { participantId, randomizedAt } = record.data;
      const occurred = { how: 'label', occurredAt: record.at, participantId, randomizedAt };
      Object.assign(record, { type: 'UnblindingReported', data: occurred });
    });
    for (const user of ['clerk', 'desk'] as const)
      expect(await findings(both(reported, by(AT.revealed, log.actors[user])))).toEqual(inEach('ok'));
    expect(await findings(both(reported, by(AT.revealed, log.actors.nurse)))).toEqual(inEach(AT.revealed));
  });

  it.each<[string, object, Findings]>([
    ['as randomized', { policies: { stopAtLimit: true, voidCounts: 'removed' } }, AT.levels],
    [
      'as corrected by default',
      { blinding: 'blinded', policies: { stopAtLimit: true, voidCounts: 'removed' } },
      'ok',
    ],
    ['with voids kept', { policies: { stopAtLimit: true, levelCounts: 'as-corrected' } }, AT.duplicate],
    [
      'without a limit',
      { limits: { total: 1 }, policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } },
      'ok',
    ],
    ['with one place less', { limits: { total: 6 } }, AT['008']],
    [
      'with one place less in the county',
      { limits: { levels: [{ ...limitOf('9', 0), max: 5 }] } },
      AT['008'],
    ],
    ['with no place for women', { limits: { levels: [{ ...limitOf('10', 1), max: 1 }] } }, AT['003']],
    ['with one place for women', { limits: { levels: [{ ...limitOf('10', 1), max: 2 }] } }, 'ok'],
  ])('follow the study that is registered: %s', async (_, members, expected) => {
    expect(await findings(...configured(members))).toEqual(inEach(expected));
  });
});

function limitOf(factor: string, level: number) {
  const levels = CONFIGURATION.factors.find(({ name }) => name === factor)?.levels ?? [];
  return { factor, level: levels[level] };
}
