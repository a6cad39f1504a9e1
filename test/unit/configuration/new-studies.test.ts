import { describe, expect, it } from 'vitest';
import { StudiesFileError } from '../../../src/configuration/finding.ts';
import { refuseNewStudies } from '../../../src/configuration/new-studies.ts';
import { onlyStudyOf, refusalsOf, studyWith } from './support.ts';

const looksAhead = onlyStudyOf(studyWith("id_pattern: '(?!0)[0-9]{3}'"));

describe('a pattern of ids that RE2 cannot run', () => {
  it('is refused for a new study, with its line and what to do', () => {
    const refuse = () => refuseNewStudies([looksAhead], () => true);
    expect(refuse).toThrow(StudiesFileError);
    expect(refuse).toThrow(
      /^the studies file is refused:\n {2}studies\.yaml:4: study "S": id_pattern has \(\? before .*, which a new study cannot have \(hint: groups are .*\)$/,
    );
  });

  it('is kept by a study that was registered with it', () => {
    expect(looksAhead.configuration.idPattern).toBe('(?!0)[0-9]{3}');
    expect(() => refuseNewStudies([looksAhead], (name) => name !== 'S')).not.toThrow();
  });

  it('is refused for every study if ECMAScript cannot run it either', () => {
    expect(refusalsOf(studyWith("id_pattern: '[0-9'"))).toEqual([
      expect.stringContaining('id_pattern cannot be used'),
    ]);
  });
});

it('a pattern that both engines can run causes no remark', () => {
  expect(onlyStudyOf(studyWith("id_pattern: '[0-9]{3}'")).refusedIfNew).toEqual([]);
  expect(onlyStudyOf(studyWith()).refusedIfNew).toEqual([]);
});
