import type { Warning, WarningCode } from './report.ts';

/** What is remarkable but may be right: counted by code, told of the first time, so that a long stream stays short. */
export class Warnings {
  readonly #byCode = new Map<WarningCode, Warning>();

  add(code: WarningCode, text: string, revision?: number): void {
    const first = this.#byCode.get(code);
    const warning = first ?? { code, count: 0, text, ...(revision !== undefined && { revision }) };
    this.#byCode.set(code, { ...warning, count: warning.count + 1 });
  }

  list(): Warning[] {
    return [...this.#byCode.values()];
  }
}
