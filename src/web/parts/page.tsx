import { type ReactNode, useEffect, useRef } from 'react';

interface PageProps {
  readonly title: string;
  /** Beside the title: states, and what can be done. */
  readonly chips?: ReactNode;
  readonly actions?: ReactNode;
  readonly width?: 'wide' | 'narrow';
  readonly children: ReactNode;
}

/** A page with its heading, which is the title of the tab and is where a screen reader begins. */
export function Page({ title, chips, actions, width = 'wide', children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · urn`;
  }, [title]);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className={width}>
      <div className="head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {chips}
        {actions && <div className="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
