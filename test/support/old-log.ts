/** The logs that earlier versions wrote (test/vectors/0.1.0, 0.2.0, 0.3.0), as data folders that a program may use. */
import { chmodSync, copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VECTORS = fileURLToPath(new URL('../vectors/', import.meta.url));

export class OldLog {
  /** Name of the study of the bundles and receipts. */
  readonly study: string;
  /** Verifier keys in their order; each has endorsed the next. */
  readonly keys: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: what `urn explain --json` printed then, in the form of today
  readonly explanation: any;
  readonly #folder: string;

  constructor(folder: '0.1.0/ordinary' | '0.1.0/every-event' | '0.2.0/every-act' | '0.3.0/visits') {
    this.#folder = join(VECTORS, folder);
    this.explanation = JSON.parse(this.text('explanation.json'), presentForm);
    this.study = this.explanation.study;
    this.keys = this.text('trusted-keys.txt').trim().split('\n');
  }

  file(name: string): string {
    return join(this.#folder, name);
  }

  text(name: string): string {
    return readFileSync(this.file(name), 'utf8');
  }

  apiKey(name: string): string {
    return JSON.parse(this.text('api-keys.json'))[name];
  }

  /**
   * Fills a folder with a copy that only its owner may read: git keeps no such modes.
   * @param database the log, or a copy of it that was left behind; what was signed last is of the log alone
   */
  copyTo(data: string, database = 'urn.sqlite'): string {
    const beside = ['signing-key', ...(database === 'urn.sqlite' ? ['last-checkpoints'] : [])];
    for (const [from, to] of [[database, 'urn.sqlite'], ...beside.map((name) => [name, name])] as const) {
      copyFileSync(this.file(from), join(data, to));
      chmodSync(join(data, to), 0o600);
    }
    return data;
  }
}

const PRESENT_NAMES: Readonly<Record<string, string>> = { participantId: 'id', treatment: 'trt' };

/** Up to 0.3.0, `urn explain --json` had other names than HTTP, and 128-bit integers as strings. */
function presentForm(name: string, value: unknown): unknown {
  if (['inc', 'state'].includes(name) && typeof value === 'string') return BigInt(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([member, of]) => [presentName(member), of]));
}

const presentName = (name: string) =>
  PRESENT_NAMES[name] ?? name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
