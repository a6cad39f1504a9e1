import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { Catalogue, catalogue } from '../../../events/catalogue.ts';
import {
  canonicalJson,
  checkRecord,
  decodeRecord,
  leafHash,
  type RecordBytes,
} from '../../../events/record.ts';
import { canonicalPattern, objectPattern, UnsupportedSchemaError } from '../../../events/record-pattern.ts';
import { RecordError } from '../../../src/base/errors.ts';
import { bgState, randomizedFact } from '../../support/arbitrary-facts.ts';
import { randomized, stored } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { frozenSamples } from '../../support/samples.ts';
import { drawIn } from '../../support/urn-study.ts';

type Placed = RecordBytes & { readonly stream: string; readonly revision: number };

/** The catalogue under another name: no record is known to it by its text. */
const theLongWay = new Catalogue(catalogue.all());

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** What decoding gives, or how it fails. */
function outcome(decode: () => unknown): unknown {
  try {
    return decode();
  } catch (error) {
    if (error instanceof RecordError) return `${error.fault} ${error.message}`;
    throw error;
  }
}

function expectTheSameBothWays(record: Placed): void {
  const long = outcome(() => decodeRecord(record, theLongWay));
  expect(outcome(() => decodeRecord(record))).toEqual(long);
  expect(outcome(() => checkRecord(record))).toEqual(typeof long === 'string' ? long : undefined);
}

/** As a forger writes it who can write the leaf as well. */
function withRecord(good: Placed, text: string): Placed {
  const record = Buffer.from(text);
  return { ...good, record, leaf: leafHash(record) };
}

/** With a seal of the section's text as it is, canonical or not. */
function withSection(good: Placed, name: string, text: string): Placed {
  const sealed = JSON.parse(String(good.sealed)) as Record<string, unknown>;
  const record = JSON.parse(String(good.record)) as { seals: Record<string, string> };
  record.seals[name] = sha256(text);
  const sections = Object.keys(sealed).map((key) => {
    return `${JSON.stringify(key)}:${key === name ? text : canonicalJson(sealed[key])}`;
  });
  return { ...withRecord(good, canonicalJson(record)), sealed: Buffer.from(`{${sections.join(',')}}`) };
}

const INSERTED = [' ', '0', '-', '.0', 'e1', ',', '"', '\\', '\\u0061', '\n', '\u0001', '\u2028', '\ufffd'];

/** The text changed at every fourth place: something is put in, or the character is left out, or escaped, by turns. */
function* changes(text: string): Generator<string> {
  for (let i = text.length % 4; i <= text.length; i += 4) {
    const [before, after] = [text.slice(0, i), text.slice(i + 1)];
    if (i % 3 === 0) yield before + INSERTED[(i / 3) % INSERTED.length] + text.slice(i);
    else if (i % 3 === 1) yield before + after;
    else yield `${before}\\u00${text.charCodeAt(i).toString(16).padStart(2, '0')}${after}`;
  }
}

afterEach(() => vi.restoreAllMocks());

/** So few of these are written that the full check is fast enough. */
function isRare(name: string): boolean {
  return (
    /^(LogCreated|SigningKeyRotated|EvidenceDisclosed|AllocationRevealed|UnblindingReported)@/.test(name) ||
    /^Study(Registered|Amended|Paused|Resumed|Closed|Reopened)@/.test(name) ||
    /^Code(Replaced|sWithdrawn)@|^PackDispensed@|Forced@|Corrected@|Voided@|Reinstated@/.test(name)
  );
}

/** Of the other methods, from its sample, which an urn drew. */
function allocated(evidence: 'pick' | 'entry') {
  const { sections, ...fact } = randomized();
  const { bgStateBefore, bgStateAfter, uniform53, counts } = drawIn(sections);
  const pick = { bgStateBefore, bgStateAfter, uniform53, weights: counts, counts: [counts], slot: 0 };
  const shown = evidence === 'pick' ? { pick } : { entry: { list: 1, entry: 12 } };
  const { allocation } = sections;
  return {
    name: `ParticipantRandomized@1, ${evidence}`,
    ...stored({ ...fact, sections: { allocation, ...shown } }, 1),
  };
}

describe('the fast check of a record', () => {
  const all = [...frozenSamples(), allocated('pick'), allocated('entry')];
  const samples = all.filter(({ name }) => !isRare(name));
  const timesParsed = (sample: Placed) => {
    checkRecord(sample);
    const parse = vi.spyOn(JSON, 'parse');
    checkRecord(sample);
    return parse.mock.calls.length;
  };

  it.each(samples)('accepts $name', (sample) => {
    expect(timesParsed(sample)).toBe(0);
  });

  it.each(all.filter(({ name }) => isRare(name)))('leaves $name to the full check', (sample) => {
    expect(timesParsed(sample)).toBeGreaterThan(0);
  });

  it.each(samples)(
    'agrees with the full check on any text that is close to $name, or to its sections',
    (sample) => {
      for (const text of changes(String(sample.record))) expectTheSameBothWays(withRecord(sample, text));
      const sealed = JSON.parse(String(sample.sealed)) as Record<string, unknown>;
      for (const [name, section] of Object.entries(sealed))
        for (const text of changes(canonicalJson(section)))
          expectTheSameBothWays(withSection(sample, name, text));
    },
  );

  it.each(samples)(
    'agrees with the full check if $name lacks a seal or a section, or has an extra one',
    (sample) => {
      const sealed = JSON.parse(String(sample.sealed)) as Record<string, unknown>;
      const record = JSON.parse(String(sample.record)) as { seals: Record<string, string> };
      const added = { idempotencyKey: 'k', salt: '0'.repeat(32) };
      for (const name of [...Object.keys(sealed), 'request', 'constructor', '__proto__']) {
        const [{ [name]: _, ...sections }, { [name]: __, ...seals }] = [sealed, record.seals];
        const more = { ...sections, [name]: added };
        const moreSeals = { ...seals, [name]: sha256(canonicalJson(added)) };
        for (const theSections of [sections, sealed, more])
          for (const theSeals of [record.seals, seals, moreSeals]) {
            const changed = withRecord(sample, canonicalJson({ ...record, seals: theSeals }));
            expectTheSameBothWays({ ...changed, sealed: Buffer.from(canonicalJson(theSections)) });
          }
      }
    },
  );

  it('agrees with the full check on a sealed part that was changed', () => {
    const sample = samples.find(({ name }) => name === 'ParticipantRandomized@1');
    for (const text of changes(String(sample?.sealed)))
      expectTheSameBothWays({ ...(sample as Placed), sealed: Buffer.from(text) });
  });

  it('agrees with the full check on facts with any text', () => {
    const revision = fc.nat(0xfff);
    check(
      fc.property(randomizedFact, revision, (fact, at) => {
        const record = stored(fact, at);
        expectTheSameBothWays(record);
        expectTheSameBothWays({ ...record, revision: at + 1 });
        expectTheSameBothWays({ ...record, stream: 'study-another' });
        expectTheSameBothWays({ ...record, stream: 'log' });
        expectTheSameBothWays({ ...record, leaf: Buffer.alloc(32) });
      }),
    );
  });
});

describe('the pattern of a schema', () => {
  const matches = (schema: z.ZodType, text: string) => new RegExp(`^${canonicalPattern(schema)}$`).test(text);

  it.each([1, 9, 10, 19, 100, 4294967295, Number.MAX_SAFE_INTEGER])(
    'matches the integers from 0 or 1 to %d, written canonically',
    (maximum) => {
      const near = [0, 1, 2, 9, 10, 11, 99, maximum - 1, maximum, maximum + 1, maximum + 10, maximum * 10];
      const numbers = fc.oneof(fc.constantFrom(...near), fc.nat(), fc.maxSafeNat());
      check(
        fc.property(numbers, (value) => {
          for (const minimum of [0, 1]) {
            const schema = z.int().min(minimum).max(maximum);
            const isWhole = Number.isSafeInteger(value);
            if (isWhole) expect(matches(schema, String(value))).toBe(schema.safeParse(value).success);
            for (const text of ['-#', '0#', '#.0', '#e0', ' #', '# '].map((one) =>
              one.replace('#', `${value}`),
            ))
              expect(matches(schema, text)).toBe(false);
          }
        }),
      );
    },
  );

  it('matches members in RFC 8785 order, including optional ones', () => {
    const schema = z.strictObject({
      b: z.boolean(),
      a: z.int().min(0).optional(),
      c: z.boolean().optional(),
    });
    for (const value of [{ b: true }, { a: 1, b: true }, { b: true, c: false }, { a: 0, b: false, c: true }])
      expect(matches(schema, canonicalJson(value))).toBe(true);
    const wrong = '{} {"b":true,"a":1} {"a":1} {"b":true,} {,"b":true} {"b":true,"d":1}';
    for (const text of wrong.split(' ')) expect(matches(schema, text)).toBe(false);
  });

  it('matches a canonical state, and nothing but a state', () => {
    const { schema } = catalogue.definition('StudyRegistered', 1)?.sections[0] ?? {};
    check(
      fc.property(bgState, (state) => {
        const section = { bgState: state, salt: 'a'.repeat(32), seed: '1' };
        expect(schema && matches(schema, canonicalJson(section))).toBe(true);
        expect(schema && matches(schema, canonicalJson({ ...section, seed: 'one' }))).toBe(false);
      }),
    );
  });

  it.each<[string, z.ZodType]>([
    ['a number that need not be whole', z.number()],
    ['a number that may be negative', z.int()],
    ['a text with a longest length', z.string().max(5)],
    ['a text of at least two characters', z.string().min(2)],
    ['a pattern that may match a quote', z.string().regex(/^.+$/)],
    ['a pattern that may match a quote by exclusion', z.string().regex(/^[^a]$/)],
    ['a pattern that looks ahead', z.string().regex(/^(?=a)a$/)],
    ['a pattern without an end', z.string().regex(/^a/)],
    ['an object that may have any members', z.looseObject({ a: z.boolean() })],
    ['a list with a longest length', z.array(z.boolean()).max(3)],
    ['anything', z.unknown()],
  ])('does not exist for %s, which only the full check can handle', (_, schema) => {
    expect(() => canonicalPattern(schema)).toThrow(UnsupportedSchemaError);
  });

  it('does not exist for an object that may or may not be empty', () => {
    expect(() => objectPattern([{ name: 'a', pattern: '0', isOptional: true }])).toThrow(
      UnsupportedSchemaError,
    );
    expect(objectPattern([])).toBe('\\{\\}');
  });
});
