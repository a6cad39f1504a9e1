/** The amendment that a studies file asks for. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyConfiguration } from '../../../events/study.ts';
import { changedDesign, type Design, registeredDesign } from '../../../projections/design.ts';
import { changesTo, type LevelRenamed } from '../../../src/core/configuration/changes.ts';
import { configurationDifferences, type StudyInFile } from '../../../src/core/configuration/differences.ts';
import { amendmentOf, amendmentProblem } from '../../../src/core/study/amendments.ts';
import { check } from '../../support/property.ts';

const configuration: StudyConfiguration = {
  ...{ name: 'S', mode: 'test', D: 'range', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 },
  treatments: ['A', 'B'],
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels: ['1', '2', '3'] },
  ],
  limits: { total: 300, levels: [{ factor: 'site', level: '2', max: 20 }] },
};
const registered = { configuration, seed: '4242', seedSource: 'drawn' } as const;
const design = registeredDesign(configuration);

const fileWith = (change: Partial<StudyConfiguration>, more: Partial<StudyInFile> = {}): StudyInFile => ({
  ...{ configuration: { ...configuration, ...change }, levelCounts: undefined, seed: undefined },
  ...more,
});
const sites = (...levels: string[]) => ({
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'site', levels },
  ],
});
const limit = (level: string, max: number) => ({ factor: 'site', level, max });
const site = (kind: 'level-added' | 'level-closed' | 'level-reopened', level: string) => ({
  ...{ kind, factor: 'site', level },
});
const renaming = (level: string, to: string): LevelRenamed => ({
  ...{ kind: 'level-renamed', factor: 'site', level, to },
});

const asked = (file: StudyInFile, renamings: LevelRenamed[] = [], from: Design = design) =>
  changesTo(file, registered, from, renamings);

describe('the changes that a file asks for', () => {
  it('add levels before they close others, and keep the limits of closed levels', () => {
    const limits = { total: 300 };
    expect(asked(fileWith({ ...sites('5', '1', '3', '4'), limits }))).toEqual([
      site('level-added', '5'),
      site('level-added', '4'),
      site('level-closed', '2'),
    ]);
  });

  it('reopen what the file lists again, with the limit that the file gives', () => {
    const closed = changedDesign(design, site('level-closed', '2'));
    expect(asked(fileWith({}), [], closed)).toEqual([site('level-reopened', '2')]);
    expect(asked(fileWith({ limits: { total: 300 } }), [], closed)).toEqual([
      site('level-reopened', '2'),
      { kind: 'limits', value: { total: 300 } },
    ]);
  });

  it('rename only the levels they are told to, as a renaming looks like two levels', () => {
    const limits = { total: 300, levels: [limit('Two', 20)] };
    const file = fileWith({ ...sites('1', 'Two', '3'), limits });
    expect(asked(file, [renaming('2', 'Two')])).toEqual([renaming('2', 'Two')]);
    expect(asked(file)).toEqual([
      site('level-added', 'Two'),
      site('level-closed', '2'),
      { kind: 'limits', value: { total: 300, levels: [limit('2', 20), limit('Two', 20)] } },
    ]);
  });

  it('list limits in the order of the design, and have no value for a removed setting', () => {
    const levels = [limit('3', 5), limit('1', 7)];
    expect(asked(fileWith({ limits: { levels }, idPattern: '[0-9]+' }))).toEqual([
      { kind: 'limits', value: { levels: [limit('1', 7), limit('3', 5)] } },
      { kind: 'id-pattern', value: '[0-9]+' },
    ]);
    const { limits: _, ...without } = configuration;
    const patterned = { ...design, idPattern: '[0-9]+', target: 9 };
    expect(asked({ ...fileWith({}), configuration: without }, [], patterned)).toEqual([
      { kind: 'limits' },
      { kind: 'id-pattern' },
      { kind: 'target' },
    ]);
  });

  it('change the blinding without a policy, and a policy only if it differs', () => {
    expect(asked(fileWith({ blinding: 'blinded', targetEnrollment: 400 }))).toEqual([
      { kind: 'target', value: 400 },
      { kind: 'blinding', value: 'blinded' },
    ]);
    const policies = { stopAtLimit: true, voidCounts: 'removed' } as const;
    expect(asked(fileWith({ policies }, { levelCounts: 'as-corrected' }))).toEqual([
      { kind: 'policy', name: 'stopAtLimit', value: true },
      { kind: 'policy', name: 'levelCounts', value: 'as-corrected' },
      { kind: 'policy', name: 'voidCounts', value: 'removed' },
    ]);
  });

  it('leave out what no amendment can change, so the file still differs', () => {
    const file = fileWith({ ...sites('2', '1', '3', '4'), treatments: ['B', 'A'], mode: 'live' });
    const changes = asked(file);
    expect(changes).toEqual([site('level-added', '4')]);
    const after = changes.reduce(changedDesign, design);
    expect(configurationDifferences(registered, after, file).map(({ what }) => what)).toEqual([
      ...['mode', 'treatments', 'factors.site'],
    ]);
    const factor = { name: 'age', levels: ['<18'] };
    expect(asked(fileWith({ factors: [...configuration.factors, factor] }))).toEqual([]);
  });

  it('are one change with all visits or with none, before an arm with the name of a former visit', () => {
    const visited = { ...design, visits: ['V2', 'V3'] };
    const ask = (more: Partial<StudyConfiguration>) => asked(fileWith(more), [], visited);
    expect(ask({ visits: ['V2', 'V3'] })).toEqual([]);
    expect(ask({})).toEqual([{ kind: 'visits', value: [] }]);
    expect(ask({ visits: ['V2', 'V4'], treatments: ['A', 'B', 'V3'] })).toEqual([
      { kind: 'visits', value: ['V2', 'V4'] },
      { kind: 'arm-added', treatment: 'V3' },
    ]);
  });
});

describe('the changes of arms, urns and factors that a file asks for', () => {
  const arm = (kind: 'arm-added' | 'arm-closed' | 'arm-reopened', treatment: string) => ({ kind, treatment });
  const inRatio = registeredDesign({ ...configuration, treatments: ['A', 'B', 'C'], ratio: [2, 1, 3] });

  it('close arms last, and reopen them', () => {
    expect(asked(fileWith({ treatments: ['C', 'B'] }))).toEqual([
      arm('arm-added', 'C'),
      arm('arm-closed', 'A'),
    ]);
    const closed = changedDesign(design, arm('arm-closed', 'A'));
    expect(asked(fileWith({}), [], closed)).toEqual([arm('arm-reopened', 'A')]);
    expect(asked(fileWith({ treatments: ['A', 'C'], idPattern: '[0-9]+' }))).toEqual([
      arm('arm-added', 'C'),
      { kind: 'id-pattern', value: '[0-9]+' },
      arm('arm-closed', 'B'),
    ]);
  });

  it('add an arm with its number of slots, if the others keep theirs', () => {
    expect(asked(fileWith({ treatments: ['A', 'B', 'C'], ratio: [1, 1, 2] }))).toEqual([
      { ...arm('arm-added', 'C'), ratio: 2 },
    ]);
    expect(asked(fileWith({ treatments: ['C', 'A', 'B'], ratio: [2, 3, 1] }))).toEqual([
      arm('arm-added', 'C'),
      { kind: 'ratio', value: [3, 1, 2] },
    ]);
  });

  it('list every arm in a new ratio, closed ones with their present number', () => {
    const closed = changedDesign(inRatio, arm('arm-closed', 'C'));
    const treatments = ['A', 'B'];
    expect(asked(fileWith({ treatments, ratio: [2, 1] }), [], closed)).toEqual([]);
    expect(asked(fileWith({ treatments, ratio: [4, 1] }), [], closed)).toEqual([
      { kind: 'ratio', value: [4, 1, 3] },
    ]);
    expect(asked(fileWith({ treatments }), [], closed)).toEqual([{ kind: 'ratio', value: [1, 1, 3] }]);
  });

  it('name only the numbers of the urns that differ', () => {
    expect(asked(fileWith({ w: 2, D: 'variance' }))).toEqual([{ kind: 'urn', w: 2, D: 'variance' }]);
    expect(asked(fileWith({ alpha: 1, beta: 3 }))).toEqual([{ kind: 'urn', alpha: 1, beta: 3 }]);
  });

  it('retire a factor that the file omits, and keep its limits', () => {
    const file = fileWith({ factors: [{ name: 'sex', levels: ['Male', 'Female'] }], limits: { total: 300 } });
    expect(asked(file)).toEqual([{ kind: 'factor-retired', factor: 'site' }]);
    const retired = changedDesign(design, { kind: 'factor-retired', factor: 'site' });
    expect(asked(file, [], retired)).toEqual([]);
    // A retired factor never returns.
    expect(asked(fileWith({}), [], retired)).toEqual([]);
  });
});

describe('any file that amendments can follow', () => {
  /** Levels of the registration keep their order; others may be anywhere. */
  const levels = fc
    .tuple(fc.subarray(['1', '2', '3']), fc.uniqueArray(fc.constantFrom('4', '5', '6')), fc.nat(3))
    .filter(([first, added]) => first.length + added.length > 0)
    .map(([first, added, at]) => first.toSpliced(at, 0, ...added));
  const limits = (of: readonly string[]) =>
    fc.record({
      total: fc.integer({ min: 1, max: 500 }),
      levels: fc
        .tuple(fc.subarray([...of], { minLength: 1 }), fc.integer({ min: 1, max: 50 }))
        .map(([some, max]) => some.map((level) => limit(level, max))),
    });
  const file = levels.chain((of) =>
    fc
      .record({
        limits: limits(of),
        idPattern: fc.option(fc.constant('[0-9]{3}'), { nil: undefined }),
        targetEnrollment: fc.option(fc.nat(900), { nil: undefined }),
        blinding: fc.constantFrom('blinded' as const, undefined),
        levelCounts: fc.constantFrom('as-corrected' as const, 'as-randomized' as const, undefined),
      })
      .map(({ levelCounts, ...settings }) => {
        const stated = Object.entries(settings).filter(([, value]) => value !== undefined);
        return fileWith({ ...sites(...of), ...Object.fromEntries(stated) }, { levelCounts });
      }),
  );

  /** Possible changes of arms and urns. Arms of the registration keep their order; others may be anywhere. */
  const urns = fc
    .record({
      first: fc.subarray(['A', 'B']),
      added: fc.uniqueArray(fc.constantFrom('C', 'D', 'E')),
      at: fc.nat(2),
      shares: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 5, maxLength: 5 }),
      numbers: fc.record({
        w: fc.integer({ min: 1, max: 2 }),
        alpha: fc.nat(1),
        beta: fc.integer({ min: 1, max: 2 }),
        D: fc.constantFrom('range' as const, 'variance' as const),
      }),
    })
    .filter(({ first, added }) => first.length + added.length > 1)
    .map(({ first, added, at, shares, numbers }) => {
      const treatments = first.toSpliced(at, 0, ...added);
      const ratio = shares.slice(0, treatments.length);
      return { treatments, ...numbers, ...(ratio.some((share) => share > 1) && { ratio }) };
    });

  const follows = (files: readonly StudyInFile[], isPossible: (problem: object) => boolean = () => false) => {
    let now = design;
    for (const [i, wanted] of files.entries()) {
      const changes = changesTo(wanted, registered, now, []);
      const fact = amendmentOf(
        {
          ...{ type: 'amend', user: 'u', amendment: i + 1, changes, reason: 'x', approvals: [] },
          protocol: { version: String(i) },
        },
        now,
      );
      const problem = amendmentProblem(now, fact);
      if (problem && isPossible(problem)) continue;
      expect(problem).toBeUndefined();
      now = changes.reduce(changedDesign, now);
      expect(configurationDifferences(registered, now, wanted)).toEqual([]);
      expect(changesTo(wanted, registered, now, [])).toEqual([]);
    }
  };

  it('matches the design afterwards, and asks for nothing more', () => {
    check(fc.property(fc.array(file, { minLength: 1, maxLength: 4 }), (files) => follows(files)));
  });

  it('matches the design afterwards if it changes arms, ratio, urns and levels at once', () => {
    const wished = fc
      .tuple(file, urns)
      .map(([one, changed]) => ({ ...one, configuration: { ...one.configuration, ...changed } }));
    // If the file leaves out arms, the numbers of a ratio may have a common divisor.
    const isDivisible = (problem: object) => JSON.stringify(problem).includes('can be divided');
    check(
      fc.property(fc.array(wished, { minLength: 1, maxLength: 4 }), (files) => follows(files, isDivisible)),
    );
  });

  it('matches the design afterwards if it retires a factor', () => {
    check(
      fc.property(file, urns, fc.boolean(), (one, changed, isFirst) => {
        const factors = one.configuration.factors.slice(isFirst ? 1 : 0, isFirst ? 2 : 1);
        const limits = isFirst ? one.configuration.limits : { total: 9 };
        follows(
          [one, { ...one, configuration: { ...one.configuration, ...changed, factors, limits } }],
          (problem) => JSON.stringify(problem).includes('can be divided'),
        );
      }),
    );
  });
});
