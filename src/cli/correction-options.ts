/** Reads the options of urn participants correct, void, reinstate and rename, and says all that is wrong with them. */
import type { LevelChange } from '../../events/corrections.ts';
import { askedLevel, type Design, type Factor } from '../../projections/design.ts';
import { currentLevels } from '../../projections/enrolled.ts';
import type { Participant, Participants } from '../../projections/participants.ts';
import { freeTextProblem } from '../base/free-text.ts';
import { lookAlikeProblem, quote } from '../base/text.ts';
import { IdPattern } from '../study/id-pattern.ts';
import { noSuchLevel } from '../study/levels.ts';
import { problemsOfId } from '../study/participant-id.ts';
import type { ParticipantOptions } from './grounds.ts';

export interface CorrectionOptions extends ParticipantOptions {
  readonly level?: readonly string[];
  readonly cause?: string;
  readonly analysis?: string;
  readonly duplicateOf?: string;
  readonly to?: string;
  readonly note?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export class CorrectionReader {
  readonly participant: Participant;
  readonly everybody: Participants;
  readonly design: Design;
  readonly problems: string[] = [];
  readonly #given: CorrectionOptions;

  constructor(given: CorrectionOptions, participant: Participant, everybody: Participants, design: Design) {
    this.#given = given;
    this.participant = participant;
    this.everybody = everybody;
    this.design = design;
  }

  /** Undefined for a value that is not allowed. */
  oneOf<T extends string>(name: 'cause' | 'analysis', allowed: readonly T[]): T | undefined {
    const value = this.#given[name];
    const found = allowed.find((one) => one === value);
    if (found === undefined)
      this.problems.push(`--${name} ${quote(value ?? '')} is none of ${allowed.join(', ')}`);
    return found;
  }

  note(): string {
    const { note = '' } = this.#given;
    const problem = freeTextProblem(note, 1);
    if (problem !== undefined) this.problems.push(`--note ${problem}`);
    return note;
  }

  /** The right id, as the service would take it. */
  newId(): string {
    const { to = '' } = this.#given;
    const unfit = [...problemsOfId(to)].map((problem) => problem.replace(/^id /, ''));
    // Only of a well-formed id can more be said.
    const more = unfit.length > 0 ? [] : [lookAlikeProblem(to), this.#patternProblem(to)];
    for (const problem of [...unfit, ...more])
      if (problem !== undefined) this.problems.push(`--to ${quote(to)} ${problem}`);
    return to;
  }

  #patternProblem(id: string): string | undefined {
    const { idPattern } = this.design;
    if (idPattern === undefined) return undefined;
    const matches = new IdPattern(idPattern).matches(id);
    if (matches === undefined) return `could not be matched against the pattern ${idPattern} in time`;
    return matches ? undefined : `does not match the study's pattern ${idPattern}`;
  }

  /** Of whom the participant is a duplicate, if that is said. */
  original(cause: string | undefined): Participant | undefined {
    const { duplicateOf } = this.#given;
    if (duplicateOf === undefined) return undefined;
    if (cause !== undefined && cause !== 'duplicate')
      this.problems.push('--duplicate-of belongs to --cause duplicate alone');
    const original = this.everybody.find(duplicateOf);
    if (!original) this.problems.push(`--duplicate-of: there is no participant ${quote(duplicateOf)}`);
    if (original === this.participant)
      this.problems.push(`--duplicate-of: ${quote(duplicateOf)} is the same participant`);
    return original;
  }

  /** The levels that the participant is to have, and those that they have. */
  levels(): LevelChange[] {
    const current = currentLevels(this.participant);
    const seen = new Set<string>();
    return (this.#given.level ?? []).flatMap((text) => {
      const index = this.#factorOf(text);
      const factor = this.design.factors[index];
      if (!factor) return [];
      const { name } = factor;
      if (seen.has(name)) this.problems.push(`--level ${quote(text)}: ${name} is given more than once`);
      seen.add(name);
      const asked = text.slice(name.length + 1);
      const to = askedLevel(factor, asked);
      if (to === undefined) this.problems.push(this.#noLevel(text, factor, asked));
      return [{ factor: name, from: current[index] ?? '', to: to ?? asked }];
    });
  }

  /** Index of the factor, or -1 and a problem. Names may contain `=`, so the longest one that fits is meant. */
  #factorOf(text: string): number {
    const { factors } = this.design;
    const length = (index: number) => factors[index]?.name.length ?? 0;
    const found = factors
      .flatMap(({ name }, i) => (text.startsWith(`${name}=`) ? [i] : []))
      .reduce((longest, i) => (length(i) > length(longest) ? i : longest), -1);
    if (found < 0) {
      const names = factors.map(({ name }) => quote(name)).join(', ');
      const why = text.includes('=')
        ? `the study has no factor ${quote(text.slice(0, text.indexOf('=')))}`
        : 'it is not FACTOR=LEVEL';
      this.problems.push(`--level ${quote(text)}: ${why} (factors: ${names})`);
    }
    return found;
  }

  #noLevel(text: string, factor: Factor, level: string): string {
    const other = this.design.factors.find((one) => one.levels.includes(level));
    return [
      `--level ${quote(text)}: ${noSuchLevel(factor, level)}`,
      ...(other ? [`it is a level of ${other.name}`] : []),
    ].join('; ');
  }
}
