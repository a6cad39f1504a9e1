/**
 * The pattern (ECMAScript, flag `u`) that each participant id of a study must match as a whole. docs/operations.md says
 * which patterns a new study may have.
 */
import { createContext, Script } from 'node:vm';
import { RE2JS } from 're2js';
import { DomainError } from '../../base/errors.ts';
import type { Design } from './design.ts';
import { exampleId, linearPatternProblem, MAX_PATTERN_LENGTH } from './participant-id.ts';

type Matches = (id: string) => boolean | undefined;

export class IdPattern {
  readonly text: string;
  /**
   * Whether the pattern means the same in RE2, which then matches it in time proportional to the length of the id. Only
   * studies registered before this was required have other patterns.
   */
  readonly isLinear: boolean;
  /** Returns undefined when there is no verdict, or none in time. A linear pattern always has one. */
  readonly matches: Matches;

  constructor(text: string) {
    this.text = text;
    this.isLinear = linearPatternProblem(text) === undefined;
    this.matches = this.isLinear ? matchesLinearly(text) : matchesInTime(text);
  }

  /** Why an id that does not match is refused, as the end of a sentence. */
  get mismatch(): string {
    const example = exampleId(this.text, this.matches);
    const shown = example === undefined ? '' : ` (an id of this form: ${example})`;
    return `does not match this study's pattern ${this.text}${shown}`;
  }
}

/** A design never changes: an amendment makes a new one. */
const patterns = new WeakMap<Pick<Design, 'idPattern'>, IdPattern>();

/**
 * Why an id is not one of the study, as the end of a sentence; undefined if it is.
 * @throws DomainError `overloaded` when it could not be matched against the pattern in time
 */
export function patternProblem(id: string, design: Pick<Design, 'idPattern'>): string | undefined {
  if (design.idPattern === undefined) return undefined;
  const pattern = patterns.get(design) ?? new IdPattern(design.idPattern);
  patterns.set(design, pattern);
  const matches = pattern.matches(id);
  if (matches === undefined)
    throw new DomainError(
      'overloaded',
      `the id could not be matched against the pattern ${pattern.text} in time`,
    );
  return matches ? undefined : pattern.mismatch;
}

function matchesLinearly(text: string): Matches {
  const compiled = RE2JS.compile(text);
  return (id) => compiled.matches(id);
}

/** For one comparison, in ms. Some patterns take longer than anybody can wait, even with ids of twenty characters. */
const TIMEOUT_MS = 50;
/** On a busy machine, 50 ms may pass without any progress of the comparison. */
const TRIES = 10;

function matchesInTime(text: string): Matches {
  const regExp = text.length <= MAX_PATTERN_LENGTH ? regExpOf(text) : undefined;
  if (!regExp) return () => undefined;
  const context = createContext({ regExp, id: '' });
  const script = new Script('regExp.test(id)');
  return (id) => {
    context['id'] = id;
    const before = process.cpuUsage();
    for (let tries = 0; tries < TRIES; tries++) {
      try {
        return script.runInContext(context, { timeout: TIMEOUT_MS }) as boolean;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      }
      const { user, system } = process.cpuUsage(before);
      if (user + system > TIMEOUT_MS * 1000) return undefined;
    }
    return undefined;
  };
}

/** Returns undefined if the engine that this program runs on does not accept the pattern. */
function regExpOf(text: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${text})$`, 'u');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
