/** What a blinded reader gets is the record without its sections: it must reveal nothing of what is in them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecord, encodeRecord, type Header } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { randomizedFact, sections } from '../../support/arbitrary-facts.ts';
import { NURSE, randomized, registered, STREAM } from '../../support/facts.ts';
import { fixedId, LOG_ID } from '../../support/fixed-tools.ts';
import { check } from '../../support/property.ts';
import { drawIn } from '../../support/urn-study.ts';

const HEADER: Header = {
  id: fixedId(1),
  log: LOG_ID,
  stream: STREAM,
  revision: 3,
  at: '2026-03-01T09:00:00.000Z',
  actor: NURSE,
};
const { newSalt } = systemTools();

const clear = (record: Uint8Array) => Buffer.from(record).toString();
const seals = (record: Uint8Array): Record<string, string> => JSON.parse(clear(record)).seals;
const withoutSeals = (record: Uint8Array) => clear(record).replace(/"seals":{[^}]*}/, '"seals":{}');

describe('the record of an allocation', () => {
  it('contains neither treatment nor state nor draw, nor the names of those fields', () => {
    check(
      fc.property(randomizedFact, (fact) => {
        const { allocation, request } = fact.sections;
        const draw = drawIn(fact.sections);
        const told = clear(encodeRecord(HEADER, fact, newSalt).record);
        const secrets = [
          allocation.treatment,
          ...[draw.bgStateBefore, draw.bgStateAfter].flatMap(({ state, uinteger }) => [
            state.state,
            state.inc,
            `${uinteger}`,
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

describe('the record of a registration', () => {
  it('contains the configuration, but neither the seed nor the state', () => {
    const fact = registered();
    const { seed, bgState } = fact.sections.generator;
    const told = clear(encodeRecord({ ...HEADER, revision: 0 }, fact, newSalt).record);
    expect(told).toContain('RMC-A');
    for (const hidden of [seed, bgState.state.state, bgState.state.inc, '"seed"', 'bgState'])
      expect(told).not.toContain(hidden);
  });
});

describe('salts of the running service', () => {
  it('are 128 bits in lower-case hex, and never repeat', () => {
    const salts = Array.from({ length: 1000 }, newSalt);
    expect(new Set(salts).size).toBe(1000);
    for (const salt of salts) expect(salt).toMatch(/^[0-9a-f]{32}$/);
  });
});
