import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogue } from '../../../events/catalogue.ts';
import { compiled } from '../../../events/compiled.ts';
import { frozenSamples } from '../../support/samples.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Values that a schema may or may not take in the place of another. */
const OTHERS: readonly Json[] = [
  ...[null, true, 0, 1, -1, 1.5, 2 ** 32, 2 ** 53, 2 ** 53 - 1, -(2 ** 53), 1e300],
  ...['', ' ', '0', 'PCG64', 'method1', 'é', '\u{1f600}', 'f'.repeat(32), 'F'.repeat(32), '9'.repeat(40)],
  ...[
    '00000000-0000-0000-0000-000000000000',
    '019aa3c5-7f3e-7a9c-9a51-1b2a5a3c1f00\n',
    '2026-11-21T10:00:00.000Z',
  ],
  ...['2026-11-21T10:00:00Z', '2026-11-21T10:00:00.000+01:00', '2026-02-30T10:00:00.000Z'],
  ...[[], [''], ['a', 'b'], [0, 0], [null], {}, { a: 1 }],
];

/** The value with one thing changed, in every place and every way that are tried. */
function* variants(value: Json): Generator<Json> {
  yield* OTHERS;
  if (typeof value === 'string') yield* [`${value}x`, value.slice(1), value.toUpperCase(), `${value}\n`];
  if (typeof value === 'number') yield* [value + 1, value - 1, value + 0.5, -value];
  if (Array.isArray(value)) {
    yield [...value, ...value];
    for (const [i, element] of value.entries()) {
      yield value.toSpliced(i, 1);
      for (const variant of variants(element)) yield value.with(i, variant);
    }
  } else if (typeof value === 'object' && value !== null) {
    yield { ...value, extra: 1 };
    yield Object.defineProperty({ ...value }, '__proto__', { value: {}, enumerable: true });
    for (const [name, member] of Object.entries(value)) {
      const { [name]: _, ...others } = value;
      yield others;
      for (const variant of variants(member)) yield { ...others, [name]: variant };
    }
  }
}

const parts = frozenSamples().flatMap(({ name, record, sealed }) => {
  const { type, version, data } = JSON.parse(record.toString());
  const definition = catalogue.definition(type, version);
  if (!definition) throw new Error(`${name} is not in the catalogue`);
  return [
    { name: `${name}, in the clear`, schema: definition.data, valid: data as Json },
    { name: `${name}, sealed`, schema: definition.sealed, valid: JSON.parse(sealed.toString()) as Json },
  ];
});

describe('a compiled schema', () => {
  it.each(parts)('takes what zod takes, and nothing else: $name', ({ schema, valid }) => {
    const parse = compiled(schema, 0);
    expect(parse(valid)).toEqual({ success: true, data: valid });
    let refused = 0;
    for (const variant of variants(valid)) {
      const said = schema.safeParse(variant);
      expect([variant, parse(variant)]).toEqual([variant, said]);
      if (!said.success) refused++;
    }
    expect(refused).toBeGreaterThan(OTHERS.length / 2);
  });

  it.each([
    ['an id', z.uuid()],
    ['a time', z.iso.datetime({ precision: 3 })],
    ['a revision', z.int().nonnegative()],
    ['a version', z.int().positive()],
    ['seals', z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/))],
  ] as const)('takes what zod takes where a record has %s', (_, schema) => {
    const parse = compiled<unknown>(schema, 0);
    const examples = [
      ...OTHERS,
      { a: 'f'.repeat(64) },
      { a: 'g'.repeat(64) },
      JSON.parse('{"__proto__":{}}'),
    ];
    for (const value of examples) expect([value, parse(value)]).toEqual([value, schema.safeParse(value)]);
  });

  it('asks zod about the first values, and then only about what is not valid', () => {
    const schema = z.strictObject({ a: z.int() });
    const parse = compiled(schema, 2);
    const value = { a: 1 };
    // Zod makes a copy.
    for (let i = 0; i < 2; i++) expect(parse(value).data).not.toBe(value);
    expect(parse(value).data).toBe(value);
    expect(parse({ a: 'no' }).error?.issues[0]?.path).toEqual(['a']);
  });
});
