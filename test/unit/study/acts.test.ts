/** Who may write which event of a study, and when: one table, the same in the specification and the documents. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { catalogue } from '../../../events/catalogue.ts';
import { ACTS, type Act, STATUSES } from '../../../src/study/acts.ts';

const DOCUMENT = new URL('../../../docs/event-log.md', import.meta.url);

describe('the table of acts', () => {
  it('lists every event of a study and no others', () => {
    const types = catalogue.all().flatMap(({ stream, type }) => (stream === 'study' ? [type] : []));
    expect(Object.keys(ACTS).sort()).toEqual([...new Set(types)].sort());
  });

  it('lets a key do only what its scopes allow, and lets nobody randomize from the command line', () => {
    const byPeople = Object.entries(ACTS).filter(([, { cli }]) => cli);
    expect(byPeople.map(([type]) => type)).not.toContain('ParticipantRandomized');
    expect(byPeople).toHaveLength(Object.keys(ACTS).length - 1);
    const byNoKey = Object.entries(ACTS).filter(([, { scopes }]) => scopes.length === 0);
    expect(byNoKey.map(([type]) => type)).toEqual([
      'StudyRegistered',
      'CodesRegistered',
      'HistoryImported',
      'ParticipantImported',
      'HistoryImportEnded',
      'StudyRecovered',
    ]);
  });

  it('allows a code-break and its report in every state', () => {
    for (const type of ['AllocationRevealed', 'UnblindingReported', 'StudyRecovered'] as const)
      expect(ACTS[type].in).toEqual(STATUSES);
  });

  it('matches the table in docs/event-log.md', () => {
    const [, table = ''] =
      /\| Event \| Command line \|[^\n]*\n\|[-|]+\|\n((?:\|.*\|\n)+)/.exec(readFileSync(DOCUMENT, 'utf8')) ??
      [];
    expect(table).toBe(
      Object.entries(ACTS)
        .map(([type, act]) => row(type, act))
        .join(''),
    );
  });
});

function row(type: string, { cli, scopes, in: states }: Act): string {
  const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ') || '–';
  return `| \`${type}\` | ${cli ? 'yes' : 'no'} | ${listed(scopes)} | ${listed(states)} |\n`;
}
