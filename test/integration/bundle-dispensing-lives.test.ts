/**
 * Any lives of a study with packs at visits, as bundles: both verifiers accept them, and of whatever somebody alters, and corrects all
 * seals and leaves, both say the same: where it is found, or that only a checkpoint can show it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import type { Written } from '../support/acts.ts';
import {
  alteredBundles,
  by,
  type Change,
  data,
  doubled,
  gone,
  moved,
  without,
} from '../support/altered-bundles.ts';
import { USERS, type User, visitLife } from '../support/arbitrary-visits.ts';
import { type Choices, choicesOf } from '../support/choices.ts';
import { OPERATOR } from '../support/facts.ts';
import { type BundledStudy, bundledStudy } from '../support/life-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { sample } from '../support/property.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { VISITS_SEED } from '../support/visits.ts';
import { GRANTS, LIVES_STUDY, VisitsLife } from '../support/visits-life.ts';

const LIVES = 3;
const ALTERATIONS = 12;
const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();
const OF_PACKS = ['PackDispensed', 'DispensationCorrected', 'CodeReplaced'];
const VISITS = ['V2', 'v2', 'V3', 'Week 12', 'U1', 'u1', 'C', 'V2 '];
type Bundled = BundledStudy<Exclude<User, 'operator'>>;

/** The same requests, in a log whose clock is that of the machine. */
function bundleOf({ done }: VisitsLife): Promise<Bundled> {
  const study = { configuration: LIVES_STUDY, seed: VISITS_SEED };
  return bundledStudy(newFolder(), study, async (issue, submit) => {
    // Before any arm is closed.
    const occurredAt = new Date().toISOString();
    const actors: Partial<Bundled['actors']> = {};
    for (const [n, { scopes, levels }] of GRANTS.entries()) {
      const user = USERS[n] as keyof typeof actors;
      Object.assign(actors, { [user]: await issue(user, [...scopes], levels && [...levels]) });
    }
    const all = { ...actors, operator: OPERATOR } as Bundled['actors'] & { operator: typeof OPERATOR };
    for (const { by, written } of done) {
      const then = 'occurredAt' in written && { occurredAt };
      await submit(all[by], { ...written, ...then } as Written);
    }
    return all;
  });
}

/** What somebody could alter, one after the other; each names itself. */
function alterations({ events }: VisitsLife, { actors }: Bundled, choices: Choices): [string, Change][] {
  const places = events.flatMap(({ type }, revision) => (OF_PACKS.includes(type) ? [revision] : []));
  const codes = events.flatMap((event) =>
    event.type === 'CodesRegistered' ? event.sections.codes.entries.map(({ code }) => code) : [],
  );
  const people = events.flatMap(({ type, data, revision }) =>
    type === 'ParticipantRandomized' || type === 'AllocationForced'
      ? [{ participantId: data.participantId, randomizedAt: revision }]
      : [],
  );
  const one = (): [string, Change] => {
    const revision = choices.pick(places);
    const event = events[revision];
    const name = `${event?.type} at revision ${revision}`;
    const members: readonly object[] =
      {
        PackDispensed: [{ visit: choices.pick(VISITS) }, { code: choices.pick(codes) }],
        CodeReplaced: [{ by: choices.pick(codes) }, { code: choices.pick(codes) }],
        DispensationCorrected: [
          ...[{ to: choices.pick(VISITS) }, { from: choices.pick(VISITS) }, { code: choices.pick(codes) }],
        ],
      }[event?.type as 'PackDispensed'] ?? [];
    const member = choices.pick(members);
    const user = choices.pick(['site', 'north', 'pharmacy'] as const);
    const person = choices.pick(people);
    return choices.pick<[string, Change]>([
      [`${name}: ${JSON.stringify(member)}`, data(revision, member)],
      [`${name}: ${JSON.stringify(member)}`, data(revision, member)],
      [`${name} about ${JSON.stringify(person)}`, data(revision, person)],
      [`${name} by ${user}`, by(revision, actors[user])],
      [`${name} without its visit`, without(revision, event?.type === 'PackDispensed' ? 'visit' : 'to')],
      [`${name} is gone`, gone(revision)],
      ...(revision + 1 < events.length
        ? ([
            [`${name} after the next one`, moved(revision)],
            [`${name} twice`, doubled(revision)],
          ] as [string, Change][])
        : []),
    ]);
  };
  return places.length === 0 ? [] : Array.from({ length: ALTERATIONS }, one);
}

describe.skipIf(found === undefined)('both verifiers of any life with visits', () => {
  const bundles = alteredBundles(python, newFolder);
  const lives = sample(visitLife, 40)
    .map((steps) => new VisitsLife(steps))
    .toSorted((a, b) => b.events.length - a.events.length)
    .slice(0, LIVES)
    .map((life, n) => ({ life, choices: choicesOf(n + life.events.length) }));
  const made: Bundled[] = [];

  beforeAll(async () => {
    for (const { life } of lives) made.push(await bundleOf(life));
  });

  it.each(Array.from({ length: LIVES }, (_, n) => n))('accept it in each content: %d', async (n) => {
    for (const content of CONTENTS) {
      const { code, stdout } = await bundles.verifyBoth(made[n]?.files[content] ?? '');
      expect(code, stdout).toBe(0);
    }
  });

  it.each(Array.from({ length: LIVES }, (_, n) => n))('say the same of what is altered: %d', async (n) => {
    const [one, log] = [lives[n], made[n]];
    if (!one || !log) throw new Error('there is no such life');
    const all = alterations(one.life, log, one.choices);
    expect(all).toHaveLength(ALTERATIONS);
    for (const [name, change] of all) {
      const [full, open, blinded] = await bundles.findings(log, change).catch((error: Error) => {
        throw new Error(`${name}: ${error.message}`);
      });
      // Whoever sees more finds no less, and no later.
      const order = [full, open, blinded].map((finding) =>
        finding === 'ok' ? Number.POSITIVE_INFINITY : Number(finding),
      );
      expect(order, name).toEqual(order.toSorted((a, b) => a - b));
    }
  });
});
