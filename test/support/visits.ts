/** The worked sample of packs at visits: what is asked for, in order, and what comes of it. */

import type { StudyOutcome } from '../../src/core/model/outcomes.ts';
import { presentPacks } from '../../src/core/model/participants.ts';
import type { Force, RegisterPacks } from '../../src/core/study/commands.ts';
import type { FlatAct, Written } from './acts.ts';
import { TrialRun } from './trial-run.ts';

/** 2^96: not a weak seed. */
export const VISITS_SEED = 79228162514264337593543950336n;
export const ZOE = 'Zoë 3';

const A = 'P-101 P-104 P-106 P-107 P-110 P-112 P-202 P-203'.split(' ');
const B = 'P-102 P-103 P-105 P-108 P-109 P-111 P-201'.split(' ');

function list(number: number, key: string, isOn: (code: string) => boolean): RegisterPacks {
  const of = (treatment: string, codes: readonly string[]) =>
    codes.filter(isOn).map((code) => ({ code, treatment }));
  return { type: 'register-packs', list: number, key, entries: [...of('A', A), ...of('B', B)] };
}

export const LIST_1 = list(1, '0f1e2d3c4b5a69788796a5b4c3d2e1f0', (code) => code.startsWith('P-1'));
export const LIST_2: RegisterPacks = {
  ...list(2, 'ffeeddccbbaa99887766554433221100', (code) => code.startsWith('P-2')),
  where: { factor: 'site', level: 'N' },
};

export function dispense(participantId: string, visit: string, more: object = {}): FlatAct {
  return { act: 'PackDispensed', participantId, visit, ...more };
}

export function correct(participantId: string, code: string, to: string | null, more: object = {}): FlatAct {
  return { act: 'DispensationCorrected', participantId, code, to, cause: 'entry', note: 'a slip', ...more };
}

export function replace(participantId: string, code: string, more: object = {}): FlatAct {
  return { act: 'CodeReplaced', participantId, code, cause: 'lost', ...more };
}

export function voided(participantId: string, cause: string, more: object = {}): FlatAct {
  return { act: 'AllocationVoided', participantId, cause, analysis: 'keep', note: 'x', ...more };
}

export function reinstated(participantId: string): FlatAct {
  return { act: 'AllocationReinstated', participantId, note: 'x' };
}

/** To the site S. */
export function moved(participantId: string, from = 'N'): FlatAct {
  return {
    ...{ act: 'LevelsCorrected', participantId, cause: 'transfer', note: 'moved' },
    changes: [{ factor: 'site', from, to: 'S' }],
  };
}

/** An allocation made by hand, with the pack of this code. */
export function entered(code: string, more: Partial<Force> = {}): Force {
  return {
    ...{ type: 'force', user: 'desk', participantId: '900', levels: ['N'], treatment: 'A', cause: 'outage' },
    ...{ occurredAt: '2026-03-01T08:00:00.000Z', note: 'envelope', code, ...more },
  };
}

/** So many packs of each arm. */
export function listOf(number: number, counts: Readonly<Record<string, number>>): RegisterPacks {
  const entries = Object.entries(counts).flatMap(([treatment, n], arm) =>
    Array.from({ length: n }, (_, i) => ({ code: `${number}-${arm}-${i}`, treatment })),
  );
  return { type: 'register-packs', list: number, key: `${number}`.repeat(32), entries };
}

export const SUPPLY = { isSupply: true, mayRead: true };

/** A study with the participants and lists of the sample, before anybody is given a pack at a visit. */
export function visitsTrial(more: object = {}, lists: readonly RegisterPacks[] = [LIST_1, LIST_2]): TrialRun {
  const trial = new TrialRun(
    {
      ...{ mode: 'test', treatments: ['A', 'B'], factors: [{ name: 'site', levels: ['N', 'S'] }] },
      ...{ visits: ['V2', 'V3', 'Week 12'], ...more },
    },
    VISITS_SEED,
  );
  trial.enrol('001', ['N']);
  for (const one of lists) trial.ask(one);
  trial.enrol('002', ['S']);
  trial.enrol(ZOE, ['N']);
  return trial;
}

export function packsOf(trial: TrialRun, id: string): string {
  const participant = trial.list.find(id);
  return (participant ? presentPacks(participant) : [])
    .map(({ code, visit }) => `${visit}=${code}`)
    .join('; ');
}

/** What a request gives: the pack, or why there is none. */
export function gives(outcome: StudyOutcome): unknown {
  const { type } = outcome;
  const data = 'data' in outcome ? outcome.data : undefined;
  return data?.['by'] ?? data?.['code'] ?? type;
}

/** In the order of the sample. */
export const WORKED: readonly (readonly [act: Written, gives: string])[] = [
  [dispense('001', 'V2'), 'P-107'],
  [dispense('002', 'v2'), 'P-108'],
  [correct('002', 'P-108', null), 'P-108'],
  [dispense('002', 'V2'), 'P-111'],
  [dispense(ZOE, 'week 12'), 'P-110'],
  [dispense(ZOE, 'U1'), 'unfit'],
  [correct(ZOE, 'P-110', 'V2'), 'P-110'],
  [dispense(ZOE, 'Week 12'), 'P-112'],
  [replace('001', 'P-107'), 'P-202'],
  [moved('001'), 'recorded'],
  [dispense('001', 'V3'), 'no-code'],
  [dispense('002', 'V3'), 'no-code'],
  [dispense('002', 'U1', SUPPLY), 'P-103'],
  [dispense('001', 'U1', SUPPLY), 'P-106'],
  [correct('002', 'P-108', 'V3'), 'P-108'],
];
