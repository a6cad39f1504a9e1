import { createHash, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { catalogue, type Fact } from '../../../events/catalogue.ts';
import { decodeRecord, encodeRecord, type LogEvent } from '../../../events/record.ts';
import { Counts } from '../../../src/core/methods/counts.ts';
import { allocate } from '../../../src/core/methods/urn/allocate.ts';
import { Pcg64 } from '../../../src/core/random/pcg64.ts';
import { frozenSample, frozenSamples } from '../../support/samples.ts';
import { urnOf } from '../../support/urn-study.ts';

const samples = frozenSamples();

function decoded<T extends Fact['type']>(name: `${T}@${number}`): LogEvent<Extract<Fact, { type: T }>> {
  return decodeRecord(frozenSample(name)) as LogEvent<Extract<Fact, { type: T }>>;
}

describe('the frozen samples', () => {
  it('cover every event version in the catalogue, once each', () => {
    const versions = catalogue.all().map(({ type, version }) => `${type}@${version}`);
    expect(samples.map(({ name }) => name).sort()).toEqual(versions.sort());
  });

  it.each(samples)('can be read: $name', (sample) => {
    const { seals, type, version, data, ...header } = JSON.parse(sample.record.toString());
    expect(`${type}@${version}`).toBe(sample.name);
    expect(decodeRecord(sample)).toMatchObject(header);
    // Older versions say the same in the latest version's words.
    if (catalogue.latest(type)?.version === version) {
      const sections = JSON.parse(sample.sealed.toString());
      expect(decodeRecord(sample)).toEqual({ ...header, type, data, sections });
      expect(Object.keys(seals)).toEqual(Object.keys(sections));
    }
  });

  it.each(samples)('are what is written today: $name', (sample) => {
    const { type, data, id, log, stream, revision, at, actor } = JSON.parse(sample.record.toString());
    const salts: string[] = [];
    const sections: Record<string, unknown> = {};
    for (const [name, { salt, ...section }] of Object.entries<{ salt: string }>(
      JSON.parse(sample.sealed.toString()),
    )) {
      salts.push(salt);
      sections[name] = section;
    }
    const written = encodeRecord(
      { id, log, stream, revision, at, actor },
      { type, data, sections } as Fact,
      () => salts.shift() ?? '',
    );
    expect(Buffer.from(written.record).toString()).toBe(sample.record.toString());
    expect(Buffer.from(written.sealed).toString()).toBe(sample.sealed.toString());
    expect(Buffer.from(written.leaf)).toEqual(sample.leaf);
    expect(salts).toEqual([]);
  });

  it.each(samples)('have the leaf SHA-256(0x00 ‖ record): $name', ({ record, leaf }) => {
    expect(createHash('sha256').update(Buffer.of(0)).update(record).digest()).toEqual(leaf);
  });

  it('contain a real verifier key in LogCreated, that of RFC 8032 §7.1 TEST 1', () => {
    const { publicKey, logName } = decoded('LogCreated@1').data;
    // The base64 may hold a `+` of its own.
    const [, name, keyId, base64 = ''] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(publicKey) ?? [];
    const typed = Buffer.from(base64, 'base64');
    expect(name).toBe(logName);
    expect(createHash('sha256').update(`${logName}\n`).update(typed).digest('hex').slice(0, 8)).toBe(keyId);
    expect(typed[0]).toBe(1);
    const key = { kty: 'OKP', crv: 'Ed25519', x: typed.subarray(1).toString('base64url') };
    const signatureOfNothing = Buffer.from(
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
      'hex',
    );
    expect(verify(null, Buffer.alloc(0), { key, format: 'jwk' }, signatureOfNothing)).toBe(true);
  });

  it('contain in StudyRegistered the generator state that its seed produces', () => {
    const { seed, bgState } = decoded('StudyRegistered@1').sections.generator;
    expect(Pcg64.fromSeed(BigInt(seed)).snapshot()).toEqual(bgState);
  });

  it('contain in ParticipantRandomized the first allocation of the registered study', () => {
    const { configuration } = decoded('StudyRegistered@1').data;
    const { bgState } = decoded('StudyRegistered@1').sections.generator;
    const { data, sections } = decoded('ParticipantRandomized@1');
    const indexes = configuration.factors.map(({ name, levels }) =>
      levels.indexOf(data.levels.find(({ factor }) => factor === name)?.level ?? ''),
    );
    const { treatment, draw } = allocate(
      urnOf(configuration),
      new Counts(urnOf(configuration)),
      indexes,
      bgState,
    );
    expect(sections.allocation).toMatchObject({ treatment });
    expect(sections.draw).toMatchObject(draw);
  });
});
