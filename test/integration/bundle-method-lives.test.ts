/**
 * Studies with complete randomization, permuted blocks, minimization and lists made elsewhere: both verifiers accept any life of them, and find
 * at the same place what somebody altered who also corrected seals, leaves and references.
 */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS } from '../../events/content.ts';
import { BundleFiles } from '../e2e/audit/bundle-file.ts';
import {
  alteredBundles,
  by as byActor,
  type Change,
  changed,
  configured,
  data,
  doubled,
  type Findings,
  gone,
  inEach,
  inFull,
  type Json,
  moved,
  version,
  warningLines,
  without,
} from '../support/altered-bundles.ts';
import { COOK, DUPAGE, SEX, SITE } from '../support/amended-log.ts';
import { added, closed, ratio, reopened, retired, urn } from '../support/arms-log.ts';
import { type Choices, choicesOf } from '../support/choices.ts';
import { CONFIGURATION } from '../support/facts.ts';
import {
  BLOCKS_AT,
  COMPLETE_AT,
  LIST_AT,
  type MethodLog,
  type MethodStudy,
  MINIMIZED_AT,
  makeBlocksLog,
  makeCompleteLog,
  makeListLog,
  makeMethodLife,
  makeMinimizationLog,
  makeUrnLog,
  minimizing,
  studyOf,
  withoutLot,
} from '../support/method-lives.ts';
import { requiredPython } from '../support/numpy.ts';
import { sample } from '../support/property.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();
const THIRD = CONFIGURATION.treatments[2] ?? '';

const sealed = (revision: number, change: (sections: Json) => void) =>
  changed(revision, (_, sections) => change(sections));
const picked = (revision: number, change: (pick: Json) => void) =>
  sealed(revision, ({ pick }) => change(pick));
const registered = (change: (data: Json) => void) => changed(0, (record) => change(record.data));
const sizes = (...perSlot: number[]) => sealed(0, ({ blocks }) => Object.assign(blocks, { perSlot }));
const onArm = (revision: number, treatment: string) =>
  sealed(revision, ({ allocation }) => Object.assign(allocation, { treatment }));
const changes = (revision: number, ...list: readonly object[]) => data(revision, { changes: list });

/** With the section under another name, or another one beside it. */
const renamed = (revision: number, from: string, to: string, isKept = false) =>
  changed(revision, (record, sections) => {
    const { salt, ...rest } = sections[from];
    record.seals[to] = '';
    sections[to] = {
      ...rest,
      salt: isKept ? `${salt}`.replace(/^./, (one) => (one === '0' ? '1' : '0')) : salt,
    };
    if (isKept) return;
    delete record.seals[from];
    delete sections[from];
  });
const dropped = (revision: number, name: string) =>
  changed(revision, (record, sections) => {
    delete record.seals[name];
    delete sections[name];
  });
/** As an urn has it, in the form of its section. */
const drawn = (revision: number, isKept = false): Change => {
  const rename = renamed(revision, 'pick', 'draw', isKept);
  return (rows) =>
    sealed(revision, ({ draw }) => {
      const { weights, block: _, ...rest } = draw;
      for (const name of Object.keys(draw)) delete draw[name];
      Object.assign(draw, {
        ...rest,
        balls: weights,
        counts: weights,
        candidates: [SEX],
        selectedFactor: SEX,
      });
    })(rename(rows));
};
const withSizes = changed(0, (record, sections) => {
  record.seals.blocks = '';
  sections.blocks = { perSlot: [1], salt: 'ab'.repeat(16) };
});
const entered = (revision: number, change: object) =>
  sealed(revision, ({ entry }) => Object.assign(entry, change));
const onList = (revision: number, change: (list: Json) => void) =>
  sealed(revision, (sections) => change(sections.list));
/** Its entry at a place, from 1. */
const listed = (revision: number, place: number, change: object) =>
  onList(revision, ({ entries }) => Object.assign(entries[place - 1], change));
const swapped = (revision: number, one: number, other: number) =>
  onList(revision, ({ entries }) => {
    [entries[one - 1], entries[other - 1]] = [entries[other - 1], entries[one - 1]];
  });
const unlisted = (revision: number, count: number) =>
  changed(revision, ({ data: members }, { list }) => {
    list.entries.splice(count);
    members.count = list.entries.length;
  });
const skipping = (revision: number, ...skipped: readonly object[]) => data(revision, { skipped });
/** Whoever does not see the lists finds it later. */
const sooner = (full: number, later: number): Findings => ({ full, open: later, blinded: later });
const withMethod = (method: object) => configured({ method });

describe.skipIf(found === undefined)('both verifiers of a study', () => {
  const bundles = alteredBundles(python, newFolder);
  let blocks: MethodLog;
  let complete: MethodLog;
  let minimized: MethodLog;
  let lists: MethodLog;
  let urns: MethodLog;

  beforeAll(async () => {
    [blocks, complete, minimized, lists, urns] = [
      await makeBlocksLog(newFolder()),
      await makeCompleteLog(newFolder()),
      await makeMinimizationLog(newFolder()),
      await makeListLog(newFolder()),
      await makeUrnLog(newFolder()),
    ];
  });

  it.each(CONTENTS)(
    'accept one with blocks, and one with complete randomization, content %s',
    async (content) => {
      const [one, other] = [
        await bundles.verifyBoth(blocks.files[content]),
        await bundles.verifyBoth(complete.files[content]),
      ];
      expect([one.code, other.code], one.stdout + other.stdout).toEqual([0, 0]);
      expect(one.stdout).toContain('  The study is open; method: blocks; ');
      expect(other.stdout).toContain(
        '  The study is open; method: complete; imported: 0 drawn again, 2 unproven; ',
      );
    },
  );

  const at = BLOCKS_AT;
  it.each<[string, Change, Findings]>([
    ['a weight', picked(at['004'], (pick) => pick.weights[0]++), inFull(at['004'])],
    ['one weight fewer', picked(at['001'], (pick) => pick.weights.pop()), inFull(at['001'])],
    ['a uniform number', picked(at['004'], (pick) => pick.uniform53--), inFull(at['004'])],
    ['the number of a block', picked(at['007'], ({ block }) => block.number--), inFull(at['007'])],
    ['its size', picked(at['002'], ({ block }) => block.perSlot++), inFull(at['002'])],
    ['no block', picked(at['001'], (pick) => delete pick.block), inFull(at['001'])],
    [
      'a slot without a ratio',
      picked(at['001'], (pick) => Object.assign(pick, { slot: 0 })),
      inFull(at['001']),
    ],
    ['no slot', picked(at['009'], (pick) => delete pick.slot), inFull(at['009'])],
    ['another slot', picked(at['009'], (pick) => Object.assign(pick, { slot: 9 })), inFull(at['009'])],
    ['a lot left out', picked(at['001'], withoutLot), inFull(at['001'])],
    ['a closed arm', onArm(at['007'], THIRD), { full: at['007'], open: at['007'], blinded: 'ok' }],
    ['two records, swapped', moved(at['001']), inFull(at['001'])],
    // What blinded eyes see is how many records the recovery kept.
    [
      'one of them, gone',
      gone(at['002']),
      { full: at['003'] - 1, open: at.recovered - 1, blinded: at.recovered - 1 },
    ],
    ['one of them, twice', doubled(at['001']), at['001'] + 1],
    ['`draw` for `pick`', drawn(at['001']), at['001']],
    ['both', drawn(at['001'], true), at['001']],
    ['neither', dropped(at['001'], 'pick'), at['001']],
    ['version 2', version(at['001'], 2), at['001']],
    ['version 4', version(at['001'], 4), at['001']],
    ['version 2 with a draw', (rows) => version(at['001'], 2)(drawn(at['001'])(rows)), at['001']],
    // No draw tells: nothing else takes or moves a place.
    ['no forced entry', gone(at.forced), at.recovered - 1],
    ['no correction', gone(at.corrected), at.recovered - 1],
    ['a level that stays open', gone(at.closed), at.reopened - 1],
    ['no recovery', gone(at.recovered), inFull(at.recovered)],
    ['other sizes', sizes(1, 4), inFull(at['001'])],
    ['sizes in another order', sizes(3, 2), inFull(at.registered)],
    ['a size twice', sizes(2, 2), inFull(at.registered)],
    ['nine sizes', sizes(1, 2, 3, 4, 5, 6, 7, 8, 9), inFull(at.registered)],
    ['no sizes', sizes(), inFull(at.registered)],
    ['a size of no places', sizes(0, 2), inFull(at.registered)],
    ['a size of 101 places', sizes(2, 101), inFull(at.registered)],
    ['blocks without sizes', dropped(at.registered, 'blocks'), at.registered],
    ['version 3 of the registration', version(at.registered, 3), at.registered],
    [
      'no method',
      (rows) => registered(({ configuration }) => delete configuration.method)(rows),
      at.registered,
    ],
    [
      'another algorithm',
      registered(({ algorithm }) => Object.assign(algorithm, { name: 'complete-pcg64' })),
      at.registered,
    ],
    [
      'an unknown algorithm',
      registered(({ algorithm }) => Object.assign(algorithm, { name: 'x' })),
      at.registered,
    ],
    [
      'version 2 of the algorithm',
      registered(({ algorithm }) => Object.assign(algorithm, { version: 2 })),
      at.registered,
    ],
    ['blocks that are kept with other arms', data(at.armClosed, { history: 'keep' }), at.armClosed],
    ['no history', without(at.armClosed, 'history'), at.armClosed],
    ['blocks that are dropped', data(at.closed, { history: 'restart' }), inFull(at['005'])],
    ['blocks that are kept with a ratio', data(at.ratio, { history: 'keep' }), at.ratio],
    ['a reopened arm, kept', (rows) => changes(at.closed, closed(THIRD), reopened(THIRD))(rows), at.closed],
    ['another ratio', changes(at.ratio, ratio(3, 1, 1), reopened(THIRD)), inFull(at['009'])],
    ['an urn, amended', changes(at.closed, urn({ w: 2 })), at.closed],
    ['a factor within which blocks are, retired', changes(at.closed, retired(SITE)), at.closed],
  ])('find what was altered in blocks: %s', async (_, altering, expected) => {
    expect(await bundles.findings(blocks, altering)).toEqual(inEach(expected));
  });

  it.each<[string, object, Findings]>([
    ['over the whole study', { name: 'blocks', by: [] }, inFull(BLOCKS_AT['003'])],
    ['by another factor', { name: 'blocks', by: [SEX] }, inFull(BLOCKS_AT['002'])],
    ['by both', { name: 'blocks', by: [SEX, SITE] }, inFull(BLOCKS_AT['002'])],
    ['by both in another order', { name: 'blocks', by: [SITE, SEX] }, 0],
    ['by no factor of the study', { name: 'blocks', by: ['x'] }, 0],
    ['by one twice', { name: 'blocks', by: [SITE, SITE] }, 0],
    ['without by', { name: 'blocks' }, 0],
    ['of another method', { name: 'complete' }, 0],
    ['of a list', { name: 'list', by: [SITE] }, 0],
    ['of an unknown method', { name: 'coin', by: [] }, 0],
    ['of urns', { name: 'urn' }, 0],
  ])('find another method: %s', async (_, method, expected) => {
    expect(await bundles.findings(blocks, ...withMethod(method))).toEqual(inEach(expected));
  });

  const of = COMPLETE_AT;
  it.each<[string, Change, Findings]>([
    ['a weight', picked(of.n1, (pick) => pick.weights[0]++), inFull(of.n1)],
    ['a uniform number', picked(of.n1, (pick) => pick.uniform53--), inFull(of.n1)],
    [
      'a block',
      picked(of.n1, (pick) => Object.assign(pick, { block: { number: 1, perSlot: 1 } })),
      inFull(of.n1),
    ],
    ['counts', picked(of.n1, (pick) => Object.assign(pick, { counts: [] })), inFull(of.n1)],
    ['no slot', picked(of.n3, (pick) => delete pick.slot), inFull(of.n3)],
    ['no open arm', onArm(of.n2, THIRD), { full: of.n2, open: of.n2, blinded: 'ok' }],
    ['no pack', without(of.n1, 'code'), of.n1],
    ['another pack', data(of.n1, { code: 'P-0' }), inFull(of.n1)],
    ['sizes', withSizes, of.registered],
    ['the history kept with a closed arm', data(of.armClosed, { history: 'restart' }), 'ok'],
    ['the history kept with a ratio', data(of.ratio, { history: 'keep' }), of.ratio],
    ['an import of the reference', data(of.begun, { source: { format: 'reference', rows: 2 } }), of.begun],
    ['with its generator', data(of.begun, { generator: 'continued' }), of.begun],
    ['with a known seed', data(of.begun, { seedKnown: true }), of.begun],
    [
      'settings of urns',
      registered(({ configuration }) => Object.assign(configuration, { w: 1 })),
      of.registered,
    ],
    [
      'a version of its algorithm',
      registered(({ algorithm }) => Object.assign(algorithm, { version: 2 })),
      of.registered,
    ],
  ])('find what was altered in complete randomization: %s', async (_, altering, expected) => {
    expect(await bundles.findings(complete, altering)).toEqual(inEach(expected));
  });

  const by = MINIMIZED_AT;
  const parameters = (change: object) => sealed(0, ({ minimization }) => Object.assign(minimization, change));
  it('accept one with minimization, in every content', async () => {
    for (const content of CONTENTS) {
      const { code, stdout } = await bundles.verifyBoth(minimized.files[content]);
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('; method: minimization');
    }
  });

  it.each<[string, Change, Findings]>([
    ['a weight', picked(by['002'], (pick) => pick.weights[0]++), inFull(by['002'])],
    ['a score', picked(by['003'], (pick) => pick.scores[1]++), inFull(by['003'])],
    ['a count', picked(by['004'], (pick) => pick.counts[1][0]++), inFull(by['004'])],
    ['no counts', picked(by['004'], (pick) => delete pick.counts), inFull(by['004'])],
    [
      'a block',
      picked(by['001'], (pick) => Object.assign(pick, { block: { number: 1, perSlot: 1 } })),
      inFull(by['001']),
    ],
    ['p', parameters({ pThousandths: 801 }), inFull(by['002'])],
    ['a p that nobody can have', parameters({ pThousandths: 500 }), inFull(0)],
    ['the measure', parameters({ measure: 'variance' }), inFull(by['001'])],
    ['weights', parameters({ weights: [2, 1] }), inFull(by['002'])],
    ['weights with a divisor', parameters({ weights: [2, 4] }), inFull(0)],
    ['equal weights', parameters({ weights: [1, 1] }), inFull(0)],
    ['a weight too few', parameters({ weights: [3] }), inFull(0)],
    ['no parameters', dropped(0, 'minimization'), 0],
    ['sizes, too', withSizes, 0],
    ['an arm that goes on', data(by.reopened, { history: 'keep' }), inFull(by['006'])],
    ['an urn', changes(by.reopened, urn({ w: 2 })), by.reopened],
  ])('find what was altered in minimization: %s', async (_, altering, expected) => {
    expect(await bundles.findings(minimized, altering)).toEqual(inEach(expected));
  });

  const on = LIST_AT;
  it.each(CONTENTS)('accept one with lists, and warn of them, content %s', async (content) => {
    const { code, stdout, own } = await bundles.verifyBoth(lists.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('  The study is open; method: list; imported: 0 drawn again, 2 unproven; ');
    expect(stdout).not.toContain('certain');
    const warnings = stdout.split('\n').filter((line) => line.startsWith('WARNING'));
    // The one in Python tells of a recovery beside the stream.
    expect(warningLines(own)).toEqual([...warnings, expect.stringContaining('recovery 1 of the log')]);
    expect(own.report?.streams.at(-1)?.warnings).toContainEqual(
      expect.objectContaining({ code: 'list-origin-unknown', count: 3, revision: on.first }),
    );
  });

  it.each<[string, Change, Findings]>([
    ['the number of an entry', entered(on['001'], { entry: 5 }), inFull(on['001'])],
    ['an entry of another stratum', entered(on['001'], { entry: 4 }), inFull(on['001'])],
    ['the number of its list', entered(on['005'], { list: 1 }), inFull(on['005'])],
    ['a member besides', entered(on['001'], { treatment: DUPAGE }), inFull(on['001'])],
    ['the arm', onArm(on['001'], THIRD), inFull(on['001'])],
    ['a closed arm', onArm(on['006'], THIRD), { full: on['006'], open: on['006'], blinded: 'ok' }],
    ['two records of a stratum, swapped', moved(on['004']), inFull(on['004'])],
    ['one of them, gone', gone(on['006']), inFull(on['007'] - 1)],
    ['one of them, twice', doubled(on['001']), on['001'] + 1],
    ['`pick` for `entry`', renamed(on['001'], 'entry', 'pick'), on['001']],
    ['both', renamed(on['001'], 'entry', 'pick', true), on['001']],
    ['neither', dropped(on['001'], 'entry'), on['001']],
    ['version 2', version(on['001'], 2), on['001']],
    // Nothing else uses or frees an entry.
    ['no forced entry', gone(on.forced), on.recovered - 1],
    ['no correction', gone(on.corrected), on.recovered - 1],
  ])('find what was altered in an entry of a list: %s', async (_, altering, expected) => {
    expect(await bundles.findings(lists, altering)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['an arm', listed(on.first, 5, { treatment: DUPAGE }), inFull(on.first)],
    ['another arm', listed(on.first, 5, { treatment: CONFIGURATION.treatments[0] }), inFull(on['003'])],
    ['a closed arm', listed(on.third, 3, { treatment: THIRD }), inFull(on.third)],
    ['a level', listed(on.first, 4, { levels: [COOK] }), inFull(on['002'])],
    ['an unknown level', listed(on.first, 7, { levels: ['x'] }), inFull(on.first)],
    ['a level of now, in an earlier list', listed(on.third, 3, { levels: ['x'] }), inFull(on.third)],
    ['two levels', listed(on.first, 7, { levels: [COOK, COOK] }), inFull(on.first)],
    ['no levels', onList(on.first, ({ entries }) => delete entries[6].levels), inFull(on.first)],
    ['two entries of a stratum, swapped', swapped(on.first, 3, 5), inFull(on['001'])],
    ['two entries of two strata, swapped', swapped(on.first, 4, 5), inFull(on['002'])],
    ['an entry fewer', unlisted(on.first, 6), inFull(on.second)],
    ['its last entry', unlisted(on.third, 2), 'ok'],
    ['its last entries', unlisted(on.third, 1), on['007']],
    ['no entries', unlisted(on.first, 0), on.first],
    ['the first row', onList(on.first, (one) => Object.assign(one, { first: 2 })), inFull(on.first)],
    ['the next row', onList(on.second, (one) => one.first++), inFull(on.second)],
    [
      'another file',
      onList(on.second, (one) => Object.assign(one, { file: 'a'.repeat(64) })),
      inFull(on.second),
    ],
    ['no digest', onList(on.first, (one) => Object.assign(one, { file: 'a' })), inFull(on.first)],
    ['one entry more', data(on.first, { count: 8 }), inFull(on.first)],
    // Two are skipped, and one is left.
    ['too few entries', data(on.first, { count: 3 }), sooner(on.first, on['002'])],
    ['too many entries', data(on.first, { count: 4001 }), on.first],
    ['its number', data(on.second, { list: 3 }), on.second],
    ['the number before', data(on.third, { list: 1 }), on.third],
    ['no approval', data(on.first, { approvals: [] }), on.first],
    ['a list by a key', (rows) => byActor(on.first, lists.actors.nurse)(rows), on.first],
    ['version 2', version(on.first, 2), on.first],
    ['a list that comes too late', moved(on.third), on.third],
    // What tells is how many records the recovery kept.
    ['no second list', gone(on.second), on.recovered - 1],
    ['a list twice', doubled(on.first), on.first + 1],
  ])('find what was altered in a list: %s', async (_, altering, expected) => {
    expect(await bundles.findings(lists, altering)).toEqual(inEach(expected));
  });

  const one = { levels: [DUPAGE], count: 1 };
  it.each<[string, Change, Findings]>([
    ['no skip', gone(on.skipped), on.skipped],
    ['no skip behind a recovery', gone(on.none), on.none],
    ['somebody before it', moved(on.skipped), on.skipped],
    ['somebody before it, behind a recovery', moved(on.none), on.none],
    ['one that is not owed', doubled(on.skipped), on.skipped + 1],
    ['one entry more', skipping(on.skipped, { levels: [COOK], count: 2 }, one), inFull(on['001'])],
    ['nothing', skipping(on.skipped), inFull(on['001'])],
    ['one of the strata', skipping(on.skipped, one), inFull(on['001'])],
    ['something in place of nothing', skipping(on.none, one), 'ok'],
    ['something of those who come', skipping(on.none, { levels: [COOK], count: 1 }), inFull(on['004'])],
    [
      'more than a stratum has',
      skipping(on.skipped, { levels: [COOK], count: 5 }, one),
      sooner(on.skipped, on['002']),
    ],
    ['more than all have', skipping(on.skipped, { levels: [COOK], count: 7 }, one), on.skipped],
    ['an unknown level', skipping(on.skipped, { levels: ['x'], count: 1 }), on.skipped],
    ['two levels', skipping(on.skipped, { levels: [COOK, COOK], count: 1 }), on.skipped],
    ['no levels', skipping(on.skipped, { count: 1 }), on.skipped],
    ['a stratum twice', skipping(on.skipped, one, one), on.skipped],
    ['a count of none', skipping(on.skipped, { levels: [COOK], count: 0 }), on.skipped],
    ['no reason', without(on.skipped, 'reason'), on.skipped],
    ['a skip by a key', (rows) => byActor(on.skipped, lists.actors.nurse)(rows), on.skipped],
    ['a list that is kept with other arms', data(on.armClosed, { history: 'keep' }), on.armClosed],
    ['entries that are void', data(on.renamed, { history: 'restart' }), on['007']],
    ['a ratio', changes(on.renamed, ratio(2, 1, 1)), on.renamed],
    ['an arm with a ratio', changes(on.armClosed, { ...added('D'), ratio: 2 }), on.armClosed],
    ['an urn', changes(on.renamed, urn({ w: 2 })), on.renamed],
    ['the factor of its strata, retired', changes(on.renamed, retired(SITE)), on.renamed],
    [
      'a seed that somebody chose',
      registered((members) => Object.assign(members, { seedSource: 'configured' })),
      on.registered,
    ],
    [
      'a ratio from the beginning',
      registered(({ configuration }) => Object.assign(configuration, { ratio: [2, 1, 1] })),
      on.registered,
    ],
    [
      'another algorithm',
      registered(({ algorithm }) => Object.assign(algorithm, { name: 'complete-pcg64' })),
      on.registered,
    ],
    ['sizes', withSizes, on.registered],
  ])('find what was altered in a study with lists: %s', async (_, altering, expected) => {
    expect(await bundles.findings(lists, altering)).toEqual(inEach(expected));
  });

  it.each<[string, object, Findings]>([
    ['over the whole study', { name: 'list', by: [] }, sooner(on.first, on.skipped)],
    ['by another factor', { name: 'list', by: [SEX] }, sooner(on.first, on.skipped)],
    ['by no factor of the study', { name: 'list', by: ['x'] }, on.registered],
    ['without by', { name: 'list' }, on.registered],
    ['of another method', { name: 'blocks', by: [SITE] }, on.registered],
  ])('find other strata of a list: %s', async (_, method, expected) => {
    expect(await bundles.findings(lists, ...withMethod(method))).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['version 4 of its registration', version(0, 4), 0],
    ['sizes', (rows) => version(0, 4)(withSizes(rows)), 0],
    [
      'another algorithm',
      (rows) =>
        version(
          0,
          4,
        )(registered(({ algorithm }) => Object.assign(algorithm, { name: 'complete-pcg64' }))(rows)),
      0,
    ],
    ['version 3 of a draw', version(1, 3), 1],
  ])('find in an urn what belongs to another method: %s', async (_, altering, expected) => {
    expect(await bundles.findings(urns, altering)).toEqual(inEach(expected));
  });

  const LIVES: readonly [string, MethodStudy][] = [
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
  const seeds = sample(fc.nat(), LIVES.length);

  it.each(LIVES.map(([name, study], n) => [name, study, seeds[n] ?? 0] as const))(
    'say the same of any life: %s',
    async (_, study, seed) => {
      const life = await makeMethodLife(newFolder(), study, seed);
      const text = [];
      for (const content of CONTENTS) {
        const { code, stdout, own } = await bundles.verifyBoth(life.files[content]);
        expect(code, stdout).toBe(0);
        text.push(stdout, own.text);
      }
      // Both count the draws with one possible arm, where they are shown.
      const certain = text.map((one) => /; certain: ([^;]*);/.exec(one)?.[1]);
      expect(certain).toEqual([certain[1], certain[0], undefined, undefined, undefined, undefined]);
      const choices = choicesOf(seed);
      const rows = BundleFiles.unpack(python, life.files.full).rows(life.stream);
      const typed = rows.map(({ record, revision }) => ({ type: JSON.parse(`${record}`).type, revision }));
      const alterable = typed.filter(({ type }) => Object.hasOwn(CHANGES, type));
      for (let i = 0; i < 6; i++) {
        const { type, revision } = choices.pick(alterable);
        const [name, altering] = choices.pick(CHANGES[type]?.(revision, choices, study) ?? []);
        const findings = await bundles.findings(life, altering).catch((error: Error) => {
          throw new Error(`${name} at revision ${revision}: ${error.message}`);
        });
        // Whoever sees more finds no less, and no later.
        const order = findings.map((one) => (one === 'ok' ? Number.POSITIVE_INFINITY : Number(one)));
        expect(order, name).toEqual(order.toSorted((a, b) => a - b));
        if (type === 'ParticipantRandomized' && name !== 'its place')
          expect(findings[0], name).toBe(revision);
      }
    },
  );
});

/** What somebody could alter, by the type of the record. */
const CHANGES: Readonly<
  Record<string, (revision: number, choices: Choices, study: MethodStudy) => [string, Change][]>
> = {
  ParticipantRandomized: (revision, choices, { configuration }) => [
    ...('method' in configuration && configuration.method.name === 'list'
      ? ofEntry(revision)
      : ofDraw(revision, choices)),
    ['treatment', onArm(revision, `${choices.pick(['x', DUPAGE])}`)],
    ['version', version(revision, choices.pick([1, 2, 4]))],
    ['its place', gone(revision)],
  ],
  ListRegistered: (revision, choices) => [
    ['arm of a list', listed(revision, 1, { treatment: choices.pick(CONFIGURATION.treatments) })],
    ['a list, swapped', onList(revision, ({ entries }) => entries.reverse())],
    ['first', onList(revision, (list) => list.first++)],
    ['count', changed(revision, (record) => (record.data.count += choices.pick([-1, 1])))],
    ['a list, shortened', unlisted(revision, 1)],
    ['its number', changed(revision, (record) => record.data.list++)],
    ['place of a list', choices.pick([gone, moved])(revision)],
  ],
  EntriesSkipped: (revision, choices) => [
    ['no skip', gone(revision)],
    ['place of a skip', moved(revision)],
    ['nothing skipped', skipping(revision)],
    [
      'skipped',
      changed(revision, ({ data: { skipped } }) => {
        for (const one of skipped) one.count += choices.between(1, 4);
      }),
    ],
  ],
};

function ofDraw(revision: number, choices: Choices): [string, Change][] {
  return [
    ['weights', picked(revision, ({ weights }) => weights[choices.between(0, weights.length - 1)]++)],
    ['uniform53', picked(revision, (pick) => pick.uniform53++)],
    ['slot', picked(revision, (pick) => Object.assign(pick, { slot: (pick.slot ?? -1) + 1 }))],
    ['block', picked(revision, (pick) => Object.assign(pick, { block: { number: 99, perSlot: 1 } }))],
    ['section', drawn(revision)],
  ];
}

function ofEntry(revision: number): [string, Change][] {
  return [
    ['entry', sealed(revision, ({ entry }) => entry.entry++)],
    ['list', sealed(revision, ({ entry }) => entry.list++)],
    ['section', renamed(revision, 'entry', 'pick')],
  ];
}
