/** Reads the options of the commands that enter participants and correct levels, and reports every problem in them. */

import { freeTextProblem, quote } from '../base/text.ts';
import { activeFactors, askedLevel, type Design, type Factor } from '../core/model/design.ts';
import { patternProblem } from '../core/model/id-pattern.ts';
import { noSuchLevel } from '../core/model/limits.ts';
import { newIdProblem, problemsOfId } from '../core/model/participant-id.ts';
import type { Participants } from '../core/model/participants.ts';
import { currentId, currentLevels } from '../core/model/participants.ts';
import { participants } from '../core/study/fold.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import type { MembersRead, OptionValues } from './act-row.ts';
import type { ParticipantOptions } from './grounds.ts';
import { unknownParticipant } from './options.ts';

export interface EntryOptions extends ParticipantOptions {
  readonly level?: readonly string[];
  readonly cause?: string;
  readonly note?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** What a `--level factor=level` names. */
interface NamedLevel {
  /** Index of the factor, in the order of the study. */
  readonly index: number;
  readonly factor: string;
  readonly level: string;
}

/** Reads options about a participant, under the design in force. */
export class EntryReader<O extends EntryOptions = EntryOptions> {
  readonly design: Design;
  readonly problems: string[] = [];
  protected readonly given: O;

  constructor(given: O, design: Design) {
    this.given = given;
    this.design = design;
  }

  /** Undefined for a value that is not allowed. */
  oneOf<T extends string>(name: keyof O & string, allowed: readonly T[]): T | undefined {
    const value = this.given[name];
    const found = allowed.find((one) => one === value);
    if (found === undefined)
      this.problems.push(`--${name} ${quote(String(value ?? ''))} is not one of ${allowed.join(', ')}`);
    return found;
  }

  note(): string {
    const { note = '' } = this.given;
    const problem = freeTextProblem(note, 1);
    if (problem !== undefined) this.problems.push(`--note ${problem}`);
    return note;
  }

  /**
   * An id that the service would give to somebody.
   * @param known everybody in the study
   */
  newId(option: string, id: string, known: Participants): string {
    const unfit = [...problemsOfId(id)].map((problem) => problem.replace(/^id /, ''));
    // The other checks need a well-formed id.
    const ofNewId = known.find(id) ? undefined : newIdProblem(id);
    const more = unfit.length > 0 ? [] : [ofNewId, patternProblem(id, this.design)];
    for (const problem of [...unfit, ...more])
      if (problem !== undefined) this.problems.push(`${option} ${quote(id)} ${problem}`);
    return id;
  }

  /** The levels that are given, one per factor, under their current names. */
  levels(): NamedLevel[] {
    const seen = new Set<number>();
    return (this.given.level ?? []).flatMap((text) => {
      const index = this.#factorOf(text);
      const factor = this.design.factors[index];
      if (!factor) return [];
      const { name } = factor;
      if (factor.isRetired) {
        this.problems.push(
          `--level ${quote(text)}: the factor ${quote(name)} is retired: its levels are no longer entered or corrected (hint: leave it out)`,
        );
        return [];
      }
      if (seen.has(index)) this.problems.push(`--level ${quote(text)}: ${name} is given more than once`);
      seen.add(index);
      const asked = text.slice(name.length + 1);
      const level = askedLevel(factor, asked);
      if (level === undefined) this.problems.push(this.#noLevel(text, factor, asked));
      return [{ index, factor: name, level: level ?? asked }];
    });
  }

  /** Index of the factor, or -1 and a problem. Names may contain `=`, so the longest match is taken. */
  #factorOf(text: string): number {
    const { factors } = this.design;
    const length = (index: number) => factors[index]?.name.length ?? 0;
    const found = factors
      .flatMap(({ name }, i) => (text.startsWith(`${name}=`) ? [i] : []))
      .reduce((longest, i) => (length(i) > length(longest) ? i : longest), -1);
    if (found < 0) {
      const names = activeFactors(this.design)
        .map(({ name }) => quote(name))
        .join(', ');
      const why = text.includes('=')
        ? `the study has no factor ${quote(text.slice(0, text.indexOf('=')))}`
        : 'it is not FACTOR=LEVEL';
      this.problems.push(`--level ${quote(text)}: ${why} (factors: ${names})`);
    }
    return found;
  }

  #noLevel(text: string, factor: Factor, level: string): string {
    const other = activeFactors(this.design).find((one) => one.levels.includes(level));
    return [
      `--level ${quote(text)}: ${noSuchLevel(factor, level)}`,
      ...(other ? [`it is a level of ${other.name}`] : []),
    ].join('; ');
  }
}

/** The levels to change, each with what it is now, or that all are so already. */
export function changesIn(given: OptionValues, log: OpenLog, { design, stream }: Study): MembersRead {
  const options = given as unknown as EntryOptions;
  const participant = log.runner.state(participants, stream).find(options.id);
  if (!participant) return { unread: { changes: [unknownParticipant(options.study, options.id).message] } };
  const reader = new EntryReader(options, design);
  const named = reader.levels();
  if (reader.problems.length > 0) return { unread: { changes: reader.problems } };
  const current = currentLevels(participant);
  const changes = named.map(({ index, factor, level }) => ({
    factor,
    from: current[index] ?? '',
    to: level,
  }));
  const wanted = changes.filter(({ from, to }) => from !== to);
  if (wanted.length > 0) return { members: { changes: wanted } };
  const id = currentId(participant);
  const nothing = changes.map(({ factor, to }) => `${factor} of ${id} is already ${to}`).join(', ');
  return { unread: { changes: [] }, nothing };
}
