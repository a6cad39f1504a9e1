import type { ReactNode } from 'react';

/** What may be wider than the screen, such as a table. It can have the focus, so that the arrow keys scroll it. */
export function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no field set.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: people without a mouse scroll it by keyboard.
    <div className="scroll" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
