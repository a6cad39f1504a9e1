/** Breaking a code: two presses and a reason, and the treatment is on the screen. */
import { useEffect, useId, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Trans, useTranslation } from 'react-i18next';
import { type Answer, ApiProblem, answer, api } from '../api/client.ts';
import { CheckedForm, Choice, type FieldValues, TextLine } from '../parts/fields.tsx';
import { useIdempotencyKey } from '../parts/idempotency.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { TestChip } from '../parts/study-chips.tsx';
import { ExactTime } from '../parts/when.tsx';
import { useSession } from '../session/session.tsx';
import styles from './participant.module.css';

/** The participant or the pack whose code is broken. */
export type Subject = { readonly id: string } | { readonly code: string };

/** What was shown. It is kept only on the screen. */
export interface ShownCode {
  readonly subject: Subject;
  /** Absent for a pack that nobody is known to have. */
  readonly id: string | undefined;
  readonly arm: string;
  readonly at: string;
  readonly revision: number;
  readonly recordedIn: 'log' | 'pending' | 'none';
  /** What else is said of the record, because the disk is full. */
  readonly remarks: readonly (keyof typeof REMARKS)[];
  readonly isTest: boolean;
}

/** The headers that say it. */
const REMARKS = { cut: 'Urn-Reason-Cut', share: 'Urn-Share-Used', again: 'Urn-Repeated' } as const;

const CATEGORIES = ['emergency', 'safety-report', 'monitoring', 'planned', 'end', 'other'] as const;

interface AskProps {
  readonly study: string;
  readonly subject: Subject;
  readonly onBroken: (broken: ShownCode) => void;
  readonly onClose: () => void;
}

export function AskForCode({ study, subject, onBroken, onClose }: AskProps) {
  const { t } = useTranslation();
  const { user, on_behalf_of: acting } = useSession();
  const keyFor = useIdempotencyKey();
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    dialog.current?.showModal();
    // The reason is the only thing that has to be typed.
    dialog.current?.querySelector('textarea')?.focus();
  }, []);
  const who = acting === undefined ? user : t('participant.onBehalf', { user, person: acting });

  const show = async (filled: FieldValues) => {
    const body = questionOf(study, subject, filled);
    setPending(true);
    setError(undefined);
    try {
      // After a lost answer, the same question is the same code-break.
      const header = { 'Idempotency-Key': keyFor(body) };
      onBroken(brokenBy(subject, await answer(api.POST('/code_breaks', { params: { header }, body }))));
    } catch (problem) {
      setError(problem as Error);
      setPending(false);
    }
  };
  return (
    <dialog ref={dialog} className={styles['dialog']} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>
        {'id' in subject ? t('participant.break.title', subject) : t('participant.break.packTitle', subject)}
      </h2>
      <p>{t('participant.break.one')}</p>
      <div className="notice danger">
        <p>{t('participant.break.records', { who })}</p>
        <p>{t('participant.break.tells')}</p>
      </div>
      <ProblemNotice error={error} />
      {error && !isRefusal(error) && (
        <div className="notice danger">
          <strong>{t('participant.break.failed')}</strong>
          <p>{t('participant.break.failedNext')}</p>
        </div>
      )}
      <CheckedForm onFilled={(filled) => void show(filled)}>
        <Grounds />
        <div className="decide">
          <Button className="button" onPress={() => dialog.current?.close()}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" className="button stop" isPending={isPending}>
            {t('participant.break.go')}
          </Button>
        </div>
      </CheckedForm>
    </dialog>
  );
}

/** The fields: why, and for whom. */
function Grounds() {
  const { t } = useTranslation();
  return (
    <>
      <TextLine
        name="reason"
        label={t('participant.break.reason')}
        hint={t('participant.break.reasonHint')}
        isLong
        minLength={3}
        maxLength={2000}
      />
      <Choice
        name="category"
        label={t('participant.break.why')}
        options={CATEGORIES.map((one) => [one, t(`participant.category.${one}`)])}
        defaultValue="emergency"
      />
      <TextLine
        name="requested_by"
        label={t('participant.break.requestedBy')}
        maxLength={128}
        autoComplete="off"
        isOptional
      />
    </>
  );
}

function questionOf(study: string, subject: Subject, filled: FieldValues) {
  const requestedBy = filled('requested_by');
  return {
    ...{ study, ...subject, category: filled('category') as (typeof CATEGORIES)[number] },
    reason: filled('reason') ?? '',
    ...(requestedBy !== undefined && { requested_by: requestedBy }),
  };
}

/** Asking again would not help. */
function isRefusal(error: Error): boolean {
  return error instanceof ApiProblem && error.status < 500 && error.status !== 429;
}

function brokenBy(subject: Subject, { results, revision, headers }: Answer<unknown>): ShownCode {
  const [shown] = results as { id?: string; trt?: string }[];
  if (shown?.trt === undefined) throw new Error('a code-break without a treatment');
  return {
    ...{ subject, id: shown.id, arm: shown.trt, revision: revision ?? 0 },
    at: new Date(headers.get('Date') ?? Date.now()).toISOString(),
    recordedIn: (headers.get('Urn-Recorded') ?? 'none') as ShownCode['recordedIn'],
    remarks: (['again', 'cut', 'share'] as const).filter((one) => headers.get(REMARKS[one]) === 'true'),
    isTest: headers.get('Urn-Mode') === 'test',
  };
}

export function BrokenCode({
  study,
  broken: { subject, id, arm, at, revision, recordedIn, remarks, isTest },
  onHide,
}: {
  study: string;
  broken: ShownCode;
  onHide: () => void;
}) {
  const { t } = useTranslation();
  const { user, on_behalf_of: acting } = useSession();
  const title =
    'id' in subject ? t('participant.break.heading', subject) : t('participant.break.packHeading', subject);
  const strong = { id: <strong className="number" /> };
  return (
    <Page title={title} width="narrow" chips={<TestChip mode={isTest ? 'test' : 'live'} />}>
      <div className={`card ${styles['result']}`} role="alert">
        <p className="soft">
          {'code' in subject && id === undefined ? (
            <Trans
              i18nKey="participant.break.holds"
              values={{ code: subject.code, study }}
              components={strong}
            />
          ) : (
            <Trans i18nKey="participant.break.is" values={{ id: id ?? '', study }} components={strong} />
          )}
        </p>
        <p className={styles['arm']}>{arm}</p>
        {id === undefined && <p>{t('participant.break.nobody')}</p>}
        <p className="soft">
          {t('participant.break.shown')} <ExactTime at={at} /> ·{' '}
          {acting === undefined ? user : t('participant.onBehalf', { user, person: acting })}
          {recordedIn === 'log' && ` · ${t('participant.break.log', { revision })}`}
        </p>
        {recordedIn !== 'log' && (
          <p className={recordedIn === 'none' ? 'notice danger' : 'notice warn'}>
            {t(`participant.break.${recordedIn}`)}
          </p>
        )}
        {remarks.map((one) => (
          <p key={one} className="notice warn">
            {t(`participant.break.${one}`)}
          </p>
        ))}
        <div className="decide">
          <Button className="button" onPress={() => window.print()}>
            {t('participant.break.print')}
          </Button>
          <Button className="button go" onPress={onHide}>
            {t('participant.break.hide')}
          </Button>
        </div>
      </div>
      <p className={`soft ${styles['once']}`}>{t('participant.break.once')}</p>
    </Page>
  );
}
