import type { ReactNode } from 'react';

/** What a colour means: green open, amber needs attention, red has broken a code, violet test. A word always says it too. */
export type Tone = 'ok' | 'warn' | 'danger' | 'test';

export function Chip({ tone, children }: { tone?: Tone | undefined; children: ReactNode }) {
  return <span className={tone === undefined ? 'chip' : `chip ${tone}`}>{children}</span>;
}
