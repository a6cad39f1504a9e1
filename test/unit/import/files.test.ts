/** What is read from files: the generator's state as the reference writes it, never evaluated. */
import { describe, expect, it } from 'vitest';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { readBgState } from '../../../src/evidence/import/read-history.ts';

const STATE = Pcg64.fromSeed(7n).snapshot();
const { state, inc } = STATE.state;
const PYTHON = `{'bit_generator': 'PCG64', 'state': {'state': ${state}, 'inc': ${inc}}, 'has_uint32': 0, 'uinteger': 0}`;
const JSON_TEXT = PYTHON.replaceAll("'", '"');

describe('a state of the generator', () => {
  it.each([
    ['Python', PYTHON],
    ['JSON', JSON_TEXT],
    ['JSON in lines', JSON_TEXT.replaceAll(' ', '\n  ')],
    [
      'another order',
      `{'uinteger': 0, 'has_uint32': 0, 'state': {'inc': ${inc}, 'state': ${state}}, 'bit_generator': 'PCG64'}`,
    ],
  ])('is read from %s', (_, text) => {
    expect(readBgState(text)).toEqual(STATE);
  });

  it.each([
    ['nothing', ''],
    ['another generator', PYTHON.replace('PCG64', 'MT19937')],
    ['code within', PYTHON.replace(`${state}`, '(lambda: 1)()')],
    ['a float', PYTHON.replace(`'uinteger': 0`, `'uinteger': 0.0`)],
    ['a number as a text', PYTHON.replace(`${state}`, `'${state}'`)],
    ['a number with a sign of ours', PYTHON.replace(`${state}`, `'#${state}'`)],
    ['a number of 129 bits', PYTHON.replace(`${state}`, String(2n ** 128n))],
    ['a leading zero', PYTHON.replace(`${state}`, `0${state}`)],
    ['a member too many', PYTHON.replace(`'uinteger': 0`, `'uinteger': 0, 'x': 0`)],
    ['a member too few', PYTHON.replace(`, 'uinteger': 0`, '')],
    ['a nesting without end', '['.repeat(500)],
    ['a text without end', `${' '.repeat(100_000)}${PYTHON}`],
    ['a member twice', PYTHON.replace(`{'state':`, `{'state': 1, 'state':`)],
  ])('is not read from %s', (_, text) => {
    expect(readBgState(text)).toBeUndefined();
  });
});
