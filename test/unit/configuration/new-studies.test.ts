import { describe, expect, it } from 'vitest';
import { StudiesFileError } from '../../../src/core/configuration/finding.ts';
import { refuseNewStudies } from '../../../src/core/configuration/new-studies.ts';
import { onlyStudyOf, refusalsOf, studyWith } from './support.ts';

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
  });

  it('is refused for every study if ECMAScript cannot run it either', () => {
    expect(refusalsOf(studyWith("id_pattern: '[0-9'"))).toEqual([
      expect.stringContaining('id_pattern cannot be used'),
    ]);
  });
});

it('a pattern that both engines can run causes no warning', () => {
  expect(onlyStudyOf(studyWith("id_pattern: '[0-9]{3}'")).refusedIfNew).toEqual([]);
  expect(onlyStudyOf(studyWith()).refusedIfNew).toEqual([]);
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
