/** What is read only when somebody asks for it, and never again by itself: each reading is recorded as a disclosure. */
import { type ReactNode, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Answer } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';

export interface Reading<T> {
  readonly results: T;
  readonly revision: number;
  /** When the service answered. */
  readonly at: string;
}

/** @param ask @throws ApiProblem, ConnectionLost */
export function useReading<T>(ask: () => Promise<Answer<T>>) {
  const [read, setRead] = useState<Reading<T>>();
  const [error, setError] = useState<Error>();
  const [isPending, setPending] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const again = async () => {
    setPending(true);
    setError(undefined);
    try {
      const { results, revision = 0, headers } = await ask();
      setRead({ results, revision, at: new Date(headers.get('Date') ?? Date.now()).toISOString() });
      // The button that was pressed is gone.
      heading.current?.focus();
    } catch (problem) {
      setError(problem as Error);
    }
    setPending(false);
  };
  return { read, error, isPending, heading, again };
}

interface AskToReadProps {
  readonly reading: Pick<ReturnType<typeof useReading>, 'error' | 'isPending' | 'again'>;
  /** What the button says. */
  readonly button: string;
  /** What is shown, and that it is recorded. */
  readonly children: ReactNode;
  /** What else can be done. */
  readonly more?: ReactNode;
}

export function AskToRead({ reading: { error, isPending, again }, button, children, more }: AskToReadProps) {
  return (
    <>
      <ProblemNotice error={error} />
      {children}
      <div className="choices">
        <Button className="button" isPending={isPending} onPress={() => void again()}>
          {button}
        </Button>
        {more}
      </div>
    </>
  );
}
