/** Where the levels of simulated participants come from: equal shares, a file, or the participants of a study. */

import { quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import { formatFinding } from '../core/configuration/finding.ts';
import { activeFactors } from '../core/model/design.ts';
import { NONE } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import { bytesOf, textOf } from '../evidence/import/csv-file.ts';
import { sharesOf } from '../statistics/assessment/json.ts';
import { readProfiles } from '../statistics/assessment/profiles-file.ts';
import type { Arrivals, SimulatedDesign } from '../statistics/simulation/plan.ts';
import { parseSharesFile } from '../statistics/simulation/shares-file.ts';
import { withFileProblems } from './file-problems.ts';
import { type LogOptions, UsageError, unknownStudy } from './options.ts';
import { withStudies } from './studies-log.ts';

export interface ArrivalOptions extends LogOptions {
  readonly levels?: string;
  readonly profiles?: string;
  readonly like?: string;
  readonly independent?: boolean;
}

export interface SourcedArrivals {
  readonly arrivals: Arrivals;
  /** Where they come from, in words. */
  readonly source: string;
}

const NOTHING = 'nothing was simulated';

/** @throws UsageError listing every problem in a file */
export async function arrivalsFrom(
  options: ArrivalOptions,
  { factors }: SimulatedDesign,
): Promise<SourcedArrivals> {
  const { levels, profiles, like, independent } = options;
  const given = Object.entries({ '--levels': levels, '--profiles': profiles, '--like': like }).flatMap(
    ([name, value]) => (value === undefined ? [] : [name]),
  );
  if (given.length > 1) throw new UsageError(`${given.join(' and ')}: give only one of them`);
  const drawn =
    profiles !== undefined
      ? await fromProfiles(profiles, factors)
      : like !== undefined
        ? await fromStudy(like, options, factors)
        : undefined;
  if (independent && !drawn)
    throw new UsageError(
      '--independent is for --profiles and --like: otherwise levels are already independent',
    );
  if (drawn) return independent ? independently(drawn, factors) : drawn;
  if (levels !== undefined) return fromShares(levels, factors);
  const shares = factors.map((factor) => factor.levels.map(() => 1));
  return {
    arrivals: { kind: 'shares', shares, opens: [] },
    source: 'equal shares for the levels of each factor, independent of each other',
  };
}

function independently(
  { arrivals, source }: SourcedArrivals,
  factors: SimulatedDesign['factors'],
): SourcedArrivals {
  return {
    arrivals: { kind: 'shares', shares: sharesOf(arrivals, factors), opens: [] },
    source: `the shares of levels among ${source.replace(/^drawing with replacement from /, '')}, independent of each other`,
  };
}

async function fromShares(file: string, factors: SimulatedDesign['factors']): Promise<SourcedArrivals> {
  let text = '';
  await withFileProblems(`${NOTHING}, because of ${file}`, async () => {
    text = textOf(bytesOf(file));
  });
  const read = parseSharesFile(text, file, factors);
  if ('findings' in read)
    throw new UsageError(`${NOTHING}:\n${read.findings.map((one) => `  ${formatFinding(one)}`).join('\n')}`);
  return { arrivals: read.shares, source: `the shares in ${file}, independent of each other` };
}

async function fromProfiles(file: string, factors: SimulatedDesign['factors']): Promise<SourcedArrivals> {
  let arrivals: Extract<Arrivals, { kind: 'rows' }> | undefined;
  await withFileProblems(`${NOTHING}, because of ${file}`, async () => {
    arrivals = readProfiles(bytesOf(file), factors);
  });
  // Anything else was thrown.
  if (!arrivals) throw new UsageError(NOTHING);
  const { length } = arrivals.rows;
  return { arrivals, source: `drawing with replacement from the ${counted(length, 'profile')} in ${file}` };
}

/** Levels as randomized, since allocation saw those. Voided participants should not have been in the trial, so they are out. */
async function fromStudy(
  name: string,
  options: LogOptions,
  factors: SimulatedDesign['factors'],
): Promise<SourcedArrivals> {
  const rows = await withStudies(options, async (log) => {
    const study = log.studies.list().find(({ design }) => design.name === name);
    if (!study) throw unknownStudy(name);
    const places = factors.map((factor) => {
      const place = study.design.factors.findIndex((one) => one.name === factor.name);
      if (place >= 0) return place;
      const there = activeFactors(study.design).map((one) => quote(one.name));
      throw new UsageError(
        `--like: study ${quote(name)} has no factor ${quote(factor.name)}, only ${there.join(', ')}`,
      );
    });
    const everybody = log.runner.state(participants, study.stream).inOrder;
    return everybody
      .filter(({ corrected }) => !corrected?.voided)
      .map(({ levels }) => places.map((place) => levels[place] ?? NONE));
  });
  if (rows.length === 0) throw new UsageError(`--like: study ${quote(name)} has no participants yet`);
  const levelsOf = factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
  const indexes = rows.map((row) =>
    row.map((level, f) => {
      const index = levelsOf[f]?.get(level);
      if (index !== undefined) return index;
      const what =
        level === NONE ? 'participants without a level' : `participants with the level ${quote(level)}`;
      throw new UsageError(
        `--like: study ${quote(name)} has ${what} of ${quote(factors[f]?.name ?? '')}, which the studies file does not have`,
      );
    }),
  );
  return {
    arrivals: { kind: 'rows', rows: indexes, weights: indexes.map(() => 1) },
    source: `drawing with replacement from the ${counted(rows.length, 'participant')} of ${name}`,
  };
}
