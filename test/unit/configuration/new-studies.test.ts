import { describe, expect, it } from 'vitest';
import { StudiesFileError } from '../../../src/core/configuration/finding.ts';
import { refuseNewStudies } from '../../../src/core/configuration/new-studies.ts';
import { bareStudy, onlyStudyOf, studyWith } from './support.ts';

const looksAhead = onlyStudyOf(studyWith("id_pattern: '(?!0)[0-9]{3}'"));

describe('an id pattern that RE2 cannot run', () => {
  it('is refused for a new study, with its line number and a hint', () => {
    const refuse = () => refuseNewStudies([looksAhead], () => true, []);
    expect(refuse).toThrow(StudiesFileError);
    expect(refuse).toThrow(
      /^the studies file is refused:\n {2}studies\.yaml:4: study "S": id_pattern has \(\? before .*, which a new study cannot have \(hint: groups are .*\)$/,
    );
  });

  it('is kept for a study that was registered with it', () => {
    expect(looksAhead.configuration.idPattern).toBe('(?!0)[0-9]{3}');
    expect(() => refuseNewStudies([looksAhead], (name) => name !== 'S', [])).not.toThrow();
    expect(onlyStudyOf(studyWith("id_pattern: '[0-9]{3}'")).refusedIfNew).toEqual([]);
  });
});

describe('the ratio of a new study', () => {
  it.each([
    ['must be in its lowest terms', '[4, 2, 2]', '[2, 1, 1]', 'all its numbers can be divided by 2'],
    ['has at most 40 slots', '[20, 20, 1]', '[20, 19, 1]', 'there would be 41 slots'],
  ])('%s', (_, impossible, possible, why) => {
    const study = (ratio: string) =>
      onlyStudyOf(bareStudy('treatments: [A, B, C]', `ratio: ${ratio}`, 'factors: {sex: [M, F]}'));
    expect(() => refuseNewStudies([study(impossible)], () => true, [])).toThrow(
      `studies.yaml:3: study "S": the ratio is not possible: ${why}`,
    );
    expect(refuseNewStudies([study(possible)], () => true, [])).toEqual([]);
    // In a registered study it may be the ratio in force for the arms that are still open.
    expect(refuseNewStudies([study(impossible)], () => false, [])).toEqual([]);
  });
});

describe('a seed that another study has', () => {
  const SEED = 2n ** 100n;
  const configured = (mode: string) => onlyStudyOf(studyWith(`mode: ${mode}`, `starting_seed: ${SEED}`));
  const registered = (mode: 'test' | 'live') => ({
    configuration: { ...configured(mode).configuration, name: 'Earlier' },
    seed: String(SEED),
    seedSource: 'configured' as const,
  });

  it.each([
    ['test', 'live'],
    ['live', 'test'],
  ] as const)('is refused for a new %s study if the other study is a %s', (mode, other) => {
    const refuse = () => refuseNewStudies([configured(mode)], () => true, [registered(other)]);
    expect(refuse).toThrow(
      `studies.yaml:5: study "S": starting_seed is that of the ${other} study "Earlier"`,
    );
    // What is in the log stays valid.
    expect(refuseNewStudies([configured(mode)], () => false, [registered(other)])).toEqual([]);
  });

  it('causes a warning between two test studies or two live studies', () => {
    for (const mode of ['test', 'live'] as const)
      expect(refuseNewStudies([configured(mode)], () => true, [registered(mode)])).toMatchObject([
        { line: 5, message: expect.stringContaining('both draw the same numbers') },
      ]);
  });

  it('is also refused within one file, and never shown', () => {
    const [live, test] = [configured('live'), configured('test')];
    const other = { ...test, configuration: { ...test.configuration, name: 'Rehearsal' } };
    const refuse = () => refuseNewStudies([live, other], () => true, []);
    expect(refuse).toThrow('that of the test study "Rehearsal"');
    expect(refuse).not.toThrow(String(SEED));
  });
});

it('names of a new study have at most 200 characters, and none that looks like another; treatments are not shown', () => {
  const long = (letter: string) => letter.repeat(201);
  const text = [`${long('n')}:`, `  treatments: [${long('t')}, ${'t'.repeat(200)}]`];
  const factors = `  factors: {${long('f')}: [x, ${long('l')}]}`;
  const said = onlyStudyOf([...text, factors].join('\n')).refusedIfNew.map(({ message }) => message);
  expect(said.map((message) => /^study "n{40}…": (.*?) has more than 200/.exec(message)?.[1])).toEqual([
    ...['its name', 'treatment 1', 'the name of factor 1', 'level 2 of factor 1'],
  ]);
  expect(said.join()).not.toMatch(/tt|ff|ll\b/);
  expect(onlyStudyOf(studyWith().replace('S:', '"S\u200b":')).refusedIfNew).toMatchObject([
    { message: expect.stringContaining('its name contains U+200B, which nobody sees') },
  ]);
});
