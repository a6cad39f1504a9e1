/**
 * The report of a study with a life: closed and reopened, with broken codes, and with corrections. Each content shows only
 * what it includes.
 */
import { expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { CONTENTS, type Content } from '../../../events/record.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { MAX_LISTED, StudySummary } from '../../../src/evidence/bundle/study-summary.ts';
import { CONFIGURATION, event, LEVELS, randomized, registered } from '../../support/facts.ts';
import { filesIn } from '../../support/files-in.ts';
import { fixedId } from '../../support/fixed-tools.ts';
import {
  amends,
  arm,
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  enrols,
  enters,
  freePacks,
  KEYS,
  lifeOf,
  SITE as PLACE,
  packOf,
  registersPacks,
  reinstates,
  renamedLevel,
  renames,
  reopens,
  replacesPack,
  reports as reportsUnblinding,
  retired,
  reveals,
  SEX,
  type Step,
  site as sites,
  urn,
  voids,
  withdraws,
} from '../../support/life.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const SHOWN_AT = '2026-03-04T02:11:09.120Z';
const APPROVAL = { name: 'Dr. <A.> Ruiz', role: 'sponsor', on: '2026-02-20', reference: 'Amendment 3' };
const approvals = [APPROVAL];
const approved = 'approved by Dr. &lt;A.&gt; Ruiz (sponsor, 2026-02-20, Amendment 3)';
const GROUNDS = { reason: 'anaphylaxis & shock', requestedBy: 'Dr. Krämer' };
const note = 'ZZNOTE <of> the correction';
const { treatments } = CONFIGURATION;
const [FIRST = '', SECOND = '', THIRD = ''] = treatments;

type Reports = Record<Content, string>;

/** The reports of a study in which these steps were taken. */
async function reportsOf(
  steps: Readonly<Record<string, Step>>,
  more: Partial<StudyConfiguration> = {},
): Promise<Reports> {
  const keys = { site: { scopes: ['randomize', 'unblind', 'correct'] } } as const;
  const configuration = { ...CONFIGURATION, ...more } as StudyConfiguration;
  const { files } = await lifeOf({ configuration, keys, steps }).make(newFolder());
  const made = {} as Reports;
  for (const content of CONTENTS) {
    const report = (await filesIn(files[content])).find(({ path }) => path === 'report.html');
    made[content] = `${report?.bytes}`;
  }
  return made;
}

const enrol = enrols(LEVELS, {}, 'site');
const about = (participantId: string) => ({ participantId, grounds: GROUNDS });

/** The texts of the cells after the first one, in the first row that begins with it. */
function cells(text: string, first: string | number): string[] {
  const found = text.match(new RegExp(`^<tr><td(?: class="number")?>${first}</td>.*$`, 'm'))?.[0] ?? '';
  return [...found.matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, cell = '']) => cell).slice(1);
}
/** The cells of an event's row after revision and time. */
const row = (text: string, revision: number) => cells(text, revision).slice(1);
const lastNumber = (text: string, label: string) => cells(text, label).map(Number).at(-1);

/** A report, what only the full content says, and that the arms and the sealed texts are where they are included. */
function read(reports: Reports, content: Content) {
  const text = reports[content];
  const isOpen = content !== 'blinded';
  const isFull = content === 'full';
  expect(treatments.some((name) => text.includes(name))).toBe(isOpen);
  if (!isFull) expect(text).not.toMatch(/ZZNOTE|ZZREASON|anaphylaxis|Krämer/);
  const noted = isFull ? '; note: ZZNOTE &lt;of&gt; the correction' : '';
  const because = isFull ? '; reason: anaphylaxis &amp; shock; asked for by Dr. Krämer' : '';
  return { text, isOpen, isFull, noted, because };
}

const lived = await reportsOf({
  ...{ '001': enrol, '002': enrol, '003': enrol },
  emergency: reveals('site', about('001'), { onBehalfOf: 'nurse Ada' }),
  monitoring: reveals('site', about('002'), { category: 'monitoring', shownAt: SHOWN_AT }),
  mistake: reportsUnblinding('site', '002', {
    ...{ how: 'envelope', inadvertent: true, occurredAt: SHOWN_AT, revealedAt: 5, grounds: GROUNDS },
  }),
  closed: closes('operator', { cause: 'target', reason: '300 randomized' }),
  reopened: reopens({
    ...{ reason: 'target raised', approvals, protocol: { version: '3.0', date: '2027-02-20' } },
  }),
  closedAgain: closes('operator', { cause: 'end', reason: 'the end', approvals }),
});

it.each(CONTENTS)('the report of a study says who closed it and broke its codes, content %s', (content) => {
  const { text, because } = read(lived, content);
  const by = 'operator (command line)';
  expect([4, 5, 6, 7, 8, 9].map((revision) => row(text, revision))).toEqual([
    [`code of 001 broken: emergency${because}`, 'site, on behalf of nurse Ada'],
    [
      `code of 002 broken: monitoring; recorded late: the treatment was shown at 2026-03-04 02:11:09 UTC${because}`,
      'site',
    ],
    [
      `reported: 002 was unblinded outside the service at 2026-03-04 02:11:09 UTC (envelope); inadvertent; the code-break at revision 5 was a mistake${because}`,
      'site',
    ],
    ['closed (target): 300 randomized', by],
    [`reopened: target raised; ${approved}; protocol 3.0 of 2027-02-20 from here on`, by],
    [`closed (end): the end; ${approved}`, by],
  ]);
  expect(text).toMatch(/<td>State<\/td><td>closed since [-0-9]+ [:0-9]+ UTC: end: the end<\/td>/);
  expect(text).toContain('<td>Code-breaks</td><td>2: 1 emergency, 1 monitoring</td>');
  expect(text).toContain('<td>Unblinded outside</td><td>1 reported</td>');
  expect(text).toContain('<td>People unblinded</td><td>2</td>');
  const revealed = [1, 2, 3].map((revision) => row(text, revision).at(-2));
  expect(revealed).toEqual(['emergency', 'monitoring, reported: envelope', '']);
  expect(row(text, 1)).toHaveLength(content === 'blinded' ? 5 : 6);
  const [counts = ''] = text.split('<h2>Events').slice(0, 1);
  expect(counts.slice(counts.indexOf('<h3>9</h3>'))).toMatch(/30-Dupage County.*?>3</s);
  // Of what the other studies have, there is no trace.
  expect(text).not.toMatch(
    /<th>(Voided|Corrected|Pack|Forced)<|As the urns count|<td>Packs|packs|Of these forced|Forced:/,
  );
  // The protocol came with the reopening.
  const [, inForce = ''] = text.split('<h2>Design in force</h2>');
  expect(['Amendments', 'Protocol'].map((name) => cells(inForce, name)[0])).toEqual([
    ...['0', '3.0 of 2027-02-20'],
  ]);
});

const corrected = await reportsOf(
  {
    ...{ '001': enrol, '002': enrol, '003': enrol, '004': enrol },
    entry: corrects('site', '001', 'entry', [change(SEX, 'Female', 'Male')], { note }),
    transfer: corrects('site', '001', 'transfer', [change(PLACE, DUPAGE, COOK)], { note }),
    renamed: renames('site', '002', '020'),
    duplicate: voids('site', '003', 'duplicate', { duplicateOf: '002', note }),
    ineligible: voids('site', '004', 'ineligible', { analysis: 'keep', note }),
    revealed: reveals('site', about('002')),
    voided: voids('site', '001', 'other', { analysis: 'keep', note }),
    reinstated: reinstates('site', '001', note),
  },
  { policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } },
);

it.each(CONTENTS)(
  'the report of a study with corrections shows each of them, participants as they are now, and what the urns count, content %s',
  (content) => {
    const { text, isOpen, noted } = read(corrected, content);
    expect([5, 6, 7, 8, 9, 10, 11, 12].map((revision) => row(text, revision)[0])).toEqual([
      `001 corrected (entry): ${SEX} from Female to Male; the counts of the urns moved${noted}`,
      `001 corrected (transfer): ${PLACE} from ${DUPAGE} to ${COOK}; the counts of the urns stayed${noted}`,
      '002 renamed to 020 (entry)',
      `003 voided: duplicate of 020; analysis: exclude; the counts of the urns moved${noted}`,
      `004 voided: ineligible; analysis: keep; the counts of the urns stayed${noted}`,
      expect.stringMatching(/^code of 020 broken: emergency/),
      `001 voided: other; analysis: keep; the counts of the urns stayed${noted}`,
      `001 no longer voided; the counts of the urns stayed${noted}`,
    ]);
    const rows = [1, 2, 3, 4].map((revision) => row(text, revision).toSpliced(3, isOpen ? 1 : 0));
    expect(rows).toEqual([
      ['001', 'Male', COOK, '', `${SEX} was Female, ${PLACE} was ${DUPAGE}`, '', 'site'],
      ['020', 'Female', DUPAGE, '', 'id was 002', 'emergency', 'site'],
      ['003', 'Female', DUPAGE, 'duplicate of 020', '', '', 'site'],
      ['004', 'Female', DUPAGE, 'ineligible', '', '', 'site'],
    ]);
    expect(text).not.toContain('Design in force');
    // The numbers of a flow diagram.
    const labels = ['Randomized', 'Of these voided', '– duplicate', '– ineligible', 'Of these unblinded'];
    expect(labels.map((label) => lastNumber(text, label))).toEqual([4, 2, 1, 1, 1]);
    for (const label of labels) {
      const arms = cells(text, label).map(Number).slice(0, -1);
      expect(arms).toHaveLength(isOpen ? treatments.length : 0);
      if (isOpen) expect(arms.reduce((sum, n) => sum + n)).toBe(lastNumber(text, label));
    }
    const [everybody = '', urns = ''] = text.split('As the urns count');
    expect(lastNumber(urns, 'All that are counted')).toBe(3);
    // 001 is counted as Male, and still where they were randomized.
    expect(lastNumber(urns, `${SEX}: Male`)).toBe(1);
    expect(lastNumber(urns, `${PLACE}: ${COOK}`)).toBe(0);
    expect(everybody.slice(everybody.indexOf(`<h3>${PLACE}</h3>`))).toMatch(/Cook County.*?>1</s);
  },
);

/** Two packs of each treatment. */
const packs = (letter: string) =>
  [0, 1].flatMap((n) => treatments.map((treatment, k) => ({ code: `${letter}${3 * n + k}`, treatment })));
const free = (living: Parameters<Step>[0]) =>
  treatments.flatMap((treatment) => freePacks(living, treatment, LEVELS));
/** The packs of 001: the one at the enrolment, and the present one. */
let [first, now] = ['', ''];
const stocked = await reportsOf({
  list1: registersPacks(packs('P')),
  list2: registersPacks(packs('Q'), { factor: PLACE, level: DUPAGE }),
  '001': enrol,
  replaced: async (living, name) => {
    first = packOf(living, '001');
    await replacesPack('site', '001')(living, name);
    now = packOf(living, '001');
  },
  withdrawn: withdraws('operator', (living) => free(living).slice(0, 1), 'ZZREASON'),
  revealed: reveals('site', () => ({ code: first, grounds: GROUNDS })),
  loose: reveals('site', (living) => ({ code: free(living)[0], grounds: GROUNDS })),
});

it.each(CONTENTS)(
  'the report of a study with packs says what became of them, and not what the others hold, content %s',
  (content) => {
    const { text, isFull, because } = read(stocked, content);
    expect([1, 2, 4, 5, 6, 7].map((revision) => row(text, revision)[0])).toEqual([
      'list 1 of packs registered: 6',
      `list 2 of packs registered: 6, for ${PLACE} ${DUPAGE}`,
      `pack ${first} of 001 replaced by ${now} (damaged)`,
      `packs withdrawn that nobody had: 1${isFull ? '; reason: ZZREASON' : ''}`,
      `code of 001 broken: emergency; requested with the pack ${first}${because}`,
      expect.stringMatching(/^code of pack [PQ]\d broken: emergency; nobody had it/),
    ]);
    expect(text).toContain('<td>Packs</td><td>12 on 2 lists; replaced: 1; withdrawn: 1</td>');
    expect(text).toContain('<td>2: 2 emergency; of packs that nobody had: 1</td>');
    expect(text).toContain('<th>Pack</th>');
    const shown = row(text, 3);
    expect([...shown.slice(0, 3), shown.at(-3)]).toEqual(['001', ...LEVELS, now]);
    // The packs of 001, and the one whose code was broken.
    const codes = [...packs('P'), ...packs('Q')].map(({ code }) => code);
    expect(codes.filter((code) => new RegExp(`\\b${code}\\b`).test(text))).toHaveLength(3);
    for (const key of KEYS) expect(text).not.toContain(key);
  },
);

const entered = (treatment: string, more = {}) =>
  enters('operator', treatment, LEVELS, { note, occurredAt: SHOWN_AT, ...more });
const forced = await reportsOf(
  {
    '001': enrol,
    '002': entered(FIRST),
    wrong: voids('operator', '002', 'entry', { note }),
    again: entered(SECOND, { participantId: '002', cause: 'elsewhere', replaces: 2 }),
    '003': entered(FIRST),
  },
  { policies: { forcedCounts: 'not-counted' } },
);

it.each(CONTENTS)(
  'the report of a study with allocations that were made outside says why and when, and whether the urns count them, content %s',
  (content) => {
    const { text, isOpen, noted } = read(forced, content);
    expect([1, 4, 5].map((revision) => row(text, revision).at(-2))).toEqual([
      ...['', 'elsewhere, 2026-03-04 02:11:09 UTC; not counted'],
      'outage, 2026-03-04 02:11:09 UTC; not counted',
    ]);
    expect(text).toContain('<th>Forced</th>');
    // The entry that was wrong has a line of its own.
    expect([2, 3].map((revision) => row(text, revision)[0])).toEqual([
      `002 allocated outside the service at 2026-03-04 02:11:09 UTC, and entered by hand (outage); the urns do not count it${noted}`,
      `002 voided: entry; analysis: exclude; the counts of the urns stayed${noted}`,
    ]);
    const labels = ['Randomized', 'Of these forced', 'Of these voided', 'All that are counted'];
    expect(labels.map((label) => lastNumber(text, label))).toEqual([3, 2, 0, 1]);
    if (!isOpen) return;
    expect(row(text, 4)).toContain(SECOND);
    expect(cells(text, 'Of these forced').map(Number)).toEqual([1, 1, 0, 2]);
  },
);

const amended = await reportsOf(
  {
    ...{ '001': enrol, '002': enrol },
    transfer: corrects('site', '002', 'transfer', [change(PLACE, DUPAGE, COOK)]),
    closed: closes('operator', { cause: 'sponsor' }),
    reopened: reopens({ approvals, protocol: { version: '2.1' } }),
    first: amends(
      [
        ...[sites.added('M & N'), sites.closed(COOK)],
        renamedLevel(PLACE, DUPAGE, 'Du Page', { alias: true }),
        { kind: 'target', value: 320 },
      ],
      { reason: 'new <site>', approvals },
    ),
    second: amends(
      [
        renamedLevel(PLACE, COOK, 'Cook'),
        { kind: 'limits', value: { total: 320 } },
        { kind: 'id-pattern', value: '[0-9]{3}' },
        { kind: 'blinding', value: 'blinded' },
        { kind: 'policy', name: 'stopAtLimit', value: true },
      ],
      { reason: 'more of them', approvals, protocol: { version: '3.0', date: '2027-02-20' } },
    ),
    '003': enrols(['Male', 'M & N'], {}, 'site'),
  },
  { mode: 'live', limits: { levels: [{ factor: PLACE, level: COOK, max: 40 }] } },
);

it.each(CONTENTS)(
  'the report of a study whose design was amended says how, and shows the design in force and present names, content %s',
  (content) => {
    const { text } = read(amended, content);
    expect([6, 7].map((revision) => row(text, revision)[0])).toEqual([
      `amendment 1: new &lt;site&gt;; ${PLACE}: M &amp; N added; ${PLACE}: ${COOK} closed; ${PLACE}: ${DUPAGE} renamed to Du Page (requests may still use the old name); target: 320 participants; ${approved}`,
      `amendment 2: more of them; ${PLACE}: ${COOK} renamed to Cook; limits: 320 participants; participant ids must match [0-9]{3}; blinding: blinded; policy stopAtLimit: true; protocol 3.0 of 2027-02-20 from here on; ${approved}`,
    ]);
    const [before = '', inForce = ''] = text.split('<h2>Design in force</h2>');
    expect(cells(before, `Factor ${PLACE}`)).toEqual([`${COOK} · ${DUPAGE}`]);
    expect(cells(before, 'Limit')).toEqual([`40 with ${PLACE} = ${COOK} (information only)`]);
    const shown = ['Amendments', 'Protocol', 'Target', 'Blinding', 'Limit', `Factor ${PLACE}`];
    expect(shown.map((name) => cells(inForce, name)[0])).toEqual([
      ...['2', '3.0 of 2027-02-20', '320', 'blinded', '320 participants'],
      `Cook (closed; earlier: ${COOK}) · Du Page (earlier: ${DUPAGE}) · M &amp; N`,
    ]);
    expect(inForce).toContain('<code>[0-9]{3}</code>');
    expect(inForce).toContain('target 320');
    const levels = [1, 2, 8].map((revision) => row(text, revision)[2]);
    expect(levels).toEqual(['Du Page', 'Cook', 'M &amp; N']);
    expect(row(text, 2).join(' ')).toContain(`${PLACE} was Du Page`);
    const [numbers = ''] = text.split('<h2>Events</h2>');
    const byLevel = numbers.slice(numbers.indexOf(`<h3>${PLACE}</h3>`));
    for (const name of ['Cook', 'Du Page', 'M &amp; N']) expect(byLevel).toContain(`>${name}</text>`);
    expect([COOK, DUPAGE].some((name) => byLevel.includes(name))).toBe(false);
  },
);

let enrolled = 0;
/** Men and women in turn. */
const enrolsMany = (number: number, places: readonly string[]) =>
  Object.fromEntries(
    Array.from({ length: number }, (_, n) => {
      const levels = [n % 2 === 0 ? 'Male' : 'Female', places[n % places.length] ?? ''];
      return [String(++enrolled).padStart(3, '0'), enrols(levels, {}, 'site')];
    }),
  );
const changed = await reportsOf(
  {
    ...enrolsMany(12, [COOK, DUPAGE, DUPAGE]),
    closed: amends([arm.closed(THIRD), urn({ w: 2, D: 'range' })], { reason: 'interim analysis', approvals }),
    added: amends([arm.added('ZZNEW', { ratio: 2 })], { reason: 'new drug', approvals }),
    retired: amends([retired(PLACE)], { reason: 'one site left', approvals }),
    ...enrolsMany(9, ['']),
    again: amends([arm.closed(FIRST), arm.reopened(THIRD)], { reason: 'again', approvals }),
  },
  { ratio: [2, 1, 1] },
);

it.each(CONTENTS)(
  'the report of a study whose arms and factors changed says how, shows the design in force, and compares arms by their ratio, content %s',
  (content) => {
    const { text, isOpen } = read(changed, content);
    const named = (k: number) => (isOpen ? `arm ${treatments[k]}` : 'an arm');
    expect([13, 14, 15, 25].map((revision) => row(text, revision)[0])).toEqual([
      `amendment 1: interim analysis; ${named(2)} closed; w 2, D range; ${approved}`,
      `amendment 2: new drug; ${isOpen ? 'arm ZZNEW' : 'an arm'} added, with 2 slots; the urns begin anew; ${approved}`,
      `amendment 3: one site left; ${PLACE} retired; ${approved}`,
      `amendment 4: again; ${named(0)} closed; ${named(2)} reopened; ${approved}`,
    ]);
    expect(text.includes('ZZNEW')).toBe(isOpen);
    const [before = '', inForce = ''] = text.split('<h2>Design in force</h2>');
    expect(cells(before, 'Ratio')).toEqual(['2:1:1, in the order of the treatments']);
    const names = ['Treatments', 'Ratio', 'Imbalance measure', 'Urn', 'Urns began anew'];
    expect(names.map((name) => cells(inForce, name)[0])).toEqual([
      isOpen
        ? `${FIRST} (closed), ${SECOND}, ${THIRD}, ZZNEW`
        : '4, of them 1 closed, not named in this report',
      ...['2:1:1:2, in the order of the treatments', 'range', 'w = 2, alpha = 0, beta = 1'],
      'with amendment 2',
    ]);
    expect(inForce).toContain(
      `<td>Factor ${PLACE}</td><td><strong>retired</strong>: ${COOK} · ${DUPAGE}</td>`,
    );
    expect(text).toContain(`<h3>${PLACE} (retired)</h3>`);
    expect(text).toContain('9 participants were randomized after it was retired');
    expect(row(text, 1).slice(0, 3)).toEqual(['001', 'Male', COOK]);
    expect(row(text, 16).slice(0, 3)).toEqual(['013', 'Male', '']);
    const numbers = (label: string, all = text) =>
      cells(all, label).flatMap((cell) => (cell === '' ? [] : [Number(cell)]));
    const urns = text.split('<h3>As the urns count</h3>')[1] ?? '';
    expect(urns).toContain('The urns began anew with amendment 2');
    const [totals, counted] = [numbers('All participants'), numbers('All that are counted', urns)];
    expect(counted.at(-1)).toBe(9);
    expect(numbers('Ratio in force')).toEqual(isOpen ? [2, 1, 1, 2, 6] : []);
    if (!isOpen) return;
    expect(totals.at(-1)).toBe(21);
    const byRatio = (of: readonly number[]) => [2, 1, 1, 2].map((r, k) => (of[k] ?? 0) / r);
    expect(numbers('Participants / ratio', urns)).toEqual(byRatio(counted));
    expect(numbers('Participants / ratio')).toEqual(byRatio(totals));
  },
);

it('a study that was registered as paused is so until it is resumed', () => {
  const summary = new StudySummary();
  const { data, ...fact } = registered();
  const configuration = { ...data.configuration, start: 'paused' as const };
  summary.take(event({ ...fact, data: { ...data, configuration } }, 0));
  expect(summary.halt).toMatchObject({ state: 'paused', reason: 'registered as paused' });
  summary.take(event({ type: 'StudyResumed', data: { reason: 'go' }, sections: {} }, 1));
  expect(summary.halt).toBeUndefined();
  expect(summary.listed.map(({ what }) => what)).toEqual(['registered as paused', 'resumed: go']);
});

it('the list of events has a limited length, says how many it leaves out, and counts all of them', () => {
  const MANY = MAX_LISTED + 5;
  const one = { participantId: '001', randomizedAt: 1 };
  const facts: object[] = [registered(), randomized('001')];
  for (let n = 0; n < MANY; n++) {
    const [from = '', to = ''] = n % 2 === 0 ? ['Female', 'Male'] : ['Male', 'Female'];
    const corrected = {
      cause: 'entry',
      changes: [{ factor: SEX, from, to }],
      counts: 'as-corrected',
      ...one,
    };
    const revealed = { category: 'end', reveal: fixedId(n), ...one };
    facts.push(
      { type: 'LevelsCorrected', data: corrected, sections: { note: { text: 'x' } } },
      { type: 'AllocationRevealed', data: revealed, sections: { grounds: { reason: 'the end' } } },
    );
  }
  const summary = new StudySummary();
  for (const [revision, each] of facts.entries()) summary.take(event(each as StudyFact, revision));
  expect(summary).toMatchObject({
    limited: { 'code-breaks': MANY, corrections: MANY },
    model: { life: { codeBreaks: { end: MANY } } },
  });
  // Those, the registration and the participant.
  expect(summary.listed).toHaveLength(2 * MAX_LISTED + 2);
  expect(summary.people?.get('001')).toMatchObject({ unblinded: ['end'] });
  expect(summary.people?.get('001')?.corrected?.levels[0]).toBe('Male');
  expect(summary.people?.everybody.factors[0]?.levels.map(({ counts }) => counts[0])).toEqual([1, 0]);
});

it('a record that contradicts those before it takes nothing from what had happened', () => {
  const reveal = { participantId: '001', randomizedAt: 1, reveal: fixedId(1), category: 'end' };
  const revealed = { type: 'AllocationRevealed', data: reveal, sections: { grounds: { reason: 'over' } } };
  for (const contradicting of [registered(), randomized('001')]) {
    const summary = new StudySummary();
    const facts = [registered(), randomized('001'), revealed, contradicting, revealed];
    for (const [revision, each] of facts.entries()) summary.take(event(each as StudyFact, revision));
    expect(summary).toMatchObject({ participants: 1, model: { life: { codeBreaks: { end: 2 } } } });
    expect(summary.people?.flow()).toMatchObject({ unblinded: 1 });
    expect(summary.listed).toHaveLength(facts.length);
  }
});
