/**
 * Any lives of studies with packs at visits, and of every method, as bundles: both verifiers accept them, and of whatever somebody
 * alters, and corrects all seals and leaves, both say the same: where it is found, or that only a checkpoint can show it.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CONTENTS } from '../../../events/record.ts';
import type { DesignChange } from '../../../events/study.ts';
import { openTreatments } from '../../../src/core/model/design.ts';
import type { Model } from '../../../src/core/model/model.ts';
import type { Written } from '../../support/acts.ts';
import {
  Altering,
  bundlesOf,
  by,
  type Change,
  changed,
  data,
  doubled,
  gone,
  hasPython,
  moved,
  onArm,
  sealed,
  verifyBoth,
  version,
  without,
} from '../../support/altered-bundles.ts';
import {
  asDraw,
  listed,
  onList,
  picked,
  renamedSection,
  shortened,
  skipping,
} from '../../support/altered-methods.ts';
import { USERS, type User, visitLife } from '../../support/arbitrary-visits.ts';
import { type BundledStudy, bundledStudy } from '../../support/bundled-study.ts';
import { type Choices, choicesOf } from '../../support/choices.ts';
import { CONFIGURATION, OPERATOR } from '../../support/facts.ts';
import {
  A,
  APPROVAL,
  arm,
  B,
  C,
  COOK,
  change,
  DUPAGE,
  FEMALE,
  type Life,
  MALE,
  now,
  ratio,
  SEX,
  SITE,
  site,
} from '../../support/life.ts';
import {
  entryOf,
  FILES,
  imported,
  list,
  type MethodStudy,
  minimizing,
  skip,
  studyOf,
} from '../../support/lives/methods.ts';
import { sample } from '../../support/property.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { VISITS_SEED } from '../../support/visits.ts';
import { GRANTS, LIVES_STUDY, VisitsLife } from '../../support/visits-life.ts';

const newFolder = temporaryFolders();

type Named = readonly [name: string, change: Change];
/** Of each type of record, what somebody could alter. Records are named by their revisions. */
type Possible = Readonly<Record<string, (choices: Choices, bundle: Altering) => readonly Named[]>>;

/**
 * Both verifiers accept it in each content. Of each alteration, all contents are compared, and both verifiers see one.
 * @param alterations how many
 * @param judged looks at what the full content shows
 */
async function compare(
  make: (folder: string) => Promise<BundledStudy<string>>,
  { possible, choices, alterations }: { possible: Possible; choices: Choices; alterations: number },
  judged: (full: string, name: string, record: string) => void = () => undefined,
): Promise<string[]> {
  const life: Life<string, never> = { at: { registered: 0 }, keys: {} as Life['keys'], make };
  const bundles = bundlesOf(life, CONTENTS, newFolder);
  const study = await bundles.made();
  const said: string[] = [];
  for (const content of CONTENTS) {
    const { code, stdout, own } = await verifyBoth(study.files[content]);
    expect(code, stdout).toBe(0);
    said.push(stdout, own.text);
  }
  const whole = new Altering(study, life);
  const typed = whole.placed.map(({ name }) => ({ name, type: `${whole.record(name).type}` }));
  const alterable = typed.filter(({ type }) => Object.hasOwn(possible, type));
  for (let n = 0; n < alterations; n++) {
    const { name, type } = choices.pick(alterable);
    const [what, change] = choices.pick(possible[type]?.(choices, whole) ?? []);
    const shown = choices.pick(CONTENTS);
    const places: number[] = [];
    for (const content of CONTENTS) {
      const isShown = content === shown;
      const { found, revision } = await bundles.judge(content, change, { name, isShown });
      expect(found, 'in the stream of the study').not.toContain('/');
      if (content === 'full') judged(found, what, name);
      places.push(revision);
    }
    // Whoever sees more finds no less, and no later.
    expect(places, `${type}, ${name}: ${what}`).toEqual(places.toSorted((a, b) => a - b));
  }
  return said;
}

const VISITS = ['V2', 'v2', 'V3', 'Week 12', 'U1', 'u1', 'C', 'V2 '];
/** Of an act about a pack, with another one of these members. */
const ofPacks =
  (visit: string, members: (choices: Choices, code: string) => readonly object[]): Possible[string] =>
  (choices, { placed }) => {
    const events = placed.map(({ row }, revision) => ({ revision, ...JSON.parse(`${row.record}`) }));
    const codes = placed.flatMap(({ row }) => JSON.parse(`${row.sealed}`).codes?.entries ?? []);
    const people = events.filter(({ type }) => ['ParticipantRandomized', 'AllocationForced'].includes(type));
    const { code } = choices.pick<{ code: string }>(codes);
    const member = choices.pick(members(choices, code));
    const { data: person, revision: randomizedAt } = choices.pick(people);
    const user = choices.pick(USERS.filter((one) => one !== 'operator'));
    return [
      [JSON.stringify(member), data(member)],
      [JSON.stringify(member), data(member)],
      ['somebody else', data({ participantId: person.participantId, randomizedAt })],
      [`by ${user}`, by(user)],
      ['without its visit', without(visit)],
      ['gone', gone],
      ['after the next one', moved],
      ['twice', doubled],
    ];
  };
const OF_VISITS: Possible = {
  PackDispensed: ofPacks('visit', (choices, code) => [{ visit: choices.pick(VISITS) }, { code }]),
  CodeReplaced: ofPacks('to', (_, code) => [{ by: code }, { code }]),
  DispensationCorrected: ofPacks('to', (choices, code) => [
    ...[{ to: choices.pick(VISITS) }, { from: choices.pick(VISITS) }, { code }],
  ]),
};

/** The same requests, in a log whose clock is that of the machine. */
function liveVisits(folder: string, { done }: VisitsLife) {
  const study = { configuration: LIVES_STUDY, seed: VISITS_SEED };
  return bundledStudy<Exclude<User, 'operator'>>(folder, study, async ({ issue, submit }) => {
    // Before any arm is closed.
    const occurredAt = new Date().toISOString();
    const actors = {} as BundledStudy<User>['actors'];
    for (const [n, { scopes, levels }] of GRANTS.entries()) {
      const user = USERS[n] ?? 'operator';
      Object.assign(actors, { [user]: await issue(user, scopes, levels) });
    }
    for (const { by: user, written } of done) {
      const then = 'occurredAt' in written && { occurredAt };
      await submit({ ...actors, operator: OPERATOR }[user], { ...written, ...then } as Written);
    }
    return actors;
  });
}

const LIVES = 3;
const lives = sample(visitLife, 15)
  .map((steps) => new VisitsLife(steps))
  .toSorted((a, b) => b.events.length - a.events.length)
  .slice(0, LIVES);

it.skipIf(!hasPython).each(lives.map((life, n) => [n, life] as const))(
  'both verifiers say the same of any life with visits: %d',
  async (n, life) => {
    const choices = choicesOf(n + life.events.length);
    await compare((folder) => liveVisits(folder, life), {
      ...{ possible: OF_VISITS, choices, alterations: 12 },
    });
  },
);

// Lives of studies that allocate otherwise than from urns.

const STEPS = 45;
const isListed = ({ configuration }: MethodStudy) =>
  'method' in configuration && configuration.method.name === 'list';

/** Many of the steps are refused. @param seed of the choices, and of the study, unless it has lists */
function makeMethodLife(folder: string, study: MethodStudy, seed: number): Promise<BundledStudy<'nurse'>> {
  const choices = choicesOf(seed);
  const seeded = { ...study, ...(!isListed(study) && { seed: BigInt(seed) }) };
  return bundledStudy(folder, seeded, async ({ issue, submit, model, recover }) => {
    const nurse = await issue('nurse', ['blinded', 'randomize']);
    const attempt = (written: Written) => submit(OPERATOR, written).catch(() => undefined);
    if (choices.chance(0.5)) for (const one of Object.values(imported(A, C))) await submit(OPERATOR, one);
    for (let n = 1; n <= STEPS; n++) {
      const { design, participants } = model();
      if (isListed(study)) for (const one of listing(model(), n, choices)) await attempt(one);
      const levels = design.factors.map((factor) => (factor.isRetired ? '' : choices.pick(factor.levels)));
      if (choices.chance(0.7)) {
        const enrol: Written = { type: 'randomize', participantId: `p${n}`, levels, user: 'nurse' };
        await submit(nurse, enrol).catch(() => undefined);
      } else if (choices.chance(0.1)) await recover();
      else if (choices.chance(0.5)) {
        const who = choices.pick([...participants.all(), undefined])?.participantId ?? 'nobody';
        await attempt(choices.pick(happenings(n, who, choices.pick(openTreatments(design)), levels)));
      } else {
        const history = choices.pick(['keep', 'restart', undefined] as const);
        await attempt({
          ...{ type: 'amend', user: 'operator', amendment: design.amendment + 1, reason: 'protocol 3' },
          ...{ changes: [designChange(n, choices)], approvals: [APPROVAL], history },
        });
      }
    }
    return { nurse };
  });
}

function happenings(
  n: number,
  participantId: string,
  treatment: string,
  levels: readonly string[],
): Written[] {
  const one = { user: 'operator', participantId, note: 'slip' };
  const correct = { ...one, act: 'LevelsCorrected', cause: 'entry' } as const;
  const voided = { ...one, act: 'AllocationVoided', analysis: 'exclude' } as const;
  return [
    {
      ...{ type: 'force', user: 'operator', participantId: `F${n}`, treatment, levels },
      ...{ cause: 'outage', occurredAt: now(), note: 'envelope' },
    },
    { ...correct, changes: [change(SEX, MALE, FEMALE)] },
    { ...correct, changes: [change(SITE, COOK, DUPAGE)] },
    { ...voided, cause: 'duplicate' },
    { ...voided, cause: 'entry' },
    { ...one, act: 'AllocationReinstated' },
  ];
}

/** A list now and then, and so that there is one. A skip where it is owed, and now and then where it is not. */
function listing({ design, entries, methodDesign }: Model, n: number, choices: Choices): Written[] {
  if (methodDesign.method !== 'list') return [];
  const levelsOfBy = methodDesign.by.map((factor) => design.factors[factor]?.levels ?? []);
  const stratum = () => levelsOfBy.map((levels) => choices.pick(levels));
  const written: Written[] = [];
  if (entries.leftInAll === 0 || choices.chance(0.15)) {
    const file = choices.pick([...FILES, `${n}`.padStart(64, '0')]);
    const many = choices.between(1, 12);
    const arms = openTreatments(design);
    const rows = Array.from({ length: many }, () => entryOf(choices.pick(arms), ...stratum()));
    written.push(list(entries.lists + 1, file, entries.rowsOf(file) + 1, rows));
  }
  if (choices.chance(entries.isSkipOwed ? 0.5 : 0.05)) {
    const strata = Array.from({ length: choices.between(0, 2) }, stratum);
    const count = choices.between(1, 2);
    written.push(skip(...strata.map((levels) => ({ ...(levels.length > 0 && { levels }), count }))), skip());
  }
  return written;
}

function designChange(n: number, choices: Choices): DesignChange {
  const treatment = choices.pick([A, B, C, 'D']);
  const place = choices.pick([COOK, DUPAGE, 'a', 'b']);
  return choices.pick<DesignChange>([
    ...[arm.closed(treatment), arm.reopened(treatment), arm.added('D'), ratio(2, 1, 1), ratio(1, 1, 1)],
    ...[site.closed(place), site.reopened(place), site.added(place)],
    { kind: 'level-renamed', factor: SITE, level: place, to: `${place} ${n}` },
    { kind: 'factor-retired', factor: SEX },
    { kind: 'policy', name: 'voidCounts', value: 'removed' },
    { kind: 'policy', name: 'forcedCounts', value: 'not-counted' },
  ]);
}

const ofDraw = (choices: Choices): readonly Named[] => [
  ['weights', picked(({ weights }) => weights[choices.between(0, weights.length - 1)]++)],
  ['uniform53', picked((pick) => pick.uniform53++)],
  ['slot', picked((pick) => Object.assign(pick, { slot: (pick.slot ?? -1) + 1 }))],
  ['block', picked((pick) => Object.assign(pick, { block: { number: 99, perSlot: 1 } }))],
  ['section', asDraw()],
];
const OF_ENTRY: readonly Named[] = [
  ['entry', sealed(({ entry }) => entry.entry++)],
  ['list', sealed(({ entry }) => entry.list++)],
  ['section', renamedSection('entry', 'pick')],
];
// What is chosen is the same in all contents.
const counted = (more: number) => changed((record) => (record.data.count += more));
const skipped = (more: number) =>
  changed(({ data }) => {
    for (const one of data.skipped) one.count += more;
  });
const ofMethods = (study: MethodStudy): Possible => ({
  ParticipantRandomized: (choices) => [
    ...(isListed(study) ? OF_ENTRY : ofDraw(choices)),
    ['treatment', onArm(choices.pick(['x', DUPAGE]))],
    ['version', version(2)],
    ['its place', gone],
  ],
  ListRegistered: (choices) => [
    ['arm of a list', listed(1, { treatment: choices.pick(CONFIGURATION.treatments) })],
    ['a list, swapped', onList(({ entries }) => entries.reverse())],
    ['first', onList((list) => list.first++)],
    ['count', counted(choices.pick([-1, 1]))],
    ['a list, shortened', shortened(1)],
    ['its number', changed((record) => record.data.list++)],
    ['place of a list', choices.pick([gone, moved])],
  ],
  EntriesSkipped: (choices) => [
    ['no skip', gone],
    ['place of a skip', moved],
    ['nothing skipped', skipping()],
    ['skipped', skipped(choices.between(1, 4))],
  ],
});

const STUDIES: readonly (readonly [string, MethodStudy])[] = [
  ['complete', studyOf({ name: 'complete' })],
  ['complete, with a ratio', studyOf({ name: 'complete' }, undefined, { ratio: [2, 1, 1] })],
  ['blocks of one size', studyOf({ name: 'blocks', by: [] }, [1])],
  ['blocks of two sizes', studyOf({ name: 'blocks', by: [SITE] }, [1, 2])],
  [
    'blocks of three sizes, with a ratio',
    studyOf({ name: 'blocks', by: [SEX, SITE] }, [1, 2, 3], { ratio: [2, 1, 1] }),
  ],
  ['minimization', minimizing({ measure: 'range', pThousandths: 667 })],
  [
    'minimization with weights and a ratio',
    minimizing({ measure: 'variance', pThousandths: 900, weights: [3, 2] }, { ratio: [2, 1, 1] }),
  ],
  ['a list for all', studyOf({ name: 'list', by: [] })],
  ['lists by site', studyOf({ name: 'list', by: [SITE] })],
  ['lists by sex and site', studyOf({ name: 'list', by: [SEX, SITE] })],
];
const seeds = sample(fc.nat(), STUDIES.length);

it.skipIf(!hasPython).each(STUDIES.map(([name, study], n) => [name, study, seeds[n] ?? 0] as const))(
  'both verifiers say the same of any life: %s',
  async (_, study, seed) => {
    const said = await compare(
      (folder) => makeMethodLife(folder, study, seed),
      { possible: ofMethods(study), choices: choicesOf(seed), alterations: 6 },
      (found, what, name) => {
        const isDraw = [...OF_ENTRY, ...ofDraw(choicesOf(0))].some(([one]) => one === what);
        if (isDraw || ['treatment', 'version'].includes(what)) expect(found, what).toBe(name);
      },
    );
    // Both count the draws with one possible arm, where they are shown.
    const certain = said.map((one) => /; certain: ([^;\n]*)/.exec(one)?.[1]);
    expect(certain).toEqual([certain[1], certain[0], undefined, undefined, undefined, undefined]);
  },
);
