/** The pattern that whole ids of a study must match (ECMAScript, flag `u`). docs/operations.md tells which new studies may have. */
import { createContext, Script } from 'node:vm';
import { RE2JS } from 're2js';
import { linearPatternProblem, MAX_PATTERN_LENGTH } from './linear-pattern.ts';

type Matches = (id: string) => boolean | undefined;

export class IdPattern {
  readonly text: string;
  /**
   * Whether it means the same in RE2, which then runs it in time that is proportional to the id. The others were
   * registered before that was asked for.
   */
  readonly isLinear: boolean;
  /** Undefined when it cannot be told, or not in time; of a linear one it always can. */
  readonly matches: Matches;

  constructor(text: string) {
    this.text = text;
    this.isLinear = linearPatternProblem(text) === undefined;
    this.matches = this.isLinear ? matchesLinearly(text) : matchesInTime(text);
  }
}

function matchesLinearly(text: string): Matches {
  const compiled = RE2JS.compile(text);
  return (id) => compiled.matches(id);
}

/** Of one comparison. Some patterns take longer than anybody can wait, of ids of twenty characters even. */
const TIMEOUT_MS = 50;
/** A machine that is busy may let 50 ms pass without a step of the comparison. */
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

/** Undefined for what is no pattern, at least of the engine that this program runs on. */
function regExpOf(text: string): RegExp | undefined {
  try {
    return new RegExp(`^(?:${text})$`, 'u');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
