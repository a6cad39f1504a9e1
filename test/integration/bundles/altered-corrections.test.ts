/** A study with every kind of correction, altered. */
import { describe, expect, it } from 'vitest';
import {
  about,
  asked,
  at,
  both,
  bundlesOf,
  by,
  type Change,
  changed,
  configured,
  data,
  gone,
  hasPython,
  inFull,
  issuedWith,
  moved,
  noted,
  onAnotherArm,
  warningLines,
} from '../../support/altered-bundles.ts';
import { change, FEMALE, SEX, SITE } from '../../support/life.ts';
import { CORRECTED, TO_COOK, TO_DUPAGE, TO_MALE } from '../../support/lives/corrected.ts';

const { alterations, judge } = bundlesOf(CORRECTED);
const levels = (...changes: object[]) => data({ changes });
/** In the other direction. */
const back = ({ factor, from, to }: typeof TO_MALE) => change(factor, to, from);
/** As a duplicate, whom the urns do not count any more. */
const duplicateOf = (id: string) => data({ cause: 'duplicate', duplicateOf: id, counts: 'removed' });

alterations('both verifiers of altered levels', {
  levels: [
    ['a transfer', data({ cause: 'transfer' })],
    ['the other counts', data({ counts: 'as-randomized' })],
    ['another from', levels(back(TO_MALE))],
    ['another participant', about('001')],
    ['another revision', data({ randomizedAt: CORRECTED.at['001'] })],
    ['no correction', gone, inFull('005')],
    ['a correction after the next draw', moved, inFull('005')],
    ['a note with an escape', noted('a\u001b'), inFull()],
    ['a note of 2,000 characters', noted('😀'.repeat(1999).concat('\t')), 'ok'],
    ['a note of 2,001 characters', noted('😀'.repeat(2001)), inFull()],
    ['levels of somebody outside the limits of the key', about('003')],
  ],
  '002': [['another arm', onAnotherArm, inFull()]],
  source: [
    ['one change fewer', levels(TO_COOK), inFull('008')],
    ['changes in another order', levels(TO_COOK, TO_MALE)],
    ['a corrected id', data({ participantId: '050', randomizedAt: CORRECTED.at['005'] })],
    ['levels from outside the limits of the key', by('site')],
  ],
  transfer: [
    ['no transfer', data({ cause: 'source' })],
    ['the other counts of a transfer', data({ counts: 'as-corrected' })],
    ['levels to outside the limits of the key', data({ cause: 'entry', counts: 'as-corrected' })],
    ['a transfer from outside', both(about('003'), levels(TO_COOK)), '008'],
    ['a transfer that does not concern them', both(about('003'), levels(TO_MALE))],
  ],
});

alterations('both verifiers of altered voids', {
  duplicate: [
    ['another cause', data({ cause: 'never-enrolled' })],
    ['the other counts', data({ counts: 'kept' })],
    ['a duplicate of somebody later', data({ duplicateOf: '006' })],
    ['each other’s duplicates', data({ duplicateOf: '003' }), 'chained'],
    ['no void', gone, 'reinstated'],
    ['the Idempotency-Key of a later request', asked('ic-1'), inFull('renamed')],
    ['that of another user', asked('lc-2'), 'ok'],
    ['a void of somebody within the limits of the key', by('site'), 'ok'],
  ],
  ineligible: [
    ['a cause with other counts', data({ cause: 'never-enrolled' })],
    ['an entry', data({ cause: 'entry' })],
    [
      'each other’s duplicates through a third',
      both(about('002'), duplicateOf('003'), at('reinstated', gone)),
      // Urns show that nobody is reinstated any more.
      { full: '007', open: 'ineligible', blinded: 'ineligible' },
    ],
    ['a duplicate by a corrected id', duplicateOf('051')],
    ['a void of somebody who left the limits of the key', by('site')],
  ],
  chained: [['a participant who is voided', about('004')]],
  '006': [['a void before the draw before it', moved, inFull('006')]],
});

alterations('both verifiers of altered reinstatements', {
  reinstated: [
    ['another voidedAt', data({ voidedAt: CORRECTED.at.chained })],
    ['somebody who is not voided', about('002')],
    ['a reinstatement after the next draw', moved, inFull('007')],
    ['the Idempotency-Key of the void', asked('v-1'), inFull()],
  ],
});

alterations('both verifiers of altered corrections of ids', {
  renamed: [
    ['another from', data({ from: '004' })],
    ['the id in use', data({ to: '005' })],
    ['the id of another', data({ to: '001' })],
    ['no correction', gone, 'again'],
    ['an id of somebody outside them', both(by('site'), about('003'), data({ from: '003' }))],
  ],
  again: [
    ['the former id of another', both(about('006'), data({ from: '006', to: '005' }))],
    ['their own former id', data({ to: '005' }), 'ok'],
    ['a former from', data({ from: '005' })],
    ['a space at the end', data({ to: '051 ' })],
    ['a control character', data({ to: '0\u00851' })],
    ['128 characters', data({ to: '😀'.repeat(128) }), 'ok'],
    ['129 characters', data({ to: '😀'.repeat(129) })],
  ],
  '008': [
    ['a former id for somebody new', data({ participantId: '050' })],
    ['the id as randomized for somebody new', data({ participantId: '005' })],
  ],
});

const limitedTo = (level: string) => issuedWith(3, { where: [{ factor: SITE, levels: [level] }] });
/** An unblinding that somebody reported in place of breaking the code. */
const reported = changed((record) => {
  const { participantId, randomizedAt } = record.data;
  const occurred = { how: 'label', occurredAt: record.at, participantId, randomizedAt };
  Object.assign(record, { type: 'UnblindingReported', data: occurred });
});
alterations('both verifiers of a code-break, by a key', {
  revealed: [
    ['limited to where they were', both(about('001'), limitedTo(TO_COOK.to)), 'ok'],
    ['limited to where they are', both(about('001'), limitedTo(TO_DUPAGE.to)), 'ok'],
    ['limited to where they never were', both(about('002'), limitedTo(TO_DUPAGE.to))],
    ['limited to where another never was', both(about('003'), limitedTo(TO_COOK.to))],
    ['reported, by one that may correct', both(reported, by('clerk')), 'ok'],
    ['reported, by one that may unblind', both(reported, by('desk')), 'ok'],
    ['reported, by one that may neither', both(reported, by('nurse'))],
  ],
});

const limit = (level: string, max: number) => ({
  limits: { levels: [{ factor: level === FEMALE ? SEX : SITE, level, max }] },
});
alterations('both verifiers of another registration', {
  registered: [
    ['as randomized', configured({ policies: { stopAtLimit: true, voidCounts: 'removed' } }), 'levels'],
    [
      'as corrected by default',
      configured({ blinding: 'blinded', policies: { stopAtLimit: true, voidCounts: 'removed' } }),
      'ok',
    ],
    [
      'with voids kept',
      configured({ policies: { stopAtLimit: true, levelCounts: 'as-corrected' } }),
      'duplicate',
    ],
    ['with one place less', configured({ limits: { total: 6 } }), '008'],
    ['with one place less in the county', configured(limit(TO_DUPAGE.from, 5)), '008'],
    ['with no place for women', configured(limit(FEMALE, 1)), '003'],
  ],
});

describe.skipIf(!hasPython)('both verifiers warn', () => {
  /** Of each warning, code, count and revision; the verifier in Python must give the same text. */
  async function warningsOf(change: Change) {
    const { report, stdout = '', found } = await judge('blinded', change, { isShown: true });
    expect(found).toBe('ok');
    expect(stdout.split('\n').filter((line) => line.startsWith('WARNING'))).toEqual(warningLines(report));
    return report.streams.at(-1)?.warnings ?? [];
  }
  it.each<[string, string, string, number | undefined]>([
    ['that of another participant', '００4', '051', CORRECTED.at.renamed],
    ['that of somebody randomized later', '０0７', '051', CORRECTED.at['007']],
    ['the one that it corrects', '00５', '051', undefined],
    ['one that another participant had', '0\u200d50', '００４', CORRECTED.at.again],
    ['nobody’s', '０５0', '051', undefined],
  ])('of a corrected id that looks like %s', async (_, first, second, expected) => {
    const altering = both(at('renamed', data({ to: first })), at('again', data({ from: first, to: second })));
    const warned = (await warningsOf(altering)).find((warning) => warning.code === 'look-alike-ids');
    expect(warned?.revision).toBe(expected);
  });
});
