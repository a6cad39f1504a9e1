/** Who may write which event of a study, and when: one table, the same in the specification and the documents. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { catalogue, type StudyFact } from '../../../events/catalogue.ts';
import type { Permit } from '../../../src/core/acts/act.ts';
import { ACT_NAMES, mayOf } from '../../../src/core/acts/acts.ts';
import { STATUSES } from '../../../src/core/model/status.ts';

const DOCUMENT = new URL('../../../docs/event-log.md', import.meta.url);
const [, TABLE = ''] =
  /\| Event \| Command line \|[^\n]*\n\|[-|]+\|\n((?:\|.*\|\n)+)/.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
/** Every event of a study, in the order of the table. */
const TYPES = [...TABLE.matchAll(/^\| `(\w+)`/gm)].map(([, type]) => type as StudyFact['type']);

describe('the table of acts', () => {
  it('lists every event of a study and no others', () => {
    const types = catalogue.all().flatMap(({ stream, type }) => (stream === 'study' ? [type] : []));
    expect(TYPES.toSorted()).toEqual([...new Set(types)].sort());
    for (const type of TYPES) expect(mayOf(type), type).toBeDefined();
  });

  it('describes each act once, by the type of an event of a study', () => {
    expect(new Set(ACT_NAMES).size).toBe(ACT_NAMES.length);
    expect(TYPES).toEqual(expect.arrayContaining(ACT_NAMES));
  });

  it('lets a key do only what its scopes allow, and lets nobody randomize from the command line', () => {
    const byPeople = TYPES.filter((type) => mayOf(type).commandLine);
    expect(byPeople).not.toContain('ParticipantRandomized');
    expect(byPeople).toHaveLength(TYPES.length - 1);
    const byNoKey = TYPES.filter((type) => mayOf(type).scopes.length === 0);
    expect(byNoKey).toEqual([
      'StudyRegistered',
      'CodesRegistered',
      'ListRegistered',
      'EntriesSkipped',
      'HistoryImported',
      'ParticipantImported',
      'HistoryImportEnded',
      'StudyRecovered',
    ]);
  });

  it('allows a code-break and its report in every state', () => {
    for (const type of ['AllocationRevealed', 'UnblindingReported', 'StudyRecovered'] as const)
      expect(mayOf(type).in).toEqual(STATUSES);
  });

  it('matches the table in docs/event-log.md', () => {
    expect(TABLE).toBe(TYPES.map((type) => row(type, mayOf(type))).join(''));
  });
});

function row(type: string, { commandLine, scopes, in: states }: Permit): string {
  const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ') || '–';
  return `| \`${type}\` | ${commandLine ? 'yes' : 'no'} | ${listed(scopes)} | ${listed(states)} |\n`;
}
