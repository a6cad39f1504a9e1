/**
 * The steps of everything that is recorded: a form, what will happen in words after a dry run, and one confirmation. Only
 * an emergency skips them.
 */
import { Fragment, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type Answer, ApiProblem, ConnectionLost } from '../api/client.ts';
import { CheckedForm, type FieldText, type FieldValues } from './fields.tsx';
import { useIdempotencyKey } from './idempotency.ts';
import { Page } from './page.tsx';
import { ProblemNotice } from './problem.tsx';

/** The header of a request that takes effect at most once, however often it is repeated. */
export const idempotent = (key: string) => ({ params: { header: { 'Idempotency-Key': key } } });

/** Whether the service had answered the same request before. */
export const isRepeated = ({ headers }: Pick<Answer<unknown>, 'headers'>) =>
  headers.get('Urn-Repeated') === 'true';

/** What the dry run says. */
interface Effect {
  readonly counts: 'moves' | 'stays' | 'zero';
  /** For an amendment: the design that would be in force. */
  readonly design?: unknown;
}

interface ActProps<Body extends object> {
  readonly title: string;
  /** Beside the title: which study it is. */
  readonly chips: ReactNode;
  /** The fields. */
  readonly children: ReactNode;
  /** The page to go back to, and its name. */
  readonly back: { readonly to: string; readonly text: string };
  readonly bodyOf: (filled: FieldValues) => Body;
  /** @throws ApiProblem, ConnectionLost */
  readonly send: (body: Body & { dry_run?: true }, key: string) => Promise<Answer<unknown>>;
  /** What will happen, in words. */
  readonly tell: (body: Body, effect: Effect) => ReactNode;
  /** What the last button says. */
  readonly confirm: string;
  /** Red, because it cannot be undone. */
  readonly isFinal?: boolean;
  /** Why it was refused, if there are plainer words than those of the service. */
  readonly refused?: (problem: ApiProblem) => ReactNode | undefined;
  readonly doneTitle: string;
  readonly done?: (body: Body, answer: Answer<unknown>) => ReactNode;
  /** It is recorded. */
  readonly onDone: () => void;
}

type Step<Body> =
  | { readonly is: 'form' }
  | {
      readonly is: 'review';
      readonly body: Body;
      readonly lines: readonly FieldText[];
      readonly effect: Effect;
    }
  | { readonly is: 'done'; readonly body: Body; readonly answer: Answer<unknown> };

export function Act<Body extends object>(props: ActProps<Body>) {
  const { title, chips, children, back, bodyOf, send, tell, confirm, isFinal, onDone } = props;
  const { refused, doneTitle, done } = props;
  const { t } = useTranslation();
  const keyFor = useIdempotencyKey();
  const [step, setStep] = useState<Step<Body>>({ is: 'form' });
  const { attempt, isPending, error } = useAttempt();
  const look = (filled: FieldValues, lines: readonly FieldText[]) =>
    attempt(async () => {
      const body = bodyOf(filled);
      const { results } = await send({ ...body, dry_run: true }, keyFor(body));
      setStep({ is: 'review', body, lines, effect: (results as { effect: Effect }).effect });
    });
  const record = (body: Body) =>
    attempt(async () => {
      const answer = await send(body, keyFor(body));
      setStep({ is: 'done', body, answer });
      onDone();
    });

  if (step.is === 'done')
    return (
      <Page key="done" title={doneTitle} chips={chips} width="narrow">
        <Done answer={step.answer} back={back}>
          {done?.(step.body, step.answer)}
        </Done>
      </Page>
    );
  return (
    <Page title={title} chips={chips} width="narrow">
      <div className="card">
        {(error instanceof ApiProblem && refused?.(error)) || <ProblemNotice error={error} />}
        {/* The fields keep what was filled in, for anyone who goes back to them. */}
        <div hidden={step.is !== 'form'}>
          <CheckedForm onFilled={(filled, lines) => void look(filled, lines)}>
            {children}
            <div className="decide">
              <Link className="button" to={back.to}>
                {t('common.cancel')}
              </Link>
              <Button type="submit" className="button go" isPending={isPending}>
                {t('common.act.look')}
              </Button>
            </div>
          </CheckedForm>
        </div>
        {step.is === 'review' && (
          <Review lines={step.lines}>
            <div className="notice warn">{tell(step.body, step.effect)}</div>
            {error instanceof ConnectionLost && <p role="alert">{t('common.act.maybe')}</p>}
            <Confirm
              isPending={isPending}
              isFinal={isFinal === true}
              onChange={() => setStep({ is: 'form' })}
              onConfirm={() => void record(step.body)}
            >
              {confirm}
            </Confirm>
          </Review>
        )}
      </div>
    </Page>
  );
}

/** Sends one request at a time, and keeps what went wrong with the last one. */
function useAttempt() {
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<Error>();
  const attempt = async (request: () => Promise<void>) => {
    setPending(true);
    setError(undefined);
    try {
      await request();
    } catch (problem) {
      setError(problem as Error);
    }
    setPending(false);
  };
  return { attempt, isPending, error };
}

interface ConfirmProps {
  readonly isPending: boolean;
  readonly isFinal: boolean;
  /** Back to the form. */
  readonly onChange: () => void;
  readonly onConfirm: () => void;
  readonly children: string;
}

function Confirm({ isPending, isFinal, onChange, onConfirm, children }: ConfirmProps) {
  const { t } = useTranslation();
  return (
    <div className="decide">
      <Button className="button" isDisabled={isPending} onPress={onChange}>
        {t('common.act.change')}
      </Button>
      <Button className={isFinal ? 'button stop' : 'button go'} isPending={isPending} onPress={onConfirm}>
        {children}
      </Button>
    </div>
  );
}

interface DoneProps {
  readonly answer: Answer<unknown>;
  readonly back: ActProps<object>['back'];
  readonly children: ReactNode;
}

function Done({ answer, back, children }: DoneProps) {
  const { t } = useTranslation();
  const { revision = 0 } = answer;
  return (
    <div className="card" role="status">
      {isRepeated(answer) && <p className="notice no-print">{t('common.act.repeated')}</p>}
      {children}
      <p className="soft">{t('common.act.recorded', { revision })}</p>
      <p className="no-print">
        <Link className="button go" to={back.to}>
          {back.text}
        </Link>
      </p>
    </div>
  );
}

/** Shows what was filled in above what will happen. */
function Review({ lines, children }: { lines: readonly FieldText[]; children: ReactNode }) {
  const { t } = useTranslation();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section>
      <h2 ref={heading} tabIndex={-1}>
        {t('common.act.willHappen')}
      </h2>
      <p className="soft">{t('common.act.nothingYet')}</p>
      <dl className="terms filled">
        {lines.map(([label, text]) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
      </dl>
      {children}
    </section>
  );
}
