/**
 * Bundles of every kind of life: both verifiers accept them and say the same of them. And what nobody may do to any form of
 * record that occurs in them is found at the record itself, in every content. What is allowed there has rows of its own in the tables of altered-*.test.ts.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTENTS } from '../../../events/record.ts';
import { mayOf } from '../../../src/core/acts/acts.ts';
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
  verifyBoth,
  version,
  warningLines,
  without,
} from '../../support/altered-bundles.ts';
import type { Life } from '../../support/life.ts';
import {
  AMENDED_IMPORT,
  BLOCKS,
  COMPLETE,
  FOREIGN,
  IMPORTED,
  LISTED,
  MINIMIZED,
  URN,
} from '../../support/lives/methods.ts';
import { LIFE, PACKS, SAMPLE } from '../../support/lives/packs.ts';
import { AMENDED, ARMS, CORRECTED, FORCED, VISIT_SETTINGS, WHOLE } from '../../support/lives/urns.ts';
import { sample } from '../../support/property.ts';

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

type Named = readonly [what: string, change: Change];

/** What nobody may do to a record. @param users whose keys may not write it */
function alterationsOf(bundle: Altering, name: string, users: readonly string[]): Named[] {
  const { type, data: members } = bundle.record(name);
  const needed = Object.keys(members).filter((member) => !OPTIONAL[type]?.includes(member));
  const sections = Object.keys(bundle.sections(name)).filter((section) => section !== 'request');
  return [
    ...(REPEATABLE.includes(type) ? [] : [['again', doubled] as const]),
    ['with another member', data({ more: 1 })],
    ['with another section', put('more', {})],
    ['in version 2', version(2)],
    ...needed.map((member): Named => [`without ${member}`, without(member)]),
    ...sections.map((section): Named => [`without the section ${section}`, drop(section)]),
    ...users.map((user): Named => [`by ${user}`, by(user)]),
  ];
}

/** By type, members, sections and kind of actor: the other records of a form say nothing new. */
const seen = new Set<string>();
function isNew(bundle: Altering, name: string): boolean {
  const { type, data: members, seals, actor } = bundle.record(name);
  const names = [members, seals, actor].map((part) => Object.keys(part).sort().join(' '));
  const form = [type, ...names].join('; ');
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

interface Expected {
  /** Our own report says it of the life. What a verification finds there is held by life-histories.test.ts, but for visits. */
  readonly ours?: string;
  readonly packs?: object;
  /** Code, count and the name of the first record. */
  readonly warnings?: readonly (readonly [string, number, string])[];
}
const CORRECTIONS =
  'levels corrected: 3; ids corrected: 2; voided: 1 duplicate, 1 ineligible; changed after a closing: 1 AllocationVoided, 1 ParticipantIdCorrected';

/** With what the verifier in Python says of it. */
const CASES: readonly [what: string, life: Life, python: string, expected?: Expected][] = [
  [
    'a study that lived on',
    WHOLE,
    '  The study is open; code-breaks: 2 emergency, 1 monitoring; 1 of them recorded after the arm was shown; unblinded without the service, as reported: 2; people unblinded: 3\n',
  ],
  [
    'corrections',
    CORRECTED,
    `  The study is open; ${CORRECTIONS}; code-breaks: 1 planned; people unblinded: 1\n`,
    { ours: `\n  open; ${CORRECTIONS}; code-breaks: 1 other; people unblinded: 1\n` },
  ],
  [
    'amendments',
    AMENDED,
    'amendments: 5; levels corrected: 3; voided: 1 never-enrolled; ',
    { ours: '\n  open; amendments: 5; levels corrected: 3; voided: 1 never-enrolled\n' },
  ],
  ['amended arms', ARMS, '  The study is open; entered by hand: 1 outage; amendments: 8; '],
  [
    'entries by hand',
    FORCED,
    // The one void is replaced, and the other one reinstated.
    '  The study is open; entered by hand: 1 elsewhere, 1 other, 3 outage, 1 protocol; amendments: 1; levels corrected: 1; ids corrected: 1; code-breaks: 1 emergency; people unblinded: 1\n',
  ],
  [
    'an import',
    IMPORTED,
    '; imported: 7 drawn again, 3 unproven; levels corrected: 1; ',
    {
      ours: '\n  open; imported: 7 drawn again, 3 unproven; levels corrected: 1; code-breaks: 1 in an emergency; people unblinded: 1\n',
    },
  ],
  ['an import without states', FOREIGN, 'imported: 0 drawn again, 2 unproven'],
  // With a row of a closed level.
  ['an import after an amendment', AMENDED_IMPORT, 'imported: 0 drawn again, 2 unproven; amendments: 1;'],
  [
    'packs',
    PACKS,
    '; packs: 54 registered, 6 replaced, 18 withdrawn; ',
    { packs: { registered: 54, replaced: 6, withdrawn: 18 } },
  ],
  [
    'the worked sample of visits',
    SAMPLE,
    '8 dispensed, 5 corrected',
    {
      packs: { registered: 15, replaced: 1, withdrawn: 0, dispensed: 8, corrected: 5 },
      warnings: [
        ['undeclared-visit', 2, 'u1'],
        ['revealed-in-emergency', 3, 'before'],
        ['corrected-after-reveal', 3, 'nobodys'],
        ['changed-after-closing', 1, 'changed'],
        ['dispensed-after-reveal', 1, 'late'],
      ],
    },
  ],
  ['a life with visits', LIFE, '7 replaced, 13 withdrawn, 23 dispensed, 5 corrected'],
  ['a stopped arm', VISIT_SETTINGS, 'amendments: 4', { ours: 'amendments: 4' }],
  ['blocks', BLOCKS, '  The study is open; method: blocks; '],
  ['complete randomization', COMPLETE, '; method: complete; imported: 0 drawn again, 2 unproven; '],
  ['minimization', MINIMIZED, '; method: minimization'],
  ['an urn', URN, '  The study is open; ', { ours: '\n  open\n' }],
  [
    'lists',
    LISTED,
    '  The study is open; method: list; imported: 0 drawn again, 2 unproven; ',
    {
      warnings: [
        // Nobody knows where they come from.
        ['list-origin-unknown', 3, 'first'],
        ['approval-asserted', 6, 'first'],
        ['imported-unproven', 2, 'i1'],
        ['forced', 1, 'F1'],
        ['recovered', 1, 'recovered'],
      ],
    },
  ],
];

describe.skipIf(!hasPython).each(CASES)('%s', (_, life, python, { ours = '', packs, warnings } = {}) => {
  const { made, judge } = bundlesOf(life, CONTENTS);

  it.each(CONTENTS)('both verifiers accept it and say the same, content %s', async (content) => {
    const { files } = await made();
    const { code, stdout, own } = await verifyBoth(files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(python);
    expect(own.text).toContain(ours);
    const study = own.report?.streams.at(-1);
    if (packs) expect(study?.life?.packs).toEqual(packs);
    const found = study?.warnings.map((warning) => [warning.code, warning.count, warning.revision]);
    if (warnings) expect(found).toEqual(warnings.map(([what, count, name]) => [what, count, life.at[name]]));
    // The one in Python tells of a recovery beside the stream, and in another order.
    const lines = warningLines(own.report).filter((line) => !line.includes('recovery 1 of the log'));
    const printed = stdout.split('\n').filter((line) => line.startsWith('WARNING'));
    expect(printed.toSorted()).toEqual(lines.toSorted());
  });

  it('whatever nobody may do to a record is found', async () => {
    const bundle = new Altering(await made(), life);
    const all = Object.keys(life.at)
      .filter((name) => isNew(bundle, name))
      .flatMap((name) => {
        // Which rights these are: test/support/act-table.ts, and verifier-tables.test.ts for Python.
        const may = mayOf(bundle.record(name).type);
        const users = Object.entries(life.keys).filter(
          ([, { scopes }]) => !may.scopes.some((one) => scopes.includes(one)),
        );
        const people = may.commandLine ? [] : ['somebody'];
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
