import { describe, expect, it } from 'vitest';
import { registeredDesign } from '../../../projections/design.ts';
import { configurationDifferences } from '../../../src/core/configuration/differences.ts';
import { onlyStudyOf, refusalsOf, studyWith, warningsOf } from './support.ts';

const settingsOf = (...lines: string[]) => {
  const { blinding, start, limits, policies, protocol } = onlyStudyOf(studyWith(...lines)).configuration;
  return { blinding, start, limits, policies, protocol };
};

describe('the settings of a study for its life after registration', () => {
  it('are read, with the limits in the order of the factors', () => {
    expect(
      settingsOf(
        'blinding: blinded',
        'start: paused',
        'limits: {levels: {sex: {Female: 20, Male: 10}}, total: 25}',
        'policies: {stop_at_limit: true, level_counts: as-randomized, void_counts: removed, forced_counts: not-counted}',
        'protocol: {version: "2.0", date: "2027-01-10"}',
      ),
    ).toEqual({
      blinding: 'blinded',
      start: 'paused',
      limits: {
        total: 25,
        levels: [
          { factor: 'sex', level: 'Male', max: 10 },
          { factor: 'sex', level: 'Female', max: 20 },
        ],
      },
      policies: {
        stopAtLimit: true,
        levelCounts: 'as-randomized',
        voidCounts: 'removed',
        forcedCounts: 'not-counted',
      },
      protocol: { version: '2.0', date: '2027-01-10' },
    });
  });

  it('are left out if they have their default values, so that a registration has only one form', () => {
    const plain = onlyStudyOf(studyWith()).configuration;
    for (const lines of [
      ['blinding: open', 'start: open'],
      ['policies: {stop_at_limit: false, level_counts: as-randomized, void_counts: kept}'],
      ['policies: {forced_counts: counted}', 'limits: {}'],
    ])
      expect(onlyStudyOf(studyWith(...lines)).configuration).toEqual(plain);
    const written = onlyStudyOf(studyWith('blinding: blinded', 'policies: {level_counts: as-corrected}'));
    expect(written.configuration.policies).toBeUndefined();
    expect(written.levelCounts).toBe('as-corrected');
  });

  it.each([
    ['blinding: double', '4: study "S": blinding is "double", not one of open, blinded'],
    ['start: closed', '4: study "S": start is "closed", not one of open, paused'],
    ['limits: 300', '4: study "S": limits is not a mapping'],
    ['limits: {totl: 3}', '4: study "S": limits has no "totl" (hint: did you mean total?)'],
    ['limits: {total: 0}', '4: study "S": total is below 1'],
    ['limits: {levels: {sx: {Male: 1}}}', '4: study "S": levels has no "sx" (hint: did you mean sex?)'],
    ['limits: {levels: {sex: {Mal: 1}}}', '4: study "S": sex has no "Mal" (hint: did you mean Male?)'],
    ['limits: {levels: {sex: {Male: many}}}', '4: study "S": Male is not a whole number'],
    ['policies: {stop_at_limit: yes}', '4: study "S": stop_at_limit is "yes", not one of true, false'],
    ['policies: {void_counts: gone}', '4: study "S": void_counts is "gone", not one of kept, removed'],
    ['protocol: {date: "2027-01-10"}', '4: study "S": the protocol has no version'],
    [
      'protocol: {version: "2", date: "2027-02-30"}',
      '4: study "S": the protocol\'s date "2027-02-30" is not',
    ],
  ])('are refused with their line number: %s', (line, refusal) => {
    expect(refusalsOf(studyWith(line)).join('\n')).toContain(refusal);
  });

  it('cause a warning if limits stop nobody', () => {
    expect(warningsOf(studyWith('limits: {total: 3}')).join('\n')).toContain('information only');
    expect(warningsOf(studyWith('limits: {total: 3}', 'policies: {stop_at_limit: true}'))).toEqual([]);
  });

  it('are compared with the registration', () => {
    const registered = onlyStudyOf(studyWith('limits: {total: 3}', 'start: paused'));
    const file = onlyStudyOf(studyWith('limits: {total: 4}'));
    const { configuration } = registered;
    const inLog = { configuration, seed: '1', seedSource: 'drawn' } as const;
    expect(configurationDifferences(inLog, registeredDesign(configuration), file)).toEqual([
      { what: 'start', inForce: 'paused', file: 'open' },
      { what: 'limits', inForce: '{"total":3}', file: '{"total":4}' },
    ]);
  });
});
