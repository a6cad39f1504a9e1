/** How facts are written and read back, which changes are noticed, and what a record hides. */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import {
  canonicalJson,
  decodeRecord,
  encodeRecord,
  type Header,
  leafHash,
  type RecordBytes,
} from '../../../events/record.ts';
import { RecordError, type RecordFault } from '../../../src/base/errors.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { randomizedFact, sections } from '../../support/arbitrary-facts.ts';
import { LEVELS, NURSE, paused, randomized, registered, SEED, STREAM, stored } from '../../support/facts.ts';
import { fixedId, fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { check } from '../../support/property.ts';
import { thrownBy } from '../../support/thrown.ts';
import { drawIn } from '../../support/urn-study.ts';

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

const HEADER: Header = {
  id: fixedId(1),
  log: LOG_ID,
  stream: STREAM,
  revision: 1,
  at: '2026-03-01T09:00:00.000Z',
  actor: NURSE,
};

describe('canonical JSON', () => {
  it('sorts and escapes like the RFC’s own library', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.constantFrom('\\', '"', 'ud800', '\u2028'),
      ),
    });
    const plain = fc.oneof(text, fc.maxSafeInteger(), fc.boolean());
    const value = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, { weight: 3, arbitrary: plain }, tie('array'), tie('object')),
      array: fc.array(tie('value')),
      object: fc.dictionary(text, tie('value')),
    })).value;
    check(
      fc.property(value, (json) => {
        expect(canonicalJson(json)).toBe(canonicalize(json));
      }),
    );
  });

  it('omits members that are undefined', () => {
    expect(canonicalJson({ b: 1, a: undefined })).toBe('{"b":1}');
  });

  it.each([
    ['a lone surrogate', '\ud800'],
    ['a lone surrogate in a key', { '\udc00': 1 }],
    ['NaN', Number.NaN],
    ['Infinity', { a: Number.POSITIVE_INFINITY }],
    ['a BigInt', 1n],
    ['nothing', undefined],
  ])('refuses %s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow();
  });
});

/** Its bytes, seals and leaf: samples.test.ts. That it reads back, whatever it says: below. */
describe('a record is not written', () => {
  const encode = (fact: unknown) => encodeRecord(HEADER, fact as Fact, fixedTools().newSalt);

  const { sections } = randomized();
  const ofNoStudy = { keyId: 'k1', user: 'u', scopes: ['read'], studies: [] };
  it.each([
    ['with an empty reason', { ...paused, data: { reason: '' } }],
    ['with a member too many', { ...paused, data: { reason: 'x', because: 'y' } }],
    ['with a fraction', withDraw({ counts: [0.5, 1, 2] })],
    ['with an integer beyond 2^53', withDraw({ uniform53: 2 ** 53 })],
    ['with a section missing', { ...randomized(), sections: {} }],
    ['with a section that is undefined', { ...randomized(), sections: { ...sections, request: undefined } }],
    ['with a section too many', { ...paused, sections: { allocation: { treatment: 'MART' } } }],
    [
      'of a key limited to no study at all',
      { type: 'ApiKeyIssued', data: ofNoStudy, sections: { credential: { sha256: '0'.repeat(64) } } },
    ],
  ])('%s, because it could never be read again', (_, fact) => {
    expect(faultOf(() => encode(fact))).toBe('malformed');
  });

  it('of a type that is not in the catalogue', () => {
    expect(faultOf(() => encode({ type: 'StudyArchived', data: {}, sections: {} }))).toBe('unknown-type');
  });

  it('with a salt that is not 128 bits in lower-case hex', () => {
    for (const salt of ['', 'ab'.repeat(15), 'AB'.repeat(16), 'zz'.repeat(16)])
      expect(faultOf(() => encodeRecord(HEADER, randomized(), () => salt))).toBe('malformed');
  });

  it('with a lone surrogate', () => {
    expect(() => encode(randomized('\ud800'))).toThrow('surrogate');
  });
});

describe('a stored record that was changed is refused:', () => {
  const good = stored(randomized(), 1);

  it('any byte of the record, or of the leaf, or its length (leaf-mismatch)', () => {
    for (let i = 0; i < good.record.length; i++)
      expect(faultOf(() => decodeRecord({ ...good, record: flipped(good.record, i) }))).toBe('leaf-mismatch');
    const leaves = [...good.leaf.keys()].map((i) => flipped(good.leaf, i));
    for (const leaf of [...leaves, good.leaf.subarray(1), Buffer.concat([good.leaf, Buffer.of(0)])])
      expect(faultOf(() => decodeRecord({ ...good, leaf }))).toBe('leaf-mismatch');
  });

  it('any byte of the sealed part (seal-mismatch, or malformed if it is no longer JSON)', () => {
    const faults = new Set<RecordFault | undefined>();
    for (let i = 0; i < good.sealed.length; i++)
      faults.add(faultOf(() => decodeRecord({ ...good, sealed: flipped(good.sealed, i) })));
    expect([...faults].sort()).toEqual(['malformed', 'seal-mismatch']);
  });

  /** Not JSON, or no object; otherwise the seals do not fit. */
  const MALFORMED = ['null', 'empty', 'cut off', 'after a byte order mark'];
  const twice = '{"allocation":{"treatment":"RMC-Q"},"allocation"';
  it.each<[string, (sealed: string) => string]>([
    ['a section missing', (sealed) => sealed.replace(/,"request":.*$/, '}')],
    ['all sections missing', () => '{}'],
    ['a section too many', (sealed) => sealed.replace(/}$/, ',"unsealed":{}}')],
    ['a section twice', (sealed) => sealed.replace('{"allocation"', twice)],
    ['sections in another order', (sealed) => sealed.replace(/^{("allocation":{[^}]*}),(.*)}$/, '{$2,$1}')],
    ['a salt missing', (sealed) => sealed.replace(/"salt":"[0-9a-f]{32}",/, '')],
    ['white space added', (sealed) => sealed.replace(':', ': ')],
    ['a letter escaped', (sealed) => sealed.replace('"allocation"', '"\\u0061llocation"')],
    ['another treatment', (sealed) => sealed.replace(/"treatment":"[^"]*"/, '"treatment":"another"')],
    ['not an object', () => '[]'],
    ['null', () => 'null'],
    ['empty', () => ''],
    ['cut off', (sealed) => sealed.slice(0, -1)],
    ['after a byte order mark', (sealed) => `\ufeff${sealed}`],
  ])('sealed part: %s', (what, change) => {
    const sealed = change(text(good.sealed));
    expect(sealed).not.toBe(text(good.sealed));
    const fault = MALFORMED.includes(what) ? 'malformed' : 'seal-mismatch';
    expect(faultOf(() => decodeRecord({ ...good, sealed: Buffer.from(sealed) }))).toBe(fault);
  });

  it('the sealed part of another record (seal-mismatch), or another revision or stream (misplaced)', () => {
    const { sealed } = stored(randomized('001-0002'), 2);
    const moved = [{ sealed }, { revision: 2 }, { stream: `${STREAM}x` }];
    const faults = moved.map((one) => faultOf(() => decodeRecord({ ...good, ...one })));
    expect(faults).toEqual(['seal-mismatch', 'misplaced', 'misplaced']);
  });

  it('invalid UTF-8 (malformed), which would be read as U+FFFD', () => {
    const replacement = randomized('\ufffd');
    const fact = {
      ...replacement,
      sections: { ...replacement.sections, allocation: { treatment: '\ufffd' } },
    };
    const honest = stored(fact, 1);
    expect(decodeRecord(honest).data).toMatchObject({ participantId: '\ufffd' });
    const broken = (bytes: Uint8Array) =>
      Buffer.from(Buffer.from(bytes).toString('latin1').replace('\xef\xbf\xbd', '\xff'), 'latin1');
    expect(faultOf(() => decodeRecord(withLeaf(honest, broken(honest.record))))).toBe('malformed');
    expect(faultOf(() => decodeRecord({ ...honest, sealed: broken(honest.sealed) }))).toBe('malformed');
  });
});

// Whoever can write the leaf as well could write this: the schema and the place are checked besides.
describe('a stored record whose leaf matches is still refused:', () => {
  const good = stored(randomized(), 1);
  const changed = (change: (record: string) => string) => {
    const record = change(text(good.record));
    expect(record).not.toBe(text(good.record));
    return withLeaf(good, Buffer.from(record));
  };

  const replaced = (from: string | RegExp, to: string) => (record: string) => record.replace(from, to);
  const zeros = '0'.repeat(64);
  const FAULTS: Readonly<Record<string, Readonly<Record<string, (record: string) => string>>>> = {
    malformed: {
      'after a byte order mark': (record) => `\ufeff${record}`,
      'not JSON': (record) => record.slice(1),
      null: () => 'null',
      'a list': () => '[]',
      'white space added': replaced(':', ': '),
      'a member twice': replaced('"data":{', '"data":{"participantId":"001-0009",'),
      'members in another order': replaced(/("id":"[^"]*"),("log":"[^"]*")/, '$2,$1'),
      'members of a member in another order': replaced(/("factor":"[^"]*"),("level":"[^"]*")/, '$2,$1'),
      'half a surrogate pair': replaced(/"participantId":"[^"]*"/, '"participantId":"\\ud800"'),
      'a member missing': replaced(/"at":"[^"]*",/, ''),
      'a member too many': replaced(/}$/, ',"zone":"x"}'),
      'an id that is not a UUID': replaced(/"id":"[^"]*"/, '"id":"1"'),
      'a time without milliseconds': replaced(/\.\d{3}Z/, 'Z'),
      'a time with an offset': replaced(/\.(\d{3})Z/, '.$1+00:00'),
      'a revision that is not an integer': replaced('"revision":1', '"revision":1.5'),
      'an actor of both kinds': replaced('"actor":{', '"actor":{"cli":true,'),
      'data of the wrong shape': replaced('"participantId"', '"patient"'),
      'a seal in upper case': replaced(/"draw":"[^"]*"/, `"draw":"${'A'.repeat(64)}"`),
    },
    'unknown-type': {
      'a type that nobody knows': replaced('"ParticipantRandomized"', '"ParticipantTeleported"'),
      'a version that nobody knows': replaced('"version":1', '"version":2'),
    },
    misplaced: {
      'another revision': replaced('"revision":1', '"revision":2'),
      'another stream': replaced(STREAM, 'access'),
    },
    'seal-mismatch': {
      'a seal missing': replaced(/,"request":"[^"]*"/, ''),
      'a seal too many': replaced('"seals":{', `"seals":{"aim":"${zeros}",`),
      'a seal that is not the section’s': replaced(/"draw":"[^"]*"/, `"draw":"${zeros}"`),
    },
  };
  const cases = Object.entries(FAULTS).flatMap(([fault, changes]) =>
    Object.entries(changes).map(([what, change]) => [what, fault, change] as const),
  );
  it.each(cases)('%s (%s)', (_, fault, change) => {
    expect(faultOf(() => decodeRecord(changed(change)))).toBe(fault);
  });

  it('a type in the wrong kind of stream (misplaced)', () => {
    for (const stream of ['log', 'access', 'operations', 'stud'])
      expect(faultOf(() => decodeRecord(stored(paused, 0, { stream })))).toBe('misplaced');
  });

  it('sections that fit their seals, but not the type or the form (malformed, or seal-mismatch)', () => {
    const forged = (from: Stored, change: (record: string) => string, sealed: string) => ({
      ...withLeaf(from, Buffer.from(change(text(from.record)))),
      sealed: Buffer.from(sealed),
    });
    const section = canonicalJson({ salt: '0'.repeat(32), treatment: 'MART' });
    const seals = replaced('"seals":{}', `"seals":{"allocation":"${sha256(section)}"}`);
    const unknown = forged(stored(paused, 1), seals, `{"allocation":${section}}`);
    const missing = forged(good, replaced(/"seals":{[^}]*}/, '"seals":{}'), '{}');
    const [, own = ''] = /"allocation":({[^}]*})/.exec(text(good.sealed)) ?? [];
    const turned = own.replace(/^{(.*),(.*)}$/, '{$2,$1}');
    const sealed = text(good.sealed).replace(own, turned);
    const reordered = forged(good, replaced(sha256(own), sha256(turned)), sealed);
    expect(text(reordered.record)).not.toBe(text(good.record));
    const faults = [unknown, missing, reordered].map((one) => faultOf(() => decodeRecord(one)));
    expect(faults).toEqual(['malformed', 'malformed', 'seal-mismatch']);
  });
});

describe('the message of a RecordError', () => {
  /** Everything in a registration and an allocation that a log file must not hold. */
  const draw = drawIn(randomized().sections);
  const secrets = [
    ...['MART', 'RMC-Q', 'RMC-A', '001-0001', 'visit-7', ...LEVELS, `${SEED}`, `${draw.uniform53}`],
    ...[...Object.values(draw.bgStateBefore.state), draw.bgStateAfter.state.state],
  ];

  it('names the stream and the revision', () => {
    expect(() => decodeRecord({ ...stored(paused, 7), leaf: Buffer.alloc(32) })).toThrow(`${STREAM}/7: `);
  });

  it.each([registered(), randomized()])('does not quote the record, whatever was changed: $type', (fact) => {
    const good = stored(fact, 1);
    const refused = [...good.sealed.keys()].flatMap((i) => [
      { ...good, sealed: flipped(good.sealed, i) },
      { ...good, sealed: good.sealed.subarray(0, i) },
    ]);
    // Each string and number in turn is replaced by something of another kind, and the leaf made to fit.
    const record = text(good.record);
    for (const { index, 0: found } of record.matchAll(/:("[^"]*"|\d+)/g)) {
      const forged = `${record.slice(0, index)}:[]${record.slice(index + found.length)}`;
      refused.push({ ...good, ...withLeaf(good, Buffer.from(forged)) });
    }
    const messages = refused.map((one) => errorOf(() => decodeRecord(one)).message).join('\n');
    for (const secret of secrets) expect(messages).not.toContain(secret);
  });

  it('does not quote a fact that is refused before it is written', () => {
    const { sections } = randomized();
    for (const fact of [
      { ...randomized(), sections: { ...sections, allocation: { treatment: 'MART', arm: 'MART' } } },
      { ...registered(), sections: { generator: { seed: `0x${SEED}`, bgState: `${SEED}` } } },
    ]) {
      const { message } = errorOf(() => encodeRecord(HEADER, fact as unknown as Fact, fixedTools().newSalt));
      for (const secret of secrets) expect(message).not.toContain(secret);
    }
  });
});

type Stored = RecordBytes & { readonly stream: string; readonly revision: number };

function withDraw(draw: object): unknown {
  const fact = randomized();
  return { ...fact, sections: { ...fact.sections, draw: { ...fact.sections.draw, ...draw } } };
}

function withLeaf(good: Stored, record: Uint8Array): Stored {
  return { ...good, record, leaf: leafHash(record) };
}

function flipped(bytes: Uint8Array, index: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
}

function errorOf(run: () => unknown): RecordError {
  const error = thrownBy(run);
  if (!(error instanceof RecordError)) throw error ?? new Error('nothing was refused');
  return error;
}

function faultOf(run: () => unknown): RecordFault {
  return errorOf(run).fault;
}

const { newSalt } = systemTools();

const seals = (record: Uint8Array): Record<string, string> => JSON.parse(text(record)).seals;
const withoutSeals = (record: Uint8Array) => text(record).replace(/"seals":{[^}]*}/, '"seals":{}');

/** What a blinded reader gets is the record without its sections: it must reveal nothing of what is in them. */
describe('the record of an allocation', () => {
  it('contains neither treatment nor state nor draw, nor the names of those fields', () => {
    check(
      fc.property(randomizedFact, (fact) => {
        const { allocation, request } = fact.sections;
        const draw = drawIn(fact.sections);
        const told = text(encodeRecord(HEADER, fact, newSalt).record);
        const secrets = [
          allocation.treatment,
          ...[draw.bgStateBefore, draw.bgStateAfter].flatMap(({ state, uinteger }) => [
            ...[state.state, state.inc, `${uinteger}`],
          ]),
          `${draw.uniform53}`,
          JSON.stringify(draw.counts),
          JSON.stringify(draw.balls),
          ...(request ? [request.idempotencyKey] : []),
        ];
        const names =
          'arm: key: treatment bgState bit_generator uinteger uniform counts balls candidates selectedFactor salt';
        for (const hidden of [...secrets, ...names.split(' ')]) expect(told).not.toContain(hidden);
      }),
    );
  });

  it('is the same whatever was drawn, except for the seals', () => {
    check(
      fc.property(randomizedFact, sections, (fact, otherSections) => {
        // Whether a retry key was given is not secret.
        fc.pre('request' in fact.sections === 'request' in otherSections);
        const one = encodeRecord(HEADER, fact, newSalt).record;
        const two = encodeRecord(HEADER, { ...fact, sections: otherSections }, newSalt).record;
        expect(withoutSeals(one)).toBe(withoutSeals(two));
        expect(one.length).toBe(two.length);
      }),
    );
  });

  it('has different seals each time, so trying every treatment finds none', () => {
    const [one, two] = [1, 2].map(() => seals(encodeRecord(HEADER, randomized(), newSalt).record));
    for (const section of Object.keys(randomized().sections)) expect(one?.[section]).not.toBe(two?.[section]);
  });

  it('reads back as the fact that was written, whatever it contains', () => {
    check(
      fc.property(randomizedFact, (fact) => {
        const bytes = encodeRecord(HEADER, fact, newSalt);
        const read = decodeRecord({ ...bytes, stream: HEADER.stream, revision: HEADER.revision });
        expect(read).toMatchObject({ ...HEADER, ...fact });
      }),
    );
  });
});

it('the record of a registration contains the configuration, but neither the seed nor the state', () => {
  const fact = registered();
  const { seed, bgState } = fact.sections.generator;
  const told = text(encodeRecord({ ...HEADER, revision: 0 }, fact, newSalt).record);
  expect(told).toContain('RMC-A');
  for (const hidden of [seed, bgState.state.state, bgState.state.inc, '"seed"', 'bgState'])
    expect(told).not.toContain(hidden);
});

it('salts of the running service are 128 bits in lower-case hex, and never repeat', () => {
  const salts = Array.from({ length: 1000 }, newSalt);
  expect(new Set(salts).size).toBe(1000);
  for (const salt of salts) expect(salt).toMatch(/^[0-9a-f]{32}$/);
});
