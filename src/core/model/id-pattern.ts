/**
 * The pattern that each participant id of a study must match as a whole, in time proportional to its length. docs/operations.md
 * says which patterns there are.
 */
import { RE2JS } from 're2js';
import type { Design } from './design.ts';
import { exampleId } from './participant-id.ts';

export class IdPattern {
  readonly text: string;
  readonly matches: (id: string) => boolean;

  constructor(text: string) {
    this.text = text;
    const compiled = RE2JS.compile(text);
    this.matches = (id) => compiled.matches(id);
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

/** Why an id is not one of the study, as the end of a sentence; undefined if it is. */
export function patternProblem(id: string, design: Pick<Design, 'idPattern'>): string | undefined {
  if (design.idPattern === undefined) return undefined;
  const pattern = patterns.get(design) ?? new IdPattern(design.idPattern);
  patterns.set(design, pattern);
  return pattern.matches(id) ? undefined : pattern.mismatch;
}
