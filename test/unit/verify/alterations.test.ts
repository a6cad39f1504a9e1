/** Every field of every form of record of a study, changed by somebody who recomputes seals and leaf. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SourceRecord } from '../../../src/evidence/verify/source.ts';
import { altered, type Json } from '../../support/altered-record.ts';
import { check } from '../../support/property.ts';
import {
  CORRECTIONS,
  HISTORY,
  KEYS,
  LATER_LIFE,
  LIFE_KEYS,
  Log,
  logOf,
  STUDY,
  streamOf,
  verify,
} from './support.ts';

const log = logOf([...HISTORY, ...LATER_LIFE, ...CORRECTIONS], [...KEYS, ...LIFE_KEYS]);
const records = log.of(STUDY);
const covering = [log.checkpoint(STUDY, records.length)];

interface Place {
  readonly revision: number;
  readonly part: 'record' | 'sealed';
  readonly path: readonly (string | number)[];
}

/** All texts, numbers and booleans. */
function places(
  value: Json,
  found: (path: readonly (string | number)[]) => void,
  path: (string | number)[] = [],
) {
  if (typeof value !== 'object') return found(path);
  for (const [name, member] of Object.entries(value))
    places(member, found, [...path, Array.isArray(value) ? Number(name) : name]);
}

const text = ({ part, path }: Place) => [part, ...path].join('.');

/** Each field of each type of record once. */
const everywhere: Place[] = [];
const seen = new Set<string>();
records.forEach(({ record, sealed }, revision) => {
  const { type } = JSON.parse(String(record));
  for (const part of ['record', 'sealed'] as const)
    places(JSON.parse(String({ record, sealed }[part])), (path) => {
      const place = { revision, part, path };
      if (!seen.has(`${type} ${text(place)}`)) everywhere.push(place);
      seen.add(`${type} ${text(place)}`);
    });
});

/** What only a checkpoint can reveal, because nothing else in the log follows from it, or not at this event. */
const FREE = [
  /^record\.(id|at|actor\.accessRevision|data\.reason|data\.seedSource)$/,
  /^record\.data\.levels\.\d\.level$/,
  /^record\.data\.configuration\.(mode|D|w|alpha|beta|treatments\.\d|factors\.\d\.(name|levels\.\d))$/,
  /^record\.data\.(reveal|shownAt|occurredAt|approvals\.\d\.\w+|protocol\.\w+)$/,
  /^record\.data\.(analysis|duplicateOf|to)$/,
  /^sealed\.(grounds|note)\./,
  /\.(salt|idempotencyKey)$/,
];

/** Where a field is one half of what must agree, the other half may be named. */
const SAID_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  stream: ['revision'],
  'data.configuration.name': ['data.studyId'],
  'generator.seed': ['generator.bgState.state.state'],
  // Of an event about a participant.
  'data.participantId': ['data.randomizedAt', 'data.revealedAt', 'data.changes.0.from', 'data.from', 'type'],
  // A factor that does not exist has the first place in the order of the study.
  'data.changes.1.factor': ['data.changes.0.factor'],
  // The two together name an event's schema.
  version: ['type'],
};

const isFree = (place: Place) => {
  const { actor, type } = JSON.parse(String(records[place.revision]?.record));
  switch (text(place)) {
    case 'record.actor.user': // a key shows whose it is
      return !('keyId' in actor);
    case 'record.data.participantId':
      return type === 'ParticipantRandomized';
    default:
      return FREE.some((free) => free.test(text(place)));
  }
};

function change(place: Place, change: (old: Json) => Json, reseal: boolean): SourceRecord[] {
  return records.map((stored, revision) =>
    revision !== place.revision
      ? stored
      : altered(
          stored,
          (record, sealed) => {
            const parts: Json = { record, sealed };
            const last = place.path.at(-1) as string;
            const owner = place.path.slice(0, -1).reduce((object, name) => object[name], parts[place.part]);
            owner[last] = change(owner[last]);
          },
          { reseal },
        ),
  );
}

/** Another value of the same kind; of a hexadecimal or decimal text, one of the same length. */
function another(old: Json): Json {
  if (typeof old === 'boolean') return !old;
  if (typeof old === 'number') return old === 1 ? 0 : old + 1;
  const digit = [...old].findLastIndex((letter) => /[0-8]/.test(letter));
  return digit >= 0 ? `${old.slice(0, digit)}${Number(old[digit]) + 1}${old.slice(digit + 1)}` : `${old}x`;
}

async function verified(changed: SourceRecord[]) {
  const tampered = new Log();
  for (const [stream, stored] of log.byStream) tampered.byStream.set(stream, stored);
  tampered.byStream.set(STUDY, changed);
  return verify(tampered, { checkpoints: covering });
}

describe('a field that was changed, with seals and leaf recomputed,', () => {
  it.each(
    everywhere
      .filter((place) => !isFree(place))
      .map((place) => [place.revision, text(place), place] as const),
  )('is named: revision %d, %s', async (revision, name, place) => {
    // Seals that were recomputed cannot be wrong.
    const reseal = place.path[0] !== 'seals';
    const report = await verified(change(place, another, reseal));
    const { divergence, evidence, sound } = streamOf(report);
    expect(sound).toBe(false);
    expect(divergence?.revision).toBe(revision);
    const named = [divergence?.field ?? '', ...(divergence?.alsoDiffer ?? [])].map((field) =>
      field.replaceAll(/\[(\d+)\]/g, '.$1'),
    );
    const [, ...path] = name.split('.');
    // A record's place is one thing with two names.
    const own = path.join('.');
    const wanted = [own, ...(SAID_ELSEWHERE[own] ?? [])];
    expect(
      named.some((field) => wanted.some((one) => one === field || one.startsWith(`${field}.`))),
      `${named} for ${wanted}`,
    ).toBe(true);
    expect(divergence?.expected).not.toBe(divergence?.found);
    // The leaf is right again, but it is not the one that was signed.
    expect(evidence).toMatchObject({ failing: 1, rewritten: { afterSize: 0, upToSize: records.length } });
  });

  it.each(everywhere.filter(isFree).map((place) => [place.revision, text(place), place] as const))(
    'is found by a checkpoint that covers it: revision %d, %s',
    async (_, __, place) => {
      const { sound, evidence } = streamOf(await verified(change(place, another, true)));
      expect(sound).toBe(false);
      expect(evidence).toMatchObject({ matching: 0, failing: 1 });
    },
  );
});

describe('a byte that was changed, and nothing else,', () => {
  const parts = ['record', 'sealed', 'leaf'] as const;
  it('is named, wherever it is', async () => {
    await check(
      fc.asyncProperty(
        fc.nat(records.length - 1),
        fc.constantFrom(...parts),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (revision, part, offset, flip) => {
          const stored = records[revision] as SourceRecord;
          const bytes = Buffer.from(stored[part]);
          const at = offset % bytes.length;
          bytes[at] = (bytes[at] ?? 0) ^ flip;
          const { divergence } = streamOf(
            await verified(records.with(revision, { ...stored, [part]: bytes })),
          );
          expect(divergence?.revision).toBe(revision);
          expect(divergence?.field).toMatch(part === 'sealed' ? /^(seals|record)/ : /^leaf$/);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('records that were removed, swapped or duplicated', () => {
  it('are named, wherever they were', async () => {
    const place = fc.nat(records.length - 1);
    await check(
      fc.asyncProperty(place, place, fc.constantFrom('away', 'exchanged', 'twice'), async (a, b, how) => {
        fc.pre(how !== 'exchanged' || a !== b);
        const there = (i: number) => records[i] as SourceRecord;
        const changed =
          how === 'away'
            ? records.toSpliced(a, 1)
            : how === 'twice'
              ? records.toSpliced(a, 0, there(a))
              : records.map((stored, i) =>
                  i === a ? { ...there(b), revision: a } : i === b ? { ...there(a), revision: b } : stored,
                );
        const { sound, divergence, evidence } = streamOf(await verified(changed));
        expect(sound).toBe(false);
        // Only the checkpoint shows that the last one is missing.
        if (how === 'away' && a === records.length - 1)
          expect(evidence.tailCutOff).toEqual({ size: a, signedSize: a + 1 });
        else expect(divergence?.revision).toBe(how === 'away' ? a + 1 : how === 'twice' ? a : Math.min(a, b));
        if (how !== 'exchanged' && a < records.length - 1)
          expect(evidence.failed).toMatchObject([{ size: records.length }]);
      }),
      { numRuns: 100 },
    );
  });
});
