/**
 * The report of a study with a life: closed and reopened, with broken codes, and with corrections. Each content shows only
 * what it includes.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { CONTENTS, type Content } from '../../../events/content.ts';
import type { StudyConfiguration } from '../../../events/study.ts';
import { MAX_LISTED, StudySummary } from '../../../src/evidence/bundle/study-summary.ts';
import { CONFIGURATION, event, LEVELS, randomized, registered } from '../../support/facts.ts';
import { filesIn } from '../../support/files-in.ts';
import { fixedId } from '../../support/fixed-tools.ts';
import {
  amends,
  arm,
  change,
  closes,
  corrects,
  enrols,
  enters,
  freePacks,
  KEYS,
  lifeOf,
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
  type Step,
  site as sites,
  urn,
  voids,
  withdraws,
} from '../../support/life.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const SHOWN_AT = '2026-03-04T02:11:09.120Z';
const APPROVAL = { name: 'Dr. <A.> Ruiz', role: 'sponsor', on: '2027-09-20', reference: 'Amendment 3' };
const approvals = [APPROVAL];
const GROUNDS = { reason: 'anaphylaxis & shock', requestedBy: 'Dr. Krämer' };
const [SEX = '', PLACE = ''] = CONFIGURATION.factors.map(({ name }) => name);
const [COOK = '', DUPAGE = ''] = CONFIGURATION.factors[1]?.levels ?? [];

type Reports = Record<Content, string>;

/** The reports of a study in which these steps were taken. */
async function reportsOf(
  configuration: StudyConfiguration,
  steps: Readonly<Record<string, Step>>,
): Promise<Reports> {
  const keys = { site: { scopes: ['randomize', 'unblind', 'correct'] } } as const;
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
let reports: Reports;
beforeAll(async () => {
  reports = await reportsOf(CONFIGURATION, {
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
});

const report = (content: Content) => reports[content];
/** The cells of an event's row after revision and time. */
function row(content: Content, revision: number): string[] {
  return cells(report(content), String(revision)).slice(1);
}

/** The texts of the cells after the first one, in the first row that begins with it. */
function cells(text: string, first: string): string[] {
  const found = text.match(new RegExp(`^<tr><td(?: class="number")?>${first}</td>.*$`, 'm'))?.[0] ?? '';
  return [...found.matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, cell = '']) => cell).slice(1);
}

describe.each(['full', 'open', 'blinded'] as const)('the report with content %s', (content) => {
  const because = content === 'full' ? '; reason: anaphylaxis &amp; shock; asked for by Dr. Krämer' : '';

  it('lists closings and reopenings, and who approved them', () => {
    const approved = 'approved by Dr. &lt;A.&gt; Ruiz (sponsor, 2027-09-20, Amendment 3)';
    const by = 'operator (command line)';
    expect(row(content, 7)).toEqual(['closed (target): 300 randomized', by]);
    expect(row(content, 8)).toEqual([
      `reopened: target raised; ${approved}; protocol 3.0 of 2027-02-20 from here on`,
      by,
    ]);
    expect(row(content, 9)).toEqual([`closed (end): the end; ${approved}`, by]);
    expect(report(content)).toMatch(
      /<td>State<\/td><td>closed since [-0-9]+ [:0-9]+ UTC: end: the end<\/td>/,
    );
  });

  it('says who broke each code, for whom, and whether that was recorded late', () => {
    expect(row(content, 4)).toEqual([
      `code of 001 broken: emergency${because}`,
      'site, on behalf of nurse Ada',
    ]);
    expect(row(content, 5)).toEqual([
      `code of 002 broken: monitoring; recorded late: the treatment was shown at 2026-03-04 02:11:09 UTC${because}`,
      'site',
    ]);
    expect(row(content, 6)).toEqual([
      `reported: 002 was unblinded outside the service at 2026-03-04 02:11:09 UTC (envelope); inadvertent; the code-break at revision 5 was a mistake${because}`,
      'site',
    ]);
    expect(report(content)).toContain('<td>Codes broken</td><td>2: 1 emergency, 1 monitoring</td>');
    expect(report(content)).toContain('<td>Unblinded outside</td><td>1 reported</td>');
  });

  it('has a column that says who was revealed, and how', () => {
    const revealed = [1, 2, 3].map((revision) => row(content, revision).at(-2));
    expect(revealed).toEqual(['emergency', 'monitoring, reported: envelope', '']);
  });

  it('names treatments and grounds only if the content includes them', () => {
    expect(CONFIGURATION.treatments.some((name) => report(content).includes(name))).toBe(
      content !== 'blinded',
    );
    expect(/anaphylaxis|Krämer/.test(report(content))).toBe(content === 'full');
    expect(row(content, 1)).toHaveLength(content === 'blinded' ? 5 : 6);
  });

  it('counts the participants by level', () => {
    const [counts = ''] = report(content).split('<h2>Events').slice(0, 1);
    expect(counts.slice(counts.indexOf('<h3>9</h3>'))).toMatch(/30-Dupage County.*?>3</s);
  });
});

describe('the report of a study with corrections', () => {
  const note = 'ZZNOTE <of> the correction';
  const policies = { levelCounts: 'as-corrected', voidCounts: 'removed' } as const;
  let corrected: Reports;

  beforeAll(async () => {
    corrected = await reportsOf(
      { ...CONFIGURATION, policies },
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
    );
  });

  describe.each(CONTENTS)('with content %s', (content) => {
    const noted = content === 'full' ? '; note: ZZNOTE &lt;of&gt; the correction' : '';
    const event = (revision: number) => cells(corrected[content], String(revision)).slice(1);
    const [sex, place] = [SEX, PLACE];

    it('has a line for each correction, with the id in use', () => {
      expect([5, 6, 7, 8, 9, 10, 11, 12].map((revision) => event(revision)[0])).toEqual([
        `001 corrected (entry): ${sex} from Female to Male; the counts of the urns moved${noted}`,
        `001 corrected (transfer): ${place} from ${DUPAGE} to ${COOK}; the counts of the urns stayed${noted}`,
        '002 renamed to 020 (entry)',
        `003 voided: duplicate of 020; analysis: exclude; the counts of the urns moved${noted}`,
        `004 voided: ineligible; analysis: keep; the counts of the urns stayed${noted}`,
        expect.stringMatching(/^code of 020 broken: emergency/),
        `001 voided: other; analysis: keep; the counts of the urns stayed${noted}`,
        `001 no longer voided; the counts of the urns stayed${noted}`,
      ]);
    });

    it('shows participants as they are now, and what was corrected', () => {
      const rows = [1, 2, 3, 4].map((revision) => {
        const shown = event(revision);
        return content === 'blinded' ? shown : shown.toSpliced(3, 1);
      });
      expect(rows).toEqual([
        ['001', 'Male', COOK, '', `${sex} was Female, ${place} was ${DUPAGE}`, '', 'site'],
        ['020', 'Female', DUPAGE, '', 'id was 002', 'emergency', 'site'],
        ['003', 'Female', DUPAGE, 'duplicate of 020', '', '', 'site'],
        ['004', 'Female', DUPAGE, 'ineligible', '', '', 'site'],
      ]);
    });

    it('has the numbers of a flow diagram: by arm, or blinded in all', () => {
      const number = (label: string) => cells(corrected[content], label).map(Number);
      const rows = ['Randomized', 'Of these voided', '– duplicate', '– ineligible', 'Of these unblinded'];
      expect(rows.map((label) => number(label).at(-1))).toEqual([4, 2, 1, 1, 1]);
      for (const label of rows) {
        const arms = number(label).slice(0, -1);
        expect(arms).toHaveLength(content === 'blinded' ? 0 : CONFIGURATION.treatments.length);
        if (content !== 'blinded') expect(arms.reduce((sum, n) => sum + n)).toBe(number(label).at(-1));
      }
    });

    it('shows what the urns count beside everybody', () => {
      const [everybody = '', urns = ''] = corrected[content].split('As the urns count');
      const number = (label: string) => cells(urns, label).map(Number).at(-1);
      expect(number('All that are counted')).toBe(3);
      // 001 is counted as Male, and still where they were randomized.
      expect(number(`${sex}: Male`)).toBe(1);
      expect(number(`${place}: ${COOK}`)).toBe(0);
      expect(everybody.slice(everybody.indexOf(`<h3>${place}</h3>`))).toMatch(/Cook County.*?>1</s);
    });

    it('shows no notes or arms that it does not include', () => {
      expect(corrected[content].includes('ZZNOTE')).toBe(content === 'full');
      expect(corrected[content]).not.toContain('Design in force');
      expect(CONFIGURATION.treatments.some((name) => corrected[content].includes(name))).toBe(
        content !== 'blinded',
      );
    });
  });

  it('without any has neither the columns nor the table of the urns', () => {
    expect(reports.full).not.toMatch(/<th>(Voided|Corrected)<|As the urns count/);
  });
});

describe('the report of a study with packs', () => {
  const SITE = { factor: PLACE, level: DUPAGE };
  /** Two of each treatment. */
  const list = (letter: string) =>
    [0, 1].flatMap((n) =>
      CONFIGURATION.treatments.map((treatment, place) => ({ code: `${letter}${3 * n + place}`, treatment })),
    );
  let withPacks: Reports;
  /** The packs of 001: the one at the enrolment, and the present one. */
  let [first, now] = ['', ''];

  beforeAll(async () => {
    const free = (living: Parameters<Step>[0]) =>
      CONFIGURATION.treatments.flatMap((treatment) => freePacks(living, treatment, LEVELS));
    withPacks = await reportsOf(CONFIGURATION, {
      ...{ list1: registersPacks(list('P')), list2: registersPacks(list('Q'), SITE) },
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
  });

  describe.each(CONTENTS)('with content %s', (content) => {
    const told = (revision: number) => cells(withPacks[content], String(revision))[1];
    const because = content === 'full' ? '; reason: anaphylaxis &amp; shock; asked for by Dr. Krämer' : '';

    it('has a line for each list, replacement, withdrawal and code-break', () => {
      expect([1, 2, 4, 5, 6].map(told)).toEqual([
        'list 1 of packs registered: 6',
        `list 2 of packs registered: 6, for ${SITE.factor} ${SITE.level}`,
        `pack ${first} of 001 replaced by ${now} (damaged)`,
        `packs withdrawn that nobody had: 1${content === 'full' ? '; reason: ZZREASON' : ''}`,
        `code of 001 broken: emergency; requested with the pack ${first}${because}`,
      ]);
      expect(told(7)).toMatch(/^code of pack [PQ]\d broken: emergency; nobody had it/);
    });

    it('has the numbers, and a column with the present packs', () => {
      const text = withPacks[content];
      expect(text).toContain('<td>Packs</td><td>12 on 2 lists; replaced: 1; withdrawn: 1</td>');
      expect(text).toContain('<td>2: 2 emergency; of packs that nobody had: 1</td>');
      expect(text).toContain('<th>Pack</th>');
      const row = cells(text, '3');
      expect(row.slice(0, 4)).toEqual([expect.any(String), '001', ...LEVELS]);
      expect(row.at(-3)).toBe(now);
    });

    it('does not say which treatment a pack holds that nobody has', () => {
      const codes = [...list('P'), ...list('Q')].map(({ code }) => code);
      const named = codes.filter((code) => new RegExp(`\\b${code}\\b`).test(withPacks[content]));
      // That of 001, before and now, and the one whose code was broken.
      expect(named).toHaveLength(3);
      for (const key of KEYS) expect(withPacks[content]).not.toContain(key);
      expect(CONFIGURATION.treatments.some((name) => withPacks[content].includes(name))).toBe(
        content !== 'blinded',
      );
    });
  });

  it('without any has neither the column nor the numbers', () => {
    expect(reports.full).not.toMatch(/<th>Pack<|<td>Packs<|packs/);
  });
});

describe('the report of a study with allocations that were made outside', () => {
  const note = 'ZZNOTE <of> the envelope';
  const [FIRST = '', SECOND = ''] = CONFIGURATION.treatments;
  const configuration = { ...CONFIGURATION, policies: { forcedCounts: 'not-counted' } } as const;
  const entered = (treatment: string, more = {}) =>
    enters('operator', treatment, LEVELS, { note, occurredAt: SHOWN_AT, ...more });
  let forced: Reports;

  beforeAll(async () => {
    forced = await reportsOf(configuration, {
      '001': enrol,
      '002': entered(FIRST),
      wrong: voids('operator', '002', 'entry', { note }),
      again: entered(SECOND, { participantId: '002', cause: 'elsewhere', replaces: 2 }),
      '003': entered(FIRST),
    });
  });

  describe.each(CONTENTS)('with content %s', (content) => {
    const told = (revision: number) => cells(forced[content], String(revision)).slice(1);

    it('has a column that says why and when, and whether the urns count the participant', () => {
      const column = [1, 4, 5].map((revision) => told(revision).at(-2));
      expect(column).toEqual([
        '',
        'elsewhere, 2026-03-04 02:11:09 UTC; not counted',
        'outage, 2026-03-04 02:11:09 UTC; not counted',
      ]);
      expect(forced[content]).toContain('<th>Forced</th>');
      if (content !== 'blinded') expect(told(4)).toContain(SECOND);
    });

    it('has a line of its own for an entry that was wrong', () => {
      const note = content === 'full' ? '; note: ZZNOTE &lt;of&gt; the envelope' : '';
      expect([2, 3].map((revision) => told(revision)[0])).toEqual([
        `002 allocated outside the service at 2026-03-04 02:11:09 UTC, and entered by hand (outage); the urns do not count it${note}`,
        `002 voided: entry; analysis: exclude; the counts of the urns stayed${note}`,
      ]);
    });

    it('counts them, and what the urns leave out', () => {
      const number = (label: string) => cells(forced[content], label).map(Number).at(-1);
      expect(['Randomized', 'Of these forced', 'Of these voided'].map(number)).toEqual([3, 2, 0]);
      expect(number('All that are counted')).toBe(1);
      if (content !== 'blinded')
        expect(cells(forced[content], 'Of these forced').map(Number)).toEqual([1, 1, 0, 2]);
    });

    it('shows no notes or arms that it does not include', () => {
      expect(forced[content].includes('ZZNOTE')).toBe(content === 'full');
      expect(CONFIGURATION.treatments.some((name) => forced[content].includes(name))).toBe(
        content !== 'blinded',
      );
    });
  });

  it('without any has neither the column nor the number', () => {
    expect(reports.full).not.toMatch(/<th>Forced<|Of these forced|Forced:/);
  });
});

describe('the report of a study whose design was amended', () => {
  const place = PLACE;
  let amended: Reports;

  beforeAll(async () => {
    const limits = { levels: [{ factor: place, level: COOK, max: 40 }] };
    amended = await reportsOf(
      { ...CONFIGURATION, mode: 'live', limits },
      {
        ...{ '001': enrol, '002': enrol },
        transfer: corrects('site', '002', 'transfer', [change(place, DUPAGE, COOK)]),
        closed: closes('operator', { cause: 'sponsor' }),
        reopened: reopens({ approvals, protocol: { version: '2.1' } }),
        first: amends(
          [
            ...[sites.added('M & N'), sites.closed(COOK)],
            renamedLevel(place, DUPAGE, 'Du Page', { alias: true }),
            { kind: 'target', value: 320 },
          ],
          { reason: 'new <site>', approvals },
        ),
        second: amends(
          [
            renamedLevel(place, COOK, 'Cook'),
            { kind: 'limits', value: { total: 320 } },
            { kind: 'id-pattern', value: '[0-9]{3}' },
            { kind: 'blinding', value: 'blinded' },
            { kind: 'policy', name: 'stopAtLimit', value: true },
          ],
          { reason: 'more of them', approvals, protocol: { version: '3.0', date: '2027-02-20' } },
        ),
        '003': enrols(['Male', 'M & N'], {}, 'site'),
      },
    );
  });

  describe.each(CONTENTS)('with content %s', (content) => {
    const told = (revision: number) => cells(amended[content], String(revision)).slice(1)[0];

    it('has a line for each amendment, with every change and who approved it', () => {
      const approved = 'approved by Dr. &lt;A.&gt; Ruiz (sponsor, 2027-09-20, Amendment 3)';
      expect(told(6)).toBe(
        `amendment 1: new &lt;site&gt;; ${place}: M &amp; N added; ${place}: ${COOK} closed; ${place}: ${DUPAGE} renamed to Du Page (requests may still use the old name); target: 320 participants; ${approved}`,
      );
      expect(told(7)).toBe(
        `amendment 2: more of them; ${place}: ${COOK} renamed to Cook; limits: 320 participants; participant ids must match [0-9]{3}; blinding: blinded; policy stopAtLimit: true; protocol 3.0 of 2027-02-20 from here on; ${approved}`,
      );
    });

    it('shows the design in force beside the one that was registered', () => {
      const [registered = '', inForce = ''] = amended[content].split('<h2>Design in force</h2>');
      expect(cells(registered, `Factor ${place}`)).toEqual([`${COOK} · ${DUPAGE}`]);
      expect(cells(registered, 'Limit')).toEqual([`40 with ${place} = ${COOK} (information only)`]);
      const shown = ['Amendments', 'Protocol', 'Target', 'Blinding', 'Limit', `Factor ${place}`];
      expect(shown.map((name) => cells(inForce, name)[0])).toEqual([
        ...['2', '3.0 of 2027-02-20', '320', 'blinded', '320 participants'],
        `Cook (closed; earlier: ${COOK}) · Du Page (earlier: ${DUPAGE}) · M &amp; N`,
      ]);
      expect(inForce).toContain('<code>[0-9]{3}</code>');
      expect(inForce).toContain('target 320');
    });

    it('shows levels under their present names: of participants, of corrections and in tables', () => {
      const levels = [1, 2, 8].map((revision) => cells(amended[content], String(revision))[3]);
      expect(levels).toEqual(['Du Page', 'Cook', 'M &amp; N']);
      expect(cells(amended[content], '2').join(' ')).toContain(`${place} was Du Page`);
      const [before = ''] = amended[content].split('<h2>Events</h2>');
      const byLevel = before.slice(before.indexOf(`<h3>${place}</h3>`));
      for (const name of ['Cook', 'Du Page', 'M &amp; N']) expect(byLevel).toContain(`>${name}</text>`);
      expect([COOK, DUPAGE].some((name) => byLevel.includes(name))).toBe(false);
    });

    it('names treatments only if the content includes them', () => {
      expect(CONFIGURATION.treatments.some((name) => amended[content].includes(name))).toBe(
        content !== 'blinded',
      );
    });
  });

  it('shows the protocol that came with a reopening, too', () => {
    const [, inForce = ''] = reports.full.split('<h2>Design in force</h2>');
    expect(['Amendments', 'Protocol'].map((name) => cells(inForce, name)[0])).toEqual([
      '0',
      '3.0 of 2027-02-20',
    ]);
  });
});

describe('the report of a study whose arms and factors changed', () => {
  const { treatments } = CONFIGURATION;
  const [sex, place] = [SEX, PLACE];
  const [first = '', , third = ''] = treatments;
  let changed: Reports;

  beforeAll(async () => {
    let last = 0;
    const enrolled = (number: number, places: readonly string[]) =>
      Object.fromEntries(
        Array.from({ length: number }, (_, n) => {
          const levels = [n % 2 === 0 ? 'Male' : 'Female', places[n % places.length] ?? ''];
          return [String(++last).padStart(3, '0'), enrols(levels, {}, 'site')];
        }),
      );
    changed = await reportsOf(
      { ...CONFIGURATION, ratio: [2, 1, 1] },
      {
        ...enrolled(12, [COOK, DUPAGE, DUPAGE]),
        closed: amends([arm.closed(third), urn({ w: 2, D: 'range' })], {
          ...{ reason: 'interim analysis', approvals },
        }),
        added: amends([arm.added('ZZNEW', { ratio: 2 })], { reason: 'new drug', approvals }),
        retired: amends([retired(place)], { reason: 'one site left', approvals }),
        ...enrolled(9, ['']),
        again: amends([arm.closed(first), arm.reopened(third)], { reason: 'again', approvals }),
      },
    );
  });

  describe.each(CONTENTS)('in content %s', (content) => {
    const isOpen = content !== 'blinded';
    const told = (revision: number) => cells(changed[content], String(revision))[1];

    it('has a line for each amendment, which says that the urns began anew', () => {
      const arm = (k: number) => (isOpen ? `arm ${treatments[k]}` : 'an arm');
      const approved = 'approved by Dr. &lt;A.&gt; Ruiz (sponsor, 2027-09-20, Amendment 3)';
      expect([13, 14, 15, 25].map(told)).toEqual([
        `amendment 1: interim analysis; ${arm(2)} closed; w 2, D range; ${approved}`,
        `amendment 2: new drug; ${isOpen ? 'arm ZZNEW' : 'an arm'} added, with 2 slots; the urns begin anew; ${approved}`,
        `amendment 3: one site left; ${place} retired; ${approved}`,
        `amendment 4: again; ${arm(0)} closed; ${arm(2)} reopened; ${approved}`,
      ]);
    });

    it('shows the design in force: arms, ratio, urn, restarts and the retired factor', () => {
      const [registered = '', inForce = ''] = changed[content].split('<h2>Design in force</h2>');
      expect(cells(registered, 'Ratio')).toEqual(['2:1:1, in the order of the treatments']);
      const names = ['Treatments', 'Ratio', 'Imbalance measure', 'Urn', 'Urns began anew'];
      expect(names.map((name) => cells(inForce, name)[0])).toEqual([
        isOpen
          ? `${treatments[0]} (closed), ${treatments[1]}, ${treatments[2]}, ZZNEW`
          : '4, of them 1 closed, not named in this report',
        ...[
          '2:1:1:2, in the order of the treatments',
          'range',
          'w = 2, alpha = 0, beta = 1',
          'with amendment 2',
        ],
      ]);
      expect(inForce).toContain(
        `<td>Factor ${place}</td><td><strong>retired</strong>: ${COOK} · ${DUPAGE}</td>`,
      );
    });

    it('counts those who came after a factor was retired, and leaves their cell empty', () => {
      expect(changed[content]).toContain(`<h3>${place} (retired)</h3>`);
      expect(changed[content]).toContain('9 participants were randomized after it was retired');
      expect(cells(changed[content], '1').slice(1, 4)).toEqual(['001', 'Male', COOK]);
      expect(cells(changed[content], '16').slice(1, 4)).toEqual(['013', 'Male', '']);
    });

    it('compares arms by their ratio, and says whom the urns count', () => {
      const numbers = (label: string, text = changed[content]) =>
        [...(text.split(`<td>${label}</td>`)[1]?.split('</tr>')[0] ?? '').matchAll(/>([^<]+)</g)].map(
          ([, n]) => Number(n),
        );
      const urns = changed[content].split('<h3>As the urns count</h3>')[1] ?? '';
      expect(urns).toContain('The urns began anew with amendment 2');
      expect(numbers('All that are counted', urns).at(-1)).toBe(9);
      expect(numbers('Ratio in force')).toEqual(isOpen ? [2, 1, 1, 2, 6] : []);
      if (!isOpen) return;
      const totals = numbers('All participants');
      expect(totals.at(-1)).toBe(21);
      const counted = numbers('All that are counted', urns);
      expect(numbers('Participants / ratio', urns)).toEqual(
        [2, 1, 1, 2].map((r, k) => (counted[k] ?? 0) / r),
      );
      expect(numbers('Participants / ratio')).toEqual([2, 1, 1, 2].map((r, k) => (totals[k] ?? 0) / r));
    });

    it('names treatments only if the content includes them', () => {
      const named = [...treatments, 'ZZNEW'].filter((name) => changed[content].includes(name));
      expect(named).toHaveLength(isOpen ? 4 : 0);
      expect(changed[content].includes(sex)).toBe(true);
    });
  });
});

describe('the report of a study that was registered as paused', () => {
  it('says so until it is resumed', () => {
    const summary = new StudySummary();
    const { data, ...fact } = registered();
    const configuration = { ...data.configuration, start: 'paused' as const };
    summary.take(event({ ...fact, data: { ...data, configuration } }, 0));
    expect(summary.halt).toMatchObject({ state: 'paused', reason: 'registered as paused' });
    summary.take(event({ type: 'StudyResumed', data: { reason: 'go' }, sections: {} }, 1));
    expect(summary.halt).toBeUndefined();
    expect(summary.listed.map(({ what }) => what)).toEqual(['registered as paused', 'resumed: go']);
  });
});

describe('the list of a study in which every code is broken', () => {
  it('has a limited length, and says how many code-breaks it leaves out', () => {
    const summary = new StudySummary();
    summary.take(event(registered(), 0));
    summary.take(event(randomized('001'), 1));
    for (let n = 0; n < MAX_LISTED + 5; n++)
      summary.take(
        event(
          {
            type: 'AllocationRevealed',
            data: { category: 'end', participantId: '001', randomizedAt: 1, reveal: fixedId(n) },
            sections: { grounds: { reason: 'the end' } },
          },
          n + 2,
        ),
      );
    expect(summary.listed).toHaveLength(MAX_LISTED + 2);
    expect(summary.unlistedBreaks).toBe(5);
    expect(summary.revealed).toEqual({ end: MAX_LISTED + 5 });
    expect(summary.people?.get('001')?.revealed).toEqual(['end']);
  });
});

describe('the list of a study with a great many corrections', () => {
  it('has a limited length, says how many it leaves out, and counts all of them', () => {
    const summary = new StudySummary();
    summary.take(event(registered(), 0));
    summary.take(event(randomized('001'), 1));
    const [sex] = CONFIGURATION.factors;
    for (let n = 0; n < MAX_LISTED + 5; n++) {
      const [from = '', to = ''] = n % 2 === 0 ? ['Female', 'Male'] : ['Male', 'Female'];
      const changes = [{ factor: sex?.name ?? '', from, to }];
      const data = { cause: 'entry', changes, counts: 'as-corrected', participantId: '001', randomizedAt: 1 };
      summary.take(
        event({ type: 'LevelsCorrected', data, sections: { note: { text: 'x' } } } as StudyFact, n + 2),
      );
    }
    expect(summary.listed).toHaveLength(MAX_LISTED + 2);
    expect(summary.unlistedCorrections).toBe(5);
    expect(summary.people?.get('001')?.corrected?.levels[0]).toBe('Male');
    expect(summary.people?.everybody.factors[0]?.levels.map(({ counts }) => counts[0])).toEqual([1, 0]);
  });
});
