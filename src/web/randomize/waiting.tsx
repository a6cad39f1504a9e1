/** Between the click and the answer. If the answer is lost, the same request is sent again, with the same Idempotency-Key. */
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { ApiProblem, ConnectionLost } from '../api/client.ts';
import { explainedWord, ProblemNotice } from '../parts/problem.tsx';
import type { Pending } from './pending.ts';
import { ANSWER_WITHIN_MS, type Outcome, randomize } from './requests.ts';

interface Props {
  readonly pending: Pending;
  /** It was found here, so it had been sent before. */
  readonly isLeftOver: boolean;
  /** Send it immediately. Otherwise a person decides. */
  readonly isSentAtOnce: boolean;
  readonly onAnswer: (outcome: Outcome) => void;
  /** The service refused, and nothing was recorded. */
  readonly onRefused: (error: ApiProblem) => void;
  readonly onGiveUp: () => void;
}

/** With these, or a failure of the service, the request may have been recorded, or can be sent again. */
const MAY_BE_RECORDED: ReadonlySet<number> = new Set([401, 408, 429]);
const isRefusal = (error: unknown): error is ApiProblem =>
  error instanceof ApiProblem &&
  (explainedWord(error) !== undefined || (error.status < 500 && !MAY_BE_RECORDED.has(error.status)));

type RequestProps = Pick<Props, 'pending' | 'isSentAtOnce' | 'onAnswer' | 'onRefused'>;

/** Sends the request, once for each attempt. */
function useRequest({ pending, isSentAtOnce, onAnswer, onRefused }: RequestProps) {
  const [attempt, setAttempt] = useState(isSentAtOnce ? 1 : 0);
  const [failed, setFailed] = useState<{ readonly attempt: number; readonly error: Error }>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: one request for each attempt, whoever listens
  useEffect(() => {
    if (attempt === 0) return undefined;
    const request = new AbortController();
    let isAbandoned = false;
    const timer = setTimeout(
      () => request.abort(new DOMException('No answer in time', 'TimeoutError')),
      ANSWER_WITHIN_MS,
    );
    randomize(pending, request.signal).then(
      (outcome) => {
        if (!isAbandoned) onAnswer(outcome);
      },
      (error) => {
        if (isAbandoned) return;
        if (isRefusal(error)) onRefused(error);
        else setFailed({ attempt, error });
      },
    );
    // Anyone who leaves the page finds the request again on coming back.
    return () => {
      isAbandoned = true;
      clearTimeout(timer);
      request.abort();
    };
  }, [attempt]);

  const error = failed?.attempt === attempt ? failed.error : undefined;
  return {
    ...{ attempt, error, isAsking: attempt > 0 && error === undefined },
    askAgain: () => setAttempt((before) => before + 1),
  };
}

export function Waiting({ pending, isLeftOver, isSentAtOnce, onAnswer, onRefused, onGiveUp }: Props) {
  const { t } = useTranslation();
  const { attempt, error, isAsking, askAgain } = useRequest({ pending, isSentAtOnce, onAnswer, onRefused });
  const { id, study } = pending;
  if (isAsking)
    return (
      <div className="card" role="status">
        <p>
          <strong>
            {t(isLeftOver || attempt > 1 ? 'randomize.askingAgain' : 'randomize.sending', { id })}
          </strong>
        </p>
        <p className="soft">{t('randomize.once')}</p>
      </div>
    );
  return (
    <div className="card">
      <div className="notice warn" role="alert">
        <strong>
          {t(error instanceof ConnectionLost ? 'randomize.lost' : 'randomize.unanswered', { id })}
        </strong>
        <p>{t('randomize.lostNext', { id, study })}</p>
      </div>
      {error instanceof ApiProblem && <ProblemNotice error={error} />}
      <div className="choices">
        <Button className="button" onPress={onGiveUp}>
          {t('randomize.giveUp')}
        </Button>
        <Button className="button go" onPress={askAgain}>
          {t('randomize.askAgain')}
        </Button>
      </div>
      <p className="soft">{t('randomize.giveUpMeans')}</p>
    </div>
  );
}
