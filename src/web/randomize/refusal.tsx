/** Why a participant is not randomized, and what to do next. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { ApiProblem } from '../api/client.ts';
import { address } from '../parts/fragment.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import { useScope } from '../session/session.tsx';
import type { Draft } from './draft.ts';
import { Arm, Recorded } from './recorded.tsx';
import { recordOf } from './requests.ts';

const EXPLAINED = [
  'paused',
  'closed',
  'importing',
  'suspended',
  'full',
  'level-closed',
  'no-entry',
  'no-code',
] as const;
type Explained = (typeof EXPLAINED)[number];

/** The reasons for which only the message of the service says whom they concern. */
const WITH_MESSAGE: ReadonlySet<string> = new Set(['full', 'level-closed']);

export function Refusal({ error, draft }: { error: Error; draft: Draft }) {
  const reason = error instanceof ApiProblem ? error.reason : undefined;
  if (reason === 'duplicate') return <Duplicate error={error} draft={draft} />;
  const explained = EXPLAINED.find((one) => one === reason);
  if (explained === undefined) return <ProblemNotice error={error} />;
  return (
    <StudyRefusal reason={explained}>
      {WITH_MESSAGE.has(explained) && <p lang="en">{error.message}</p>}
    </StudyRefusal>
  );
}

/** @param children what else is known about it */
export function StudyRefusal({ reason, children }: { reason: Explained; children?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <div className="notice warn" role="alert">
      <strong>{t(`randomize.refused.${reason}.what`)}</strong>
      {children}
      <p>{t(`randomize.refused.${reason}.next`)}</p>
    </div>
  );
}

/** Somebody else may have recorded the participant, or the same person before an interruption. */
function Duplicate({ error, draft }: { error: Error; draft: Draft }) {
  const { t } = useTranslation();
  const mayRead = useScope('read', 'blinded');
  const { study, id } = draft;
  const { data: record } = useQuery({
    queryKey: ['recorded', study, id],
    queryFn: () => recordOf(draft).then((found) => found ?? null),
    enabled: mayRead,
  });
  return (
    <div className="notice warn" role="alert">
      <strong>{t('randomize.duplicate', { id })}</strong>
      {/* It names the factors that differ, if they do. */}
      <p lang="en">{error.message}</p>
      {record && (
        <>
          <p>
            <Arm record={record} />
          </p>
          <Recorded study={study} record={record} isTimeShown />
          <p>
            <Link to={address('participant', study, record.id)}>{t('randomize.toParticipant', { id })}</Link>
          </p>
        </>
      )}
      <p>{t('randomize.duplicateNext')}</p>
    </div>
  );
}
