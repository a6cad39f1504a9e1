/** What a verification says of a study's life: its state, the codes that were broken, and what to look at. */
import { describe, expect, it } from 'vitest';
import type { Register } from '../../../src/core/study/commands.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import {
  altered,
  clerk,
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
  step,
  streamOf,
  verify,
} from './support.ts';

const keys = [...KEYS, ...LIFE_KEYS];
const told = async (log: Log) => {
  const report = await verify(log);
  return { ...streamOf(report), text: reportText(report) };
};
const CLOSED = step({ act: 'StudyClosed', user: 'operator', cause: 'end', reason: 'end' }, OPERATOR);

describe('a correction of an id', () => {
  const to = (id: string) =>
    step(
      { act: 'ParticipantIdCorrected', user: 'clerk', participantId: '001', to: id, cause: 'pattern' },
      clerk,
    );
  const registered = (idPattern: string) =>
    step({ ...REGISTERED.command, configuration: { ...CONFIGURATION, idPattern } } as Register, OPERATOR);
  const history = (idPattern: string, id: string) => [registered(idPattern), enrol(1), to(id)];

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
    log.byStream.set(
      STUDY,
      log
        .of(STUDY)
        .map((row) =>
          row.revision === 11 ? altered(row, (record) => Object.assign(record.data, { cause: 'x' })) : row,
        ),
    );
    const { life, divergence } = await told(log);
    expect(divergence?.revision).toBe(11);
    expect(life).toEqual({ state: 'paused', revealed: { planned: 1 } });
  });

  it('says nothing about a study whose registration is not sound', async () => {
    const log = logOf([REGISTERED]);
    log.byStream.set(
      STUDY,
      log.of(STUDY).map((row) => altered(row, (record) => Object.assign(record.data, { seedWeak: 1 }))),
    );
    expect((await told(log)).life).toBeUndefined();
  });
});
