/**
 * The rules for participant ids, and for the patterns that a study may demand of them. `problemsOfId` holds for every
 * id, `newIdProblem` only for one that is new to the study.
 *
 * Pages in browsers load this file: it needs neither Node nor schemas. Whether an id matches its pattern is for RE2 to say
 * (id-pattern.ts); here, a pattern is only read.
 */
import { formulaProblem, lookAlikeProblem } from '../../base/text.ts';

/** An id, in a request, an event or a filter, has 1 to 128 code points, no control characters, and no white space at either end. */
export function* problemsOfId(id: string): Iterable<string> {
  if (id === '') yield 'id is empty';
  // A code point has at most two UTF-16 units, so a short string needs no count.
  if (id.length > 128 && [...id].length > 128) yield 'id has more than 128 characters';
  if (/\p{Cc}/u.test(id)) yield 'id contains a control character';
  if (/^\s|\s$/u.test(id)) yield 'id begins or ends with white space';
}

/**
 * Why nobody is given this id, as the end of a sentence; undefined if somebody may have it. Only for an id that is new to
 * the study and well-formed: what is recorded stays usable.
 */
export function newIdProblem(id: string): string | undefined {
  return lookAlikeProblem(id) ?? formulaProblem(id);
}

/**
 * An id as the study wants it, for those whose id does not match its pattern. Made from the pattern alone, so it says nothing
 * about anybody in the study. Undefined if there is no simple one.
 * @param matches whether a text matches the pattern
 */
export function exampleId(pattern: string, matches: (id: string) => boolean): string | undefined {
  const text = textOfForm(pattern);
  if (text === undefined || !matches(text)) return undefined;
  const [problem] = problemsOfId(text);
  return (problem ?? newIdProblem(text)) === undefined ? text : undefined;
}

/**
 * Why a pattern is not in this grammar; undefined if it is. Patterns in it mean the same in ECMAScript (flag `u`) and in RE2.
 * RE2 matches them in time proportional to the length of the id, and anyone who checks an id later, with either engine, gets
 * the same verdict.
 *
 *     pattern    = branch *( "|" branch )
 *     branch     = *( "^" / "$" / atom [ quantifier ] )
 *     atom       = literal / escape / class / "(" [ "?:" ] pattern ")"
 *     quantifier = ( "*" / "+" / "?" / "{" n [ "," [ m ] ] "}" ) [ "?" ]    ; n <= m, no leading zeros
 *     escape     = "\" ( "d" / "D" / "w" / "W" / one of ^ $ \ . * + ? ( ) [ ] { } | / )
 *     class      = "[" [ "^" ] [ "-" ] *( member [ "-" member ] ) [ "-" ] "]"    ; not empty
 *     member     = any character but [ ] \ - / escape / "\-"    ; no \d \D \w \W at the end of a range
 *
 * A literal is a character without another meaning. The grammar leaves out everything that the two engines read
 * differently (`.` and `\s`, which know different line ends and spaces; a lone bracket), that only one of them has
 * (lookahead and lookbehind, backreferences, `\u`, `\A`, `[[:alpha:]]`), that depends on the version of Unicode (`\p`,
 * ignoring case), or that no id needs (word boundaries, control characters).
 */
export function linearPatternProblem(pattern: string): PatternProblem | undefined {
  const read = readPattern(pattern);
  return typeof read === 'string' ? undefined : read;
}

/** Why a pattern is not in the grammar, and what to write instead. */
interface PatternProblem {
  readonly reason: string;
  readonly hint: string;
}

/** A text that has the form of the pattern; undefined if the pattern is not in this grammar. A `^` or `$` may forbid it. */
export function textOfForm(pattern: string): string | undefined {
  const read = readPattern(pattern);
  return typeof read === 'string' ? read : undefined;
}

/** In UTF-16 code units. A pattern nested thousands of times would crash the process when it is first used. */
export const MAX_PATTERN_LENGTH = 1_000;

/** @returns a text that has the form of the pattern, or why the pattern is not in the grammar */
function readPattern(pattern: string): string | PatternProblem {
  try {
    if (pattern.length > MAX_PATTERN_LENGTH)
      refusePattern(`is longer than ${MAX_PATTERN_LENGTH} characters`, 'write a shorter one');
    if (/\p{Surrogate}/u.test(pattern)) refusePattern('is not well-formed Unicode', 'write whole characters');
    return new PatternReader(pattern).readWhole();
  } catch (error) {
    if (error instanceof PatternRefusal) return error.problem;
    throw error;
  }
}

const SYNTAX_CHARACTERS = new Set('^$\\.*+?()[]{}|');
const ESCAPES = new Set([...SYNTAX_CHARACTERS, '/']);
const CLASS_ESCAPES = new Set([...ESCAPES, '-']);
const SHORTHANDS = new Set('dDwW');
const COUNTED = /^\{(0|[1-9]\d{0,3})(?:,(0|[1-9]\d{0,3})?)?\}/;

/** Reads a pattern by its grammar, and makes a text of its form on the way. */
class PatternReader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(pattern: string) {
    this.#characters = [...pattern];
  }

  get #next(): string | undefined {
    return this.#characters[this.#at];
  }

  #take(wanted: string): boolean {
    if (this.#next !== wanted) return false;
    this.#at++;
    return true;
  }

  readWhole(): string {
    const { text } = this.#pattern();
    if (this.#next !== undefined)
      refusePattern('closes a group that was not opened', 'write \\) for the character');
    return text;
  }

  #pattern(): PatternPart {
    const first = this.#branch();
    let size = 1 + first.size;
    while (this.#take('|')) size = boundedSize(size + 1 + this.#branch().size);
    return { size, text: first.text };
  }

  #branch(): PatternPart {
    let [size, text] = [0, ''];
    while (this.#next !== undefined && this.#next !== '|' && this.#next !== ')') {
      if (this.#take('^') || this.#take('$')) continue;
      const once = this.#atom();
      const { least, most } = this.#quantifier();
      size = boundedSize(size + once.size * most);
      text += once.text.repeat(least);
    }
    return { size, text };
  }

  #atom(): PatternPart {
    if (this.#take('(')) return this.#group();
    const from = this.#at;
    if (this.#take('[')) this.#class();
    else if (this.#take('\\')) this.#escape(ESCAPES);
    else this.#literal();
    return { size: 1, text: characterMatching(this.#characters.slice(from, this.#at)) };
  }

  #group(): PatternPart {
    if (this.#take('?') && !this.#take(':'))
      refusePattern(
        'has (? before something other than a colon',
        'groups are ( ) and (?: ); looking ahead or behind, names and flags cannot be used',
      );
    const part = this.#pattern();
    if (!this.#take(')')) refusePattern('has a group that is not closed', 'close it with )');
    return part;
  }

  #literal(): void {
    const character = this.#next ?? '';
    if (character === '.')
      refusePattern(
        'has a . for any character',
        'write \\. for a dot, or list the characters, as in [A-Za-z0-9]',
      );
    if (SYNTAX_CHARACTERS.has(character))
      refusePattern(`has a ${character} that cannot be there`, `write \\${character} for the character`);
    this.#at++;
  }

  /** Reads what follows a backslash. @returns whether it is a single character, not a shorthand for many */
  #escape(escapes: ReadonlySet<string>): boolean {
    const character = this.#next ?? '';
    if (!escapes.has(character) && !SHORTHANDS.has(character))
      refusePattern(
        `has a \\${character}`,
        `a backslash can only come before d, D, w, W and ${[...escapes].join(' ')}; list the characters, as in [A-Za-z0-9]`,
      );
    this.#at++;
    return escapes.has(character);
  }

  get #endsWithHyphen(): boolean {
    return this.#next === '-' && this.#characters[this.#at + 1] === ']';
  }

  #class(): void {
    this.#take('^');
    const first = this.#at;
    this.#take('-');
    while (this.#next !== ']' && !this.#endsWithHyphen) {
      const from = this.#member();
      if (this.#endsWithHyphen || !this.#take('-')) continue;
      const to = this.#member();
      if (from === undefined || to === undefined || from > to)
        refusePattern(
          'has an invalid range in brackets',
          'put - first or last for the character, or write \\-',
        );
    }
    this.#take('-');
    if (this.#at === first) refusePattern('has brackets with nothing in them', 'list the characters');
    this.#at++;
  }

  /** @returns the member's code point; undefined for a shorthand */
  #member(): number | undefined {
    if (this.#next === undefined) refusePattern('has brackets that are not closed', 'close them with ]');
    if (this.#take('\\')) {
      const isOne = this.#escape(CLASS_ESCAPES);
      return isOne ? this.#characters[this.#at - 1]?.codePointAt(0) : undefined;
    }
    if (this.#next === '[' || this.#next === '-')
      refusePattern(`has a ${this.#next} in brackets`, `write \\${this.#next} for the character`);
    return this.#characters[this.#at++]?.codePointAt(0);
  }

  /** @returns how often the text of the atom is there, and how often it counts when it is written out: at least once */
  #quantifier(): Repetition {
    const times = this.#times();
    if (times) this.#take('?');
    return times ?? { least: 1, most: 1 };
  }

  #times(): Repetition | undefined {
    if (this.#take('+')) return { least: 1, most: 1 };
    if (this.#take('*') || this.#take('?')) return { least: 0, most: 1 };
    if (this.#next !== '{') return undefined;
    const ahead = this.#characters.slice(this.#at, this.#at + 12).join('');
    const [all = '', least, most = least] = COUNTED.exec(ahead) ?? [];
    if (all === '' || Number(least) > Number(most))
      refusePattern(
        'has a { that begins no number of times',
        'write {3}, {3,} or {3,5}; \\{ is the character',
      );
    this.#at += all.length;
    return { least: Number(least), most: Math.max(1, Number(most)) };
  }
}

/** A part of a pattern: its size, and a text that matches it. */
interface PatternPart {
  readonly size: number;
  readonly text: string;
}

/** How often the text of an atom is there, and how often it counts when it is written out. */
interface Repetition {
  readonly least: number;
  readonly most: number;
}

/** For a class or an escape: the first of these that it takes, or one of its own characters. */
const PREFERRED = [
  '1',
  'A',
  'a',
  ...'_-/ ',
  ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(i + 32)),
];

/** A character that the class, escape or literal takes; empty if it takes none of the usual ones. */
function characterMatching(source: readonly string[]): string {
  const pattern = new RegExp(`^${source.join('')}$`, 'u');
  return [...PREFERRED, ...source].find((character) => pattern.test(character)) ?? '';
}

/**
 * Characters, classes, groups and branches, with repetitions written out: each may cost time for every character of an
 * id. RE2 itself accepts up to 1,000 repetitions.
 */
const MAX_PATTERN_SIZE = 500;

function boundedSize(size: number): number {
  if (size > MAX_PATTERN_SIZE)
    refusePattern(
      'is too large when its repetitions are written out',
      `${MAX_PATTERN_SIZE} characters are the most; repeat less`,
    );
  return size;
}

class PatternRefusal extends Error {
  readonly problem: PatternProblem;

  constructor(problem: PatternProblem) {
    super(problem.reason);
    this.problem = problem;
  }
}

function refusePattern(reason: string, hint: string): never {
  throw new PatternRefusal({ reason, hint });
}
