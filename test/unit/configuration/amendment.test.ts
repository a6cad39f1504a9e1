/** The amendment that a studies file asks for. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DesignChange, StudyConfiguration } from '../../../events/study.ts';
import { changesTo, type LevelRenamed } from '../../../src/core/configuration/amendment.ts';
import { configurationDifferences, type StudyInFile } from '../../../src/core/configuration/differences.ts';
import { changedDesign, registeredDesign } from '../../../src/core/model/design.ts';
import { amendmentOf, amendmentProblem } from '../../../src/core/study/amendments.ts';
import { added, amend, closed, ratio, reopened, retired } from '../../support/arbitrary-life.ts';
import { ASKED } from '../../support/facts.ts';
import { levelsOf, visits } from '../../support/life.ts';
import { check } from '../../support/property.ts';
import { fileOf, sites } from './support.ts';

const configuration: StudyConfiguration = {
  ...{ name: 'S', mode: 'test', D: 'range', urnSelection: 'method1', w: 1, alpha: 0, beta: 1 },
  treatments: ['A', 'B'],
  ...sites('1', '2', '3'),
  limits: { total: 300, levels: [{ factor: 'site', level: '2', max: 20 }] },
};
const registered = { configuration, seed: '4242', seedSource: 'drawn' } as const;
const design = registeredDesign(configuration);

const fileWith = fileOf(configuration);
const limit = (level: string, max: number) => ({ factor: 'site', level, max });
const limits = (value?: object) => ({ kind: 'limits', ...(value && { value }) }) as DesignChange;
const site = levelsOf('site');
const pattern = { kind: 'id-pattern', value: '[0-9]+' } as const;
const toTwo: LevelRenamed = { kind: 'level-renamed', factor: 'site', level: '2', to: 'Two' };
const { limits: _, ...withoutLimits } = configuration;

const unlimited = { limits: { total: 300 } };
const two = fileWith({ ...sites('1', 'Two', '3'), limits: { total: 300, levels: [limit('Two', 20)] } });
const bothLimits = { total: 300, levels: [limit('2', 20), limit('Two', 20)] };
const policies = { stopAtLimit: true, voidCounts: 'removed' } as const;
const { factors: others } = sites('2', '1', '3', '4');
const slots = [added('C'), ratio(2, 1, 3), closed('C')];

it.each<[what: string, StudyInFile, DesignChange[], since?: DesignChange[], renamings?: LevelRenamed[]]>([
  [
    'add levels before they close others, and keep the limits of closed levels',
    fileWith({ ...sites('5', '1', '3', '4'), ...unlimited }),
    [site.added('5'), site.added('4'), site.closed('2')],
  ],
  [
    'reopen what the file lists again, with the limit that the file gives',
    fileWith(unlimited),
    [site.reopened('2'), limits({ total: 300 })],
    [site.closed('2')],
  ],
  ['rename the levels they are told to', two, [toTwo], [], [toTwo]],
  ['see two levels in a renaming', two, [site.added('Two'), site.closed('2'), limits(bothLimits)]],
  [
    'list limits in the order of the design',
    fileWith({ limits: { levels: [limit('3', 5), limit('1', 7)] }, idPattern: '[0-9]+' }),
    [limits({ levels: [limit('1', 7), limit('3', 5)] }), pattern],
  ],
  [
    'have no value for a removed setting',
    { ...fileWith({}), configuration: withoutLimits },
    [limits(), { kind: 'id-pattern' }, { kind: 'target' }],
    [pattern, { kind: 'target', value: 9 }],
  ],
  [
    'change policies that differ',
    fileWith({ policies }, { levelCounts: 'as-corrected' }),
    [
      { kind: 'policy', name: 'stopAtLimit', value: true },
      { kind: 'policy', name: 'levelCounts', value: 'as-corrected' },
      { kind: 'policy', name: 'voidCounts', value: 'removed' },
    ],
  ],
  [
    'leave out what no amendment can change',
    fileWith({
      factors: [...others, { name: 'age', levels: ['<18'] }],
      treatments: ['B', 'A'],
      mode: 'live',
    }),
    [site.added('4')],
  ],
  ['leave visits as they are', fileWith({ visits: ['V2', 'V3'] }), [], [visits('V2', 'V3')]],
  ['take all visits away', fileWith({}), [visits()], [visits('V2', 'V3')]],
  [
    'free the name of a former visit for an arm',
    fileWith({ visits: ['V2', 'V4'], treatments: ['A', 'B', 'V3'] }),
    [visits('V2', 'V4'), added('V3')],
    [visits('V2', 'V3')],
  ],
  [
    'close arms last',
    fileWith({ treatments: ['C', 'B'], idPattern: '[0-9]+' }),
    [added('C'), pattern, closed('A')],
  ],
  ['reopen arms', fileWith({}), [reopened('A')], [closed('A')]],
  [
    'add an arm with its number of slots, if the others keep theirs',
    fileWith({ treatments: ['A', 'B', 'C'], ratio: [1, 1, 2] }),
    [added('C', { ratio: 2 })],
  ],
  [
    'change the ratio, if they do not',
    fileWith({ treatments: ['C', 'A', 'B'], ratio: [2, 3, 1] }),
    [added('C'), ratio(3, 1, 2)],
  ],
  ['keep the slots of a closed arm', fileWith({ ratio: [2, 1] }), [], slots],
  ['list them in a new ratio', fileWith({ ratio: [4, 1] }), [ratio(4, 1, 3)], slots],
  ['list them when a ratio ends', fileWith({}), [ratio(1, 1, 3)], slots],
  ['name the numbers that differ', fileWith({ w: 2, D: 'variance' }), [{ kind: 'urn', w: 2, D: 'variance' }]],
  [
    'retire a factor that the file omits, and keep its limits',
    fileWith({ factors: configuration.factors.slice(0, 1), ...unlimited }),
    [retired('site')],
  ],
  ['bring a retired factor never back', fileWith({}), [], [retired('site')]],
])('the changes that a file asks for %s', (_what, file, expected, since = [], renamings = []) => {
  const from = since.reduce(changedDesign, design);
  expect(changesTo(file, registered, from, renamings)).toEqual(expected);
});

describe('any file that amendments can follow', () => {
  /** Levels of the registration keep their order; others may be anywhere. */
  const levels = fc
    .tuple(fc.subarray(['1', '2', '3']), fc.uniqueArray(fc.constantFrom('4', '5', '6')), fc.nat(3))
    .filter(([first, added]) => first.length + added.length > 0)
    .map(([first, added, at]) => first.toSpliced(at, 0, ...added));
  const limitsOf = (of: readonly string[]) =>
    fc.record({
      total: fc.integer({ min: 1, max: 500 }),
      levels: fc
        .tuple(fc.subarray([...of], { minLength: 1 }), fc.integer({ min: 1, max: 50 }))
        .map(([some, max]) => some.map((level) => limit(level, max))),
    });
  const file = levels.chain((of) =>
    fc
      .record({
        limits: limitsOf(of),
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

  const follows = (files: readonly StudyInFile[]) => {
    let now = design;
    for (const [i, wanted] of files.entries()) {
      const changes = changesTo(wanted, registered, now, []);
      const fact = amendmentOf(amend(changes, i + 1, { protocol: { version: String(i) } }), now);
      const problem = amendmentProblem(now, fact, ASKED.at);
      // If the file leaves out arms, the numbers of a ratio may have a common divisor.
      if (problem && JSON.stringify(problem).includes('can be divided')) continue;
      expect(problem).toBeUndefined();
      now = changes.reduce(changedDesign, now);
      expect(configurationDifferences(registered, now, wanted)).toEqual([]);
      expect(changesTo(wanted, registered, now, [])).toEqual([]);
    }
  };

  it('matches the design afterwards, and asks for nothing more, also of arms and urns', () => {
    const wished = fc
      .tuple(file, fc.option(urns, { nil: {} }))
      .map(([one, changed]) => ({ ...one, configuration: { ...one.configuration, ...changed } }));
    check(fc.property(fc.array(wished, { minLength: 1, maxLength: 4 }), follows));
  });

  it('matches the design afterwards if it retires a factor', () => {
    check(
      fc.property(file, urns, fc.boolean(), (one, changed, isFirst) => {
        const factors = one.configuration.factors.slice(isFirst ? 1 : 0, isFirst ? 2 : 1);
        const within = isFirst ? one.configuration.limits : { total: 9 };
        follows([
          one,
          { ...one, configuration: { ...one.configuration, ...changed, factors, limits: within } },
        ]);
      }),
    );
  });
});
