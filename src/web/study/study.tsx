/** One study: how far it is, and who is in it. */
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate } from 'react-router';
import type { Schemas } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { address, useFragment } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { StateChip, TestChip } from '../parts/study-chips.tsx';
import { later } from '../parts/try-again.tsx';
import { When } from '../parts/when.tsx';
import { useScope } from '../session/session.tsx';
import { studiesQuery } from '../session/studies-query.ts';
import { Participants } from './participants.tsx';
import { Tiles } from './tiles.tsx';
import { useMayExpect } from './use-expected.ts';

// The library for charts is large, and the list does not need it.
const Figures = later(async () => (await import('./figures.tsx')).Figures);
const Balance = later(async () => (await import('./figures.tsx')).Balance);
// If they are missing, the charts above say so.
const LevelTables = later(
  async () => (await import('./figures.tsx')).LevelTables,
  () => null,
);

type StudySummary = Schemas['Studies'][number];

export function Study() {
  const { study } = useFragment();
  // Another study starts afresh: nothing of the last one is kept.
  return study === undefined ? (
    <Navigate to={address('studies')} replace />
  ) : (
    <OneStudy key={study} study={study} />
  );
}

function OneStudy({ study }: { study: string }) {
  const { t } = useTranslation();
  const { data: studies, error } = useQuery(studiesQuery);
  const summary = studies?.find((one) => one.study === study);
  return (
    <Page
      title={study}
      chips={summary && <Chips {...summary} />}
      actions={<Actions state={summary?.state} study={study} />}
    >
      <ProblemNotice error={studies ? null : error} />
      {studies && !summary && (
        <div className="notice">
          <p>{t('study.notHere')}</p>
          <Link to={address('studies')}>{t('common.toStudies')}</Link>
        </div>
      )}
      {!studies && !error && <Loading />}
      {summary && <StateNotice {...summary} />}
      {summary && summary.state !== 'unreadable' && <Contents summary={summary} />}
    </Page>
  );
}

function Contents({ summary }: { summary: StudySummary }) {
  const { study, enrolled = 0 } = summary;
  const mayList = useScope('read', 'blinded');
  const mayExpect = useMayExpect();
  const hasAny = enrolled > 0;
  // People who may not read the list do their work on other pages.
  if (!mayList)
    return (
      <div className="grid">
        <Tiles summary={summary} />
        {hasAny && mayExpect && (
          <Suspense fallback={<Loading />}>
            <Balance study={study} />
          </Suspense>
        )}
      </div>
    );
  return (
    <div className="grid">
      <Tiles summary={summary} />
      {hasAny && (
        <Suspense fallback={<Loading />}>
          <Figures summary={summary} />
        </Suspense>
      )}
      <Participants study={study} />
      {hasAny && (
        <Suspense fallback={null}>
          <LevelTables study={study} />
        </Suspense>
      )}
    </div>
  );
}

function Chips({ state, mode, protocol }: StudySummary) {
  const { t } = useTranslation();
  return (
    <>
      <StateChip state={state} />
      <TestChip mode={mode} />
      {protocol && <Chip>{t('study.protocol', protocol)}</Chip>}
    </>
  );
}

function Actions({ state, study }: { state: StudySummary['state'] | undefined; study: string }) {
  const { t } = useTranslation();
  const mayRandomize = useScope('randomize') && state === 'open';
  const maySupply = useScope('supply');
  if (!mayRandomize && !maySupply) return null;
  return (
    <>
      {maySupply && (
        <Link className="button" to={address('packs', study)}>
          {t('common.nav.packs')}
        </Link>
      )}
      {mayRandomize && (
        <Link className="button go" to={address('randomize', study)}>
          {t('study.randomize')}
        </Link>
      )}
    </>
  );
}

function StateNotice({ state, reason, since }: StudySummary) {
  const { t } = useTranslation();
  if (state === 'open') return null;
  return (
    <div className={state === 'unreadable' ? 'notice danger' : 'notice warn'}>
      <p>{t(`study.${state}`)}</p>
      {(since !== undefined || reason !== undefined) && (
        <p>
          {since !== undefined && (
            <>
              {t('study.since')} <When at={since} />
              {reason !== undefined && ': '}
            </>
          )}
          {reason !== undefined && <q>{reason}</q>}
        </p>
      )}
    </div>
  );
}
