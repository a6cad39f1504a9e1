/** Permuted blocks and complete randomization, against samples worked out in numpy. */
import { describe, expect, it } from 'vitest';
import { PermutedBlocks } from '../../../src/core/methods/blocks/blocks.ts';
import { Complete } from '../../../src/core/methods/complete/complete.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { allocate, type Method } from '../../../src/core/methods/method.ts';
import { OpenBlocks } from '../../../src/core/methods/open-blocks.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';

const shape = { slots: { length: 4 }, factors: [{ levels: ['1', '2'] }] };

/** @param levels of each participant */
function drawn(method: Method, seed: bigint, levels: readonly number[]) {
  const memory = { counts: new Counts(shape), blocks: new OpenBlocks() };
  let state = Pcg64.fromSeed(seed).snapshot();
  const picks = levels.map((level) => {
    const { slot, evidence } = allocate(method, memory, [level], state);
    if (!evidence.pick) throw new Error('nothing was picked');
    state = evidence.pick.bgStateAfter;
    method.use?.(memory, [level], slot, evidence.pick.block?.perSlot);
    return { ...evidence.pick, slot };
  });
  return { picks, state };
}

describe('permuted blocks', () => {
  it('of 4 and 6 in two strata are those of the worked sample', () => {
    const blocks = new PermutedBlocks({ slots: ['A', 'B'], hasRatio: false, by: [0], perSlot: [2, 3] });
    const { picks, state } = drawn(blocks, 2026n, [0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0]);
    expect(
      picks.map(({ block, weights, uniform53, slot }) => [block, weights, uniform53, 'AB'[slot]]),
    ).toEqual([
      [{ number: 1, perSlot: 3 }, [3, 3], 5763825389328489, 'B'],
      [{ number: 1, perSlot: 2 }, [2, 2], 4208779594543614, 'A'],
      [{ number: 1, perSlot: 3 }, [3, 2], 3337172071648755, 'A'],
      [{ number: 1, perSlot: 3 }, [2, 2], 3196811149088550, 'A'],
      [{ number: 1, perSlot: 2 }, [1, 2], 7120355354908685, 'B'],
      [{ number: 1, perSlot: 2 }, [1, 1], 8152810891152043, 'B'],
      [{ number: 1, perSlot: 3 }, [1, 2], 1597455537214500, 'A'],
      [{ number: 1, perSlot: 2 }, [1, 0], 5879762788251766, 'A'],
      [{ number: 1, perSlot: 3 }, [0, 2], 2686872463812259, 'B'],
      [{ number: 1, perSlot: 3 }, [0, 1], 8709621208665394, 'B'],
      [{ number: 2, perSlot: 3 }, [3, 3], 5727415033203259, 'B'],
      [{ number: 2, perSlot: 3 }, [3, 3], 6780007983830373, 'B'],
    ]);
    expect(state).toMatchObject({
      state: { state: '308269946292390932861741683681455606155' },
      has_uint32: 0,
      uinteger: 3950726356,
    });
  });

  it('with a ratio of 2:1 are those of the worked sample', () => {
    const slots = ['A', 'A', 'B'];
    const blocks = new PermutedBlocks({ slots, hasRatio: true, by: [], perSlot: [1, 2] });
    const { picks } = drawn(blocks, 2026n, Array(10).fill(0));
    expect(picks.map(({ slot }) => slot)).toEqual([1, 1, 0, 2, 2, 0, 0, 2, 1, 2]);
    expect(picks.map(({ slot }) => slots[slot]).join('')).toBe('AAABBAABAB');
    expect(picks.map(({ block }) => block?.perSlot)).toEqual([2, 2, 2, 2, 2, 2, 1, 1, 1, 1]);
  });

  it('keep their number, and no place, when they are dropped', () => {
    const blocks = new PermutedBlocks({ slots: ['A', 'B'], hasRatio: false, by: [], perSlot: [2] });
    const memory = { blocks: new OpenBlocks() };
    blocks.use(memory, [0], 0, 2);
    memory.blocks.drop();
    blocks.look(memory, [0]);
    expect([...blocks.chances]).toEqual([0.5, 0.5]);
    blocks.use(memory, [0], 1, 2);
    expect(memory.blocks.latest('')).toEqual({ number: 2, perSlot: 2, left: [2, 1] });
  });

  it('do not have a place twice', () => {
    const blocks = new PermutedBlocks({ slots: ['A', 'B'], hasRatio: false, by: [], perSlot: [1] });
    const memory = { blocks: new OpenBlocks() };
    blocks.use(memory, [0], 0, 1);
    expect(() => blocks.use(memory, [0], 0, 1)).toThrow(RangeError);
  });
});

describe('complete randomization', () => {
  it('in the ratio 2:1:1 is that of the worked sample', () => {
    const slots = ['A', 'A', 'B', 'C'];
    const { picks } = drawn(new Complete({ slots, hasRatio: true }), 2026n, Array(10).fill(0));
    expect(picks.map(({ slot }) => slots[slot]).join('')).toBe('ABAAACCABA');
    expect(picks.slice(0, 3).map(({ uniform53 }) => uniform53)).toEqual([
      1611701520384607, 5763825389328489, 4208779594543614,
    ]);
    expect(picks[0]?.weights).toEqual([1, 1, 1, 1]);
  });
});
