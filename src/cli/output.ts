/** Results go to stdout, everything else to stderr. Both escape what a terminal would obey or not show. */
import { onOneLine, printable } from '../base/text.ts';

export function result(text: string): void {
  process.stdout.write(`${printable(text)}\n`);
}

export function note(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** A line for each row, in columns of text, each as wide as its widest cell. */
export function table(texts: readonly (readonly string[])[]): string {
  // A reason may have several lines.
  const rows = texts.map((row) => row.map(onOneLine));
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(cell.length, widest[i] ?? 0)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Shows how much of a long log has been read, but only on a terminal. */
export function progress(what: string): { show(count: number): void; end(): void } {
  const { stderr } = process;
  let shown = false;
  let next = 0;
  return {
    show: (count) => {
      if (!stderr.isTTY || count < 10_000 || performance.now() < next) return;
      next = performance.now() + 200;
      shown = true;
      stderr.write(`\r${what}: ${count}`);
    },
    end: () => {
      if (shown) stderr.write('\r\x1b[K');
    },
  };
}

const BAR = 30;

/** A bar on a terminal, from the first second on, for work whose size is known. */
export function progressOf(what: string, total: number): { show(count: number): void; end(): void } {
  const { stderr } = process;
  let next = performance.now() + 1000;
  let shown = false;
  return {
    show: (count) => {
      if (!stderr.isTTY || performance.now() < next) return;
      next = performance.now() + 200;
      shown = true;
      const done = Math.round((count / total) * BAR);
      stderr.write(`\r[${'#'.repeat(done)}${' '.repeat(BAR - done)}] ${count} of ${total} ${what}`);
    },
    end: () => {
      if (shown) stderr.write('\r\x1b[K');
    },
  };
}
