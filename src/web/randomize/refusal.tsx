/** Why a participant is not randomized, and what to do next. */
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { ApiProblem } from '../api/client.ts';
import { address } from '../parts/fragment.ts';
import { Notice, ProblemNotice } from '../parts/problem.tsx';
import { useScope } from '../session/session.tsx';
import type { Draft } from './draft.ts';
import { Arm, Recorded } from './recorded.tsx';
import { recordOf } from './requests.ts';

export function Refusal({ error, draft }: { error: Error; draft: Draft }) {
  const isDuplicate = error instanceof ApiProblem && error.reason === 'duplicate';
  return isDuplicate ? <Duplicate error={error} draft={draft} /> : <ProblemNotice error={error} />;
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
    <Notice what={t('randomize.duplicate', { id })} next={t('randomize.duplicateNext')}>
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
    </Notice>
  );
}
