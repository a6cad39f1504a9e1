/** One table says why requests are refused, and what a client does about it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  REFUSALS,
  type RefusalWord,
  recordedReason,
  refusalRow,
  wordOfStatus,
} from '../../../src/base/refusals.ts';
import { refusalOf, type StudyOutcome, whyImpossible } from '../../../src/core/model/outcomes.ts';
import { openApiDocument, refusalTable } from '../../../src/service/http/openapi.ts';

const WORDS = Object.keys(REFUSALS) as RefusalWord[];
const DOCUMENT = new URL('../../../docs/operations.md', import.meta.url);

type Responses = Readonly<Record<string, { readonly headers?: Readonly<Record<string, unknown>> }>>;
interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
  readonly info: { readonly description: string };
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly schema: object; readonly description: string }>>;
  };
}

describe('the table of refusals', () => {
  it('is in docs/operations.md', () => {
    expect(readFileSync(DOCUMENT, 'utf8')).toContain(refusalTable());
  });

  it('is in the OpenAPI document once, and named by every answer of 400 or more', () => {
    const document = openApiDocument('1.0.0') as unknown as Described;
    const { components, info, paths } = document;
    expect(info.description).toContain(refusalTable());
    expect(JSON.stringify(document).split('Recorded by this attempt')).toHaveLength(2);
    expect(components.headers['Urn-Refused']?.description).not.toContain('|');
    expect(components.headers['Urn-Refused']?.schema).toEqual({ type: 'string', enum: WORDS });
    const failures = Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ responses }) => Object.entries(responses))
      .filter(([status]) => Number(status) >= 400);
    expect(failures.length).toBeGreaterThan(100);
    for (const [, { headers }] of failures)
      expect(headers).toMatchObject({ 'Urn-Refused': { $ref: '#/components/headers/Urn-Refused' } });
  });

  it('has a word for each status that the service answers with', () => {
    const statuses = [400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 431, 500, 503];
    const words = ['malformed', 'not-authenticated', 'not-permitted', 'not-found'];
    const malformed = ['malformed', 'malformed', 'malformed', 'malformed', 'malformed'];
    expect(statuses.map(wordOfStatus).join()).toBe(
      [...words, ...malformed, 'too-many', 'malformed', 'failed', 'unavailable'].join(),
    );
  });

  it('says when to come back wherever a client should', () => {
    for (const word of WORDS) {
      const { client, retryAfter, status } = refusalRow(word);
      // A 429 says how long the budget needs, and nobody knows how long an unexpected error will stay.
      if ((client === 'wait' || client === 'ask') && status === 503) expect(retryAfter).toBeGreaterThan(0);
      if (client === 'mend') expect(retryAfter).toBeUndefined();
    }
  });
});

describe('a refusal in the stream operations', () => {
  it('has its own word, or one that tells less', () => {
    const others = WORDS.filter((word) => recordedReason(word) !== word);
    expect(Object.fromEntries(others.map((word) => [word, recordedReason(word)]))).toEqual({
      'not-authenticated': 'not-permitted',
      'too-many': 'unavailable',
      ...{ starting: 'unavailable', overloaded: 'unavailable', halted: 'unavailable' },
      ...{ endangered: 'unavailable', identity: 'unavailable', moved: 'unavailable' },
      'rolled-back': 'unavailable',
    });
  });
});

/** An outcome, its word and status, and why a record of it would be impossible. */
const REFUSED: readonly (readonly [StudyOutcome, RefusalWord, number, string])[] = [
  [{ type: 'no-code' }, 'no-code', 409, 'a treatment has no pack left for the participant'],
  [{ type: 'no-entry' }, 'no-entry', 409, 'the list has no entry that the participant could be given'],
  [
    { type: 'idempotency-key-reused' },
    'idempotency-key-reused',
    422,
    'the Idempotency-Key was used for another request',
  ],
  [{ type: 'refused', because: 'paused' }, 'paused', 409, 'the study is paused'],
  [{ type: 'refused', because: 'open' }, 'stale', 409, 'the study is open'],
  [
    { type: 'level-closed', factor: 'sex', level: 'X' },
    'level-closed',
    409,
    'a level of the participant is closed',
  ],
  [
    { type: 'full', limit: { max: 3 } },
    'full',
    409,
    'the study, or one of its levels, has reached its limit',
  ],
  [
    { type: 'duplicate', participantId: '1', differingFactors: [] },
    'duplicate',
    400,
    'the participant is assigned already',
  ],
  [
    { type: 'dispensed-already', participantId: '1', visit: 'V2' },
    'duplicate',
    400,
    'the participant has a pack for this visit',
  ],
  [{ type: 'unfit', problems: [{ field: 'to', why: 'is wrong' }] }, 'malformed', 400, 'is wrong'],
  [{ type: 'impossible', field: 'to', why: 'cannot be' }, 'malformed', 422, 'cannot be'],
  [{ type: 'not-amendable', problems: [{ field: 'to', why: 'cannot be' }] }, 'malformed', 422, 'cannot be'],
  [{ type: 'stale', why: 'it is not so' }, 'stale', 409, 'it is not so'],
];

describe('an outcome', () => {
  it.each(REFUSED)('that refuses has a word, a status and a reason: %j', (outcome, word, status, why) => {
    expect(refusalOf(outcome)).toMatchObject({ word, status });
    expect(whyImpossible(outcome)).toBe(why);
  });

  it('that is recorded, or was before, is no refusal', () => {
    expect(refusalOf({ type: 'recorded', moves: false })).toBeUndefined();
    expect(refusalOf({ type: 'done-before', revision: 3 })).toBeUndefined();
    expect(whyImpossible({ type: 'already-registered' })).toBe('the study is registered already');
  });
});
