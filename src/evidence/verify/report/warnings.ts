import type { Warning, WarningCode } from './report.ts';

/** Things worth a look that may be in order. They are counted by code and described once, so reports stay short. */
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
