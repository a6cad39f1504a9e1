import { describe, expect, it } from 'vitest';
import { readBgState } from '../../../src/import/generator-state.ts';

const STATE = '145281957688160817555677171447984817743';
const INC = '227545092632529702032305629452684732711';
const python = (inner: string, rest = "'has_uint32': 1, 'uinteger': 17871527") =>
  `{'bit_generator': 'PCG64', 'state': ${inner}, ${rest}}`;
const NUMBERS = `{'state': ${STATE}, 'inc': ${INC}}`;

describe('the state of a generator in a file', () => {
  it.each([python(NUMBERS), python(NUMBERS).replaceAll("'", '"')])('is read whole from %s', (text) => {
    expect(readBgState(text)).toEqual({
      ...{ bit_generator: 'PCG64', has_uint32: 1, uinteger: 17871527 },
      state: { inc: INC, state: STATE },
    });
  });

  it.each([
    '',
    'None',
    '{}',
    python(`{'state': ${STATE}, 'inc': 2}`), // even
    python(`{'state': ${2n ** 128n}, 'inc': ${INC}}`),
    python(`{'state': -1, 'inc': ${INC}}`),
    python(`{'state': 1.5, 'inc': ${INC}}`),
    python(`{'state': '${STATE}', 'inc': ${INC}}`),
    python(`{'state': ${STATE}, 'state': 1, 'inc': ${INC}}`),
    python(NUMBERS, "'has_uint32': 2, 'uinteger': 1"),
    python(NUMBERS, "'has_uint32': 1, 'uinteger': 4294967296"),
    python(NUMBERS, "'has_uint32': 1, 'uinteger': 1, 'more': 1"),
    python(NUMBERS).replace('PCG64', 'MT19937'),
    `${python(NUMBERS)} + 1`,
    python("__import__('os').system('true')"),
    python('{'.repeat(2000)),
    python(`&a ${NUMBERS}`).replace("'uinteger': 17871527", "'uinteger': *a"),
  ])('is none: %s', (text) => {
    expect(readBgState(text)).toBeUndefined();
  });
});
