import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import {
  type Actor,
  canonicalJson,
  checkRecord,
  decodePartialRecord,
  decodeRecord,
  encodeRecord,
  type Header,
  leafHash,
  type RecordBytes,
} from '../../../events/record.ts';
import { RecordError, type RecordFault } from '../../../events/record-error.ts';
import {
  LEVELS,
  NURSE,
  OPERATOR,
  paused,
  randomized,
  registered,
  resumed,
  SEED,
  STREAM,
  stored,
} from '../../support/facts.ts';
import { fixedId, fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { check } from '../../support/property.ts';
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
  it('sorts keys by UTF-16 units, as RFC 8785 §3.2.3 shows', () => {
    const shown = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(canonicalJson(shown)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
        '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  it('escapes what RFC 8785 §3.2.2.2 requires, and nothing else', () => {
    expect(canonicalJson('\u20ac$\u000f\nA\'B"\\/\u007f–')).toBe('"\u20ac$\\u000f\\nA\'B\\"\\\\/\u007f–"');
  });

  it('matches the output of the RFC’s own library', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.constantFrom('\\', '"', 'ud800', '\u2028'),
      ),
    });
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.maxSafeInteger(),
        fc.boolean(),
        tie('array'),
        tie('object'),
      ),
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

describe('a record', () => {
  it('reads back as the fact that was written, with the salts of its sections', () => {
    for (const fact of [registered(), randomized(), paused, resumed] as Fact[]) {
      const { type, data, sections } = decodeRecord(stored(fact, 1));
      expect({ type, data }).toEqual({ type: fact.type, data: fact.data });
      expect(sections).toMatchObject(fact.sections);
    }
  });

  it('is RFC 8785 canonical JSON, in both parts', () => {
    const { record, sealed } = stored(randomized(), 1);
    for (const part of [record, sealed]) expect(text(part)).toBe(canonicalJson(JSON.parse(text(part))));
  });

  it('has its members sorted', () => {
    const members = Object.keys(JSON.parse(text(stored(randomized(), 1).record)));
    expect(members).toEqual([
      'actor',
      'at',
      'data',
      'id',
      'log',
      'revision',
      'seals',
      'stream',
      'type',
      'version',
    ]);
    expect(Object.keys(JSON.parse(text(stored(randomized(), 1).sealed)))).toEqual([
      'allocation',
      'draw',
      'request',
    ]);
  });

  it('keeps factors named "10" and "9" in the order of the configuration', () => {
    const event = decodeRecord(stored(randomized(), 1));
    expect(event).toMatchObject({ data: { levels: [{ factor: '10' }, { factor: '9' }] } });
    expect(decodeRecord(stored(registered(), 0))).toMatchObject({
      data: { configuration: { factors: [{ name: '10' }, { name: '9' }] } },
    });
  });

  it.each(['é', 'e\u0301', '山田', '\u{1f600}', '\ue000', '"\\', '\u2028', '\u0000', '\ufeff'])(
    'keeps the participant id %j code point by code point',
    (participantId) => {
      expect(decodeRecord(stored(randomized(participantId), 1))).toMatchObject({ data: { participantId } });
    },
  );

  it('keeps every kind of actor', () => {
    for (const actor of [NURSE, OPERATOR, { ...NURSE, onBehalfOf: 'Dr. Müller' }])
      expect(decodeRecord(stored(paused, 1, { actor })).actor).toEqual(actor);
  });

  it('has the leaf hash SHA-256(0x00 ‖ record) of RFC 6962 §2.1', () => {
    const { record, leaf } = stored(paused, 1);
    expect(Buffer.from(leaf).toString('hex')).toBe(sha256(Buffer.concat([Buffer.of(0), record])));
    // The leaf hash of an empty entry, from the test vectors of Certificate Transparency.
    expect(leafHash(Buffer.alloc(0)).toString('hex')).toBe(
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    );
  });

  it('commits to each section with SHA-256 over its canonical text, including the salt', () => {
    const { record, sealed } = stored(randomized(), 1);
    const sections: Record<string, unknown> = JSON.parse(text(sealed));
    expect(JSON.parse(text(record)).seals).toEqual(
      Object.fromEntries(
        Object.entries(sections).map(([name, section]) => [name, sha256(canonicalJson(section))]),
      ),
    );
  });

  it('uses a fresh salt for each section', () => {
    const sections: Record<string, { salt: string }> = JSON.parse(text(stored(randomized(), 1).sealed));
    const salts = Object.values(sections).map(({ salt }) => salt);
    expect(new Set(salts).size).toBe(3);
  });

  it('contains nothing that a store assigns, so it can be moved together with its proofs', () => {
    const { record, sealed, leaf } = stored(paused, 1);
    const moved = { record, sealed, leaf, stream: STREAM, revision: 1, position: 'elsewhere' };
    expect(decodeRecord(moved)).toEqual(decodeRecord(stored(paused, 1)));
  });

  describe('is not written', () => {
    const encode = (fact: unknown) => encodeRecord(HEADER, fact as Fact, fixedTools().newSalt);

    it.each([
      [
        'of a type that is not in the catalogue',
        { type: 'StudyArchived', data: {}, sections: {} },
        'unknown-type',
      ],
      ['with an empty reason', { ...paused, data: { reason: '' } }, 'malformed'],
      ['with a member too many', { ...paused, data: { reason: 'x', because: 'y' } }, 'malformed'],
      ['with a fraction', withDraw({ counts: [0.5, 1, 2] }), 'malformed'],
      ['with an integer beyond 2^53', withDraw({ uniform53: 2 ** 53 }), 'malformed'],
      ['with a section missing', { ...randomized(), sections: {} }, 'malformed'],
      [
        'with an optional section that is there but undefined',
        { ...randomized(), sections: { ...randomized().sections, request: undefined } },
        'malformed',
      ],
      [
        'with a section too many',
        { ...paused, sections: { allocation: { treatment: 'MART' } } },
        'malformed',
      ],
      [
        'of a key limited to no study at all',
        {
          type: 'ApiKeyIssued',
          data: { keyId: 'k1', user: 'u', scopes: ['read'], studies: [] },
          sections: { credential: { sha256: '0'.repeat(64) } },
        },
        'malformed',
      ],
    ])('%s, because it could never be read again', (_, fact, fault) => {
      expect(faultOf(() => encode(fact))).toBe(fault);
    });

    it('with a salt that is not 128 bits in lower-case hex', () => {
      for (const salt of ['', 'ab'.repeat(15), 'AB'.repeat(16), 'zz'.repeat(16)])
        expect(faultOf(() => encodeRecord(HEADER, randomized(), () => salt))).toBe('malformed');
    });

    it('with a lone surrogate', () => {
      expect(() => encode(randomized('\ud800'))).toThrow('surrogate');
    });
  });
});

describe('a stored record that was changed is refused:', () => {
  const good = stored(randomized(), 1);

  it('any byte of the record (leaf-mismatch)', () => {
    for (let i = 0; i < good.record.length; i++)
      expect(faultOf(() => decodeRecord({ ...good, record: flipped(good.record, i) }))).toBe('leaf-mismatch');
  });

  it('any byte of the leaf (leaf-mismatch)', () => {
    for (let i = 0; i < good.leaf.length; i++)
      expect(faultOf(() => decodeRecord({ ...good, leaf: flipped(good.leaf, i) }))).toBe('leaf-mismatch');
  });

  it('a leaf with the wrong length (leaf-mismatch)', () => {
    for (const leaf of [good.leaf.subarray(1), Buffer.concat([good.leaf, Buffer.of(0)]), Buffer.alloc(0)])
      expect(faultOf(() => decodeRecord({ ...good, leaf }))).toBe('leaf-mismatch');
  });

  it('any byte of the sealed part (seal-mismatch, or malformed if it is no longer JSON)', () => {
    const faults = new Set<RecordFault | undefined>();
    for (let i = 0; i < good.sealed.length; i++)
      faults.add(faultOf(() => decodeRecord({ ...good, sealed: flipped(good.sealed, i) })));
    expect([...faults].sort()).toEqual(['malformed', 'seal-mismatch']);
  });

  it.each<[string, (sealed: string) => string, RecordFault]>([
    ['a section missing', (sealed) => sealed.replace(/,"request":.*$/, '}'), 'seal-mismatch'],
    ['all sections missing', () => '{}', 'seal-mismatch'],
    ['a section too many', (sealed) => sealed.replace(/}$/, ',"unsealed":{}}'), 'seal-mismatch'],
    [
      'a section twice',
      (sealed) => sealed.replace('{"allocation"', '{"allocation":{"treatment":"RMC-Q"},"allocation"'),
      'seal-mismatch',
    ],
    [
      'sections in another order',
      (sealed) => canonicalJson(JSON.parse(sealed)).replace(/^{("allocation":{[^}]*}),(.*)}$/, '{$2,$1}'),
      'seal-mismatch',
    ],
    ['a salt missing', (sealed) => sealed.replace(/"salt":"[0-9a-f]{32}",/, ''), 'seal-mismatch'],
    ['white space added', (sealed) => sealed.replace(':', ': '), 'seal-mismatch'],
    ['a letter escaped', (sealed) => sealed.replace('"allocation"', '"\\u0061llocation"'), 'seal-mismatch'],
    [
      'another treatment',
      (sealed) => sealed.replace(/"treatment":"[^"]*"/, '"treatment":"another"'),
      'seal-mismatch',
    ],
    ['not an object', () => '[]', 'seal-mismatch'],
    ['null', () => 'null', 'malformed'],
    ['empty', () => '', 'malformed'],
    ['cut off', (sealed) => sealed.slice(0, -1), 'malformed'],
    ['after a byte order mark', (sealed) => `\ufeff${sealed}`, 'malformed'],
  ])('sealed part: %s', (_, change, fault) => {
    const sealed = change(text(good.sealed));
    expect(sealed).not.toBe(text(good.sealed));
    expect(faultOf(() => decodeRecord({ ...good, sealed: Buffer.from(sealed) }))).toBe(fault);
  });

  it('the sealed part of another record of the same study (seal-mismatch)', () => {
    const other = stored(randomized('001-0002'), 2);
    expect(faultOf(() => decodeRecord({ ...good, sealed: other.sealed }))).toBe('seal-mismatch');
  });

  it('a record moved to another revision or another stream (misplaced)', () => {
    expect(faultOf(() => decodeRecord({ ...good, revision: 2 }))).toBe('misplaced');
    expect(faultOf(() => decodeRecord({ ...good, stream: `${STREAM}x` }))).toBe('misplaced');
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

  it.each<[string, (record: string) => string, RecordFault]>([
    ['after a byte order mark', (record) => `\ufeff${record}`, 'malformed'],
    ['not JSON', (record) => record.slice(1), 'malformed'],
    ['null', () => 'null', 'malformed'],
    ['a list', () => '[]', 'malformed'],
    ['white space added', (record) => record.replace(':', ': '), 'malformed'],
    [
      'a member twice',
      (record) => record.replace('"data":{', '"data":{"participantId":"001-0009",'),
      'malformed',
    ],
    [
      'members in another order',
      (record) => record.replace(/("id":"[^"]*"),("log":"[^"]*")/, '$2,$1'),
      'malformed',
    ],
    [
      'members of a member in another order',
      (record) => record.replace(/("factor":"[^"]*"),("level":"[^"]*")/, '$2,$1'),
      'malformed',
    ],
    [
      'half a surrogate pair',
      (record) => record.replace(/"participantId":"[^"]*"/, '"participantId":"\\ud800"'),
      'malformed',
    ],
    ['a member missing', (record) => record.replace(/"at":"[^"]*",/, ''), 'malformed'],
    ['a member too many', (record) => record.replace(/}$/, ',"zone":"x"}'), 'malformed'],
    ['an id that is not a UUID', (record) => record.replace(/"id":"[^"]*"/, '"id":"1"'), 'malformed'],
    ['a time without milliseconds', (record) => record.replace(/\.\d{3}Z/, 'Z'), 'malformed'],
    ['a time with an offset', (record) => record.replace(/\.(\d{3})Z/, '.$1+00:00'), 'malformed'],
    [
      'a revision that is not an integer',
      (record) => record.replace('"revision":1', '"revision":1.5'),
      'malformed',
    ],
    ['an actor of both kinds', (record) => record.replace('"actor":{', '"actor":{"cli":true,'), 'malformed'],
    ['data of the wrong shape', (record) => record.replace('"participantId"', '"patient"'), 'malformed'],
    [
      'a seal in upper case',
      (record) => record.replace(/"draw":"[^"]*"/, (seal) => seal.toUpperCase().replace('DRAW', 'draw')),
      'malformed',
    ],
    [
      'a type that nobody knows',
      (record) => record.replace('"ParticipantRandomized"', '"ParticipantTeleported"'),
      'unknown-type',
    ],
    ['a version that nobody knows', (record) => record.replace('"version":1', '"version":4'), 'unknown-type'],
    ['another revision', (record) => record.replace('"revision":1', '"revision":2'), 'misplaced'],
    ['another stream', (record) => record.replace(STREAM, 'access'), 'misplaced'],
    ['a seal missing', (record) => record.replace(/,"request":"[^"]*"/, ''), 'seal-mismatch'],
    [
      'a seal too many',
      (record) => record.replace('"seals":{', `"seals":{"aim":"${'0'.repeat(64)}",`),
      'seal-mismatch',
    ],
    [
      'a seal that is not the section’s',
      (record) => record.replace(/"draw":"[^"]*"/, `"draw":"${'0'.repeat(64)}"`),
      'seal-mismatch',
    ],
  ])('%s', (_, change, fault) => {
    expect(faultOf(() => decodeRecord(changed(change)))).toBe(fault);
  });

  it('a type in the wrong kind of stream (misplaced)', () => {
    for (const stream of ['log', 'access', 'operations', 'stud'])
      expect(faultOf(() => decodeRecord(stored(paused, 0, { stream })))).toBe('misplaced');
  });

  it('a section and its seal that the type does not have (malformed)', () => {
    const section = canonicalJson({ salt: '0'.repeat(32), treatment: 'MART' });
    const pausedRecord = stored(paused, 1);
    const record = text(pausedRecord.record).replace(
      '"seals":{}',
      `"seals":{"allocation":"${sha256(section)}"}`,
    );
    const forged = {
      ...withLeaf(pausedRecord, Buffer.from(record)),
      sealed: Buffer.from(`{"allocation":${section}}`),
    };
    expect(faultOf(() => decodeRecord(forged))).toBe('malformed');
  });

  it('a section with reordered members and a matching seal (seal-mismatch)', () => {
    const [sealed = '', before = '', section = '', after = ''] =
      /^(.*"allocation":)({[^}]*})(.*)$/.exec(text(good.sealed)) ?? [];
    expect(sealed).toBe(text(good.sealed));
    const turned = section.replace(/^{(.*),(.*)}$/, '{$2,$1}');
    const record = text(good.record).replace(sha256(section), sha256(turned));
    expect(record).toContain(sha256(turned));
    const forged = {
      ...withLeaf(good, Buffer.from(record)),
      sealed: Buffer.from(`${before}${turned}${after}`),
    };
    expect(faultOf(() => decodeRecord(forged))).toBe('seal-mismatch');
  });

  it('a section missing together with its seal (malformed)', () => {
    const record = text(good.record).replace(/"seals":{[^}]*}/, '"seals":{}');
    const forged = { ...withLeaf(good, Buffer.from(record)), sealed: Buffer.from('{}') };
    expect(faultOf(() => decodeRecord(forged))).toBe('malformed');
  });
});

describe('the message of a RecordError', () => {
  /** Everything in a registration and an allocation that a log file must not hold. */
  const secrets = [
    'MART',
    'RMC-Q',
    'RMC-A',
    String(SEED),
    ...LEVELS,
    '001-0001',
    'visit-7',
    ...Object.values(drawIn(randomized().sections).bgStateBefore.state),
    drawIn(randomized().sections).bgStateAfter.state.state,
    String(drawIn(randomized().sections).uniform53),
  ];

  it('names the stream and the revision', () => {
    expect(() => decodeRecord({ ...stored(paused, 7), leaf: Buffer.alloc(32) })).toThrow(`${STREAM}/7: `);
  });

  it('does not quote the record, whatever was changed', () => {
    for (const fact of [registered(), randomized()]) {
      const good = stored(fact, 1);
      for (const message of [...messagesOfChanges(good), ...messagesOfForgeries(good)])
        for (const secret of secrets) expect(message).not.toContain(secret);
    }
  });

  it('does not quote a fact that is refused before it is written', () => {
    const facts: unknown[] = [
      {
        ...randomized(),
        sections: { ...randomized().sections, allocation: { treatment: 'MART', arm: 'MART' } },
      },
      { ...registered(), sections: { generator: { seed: `0x${SEED}`, bgState: `${SEED}` } } },
    ];
    for (const fact of facts)
      for (const secret of secrets)
        expect(messageOf(() => encodeRecord(HEADER, fact as Fact, fixedTools().newSalt))).not.toContain(
          secret,
        );
  });

  function messagesOfChanges(good: Stored): string[] {
    const bytes = [...good.sealed.keys()];
    return [
      ...bytes.map((i) => messageOf(() => decodeRecord({ ...good, sealed: flipped(good.sealed, i) }))),
      ...bytes.map((i) => messageOf(() => decodeRecord({ ...good, sealed: good.sealed.subarray(0, i) }))),
    ];
  }

  /** Each string and number in turn replaced by something of another kind, leaf and seals made to fit. */
  function messagesOfForgeries(good: Stored): string[] {
    const record = text(good.record);
    return [...record.matchAll(/:("[^"]*"|\d+)/g)].map(({ index, 0: found }) => {
      const forged = `${record.slice(0, index)}:[]${record.slice(index + found.length)}`;
      return messageOf(() => decodeRecord(withLeaf(good, Buffer.from(forged))));
    });
  }
});

describe('a fact that two versions could say', () => {
  const pausedWith = (sections: object): Fact => ({ ...paused, sections }) as Fact;
  const request = { request: { idempotencyKey: 'pause-1' } };
  const issued = (scopes: readonly string[]) =>
    ({
      type: 'ApiKeyIssued',
      data: { keyId: 'k1', user: 'site', scopes },
      sections: { credential: { sha256: 'a'.repeat(64) } },
    }) as Fact;
  const refusedFor = (reason: string) =>
    ({
      type: 'RequestRefused',
      data: { reason, count: 1, firstAt: HEADER.at, lastAt: HEADER.at },
      sections: {},
    }) as Fact;
  const shown = (what: string, sections = {}) =>
    ({
      type: 'EvidenceDisclosed',
      data: { what, study: 'CHS JCOIN', count: 1, firstAt: HEADER.at, lastAt: HEADER.at },
      sections,
    }) as Fact;

  const cases: readonly [string, Fact, Actor, string, 1 | 2][] = [
    ['a pause by a person', paused, OPERATOR, STREAM, 1],
    ['a pause by a key', paused, NURSE, STREAM, 2],
    ['a pause by a person with a request', pausedWith(request), OPERATOR, STREAM, 2],
    ['a pause by a key with a request', pausedWith(request), NURSE, STREAM, 2],
    ['an end of a pause by a person', resumed, OPERATOR, STREAM, 1],
    ['an end of a pause by a key', resumed, NURSE, STREAM, 2],
    ['a key that reads', issued(['read', 'audit']), OPERATOR, 'access', 1],
    ['a key that unblinds', issued(['blinded', 'unblind']), OPERATOR, 'access', 2],
    ['a key that manages', issued(['manage']), OPERATOR, 'access', 2],
    ['a refusal while paused', refusedFor('paused'), NURSE, 'operations', 1],
    ['a refusal when closed', refusedFor('closed'), NURSE, 'operations', 2],
    ['a bundle', shown('bundle'), OPERATOR, 'operations', 1],
    ['envelopes', shown('envelopes'), OPERATOR, 'operations', 2],
    ['an export', shown('export'), OPERATOR, 'operations', 2],
    ['an export with arms', shown('export', { file: { sha256: 'a'.repeat(64) } }), OPERATOR, 'operations', 2],
  ];

  /** As somebody wrote it who chose the version. */
  function inVersion(version: number, fact: Fact, actor: Actor, stream: string) {
    const written = stored(fact, 1, { actor, stream });
    const record = Buffer.from(canonicalJson({ ...JSON.parse(text(written.record)), version }));
    return { ...written, record, leaf: leafHash(record) };
  }

  it.each(cases)('is written in the lowest one: %s', (_, fact, actor, stream, version) => {
    const written = stored(fact, 1, { actor, stream });
    expect(JSON.parse(text(written.record)).version).toBe(version);
    expect(decodeRecord(written)).toMatchObject({ type: fact.type, data: fact.data, actor });
  });

  it.each(cases)('is refused in the other one: %s', (_, fact, actor, stream, version) => {
    const written = inVersion(version === 1 ? 2 : 1, fact, actor, stream);
    expect(faultOf(() => decodeRecord(written))).toBe('malformed');
    expect(faultOf(() => checkRecord(written))).toBe('malformed');
  });

  it.each(cases)('is refused in a version that nobody knows: %s', (_, fact, actor, stream) => {
    expect(faultOf(() => decodeRecord(inVersion(5, fact, actor, stream)))).toBe('unknown-type');
  });

  it('follows from the seals, where the sections are withheld', () => {
    const blinded = (version: number, fact: Fact, actor: Actor) => ({
      ...inVersion(version, fact, actor, STREAM),
      sealed: Buffer.from('{}'),
    });
    const none = () => false;
    const withRequest = pausedWith(request);
    expect(decodePartialRecord(blinded(2, withRequest, OPERATOR), none)).toMatchObject(paused);
    expect(faultOf(() => decodePartialRecord(blinded(1, withRequest, OPERATOR), none))).toBe('malformed');
    expect(faultOf(() => decodePartialRecord(blinded(2, paused, OPERATOR), none))).toBe('malformed');
    expect(faultOf(() => decodePartialRecord(blinded(1, paused, NURSE), none))).toBe('malformed');
    expect(decodePartialRecord(blinded(2, paused, NURSE), none)).toMatchObject(paused);
  });

  it('does not show its version in a section that is withheld, if that says more in one of them', () => {
    const version2 = inVersion(2, withDraw({ slot: 0 }) as Fact, NURSE, STREAM);
    expect(decodeRecord(version2)).toMatchObject({ type: 'ParticipantRandomized' });
    const withheld = { ...version2, sealed: Buffer.from('{}') };
    expect(decodePartialRecord(withheld, () => false)).toMatchObject({ sections: {} });
    // No version of the registration says more in its section.
    const registration = { ...inVersion(2, registered(), OPERATOR, STREAM), sealed: Buffer.from('{}') };
    expect(faultOf(() => decodePartialRecord(registration, () => false))).toBe('malformed');
  });

  it('names the version, and the one that can say it', () => {
    const why = (version: number, actor: Actor) => () =>
      decodeRecord(inVersion(version, paused, actor, STREAM));
    expect(why(2, OPERATOR)).toThrow('no valid version: version 1 can express it');
    expect(why(1, NURSE)).toThrow('no valid version: in version 1, no API key writes it');
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
  try {
    run();
  } catch (error) {
    if (error instanceof RecordError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

function faultOf(run: () => unknown): RecordFault {
  return errorOf(run).fault;
}

function messageOf(run: () => unknown): string {
  return errorOf(run).message;
}
