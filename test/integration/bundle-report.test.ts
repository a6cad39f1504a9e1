/** The report of a study with a life: closed and reopened, with broken codes. Each content shows only what it includes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Content } from '../../events/content.ts';
import { writeReport } from '../../src/bundle/bundle.ts';
import { MAX_LISTED, StudySummary } from '../../src/bundle/study-summary.ts';
import { openLog } from '../../src/open/open-log.ts';
import type { StudyCommand } from '../../src/study/commands.ts';
import { CONFIGURATION, event, LEVELS, OPERATOR, randomized, registered, SEED } from '../support/facts.ts';
import { fixedId } from '../support/fixed-tools.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const folder = temporaryFolders()();
const reports: Partial<Record<Content, string>> = {};
const SHOWN_AT = '2026-03-04T02:11:09.120Z';
const APPROVAL = { name: 'Dr. <A.> Ruiz', role: 'sponsor', on: '2027-09-20', reference: 'Amendment 3' };
const GROUNDS = { reason: 'anaphylaxis & shock', requestedBy: 'Dr. Krämer' };

beforeAll(async () => {
  const log = await openLog({ data: folder, store: 'memory:' }, OPERATOR);
  await log.rebuild();
  const { studies, store, identity, gate } = log;
  const issued = await log.keys.issue({ user: 'site', scopes: ['randomize', 'unblind'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  await studies.register(CONFIGURATION, SEED, OPERATOR);
  const stream = studies.streamOf(CONFIGURATION.name);
  const site = { keyId: issued.keyId, user: 'site', accessRevision: 0 };
  const nurse = { ...site, onBehalfOf: 'nurse Ada' };
  const about = { user: 'site', grounds: GROUNDS };
  const steps: [StudyCommand, typeof site | typeof OPERATOR][] = [
    ...['001', '002', '003'].map((participantId): [StudyCommand, typeof site] => [
      { type: 'randomize', participantId, levels: LEVELS, user: 'site' },
      site,
    ]),
    [{ ...about, type: 'reveal', participantId: '001', category: 'emergency', reveal: fixedId(1) }, nurse],
    [
      {
        ...{ ...about, type: 'reveal', participantId: '002', category: 'monitoring' },
        ...{ reveal: fixedId(2), shownAt: SHOWN_AT },
      },
      site,
    ],
    [
      {
        ...{ ...about, type: 'report-unblinding', participantId: '002', how: 'envelope' },
        ...{ inadvertent: true, occurredAt: SHOWN_AT, revealedAt: 5 },
      },
      site,
    ],
    [{ type: 'close', cause: 'target', reason: '300 randomized', user: 'operator' }, OPERATOR],
    [
      {
        ...{ type: 'reopen', reason: 'target raised', approvals: [APPROVAL], user: 'operator' },
        protocol: { version: '3.0', date: '2027-02-20' },
      },
      OPERATOR,
    ],
    [{ type: 'close', cause: 'end', reason: 'the end', approvals: [APPROVAL], user: 'operator' }, OPERATOR],
  ];
  for (const [command, actor] of steps) await studies.submit(stream, command, actor);
  for (const content of ['full', 'open', 'blinded'] as const) {
    const out = join(folder, `${content}.html`);
    await writeReport({ store, identity, gate, stream, content, version: 'test', out });
    reports[content] = readFileSync(out, 'utf8');
  }
  await log.close();
});

const report = (content: Content) => reports[content] ?? '';
/** The cells of an event's row behind revision and time. */
function row(content: Content, revision: number): string[] {
  const found = report(content).match(new RegExp(`^<tr><td class="number">${revision}</td>.*$`, 'm'))?.[0];
  return [...(found ?? '').matchAll(/<td[^>]*>([^<]*)<\/td>/g)].map(([, cell = '']) => cell).slice(2);
}

describe.each(['full', 'open', 'blinded'] as const)('the report with content %s', (content) => {
  const because = content === 'full' ? '; reason: anaphylaxis &amp; shock; asked for by Dr. Krämer' : '';

  it('tells of closings and reopenings, with who approved them', () => {
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

  it('tells of each broken code who broke it, for whom, and if that was recorded late', () => {
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
