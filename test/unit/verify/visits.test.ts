/** What a verification finds in the settings about visits, stopped arms and packs of closed arms. */
import { describe, expect, it } from 'vitest';
import type { DesignChange } from '../../../events/amendment.ts';
import type { Register, RegisterPacks } from '../../../src/core/study/commands.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import {
  altered,
  type Json,
  logOf,
  REGISTERED,
  STUDY,
  type Step,
  step,
  streamOf,
  verify,
} from './support.ts';

const registered = (visits?: readonly string[]) =>
  step(
    { ...REGISTERED.command, configuration: { ...CONFIGURATION, ...(visits && { visits }) } } as Register,
    OPERATOR,
  );
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
  registered(['V2', 'Week 12']),
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

/** What is found after somebody altered one record. */
async function found(revision: number, change: (record: Json, sealed: Json) => void) {
  const log = logOf(SOUND);
  log.byStream.set(
    STUDY,
    log.of(STUDY).map((row) => (row.revision === revision ? altered(row, change) : row)),
  );
  return streamOf(await verify(log)).divergence;
}

describe('a study with visits', () => {
  it('is sound, and each of its records has the lowest version that can say it', async () => {
    expect((await verify(logOf(SOUND))).ok).toBe(true);
    expect(versions(SOUND)).toEqual([3, 2, 1, 2, 1, 2]);
    expect(versions([registered(), amended(1, { kind: 'target', value: 9 }), listed(1, 'MART')])).toEqual([
      1, 1, 1,
    ]);
  });

  it.each([
    ['visits that differ in their capital letters alone', ['V2', 'v2'], 'data.configuration.visits[1]'],
    ['the name of an arm as a visit', ['V2', 'rmc-a'], 'data.configuration.visits[1]'],
    ['no visit', [], 'data.configuration.visits'],
    ['a visit that is none', ['=V2'], 'data.configuration.visits'],
  ])('is not registered with %s', async (_, visits, field) => {
    const divergence = await found(0, ({ data }) => Object.assign(data.configuration, { visits }));
    expect(divergence).toMatchObject({ revision: 0, field: expect.stringContaining(field) });
  });

  it.each<[string, number, (record: Json, sealed: Json) => void, string]>([
    [
      'a visit that stands twice',
      1,
      ({ data }) => Object.assign(data.changes[0], { value: ['V2', 'V2'] }),
      'data.changes[0].value[1]',
    ],
    [
      'the visits that it has already',
      1,
      ({ data }) => Object.assign(data.changes[0], { value: ['V2', 'Week 12'] }),
      'data.changes[0].kind',
    ],
    ['a history for visits alone', 1, ({ data }) => Object.assign(data, { history: 'keep' }), 'data.history'],
    [
      'an open arm that is stopped',
      5,
      ({ data }) => Object.assign(data.changes[0], { treatment: 'MART' }),
      'data.changes[0].treatment',
    ],
    [
      'packs of a closed arm, and nothing that says so',
      3,
      (record, { codes }) => {
        record.version = 1;
        delete codes.closedArms;
      },
      'codes.closedArms',
    ],
    [
      'packs of open arms alone, and something else that says otherwise',
      4,
      (record, { codes }) => {
        record.version = 2;
        codes.closedArms = true;
      },
      'codes.closedArms',
    ],
    [
      'a higher version than it needs',
      2,
      (record) => Object.assign(record, { version: 2 }),
      'version: version 1 can express it',
    ],
  ])('has not %s', async (_, revision, change, field) => {
    expect(await found(revision, change)).toMatchObject({ revision, field });
  });
});
