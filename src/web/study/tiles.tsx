/** The study in four numbers. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { largestDifference } from '../../base/charts/series.ts';
import type { Schemas } from '../api/client.ts';
import { When } from '../parts/when.tsx';
import { useProgress } from '../session/progress.tsx';
import { useScope } from '../session/session.tsx';
import style from './page.module.css';
import { codeBreaksQuery } from './queries.ts';
import { unblindedIn } from './unblinded.ts';
import { useArms, useEnrolment } from './use-enrolment.ts';

export function Tiles({ summary }: { summary: Schemas['Studies'][number] }) {
  const { t } = useTranslation();
  const { study, enrolled = 0, voided = 0, filled, last_allocation_at } = summary;
  const progress = useProgress();
  const isReader = useScope('read', 'blinded');
  const maySeeCodeBreaks = useScope('read', 'blinded', 'audit');
  return (
    <section className={`grid ${style.tiles}`} aria-label={t('study.tiles')}>
      <Tile
        label={
          <>
            {progress.who}
            {voided > 0 && (
              <>
                <br />
                <small>{t('study.listed', { enrolled, voided })}</small>
              </>
            )}
          </>
        }
      >
        {filled} <span className="soft">{progress.of(summary)}</span>
      </Tile>
      <Tile label={t('study.lastAllocation')}>
        {last_allocation_at === undefined ? t('study.nobodyYet') : <When at={last_allocation_at} />}
      </Tile>
      {isReader && <DifferenceTile study={study} />}
      {maySeeCodeBreaks && <CodeBreaksTile study={study} />}
    </section>
  );
}

function Tile({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className="card tile">
      <strong>{children}</strong>
      {label}
    </div>
  );
}

function DifferenceTile({ study }: { study: string }) {
  const { t } = useTranslation();
  const { data: enrolment } = useEnrolment(study);
  const arms = useArms(study);
  if (!enrolment?.treatments || enrolment.enrolled === 0 || !arms) return null;
  const open = arms.filter(({ isClosed }) => !isClosed);
  const isByShare = open.some(({ share }) => share !== 1);
  return (
    <Tile label={t(isByShare ? 'study.largestDifferencePerShare' : 'study.largestDifference')}>
      {largestDifference(enrolment.treatments, open)}
    </Tile>
  );
}

function CodeBreaksTile({ study }: { study: string }) {
  const { t } = useTranslation();
  const { data: breaks } = useQuery(codeBreaksQuery(study));
  if (!breaks) return null;
  const categories = breaks.flatMap(({ category }) => category ?? []);
  const kinds = [...new Set(categories)].map((category) => t(`study.category.${category}`)).join(', ');
  const people = unblindedIn(breaks).size;
  return (
    <Tile
      label={
        <>
          {t('study.codeBreaks', { count: categories.length })}
          {kinds && `: ${kinds}`}
          {people > 0 && (
            <>
              <br />
              <small>{t('study.peopleUnblinded', { people })}</small>
            </>
          )}
        </>
      }
    >
      {categories.length}
    </Tile>
  );
}
