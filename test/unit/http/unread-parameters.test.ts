/** Which parameters of a POST are refused although it does not read them, and how the others are named. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/service/http/openapi.ts';
import { hintsAmong, SERVICE_PARAMETERS } from '../../../src/service/http/request/parameters.ts';
import { ignoredHeader, unreadParameters } from '../../../src/service/http/routes/randomize-participant.ts';
import { check } from '../../support/property.ts';

const OWN = new Set(['api_key', 'study', 'id', 'urn.bg_state', 'urn.dry_run']);
const judged = (name: string, factors: readonly string[] = ['sex']) =>
  unreadParameters(new Map([[name, 'true']]), OWN, factors, []);

it('the names of the service are those that the OpenAPI document lists', () => {
  const { paths } = openApiDocument('test') as {
    paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
  };
  const documented = Object.values(paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ parameters = [] }) => parameters.flatMap((one) => (one.in === 'query' ? [one.name] : [])))
    // Stands for the factors of a study.
    .filter((name) => name !== 'factors');
  expect(new Set([...documented, 'api_key'])).toEqual(SERVICE_PARAMETERS);
});

describe('a parameter is refused, with the right spelling, if it is', () => {
  const DRY = [
    ...['dryRun', 'DRY-RUN', 'urn.dryrun', 'urn_dry_run', 'dry run', 'dry_run[]', 'urn:dry_run', 'dry–run'],
    ...['dry_run\u200b', '\uff44\uff52\uff59_run'],
    // Mistyped.
    ...['dry_rnu', 'dryrunn', 'is_dry_run', 'turn.dry_run', 'amp;urn.dry_run'],
  ];
  it.each([
    { meant: 'urn.dry_run', names: DRY },
    { meant: 'urn.bg_state', names: ['Urn.Bg-State'] },
    { meant: 'study', names: ['urn.study'] },
    { meant: 'id', names: ['ID'] },
    { meant: 'api_key', names: ['apiKey'] },
    { meant: 'urn.limit', names: ['limit'] },
    { meant: 'the header Idempotency-Key', names: ['idempotency_key', 'idempotencyKey'] },
  ])('$meant, written as $names', ({ meant, names }) => {
    for (const name of names) {
      const { ignored, problems } = judged(name);
      expect(ignored, name).toEqual([]);
      expect(problems).toEqual([expect.stringContaining(`${name} is not a parameter (hint: `)]);
      expect(problems[0]).toContain(meant);
    }
  });

  it.each(['urn.', 'urn.something', 'URN.Other', 'uRn.é'])('unknown, and looks like ours: %s', (name) => {
    expect(judged(name).problems).toEqual([expect.stringContaining(name)]);
  });

  it('any other way to write a name of the service', () => {
    const spelled = fc.constantFrom(...SERVICE_PARAMETERS).chain((name) =>
      fc
        .tuple(
          fc.constantFrom('', 'urn', 'URN.', 'urn:'),
          fc.array(fc.tuple(fc.boolean(), fc.constantFrom('', '', '.', '-', '_', ' ', '/', '\n')), {
            minLength: name.length,
            maxLength: name.length,
          }),
        )
        .map(([prefix, marks]) =>
          [...name.replace(/^urn\./, '')]
            .map((letter, i) => `${marks[i]?.[0] ? letter.toUpperCase() : letter}${marks[i]?.[1]}`)
            .reduce((before, letter) => before + letter, prefix),
        ),
    );
    check(
      fc.property(spelled, (name) => {
        // The prefix of records is refused elsewhere.
        fc.pre(!SERVICE_PARAMETERS.has(name) && !name.startsWith('f_'));
        expect(judged(name)).toEqual({ ignored: [], problems: [expect.any(String)] });
        expect(judged(name, [name])).toEqual({ ignored: [], problems: [] });
      }),
      { numRuns: 500 },
    );
  });
});

it.each(['phase', 'sexe', 'dry', 'run', 'trial_arm', 'urn', 'Sex', 'urn.min_revision'])(
  '%s is not read',
  (name) => {
    expect(judged(name)).toEqual({ ignored: [name], problems: [] });
  },
);

it('hints are looked for only as often as a message can show them, however many names there are', () => {
  const hintFor = hintsAmong(['urn.limit']);
  const hints = Array.from({ length: 1000 }, () => hintFor('urn.limti'));
  expect(hints.filter((hint) => hint === 'did you mean urn.limit?')).toHaveLength(20);
  expect(hints.slice(20)).toEqual(Array(980).fill(undefined));
});

describe('the header that names what was not read', () => {
  it('is percent-encoded, so that a name cannot break it', () => {
    expect(ignoredHeader(['a b', 'c,d', 'e\r\nX: 1', 'é'])).toBe('a%20b, c%2Cd, e%0D%0AX%3A%201, %C3%A9');
  });

  it('has at most 10 names and 500 bytes, and says when some are missing', () => {
    check(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 120 }), { minLength: 1 }), (names) => {
        const header = ignoredHeader(names);
        expect(header).toMatch(/^[\x20-\x7e]*$/);
        expect(Buffer.byteLength(header)).toBeLessThanOrEqual(500);
        const shown = header.split(', ').map(decodeURIComponent);
        const isCut = shown.at(-1) === '…' && names[shown.length - 1] !== '…';
        const kept = isCut ? shown.slice(0, -1) : shown;
        expect(kept.length).toBeLessThanOrEqual(10);
        expect(kept).toEqual(names.slice(0, kept.length));
        expect(isCut).toBe(kept.length < names.length);
      }),
    );
    expect(ignoredHeader(['x'.repeat(501)])).toBe('%E2%80%A6');
    expect(ignoredHeader(Array.from('abcdefghijk'))).toBe('a, b, c, d, e, f, g, h, i, j, %E2%80%A6');
  });
});
