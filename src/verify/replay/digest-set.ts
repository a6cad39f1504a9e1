/**
 * A set of texts that takes 40 to 80 bytes of memory for each, however long it is. It keeps 128 bits of each text: the text
 * itself if it is short, all bits of a UUID, or else 127 bits of its SHA-256. Among a billion texts, two share these bits
 * once in 10^20 sets, and nobody can construct two that do.
 */
import { randomFillSync } from 'node:crypto';
import { sha256 } from '../../../events/sha256.ts';

const WORDS = 4;
const FIRST_SLOTS_LOG2 = 10;
/** One byte less than a digest has. */
const SHORT = 15;
/** Set in the first byte, next to the length, when the other bytes are the text itself. */
const IS_SHORT = 0x80000000;
const HYPHEN = 0x2d;

/** Four 32-bit words. */
type Digest = Uint32Array;

export class DigestSet {
  readonly #digestOf: (text: string, into: Digest) => void;
  /** For each slot, how many texts were added before its own. */
  #numbers = new Uint32Array(1 << FIRST_SLOTS_LOG2);
  /** Open addressing: each slot holds the words of a digest. The first word is 0 only in a free slot. */
  #slots = new Uint32Array(WORDS << FIRST_SLOTS_LOG2);
  /** How far a 32-bit hash is shifted to give a slot number. */
  #shift = 32 - FIRST_SLOTS_LOG2;
  #size = 0;
  /** Random, so that nobody can choose texts that all hash to the same slot. */
  readonly #factors = randomFillSync(new Uint32Array(WORDS));
  /** The last text digested. A caller that adds a text has usually just asked for it. */
  #last: string | undefined;
  readonly #digest: Digest = new Uint32Array(WORDS);

  /**
   * @param of `uuid`: the texts are UUIDs; upper and lower case are the same. `hex`: the texts have at least 32 hex digits
   *   and differ in the first 32
   */
  constructor(of: 'text' | 'uuid' | 'hex' = 'text') {
    this.#digestOf = of === 'text' ? digest : hex;
  }

  has(text: string): boolean {
    return this.#slots[this.#find(this.#digestFor(text))] !== 0;
  }

  /** @returns whether the text is new */
  add(text: string): boolean {
    if ((this.#size + 1) * 2 * WORDS > this.#slots.length) this.#grow();
    const words = this.#digestFor(text);
    const at = this.#find(words);
    if (this.#slots[at] !== 0) return false;
    copy(words, 0, this.#slots, at);
    this.#numbers[at / WORDS] = this.#size++;
    return true;
  }

  /** How many texts were added before this one; undefined if it was not added. */
  numberOf(text: string): number | undefined {
    const at = this.#find(this.#digestFor(text));
    return this.#slots[at] === 0 ? undefined : this.#numbers[at / WORDS];
  }

  #digestFor(text: string): Digest {
    if (text !== this.#last) {
      this.#digestOf(text, this.#digest);
      this.#digest[0] ||= 1;
      this.#last = text;
    }
    return this.#digest;
  }

  /**
   * Start of the digest's slot, or of the free slot that it would take.
   * @param words hold the digest, beginning at `from`
   */
  #find(words: Uint32Array, from = 0): number {
    const slots = this.#slots;
    const end = slots.length - 1;
    let sum = 0;
    for (let i = 0; i < WORDS; i++) sum += Math.imul(words[from + i] ?? 0, (this.#factors[i] ?? 0) | 1);
    let at = ((sum >>> 0) >>> this.#shift) * WORDS;
    while (slots[at] !== 0 && !isAt(slots, at, words, from)) at = (at + WORDS) & end;
    return at;
  }

  #grow(): void {
    const [old, numbers] = [this.#slots, this.#numbers];
    this.#slots = new Uint32Array(old.length * 2);
    this.#numbers = new Uint32Array(numbers.length * 2);
    this.#shift--;
    for (let from = 0; from < old.length; from += WORDS) {
      if (old[from] === 0) continue;
      const at = this.#find(old, from);
      copy(old, from, this.#slots, at);
      this.#numbers[at / WORDS] = numbers[from / WORDS] ?? 0;
    }
  }
}

function isAt(slots: Uint32Array, at: number, words: Uint32Array, from: number): boolean {
  for (let i = 0; i < WORDS; i++) if (slots[at + i] !== words[from + i]) return false;
  return true;
}

/** For four words, `set` and `subarray` take several times as long. */
function copy(words: Uint32Array, from: number, slots: Uint32Array, at: number): void {
  for (let i = 0; i < WORDS; i++) slots[at + i] = words[from + i] ?? 0;
}

function digest(text: string, into: Digest): void {
  if (text.length <= SHORT && isLatin1(text)) {
    into.fill(0);
    into[0] = IS_SHORT | (text.length << 24);
    for (let i = 0; i < text.length; i++) {
      const word = (i + 1) >> 2;
      into[word] = (into[word] ?? 0) | (text.charCodeAt(i) << (8 * (i & 3)));
    }
    return;
  }
  const bytes = sha256(text);
  for (let i = 0; i < WORDS; i++) into[i] = bytes.readUInt32LE(i * 4);
  into[0] = (into[0] ?? 0) & ~IS_SHORT;
}

function isLatin1(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return false;
  return true;
}

/** The first 32 hex digits, whatever hyphens are between them. In a third of the time that parseInt takes. */
function hex(text: string, into: Digest): void {
  let [digits, word] = [0, 0];
  for (let i = 0; i < text.length && digits < 8 * WORDS; i++) {
    const code = text.charCodeAt(i);
    if (code === HYPHEN) continue;
    // Eight digits shift out those before. Letters, of either case, have the bit 0x40.
    word = (word << 4) | ((code & 0xf) + (code >> 6) * 9);
    digits++;
    if (digits % 8 === 0) into[digits / 8 - 1] = word;
  }
}
