/**
 * Alterations that need no story, of every form of record that occurs in any life: each is found at the record itself, in every
 * content. What is allowed there has rows of its own in the tables of these files.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Scope } from '../../../events/access.ts';
import { CONTENTS } from '../../../events/content.ts';
import {
  Altering,
  bundlesOf,
  by,
  type Change,
  data,
  doubled,
  drop,
  hasPython,
  put,
  version,
  without,
} from '../../support/altered-bundles.ts';
import { LIVES } from '../../support/lives/all.ts';
import { sample } from '../../support/property.ts';

/** Whose key may write an event. Everybody at the command line may write all others, and all of these but the first. */
const MAY: Readonly<Record<string, readonly Scope[]>> = {
  ParticipantRandomized: ['randomize'],
  AllocationForced: ['force'],
  AllocationReinstated: ['correct'],
  AllocationRevealed: ['unblind'],
  AllocationVoided: ['correct'],
  CodeReplaced: ['randomize', 'supply'],
  CodesWithdrawn: ['supply'],
  DispensationCorrected: ['correct', 'supply'],
  LevelsCorrected: ['correct'],
  PackDispensed: ['randomize', 'supply'],
  ParticipantIdCorrected: ['correct'],
  StudyAmended: ['manage'],
  StudyClosed: ['manage'],
  StudyPaused: ['manage'],
  StudyReopened: ['manage'],
  StudyResumed: ['manage'],
  UnblindingReported: ['correct', 'unblind'],
};
/** Members without which a record of this type is another one that may be there, or is found elsewhere. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = {
  AllocationForced: ['code'],
  AllocationRevealed: ['code', 'shownAt'],
  AllocationVoided: ['duplicateOf'],
  CodesRegistered: ['where'],
  DispensationCorrected: ['to'],
  HistoryImported: ['seedKnown'],
  StudyClosed: ['approvals'],
  StudyRegistered: ['configuration'],
  StudyReopened: ['protocol'],
  UnblindingReported: ['inadvertent', 'revealedAt'],
};
/** Twice is more than once, or found only where the packs are included. */
const REPEATABLE = ['CodesWithdrawn', 'UnblindingReported'];
/** Lists of packs of closed arms have version 2: only who sees the arms knows. */
const VERSIONS: Readonly<Record<string, readonly number[]>> = { CodesRegistered: [3] };

type Named = readonly [what: string, change: Change];

/** What nobody may do to a record. @param users whose keys may not write it */
function alterationsOf(bundle: Altering, name: string, users: readonly string[]): Named[] {
  const { type, version: own, data: members } = bundle.record(name);
  const needed = Object.keys(members).filter((member) => !OPTIONAL[type]?.includes(member));
  const sections = Object.keys(bundle.sections(name)).filter((section) => section !== 'request');
  const versions = VERSIONS[type] ?? [own - 1, own + 1].filter((one) => one > 0);
  return [
    ...(REPEATABLE.includes(type) ? [] : [['again', doubled] as const]),
    ['with another member', data({ more: 1 })],
    ['with another section', put('more', {})],
    ...versions.map((to): Named => [`in version ${to}`, version(to)]),
    ...needed.map((member): Named => [`without ${member}`, without(member)]),
    ...sections.map((section): Named => [`without the section ${section}`, drop(section)]),
    ...users.map((user): Named => [`by ${user}`, by(user)]),
  ];
}

/** By type, version, members, sections and kind of actor: the other records of a form say nothing new. */
const seen = new Set<string>();
function isNew(bundle: Altering, name: string): boolean {
  const { type, version: own, data: members, seals, actor } = bundle.record(name);
  const names = [members, seals, actor].map((part) => Object.keys(part).sort().join(' '));
  const form = [type, own, ...names].join('; ');
  const isFirst = !seen.has(form);
  seen.add(form);
  return isFirst;
}

/** What comes after the record, and behind its second copy, does not matter. */
const upTo =
  (change: Change): Change =>
  (bundle, name) => {
    change(bundle, name);
    bundle.placed = bundle.placed.slice(0, bundle.find(name) + 2);
  };

describe.skipIf(!hasPython).each(LIVES)('in $name', ({ life, keys }) => {
  const { made, judge } = bundlesOf(life);

  it('whatever nobody may do to a record is found', async () => {
    const bundle = new Altering(await made(), life, 'full');
    const all = Object.keys(life.at)
      .filter((name) => isNew(bundle, name))
      .flatMap((name) => {
        const may = MAY[bundle.record(name).type] ?? [];
        const users = Object.entries(keys).filter(
          ([, { scopes }]) => !may.some((one) => scopes.includes(one)),
        );
        const people = may.includes('randomize') && may.length === 1 ? ['somebody'] : [];
        const others = [...users.map(([user]) => user), ...people];
        return alterationsOf(bundle, name, others).map(([what, change]) => ({ name, what, change }));
      });
    const [shown] = sample(fc.nat(Math.max(0, all.length - 1)), 1);
    for (const [place, { name, what, change }] of all.entries()) {
      const content = CONTENTS[place % CONTENTS.length] ?? 'full';
      const { found } = await judge(content, upTo(change), { name, isShown: place === shown });
      const expected = what === 'again' ? `${name}, again` : name;
      expect(found, `${bundle.record(name).type}, ${name} ${what}, content ${content}`).toBe(expected);
    }
  });
});
