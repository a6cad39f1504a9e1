/** The catalogue of events, and a frozen sample of each version in it. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  Catalogue,
  catalogue,
  type Fact,
  type RecordContents,
  streamKind,
  type Upcaster,
} from '../../../events/catalogue.ts';
import { defineEvent, type EventDefinition } from '../../../events/define.ts';
import { decodeRecord, encodeRecord } from '../../../events/record.ts';
import { altered } from '../../support/altered-record.ts';
import { paused as pause, stored } from '../../support/facts.ts';
import { frozenSamples } from '../../support/samples.ts';

const samples = frozenSamples();

describe('the frozen samples', () => {
  it('cover every event version in the catalogue, once each', () => {
    const versions = catalogue.all().map(({ type, version }) => `${type}@${version}`);
    expect(samples.map(({ name }) => name).sort()).toEqual(versions.sort());
  });

  it.each(samples)(
    'can be read, and are written today with the leaf SHA-256(0x00 ‖ record): $name',
    (sample) => {
      const { seals, type, version, data, ...header } = JSON.parse(sample.record.toString());
      const sealed = JSON.parse(sample.sealed.toString()) as Record<string, { salt: string }>;
      expect(`${type}@${version}`).toBe(sample.name);
      expect(decodeRecord(sample)).toEqual({ ...header, type, data, sections: sealed });
      expect(Object.keys(seals)).toEqual(Object.keys(sealed));
      const salts = Object.values(sealed).map(({ salt }) => salt);
      const unsalted = Object.entries(sealed).map(([name, { salt: _, ...section }]) => [name, section]);
      const fact = { type, data, sections: Object.fromEntries(unsalted) } as Fact;
      const written = encodeRecord(header, fact, () => salts.shift() ?? '');
      expect(Buffer.from(written.record).toString()).toBe(sample.record.toString());
      expect(Buffer.from(written.sealed).toString()).toBe(sample.sealed.toString());
      expect(Buffer.from(written.leaf)).toEqual(sample.leaf);
      expect(createHash('sha256').update(Buffer.of(0)).update(sample.record).digest()).toEqual(sample.leaf);
      expect(salts).toEqual([]);
    },
  );
});

const parts = { stream: 'study', sections: {}, optionalSections: {} } as const;
const paused: EventDefinition[] = [
  defineEvent('StudyPaused', 1, { ...parts, data: z.strictObject({ why: z.string() }) }),
  defineEvent('StudyPaused', 2, { ...parts, data: z.strictObject({ reason: z.string() }) }),
  defineEvent('StudyPaused', 3, { ...parts, data: z.strictObject({ reason: z.string(), by: z.string() }) }),
];
const upcasters = new Map<string, Upcaster>([
  ['StudyPaused@1', said(({ why }) => ({ reason: why }))],
  ['StudyPaused@2', said((data) => ({ ...data, by: 'unknown' }))],
]);

describe('the catalogue', () => {
  it('writes the latest version of a type, and reads every version, however they are listed', () => {
    const versions = new Catalogue(paused.toReversed(), upcasters);
    expect(versions.latest('StudyPaused')?.version).toBe(3);
    const known = [1, 2, 3, 4].map((version) => versions.definition('StudyPaused', version)?.version);
    expect(known).toEqual([1, 2, 3, undefined]);
    expect(versions.latest('StudyClosed')).toBeUndefined();
  });

  it('needs the upcasters between the versions of a type, and no others', () => {
    expect(() => new Catalogue(paused, new Map([...upcasters].slice(0, 1)))).toThrow('StudyPaused@2');
    expect(() => new Catalogue(paused, new Map([...upcasters].slice(1)))).toThrow('StudyPaused@1');
    expect(new Catalogue(paused.slice(0, 1)).all()).toHaveLength(1);
  });

  it('knows the kinds of streams by their names', () => {
    expect(['log', 'access', 'study-x', 'operations', 'study', 'logs'].map(streamKind)).toEqual([
      ...['log', 'access', 'study', 'operations', undefined, undefined],
    ]);
  });
});

describe('a record of an older version', () => {
  const versions = new Catalogue(paused, upcasters);
  const read = (version: number, data: object) => {
    const record = altered(stored(pause, 4), (one) => Object.assign(one, { version, data }));
    return decodeRecord(record, versions);
  };

  it.each([
    [1, { why: 'audit' }],
    [2, { reason: 'audit' }],
    [3, { reason: 'audit', by: 'unknown' }],
  ])('is upcast from version %d to the latest one, by a chain', (version, data) => {
    expect(read(version, data).data).toEqual({ reason: 'audit', by: 'unknown' });
  });

  it('is checked against the schema of its own version', () => {
    expect(() => read(1, { reason: 'audit' })).toThrow('data has no valid');
    expect(() => read(3, { reason: 'audit' })).toThrow('data has no valid by');
  });
});

function said(upcast: (data: Record<string, unknown>) => object): Upcaster {
  return ({ data, sealed }: RecordContents) => ({ data: upcast(data as Record<string, unknown>), sealed });
}
