/** The studies that the key may see. */
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Schemas } from '../api/client.ts';
import { address } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { StateChip, TestChip } from '../parts/study-chips.tsx';
import { When } from '../parts/when.tsx';
import { useProgressText } from '../session/progress.tsx';
import { studiesQuery } from '../session/studies-query.ts';

export function Studies() {
  const { t } = useTranslation();
  const { data: studies, error } = useQuery({ ...studiesQuery, refetchOnMount: 'always' });
  return (
    <Page title={t('studies.title')}>
      <ProblemNotice error={error} />
      {!studies && !error && <Loading />}
      {studies?.length === 0 && <p className="notice">{t('studies.none')}</p>}
      <ul className="plain grid">
        {studies?.map((study) => (
          <li key={study.study}>
            <StudyCard {...study} />
          </li>
        ))}
      </ul>
    </Page>
  );
}

function StudyCard({
  study,
  mode,
  state,
  reason,
  since,
  filled,
  goal,
  last_allocation_at,
}: Schemas['Studies'][number]) {
  const { t } = useTranslation();
  const progressText = useProgressText();
  const text = filled !== undefined && progressText({ filled, goal });
  return (
    <article className="card">
      <div className="head">
        <h2>
          <Link to={address('study', study)}>{study}</Link>
        </h2>
        <TestChip mode={mode} />
        <StateChip state={state} />
        {text && <span className="right number">{text}</span>}
      </div>
      {text && goal && <progress value={filled} max={goal.places} aria-label={text} />}
      {reason !== undefined && (
        <p>
          {since !== undefined && (
            <>
              {t('studies.since')} <When at={since} />
              {': '}
            </>
          )}
          <q>{reason}</q>
        </p>
      )}
      <p className="soft">
        {last_allocation_at === undefined ? (
          t('studies.noAllocation')
        ) : (
          <>
            {t('studies.lastAllocation')} <When at={last_allocation_at} />
          </>
        )}
      </p>
    </article>
  );
}
