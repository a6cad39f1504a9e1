import { describe, expect, it } from 'vitest';
import { currentId, NONE } from '../../../projections/enrolled.ts';
import { SORTED_AT_ONCE } from '../../../src/base/sorted-in-slices.ts';
import { type Participant, Participants } from '../../../src/core/model/participants.ts';
import { InProgress } from '../../../src/service/http/request/in-progress.ts';
import { byId, byLevel, ListOrders } from '../../../src/service/http/request/list-orders.ts';

let sequence = 0;

function participant(participantId: string, level = 'a', now = { id: participantId, level }): Participant {
  sequence++;
  const isCorrected = now.id !== participantId || now.level !== level;
  const levels = [now.level];
  return {
    ...{ participantId, levels: [level], revision: sequence, sequence, treatment: 'A', at: '', user: 'edc' },
    ...{ slot: 0, onBehalfOf: undefined, bgStateAfter: undefined },
    ...(isCorrected && { corrected: { id: now.id, levels, countedLevels: levels } }),
  };
}

const idsOf = (list: readonly Participant[]) => list.map(currentId);

describe('byId', () => {
  it('compares numbers in ids as numbers, and the ids in use', () => {
    const given = ['10-2', '9-10', 'a2', '9-9', 'B1', 'A10'].map((id) => participant(id));
    const renamed = participant('0', 'a', { id: '9-9b', level: 'a' });
    expect(idsOf([...given, renamed].toSorted(byId))).toEqual([
      '9-9',
      '9-9b',
      '9-10',
      '10-2',
      'a2',
      'A10',
      'B1',
    ]);
  });

  it('leaves ids that read as the same in the order of randomization', () => {
    expect(idsOf(['01', '2', '1', '001'].map((id) => participant(id)).toSorted(byId))).toEqual([
      ...['01', '1', '001', '2'],
    ]);
  });
});

describe('byLevel', () => {
  const factor = { levels: ['b', 'a', 'c'] };

  it('follows the configuration; who has no level is last', () => {
    const list = [
      participant('1', NONE),
      participant('2', 'c'),
      participant('3', 'a'),
      participant('4', 'b'),
    ];
    expect(idsOf(list.toSorted(byLevel(0, factor, 'current')))).toEqual(['4', '3', '2', '1']);
  });

  it('is by the levels that are shown', () => {
    const list = [participant('1', 'a'), participant('2', 'b', { id: '2', level: 'c' })];
    expect(idsOf(list.toSorted(byLevel(0, factor, 'current')))).toEqual(['1', '2']);
    expect(idsOf(list.toSorted(byLevel(0, factor, 'as_randomized')))).toEqual(['2', '1']);
  });
});

describe('ListOrders', () => {
  function scene(ids = ['3', '1', '2']) {
    const orders = new ListOrders(new InProgress().lists);
    const state = new Participants();
    for (const id of ids) state.add(participant(id));
    const counted = { compared: 0 };
    const compare = (a: Participant, b: Participant) => {
      counted.compared++;
      return byId(a, b);
    };
    const sorted = async (revision: number, name = 'id') =>
      idsOf(await orders.sorted(state, revision, name, compare));
    return { state, counted, sorted };
  }

  it('sort once for all who ask before the study changes', async () => {
    const { sorted, counted } = scene();
    expect(await Promise.all([sorted(3), sorted(3)])).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
    ]);
    const { compared } = counted;
    await sorted(3);
    expect(counted.compared).toBe(compared);
    await sorted(3, 'other');
    expect(counted.compared).toBeGreaterThan(compared);
  });

  it('follow the study when it grows, and not while they sort', async () => {
    const ids = Array.from({ length: SORTED_AT_ONCE + 1 }, (_, n) => String(n + 1));
    const { state, sorted } = scene(ids);
    const before = sorted(3);
    state.add(participant('0'));
    expect(await before).toEqual(ids);
    expect(await sorted(4)).toEqual(['0', ...ids]);
  });
});
