/** The map of packs in a study with visits: for which visit somebody has a pack, and where packs run low. */
import { beforeEach, describe, expect, it } from 'vitest';
import { packMap, stockOf } from '../../../src/core/study/pack-map.ts';
import {
  correct,
  dispense,
  moved,
  reinstated,
  replace,
  SUPPLY,
  visitsTrial,
  voided,
  ZOE,
} from '../../support/visits.ts';

let trial: ReturnType<typeof visitsTrial>;
beforeEach(() => {
  trial = visitsTrial();
});

describe('the map of packs', () => {
  const visitOf = (code: string) => packMap(trial.registered).find((one) => one.code === code)?.visit;
  const stock = () => stockOf(trial.registered, packMap(trial.registered));
  const low = () =>
    stock().map(({ treatment, where, free, low: is }) => `${treatment} ${where?.level} ${free} ${is}`);

  it('says for which visit the participant has a pack', () => {
    const { code = '' } = trial.record(dispense('001', 'V2'));
    expect([visitOf(code), visitOf('P-105'), visitOf('P-101')]).toEqual(['V2', undefined, undefined]);
    const { by = '' } = trial.record(replace('001', code));
    expect([visitOf(code), visitOf(by)]).toEqual([undefined, 'V2']);
    trial.record(correct('001', by, null));
    expect(visitOf(by)).toBeUndefined();
  });

  it('says where less is free than three packs and one for each participant who may get one', () => {
    // 001 and Zoë have A, 002 has B. Zoë and 001 are at N, 002 at S.
    expect(low()).toEqual(['A undefined 5 undefined', 'B undefined 5 undefined', 'A N 2 true', 'B N 1 true']);
    trial.record(dispense('002', 'V2'));
    expect(low()[1]).toBe('B undefined 4 undefined');
    trial.record(dispense('002', 'V3'));
    expect(low()[1]).toBe('B undefined 3 true');
  });

  it('counts who lives, at the current levels, by the arm as allocated', () => {
    trial.ask({ act: 'CodesWithdrawn', codes: ['P-101'], reason: 'recall' });
    expect(low()[0]).toBe('A undefined 4 true');
    for (const cause of ['other', 'ineligible', 'never-enrolled'] as const) {
      trial.record(voided(ZOE, cause));
      expect(low()[0], cause).toBe(`A undefined 4 ${cause === 'never-enrolled' ? undefined : true}`);
      trial.record(reinstated(ZOE));
    }
    const list = ['R', 'S', 'T', 'U'].map((code) => ({ code, treatment: 'A' }));
    trial.ask({
      ...{ type: 'register-packs', list: 3, key: '00112233445566778899aabbccddeeff', entries: list },
      where: { factor: 'site', level: 'S' },
    });
    expect(low().at(-1)).toBe('A S 4 undefined');
    for (const id of ['001', ZOE]) trial.record(moved(id));
    expect([low().at(-1), low()[2]]).toEqual(['A S 4 true', 'A N 2 true']);
    trial.amend({ kind: 'level-renamed', factor: 'site', level: 'S', to: 'South' });
    expect(low().at(-1)).toBe('A South 4 true');
  });

  it('says nothing of a stopped arm', () => {
    trial.amend({ kind: 'arm-added', treatment: 'C' });
    trial.amend({ kind: 'arm-closed', treatment: 'A' });
    expect(low()[2]).toBe('A N 2 true');
    trial.amend({ kind: 'arm-stopped', treatment: 'A' });
    expect([low()[2], low()[3]]).toEqual(['A N 2 undefined', 'B N 1 true']);
  });

  it('says nothing of it in a study that never had visits; one pack at an undeclared one is enough', () => {
    trial = visitsTrial({ visits: [] });
    expect(trial.registered.hasVisits).toBe(false);
    expect(low()[2]).toBe('A N 2 undefined');
    trial.record(dispense('001', 'U1', SUPPLY));
    expect(trial.registered.hasVisits).toBe(true);
    expect(low()[2]).toMatch(/true$/);
  });

  it('goes on saying so when the visits were taken away', () => {
    trial.amend({ kind: 'visits', value: [] });
    expect(trial.registered.hasVisits).toBe(true);
    trial = visitsTrial({ visits: [] });
    trial.amend({ kind: 'visits', value: ['V2'] });
    expect(trial.registered.hasVisits).toBe(true);
  });
});
