/** The words in which a request is recorded: resolved once, they stay as they are, and the request is known by them again. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { ACT_NAMES, type ActName, actOf } from '../../../src/core/acts/acts.ts';
import { commandIn } from '../../../src/core/acts/command.ts';
import type { Members } from '../../../src/core/model/outcomes.ts';
import type { FlatAct } from '../../support/acts.ts';
import { CONFIGURATION, event, LEVELS } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [SEX, SITE] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }];
const GROUNDS = { reason: 'anaphylaxis', requestedBy: 'Dr. K.' };
const CODES = CONFIGURATION.treatments.flatMap((treatment, arm) =>
  Array.from({ length: 6 }, (_, n) => ({ code: `P${arm}-${n}`, treatment })),
);

/** Levels have been renamed, one of them twice, and an id was corrected twice. */
function begun(): TrialRun {
  const trial = new TrialRun();
  trial.ask({ type: 'register-packs', list: 1, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0', entries: CODES });
  for (const id of ['a', 'b', 'c']) trial.enrol(id);
  const renamings = [
    [SITE, DUPAGE, 'DuPage'],
    [SITE, 'DuPage', 'North'],
    [SEX, 'Male', 'Man'],
    [SEX, 'Female', 'Woman'],
  ] as const;
  for (const [i, [factor, level, to]] of renamings.entries()) {
    const amended = trial.ask({
      ...{ type: 'amend', user: 'nurse', amendment: i + 1, reason: 'new names', approvals: APPROVALS },
      changes: [{ kind: 'level-renamed', factor, level, to, alias: true }],
    });
    expect(amended).toEqual({ type: 'amended' });
  }
  trial.ask({ act: 'ParticipantIdCorrected', participantId: 'b', to: 'y', cause: 'entry' });
  trial.ask({ act: 'ParticipantIdCorrected', participantId: 'y', to: 'z', cause: 'entry' });
  return trial;
}

const text = fc.constantFrom('review', 'slip');
const ids = fc.constantFrom('a', 'b', 'c', 'y', 'z', 'nobody');
const about = { participantId: ids };
const grounds = { reason: text, requestedBy: fc.option(text, { nil: undefined }) };
const approvals = fc.option(fc.constantFrom([], APPROVALS), { nil: undefined });
const names = fc.constantFrom(COOK, DUPAGE, 'DuPage', 'North', 'Male', 'Man', 'Female', 'Woman', 'Nowhere');
const changes = fc.array(fc.record({ factor: fc.constantFrom(SEX, SITE, 'age'), from: names, to: names }));
const instant = fc.constantFrom(
  ...['2026-03-02T21:40Z', '2026-03-02T21:40:00Z', '2026-03-02T21:40:00.5Z', '2026-03-02T21:40:00.123456Z'],
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** What may be asked for by each act. */
const ASKED: Readonly<Record<ActName, fc.Arbitrary<Members>>> = {
  StudyPaused: fc.record({ reason: text }),
  StudyResumed: fc.record({ reason: text }),
  StudyClosed: fc.record({ reason: text, cause: fc.constant('target'), approvals }),
  StudyReopened: fc.record({ reason: text, approvals, protocol: maybe(fc.constant({ version: '3' })) }),
  LevelsCorrected: fc.record({ ...about, changes, cause: fc.constant('entry'), note: text }),
  AllocationVoided: fc.record({
    ...about,
    cause: fc.constant('duplicate'),
    duplicateOf: maybe(ids),
    note: text,
  }),
  AllocationReinstated: fc.record({ ...about, note: text }),
  ParticipantIdCorrected: fc.record({ ...about, to: ids, cause: fc.constant('entry') }),
  CodeReplaced: fc.record({ ...about, code: fc.constant('P0-0'), cause: fc.constant('damaged') }),
  PackDispensed: fc.record({ ...about, visit: fc.constantFrom('V2', 'v2', 'U1') }),
  DispensationCorrected: fc.record({
    ...{ ...about, code: fc.constant('P0-0'), cause: fc.constant('entry'), note: text },
    to: fc.constantFrom('v2', 'U1', null),
  }),
  CodesWithdrawn: fc.record({ codes: fc.constant(['P0-0']), reason: text }),
  AllocationRevealed: fc.record({ ...about, category: fc.constant('planned'), ...grounds }),
  UnblindingReported: fc.record({
    ...{ ...about, ...grounds, occurredAt: instant, how: fc.constant('label') },
    ...{ inadvertent: maybe(fc.boolean()), revealedAt: maybe(fc.nat(20)) },
  }),
};

describe('the words in which a request is recorded', () => {
  const { registered } = begun();

  it('really differ from those of some requests', () => {
    const resolved = (name: ActName, asked: Members) => actOf(name).resolve?.(asked, registered);
    const from = [
      { factor: SITE, from: DUPAGE, to: COOK },
      { factor: SEX, from: 'Female', to: 'Male' },
    ];
    expect(resolved('LevelsCorrected', { changes: from })).toEqual({
      changes: [
        { factor: SEX, from: 'Woman', to: 'Man' },
        { factor: SITE, from: 'North', to: COOK },
      ],
    });
    expect(resolved('AllocationVoided', { duplicateOf: 'z' })).toEqual({ duplicateOf: 'b' });
    expect(resolved('StudyClosed', { approvals: [] })).toEqual({});
    expect(resolved('StudyReopened', {})).toEqual({ approvals: [] });
    expect(resolved('UnblindingReported', { occurredAt: '2026-03-02T21:40Z', inadvertent: false })).toEqual({
      occurredAt: '2026-03-02T21:40:00.000Z',
    });
  });

  it.each(ACT_NAMES)('stay the same when they are asked for: %s', (name) => {
    const { resolve = (asked: Members) => asked } = actOf(name);
    check(
      fc.property(ASKED[name], (asked) => {
        const once = resolve(asked, registered);
        expect(resolve(once, registered)).toEqual(once);
      }),
    );
  });
});

/** One after another, in one study. Every act is among them. */
const LIFE: readonly FlatAct[] = [
  { act: 'StudyPaused', reason: 'review' },
  { act: 'StudyResumed', reason: 'review done' },
  {
    ...{ act: 'LevelsCorrected', participantId: 'z', cause: 'source', note: 'source record' },
    changes: [
      { factor: SITE, from: DUPAGE, to: COOK },
      { factor: SEX, from: LEVELS[0], to: 'Male' },
    ],
  },
  {
    ...{ act: 'AllocationVoided', participantId: 'c', cause: 'duplicate', duplicateOf: 'y' },
    ...{ analysis: 'exclude', note: 'query 118' },
  },
  { act: 'AllocationReinstated', participantId: 'c', note: 'query 119' },
  { act: 'ParticipantIdCorrected', participantId: 'y', to: 'x', cause: 'other' },
  { act: 'CodesWithdrawn', codes: ['free'], reason: 'recalled' },
  { act: 'CodeReplaced', participantId: 'x', code: 'own', cause: 'damaged', isSupply: true },
  { act: 'PackDispensed', participantId: 'x', visit: 'Week 12', isSupply: true },
  {
    act: 'DispensationCorrected',
    participantId: 'x',
    code: 'given',
    to: null,
    cause: 'entry',
    note: 'a slip',
  },
  {
    ...{ act: 'AllocationRevealed', participantId: 'y', category: 'planned', grounds: GROUNDS },
    reveal: '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c31',
  },
  {
    ...{ act: 'UnblindingReported', participantId: 'x', how: 'label', inadvertent: false },
    ...{ occurredAt: '2026-03-01T08:00Z', grounds: GROUNDS },
  },
  { act: 'StudyClosed', cause: 'target', reason: '300 randomized', approvals: [] },
  { act: 'StudyReopened', reason: 'target raised', approvals: APPROVALS },
];

describe('a request with an idempotency key', () => {
  it('is known again, as it was asked for and in the words of its record, after everything that followed', () => {
    const trial = begun();
    const own = trial.list.find('b')?.pack?.code ?? '';
    const taken = trial.list.inOrder.map(({ pack }) => pack?.code);
    const free = CODES.map(({ code }) => code).filter((code) => !taken.includes(code));
    const asked = LIFE.map((one, i) => ({
      ...{ ...one, idempotencyKey: `k-${i}` },
      ...(one['code'] === 'own' && { code: own }),
      ...(one['codes'] !== undefined && { codes: free.slice(0, 1) }),
    }));
    expect(new Set(asked.map(({ act }) => act))).toEqual(new Set(ACT_NAMES));
    const recorded: { revision: number; fact: StudyFact | undefined }[] = [];
    for (const command of asked) {
      if (command['code'] === 'given') Object.assign(command, { code: trial.last('PackDispensed').code });
      expect(trial.ask(command), command.act).toMatchObject({ type: 'recorded' });
      recorded.push({ revision: trial.facts.length - 1, fact: trial.facts.at(-1) });
    }
    const { length } = trial.facts;
    for (const [i, command] of asked.entries()) {
      const { revision, fact } = recorded[i] ?? {};
      expect(trial.ask(command), command.act).toMatchObject({ type: 'done-before', revision });
      if (!fact) throw new Error('nothing was recorded');
      const again = commandIn(actOf(command.act), event(fact, revision ?? 0));
      expect(trial.ask(again), command.act).toMatchObject({ type: 'done-before', revision });
    }
    expect(trial.facts).toHaveLength(length);
  });
});
