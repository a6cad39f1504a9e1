/** What a verification says of a study's life: its state, the codes that were broken, its visits and arms, and what to look at. */
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import type { Register, RegisterPacks } from '../../../src/core/study/commands.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { Change } from '../../support/altered-record.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import {
  change,
  clerk,
  divergenceOf,
  enrol,
  HISTORY,
  KEYS,
  LATER_LIFE,
  LIFE_KEYS,
  type Log,
  logOf,
  PAUSED,
  REGISTERED,
  STUDY,
  type Step,
  step,
  streamOf,
  verify,
} from './support.ts';

const keys = [...KEYS, ...LIFE_KEYS];
const told = async (log: Log) => {
  const report = await verify(log);
  return { ...streamOf(report), text: reportText(report) };
};
const registeredWith = (members: object) =>
  step({ ...REGISTERED.command, configuration: { ...CONFIGURATION, ...members } } as Register, OPERATOR);
const CLOSED = step({ act: 'StudyClosed', user: 'operator', cause: 'end', reason: 'end' }, OPERATOR);

describe('a correction of an id', () => {
  const to = (id: string) =>
    step(
      { act: 'ParticipantIdCorrected', user: 'clerk', participantId: '001', to: id, cause: 'pattern' },
      clerk,
    );
  const history = (idPattern: string, id: string) => [registeredWith({ idPattern }), enrol(1), to(id)];

  it('is sound only if the new id has the pattern of the study', async () => {
    expect((await told(logOf(history('[0-9]{3}', '010'), keys))).sound).toBe(true);
    const { divergence } = await told(logOf(history('[0-9]{3}', '10'), keys));
    expect(divergence).toMatchObject({ revision: 2, field: 'data.to', found: '"10"' });
  });

  it('is only warned about if the pattern is one that RE2 cannot run', async () => {
    const { sound, warnings, text } = await told(logOf(history('(?=0)[0-9]{3}', '110'), keys));
    expect(sound).toBe(true);
    expect(text).toMatch(/ Look at the warning above\.$/m);
    expect(warnings).toMatchObject([{ code: 'id-not-matching', count: 1, revision: 2 }]);
  });
});

describe('the report of a study', () => {
  it('says what happened in it, and warns where somebody should look', async () => {
    const { life, warnings, sound, text } = await told(logOf([...HISTORY, ...LATER_LIFE], keys));
    expect(sound).toBe(true);
    expect(life).toEqual({
      state: 'open',
      revealed: { emergency: 1, planned: 1 },
      unblindingReported: 1,
    });
    expect(text).toContain(
      '\n  open; codes broken: 1 in an emergency, 1 other; 1 unblinding without the service reported\n',
    );
    expect(text).toMatch(/ Look at the 5 warnings above\.$/m);
    expect(warnings.map(({ code, count, revision }) => [code, count, revision])).toEqual([
      ['revealed', 1, 10],
      ['approval-asserted', 2, 11],
      ['unblinding-reported', 1, 12],
      ['revealed-in-emergency', 1, 14],
      ['recorded-late', 1, 14],
    ]);
  });

  it.each([
    ['open', [REGISTERED]],
    ['paused', [REGISTERED, PAUSED]],
    ['closed', [REGISTERED, PAUSED, CLOSED]],
  ] as const)('says only that it is %s if nothing else happened', async (state, steps) => {
    const { life, text, warnings } = await told(logOf(steps));
    expect([life, warnings]).toEqual([{ state }, []]);
    expect(text).toContain(`\n  ${state}\n`);
  });

  it('counts only what comes before a divergence', async () => {
    const log = logOf([...HISTORY, ...LATER_LIFE], keys);
    change(log, 11, ({ data }) => Object.assign(data, { cause: 'x' }));
    const { life, divergence } = await told(log);
    expect(divergence?.revision).toBe(11);
    expect(life).toEqual({ state: 'paused', revealed: { planned: 1 } });
  });

  it('says nothing about a study whose registration is not sound', async () => {
    const log = change(logOf([REGISTERED]), 0, ({ data }) => Object.assign(data, { seedWeak: 1 }));
    expect((await told(log)).life).toBeUndefined();
  });
});

const amended = (amendment: number, ...changes: DesignChange[]) =>
  step(
    {
      ...{ type: 'amend', user: 'operator', amendment, changes, reason: 'protocol 3' },
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }],
    },
    OPERATOR,
  );
const listed = (list: number, ...treatments: string[]) => {
  const command: RegisterPacks = {
    ...{ type: 'register-packs', list, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0' },
    entries: treatments.map((treatment, i) => ({ code: `P${list}-${i}`, treatment })),
  };
  return step(command, OPERATOR);
};

const arm = (kind: 'arm-closed' | 'arm-stopped', treatment = 'RMC-A') => ({ kind, treatment });

/** Revision 2 closes an arm, 3 and 4 are lists with and without packs of it, 5 stops it. */
const SOUND: readonly Step[] = [
  registeredWith({ visits: ['V2', 'Week 12'] }),
  amended(1, { kind: 'visits', value: ['V2', 'V3', 'Week 12'] }),
  amended(2, arm('arm-closed')),
  listed(1, 'MART', 'RMC-A'),
  listed(2, 'MART', 'RMC-Q'),
  amended(3, arm('arm-stopped')),
];

const versions = (steps: readonly Step[]) =>
  logOf(steps)
    .of(STUDY)
    .map(({ record }) => (JSON.parse(Buffer.from(record).toString()) as { version: number }).version);

describe('a study with visits', () => {
  it('is sound, and each of its records has the lowest version that can say it', async () => {
    expect((await verify(logOf(SOUND))).ok).toBe(true);
    expect(versions(SOUND)).toEqual([3, 2, 1, 2, 1, 2]);
    expect(
      versions([registeredWith({}), amended(1, { kind: 'target', value: 9 }), listed(1, 'MART')]),
    ).toEqual([1, 1, 1]);
  });

  const history: Change = ({ data }) => Object.assign(data, { history: 'keep' });
  const visits: Change = ({ data }) => Object.assign(data.configuration, { visits: [] });
  const needless: Change = (record) => Object.assign(record, { version: 2 });

  // What else cannot be is in integration/bundles/altered-amendments.test.ts.
  it.each<[what: string, revision: number, field: string, how: Change]>([
    ['a list of no visits', 0, 'data.configuration.visits', visits],
    ['a history for visits alone', 1, 'data.history', history],
    ['a higher version than it needs', 2, 'version: version 1 can express it', needless],
  ])('has not %s', async (_, revision, field, how) => {
    const divergence = await divergenceOf(change(logOf(SOUND), revision, how));
    // What is wrong with a registration is said with its place in the list.
    const said = revision === 0 ? expect.stringContaining(field) : field;
    expect(divergence).toMatchObject({ revision, field: said });
  });
});
