/** The golden vectors of test/vectors, converted. See test/vectors/README.md for where they come from. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { BgState, UrnConfiguration } from '../../events/study.ts';

const Decimal = z.string().regex(/^\d+$/).transform(BigInt);
/** A double in [0, 1] as C99 writes it, `0x1.8p-1`; converted exactly. */
const HexDouble = z.string().transform(parseHexDouble);

const NumpyVectors = z.strictObject({
  numpy: z.string(),
  vectors: z.array(
    z.strictObject({
      seed: Decimal,
      generate_state_u32: z.array(z.int()),
      state: z.string(),
      inc: z.string(),
      next_uint64: z.array(Decimal),
      random: z.array(HexDouble),
      integers_below: z.array(
        z.strictObject({
          n: z.string().transform(Number),
          value: z.int(),
          has_uint32: z.int(),
          uinteger: z.int(),
          state: z.string(),
        }),
      ),
      choice_p: z.array(z.strictObject({ p: z.array(HexDouble), index: z.int() })),
    }),
  ),
});

interface ReferenceStudy {
  readonly study: string;
  readonly config: Pick<UrnConfiguration, 'treatments' | 'D' | 'w' | 'alpha' | 'beta'> & {
    readonly starting_seed: number;
    readonly factors: Readonly<Record<string, string[]>>;
  };
  readonly history: readonly {
    readonly levels: Readonly<Record<string, string>>;
    readonly trt: string;
    readonly bg_state: BgState;
  }[];
}

/** Vectors of the generator: the fifteen seeds that came with the specification, then seeds of awkward sizes. */
export const numpyVectors = ['numpy-pcg64.json', 'numpy-pcg64-edges.json'].flatMap(
  (file) => NumpyVectors.parse(load(file)).vectors,
);

export type ReferenceHistory = ReturnType<typeof referenceHistories>[number];

/** What the reference implementation did, by study and participant. */
export function referenceHistories() {
  const { studies } = load('reference-histories.json') as { studies: readonly ReferenceStudy[] };
  return studies.map(({ study, config, history }) => {
    const { starting_seed, factors: levelsByFactor, ...urn } = config;
    const factors = Object.entries(levelsByFactor).map(([name, levels]) => ({ name, levels }));
    return {
      configuration: {
        ...{ name: study, mode: 'test' as const, urnSelection: 'method1' as const, ...urn },
        factors,
      },
      seed: BigInt(starting_seed),
      participants: history.map(({ levels: chosen, trt, bg_state }) => ({
        levelIndexes: factors.map(({ name, levels }) => levels.indexOf(chosen[name] ?? '')),
        treatment: trt,
        bgStateAfter: bg_state,
      })),
    };
  });
}

function load(file: string): unknown {
  return JSON.parse(readFileSync(new URL(`../vectors/${file}`, import.meta.url), 'utf8'));
}

function parseHexDouble(text: string): number {
  const parts = /^0x([01])\.([0-9a-f]+)p([+-]\d+)$/.exec(text);
  if (parts === null) throw new Error(`not a hexadecimal double: ${text}`);
  const [, whole = '', fraction = '', exponent = ''] = parts;
  // At most 1 + 52 bits of mantissa, so both factors and their product are exact.
  return Number.parseInt(whole + fraction, 16) * 2 ** (Number(exponent) - 4 * fraction.length);
}
