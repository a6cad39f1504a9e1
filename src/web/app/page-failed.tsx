/** In the place of a page that could not be loaded, or that broke. */
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useRouteError } from 'react-router';
import { isActUnanswered } from '../api/client.ts';
import { address } from '../parts/fragment.ts';
import { Page } from '../parts/page.tsx';
import { reloadIfServed, TryAgain } from '../parts/try-again.tsx';
import { readPending } from '../randomize/pending.ts';
import { useSessionContext } from '../session/session.tsx';
import { PageNotLoaded } from './load-page.ts';
import { isFirstReload, noteReload } from './reloads.ts';

export function PageFailed() {
  const { t } = useTranslation();
  const error = useRouteError();
  const missing = error instanceof PageNotLoaded ? error.page : undefined;
  const isMissing = missing !== undefined;
  useRepair(missing);
  return (
    <Page title={t(isMissing ? 'common.pageNotLoaded' : 'common.pageFailed')} width="narrow">
      <div className="notice warn" role="alert">
        <p>{t(isMissing ? 'common.pageNotLoadedWhy' : 'common.pageFailedWhy')}</p>
        <Unanswered />
        <TryAgain />
      </div>
      <Emergency />
    </Page>
  );
}

/**
 * The files of a page are gone after an upgrade, and the page knows the new names when it is loaded again. That is done once
 * without anybody's asking: as soon as the service answers, and never while an answer is awaited.
 */
function useRepair(missing: string | undefined): void {
  useEffect(() => {
    if (missing === undefined) return undefined;
    let isShown = true;
    const repair = () =>
      void reloadIfServed(() => {
        const isWanted = isShown && isFirstReload(missing) && !isActUnanswered() && !readPending();
        if (isWanted) noteReload(missing);
        return isWanted;
      });
    repair();
    window.addEventListener('online', repair);
    return () => {
      isShown = false;
      window.removeEventListener('online', repair);
    };
  }, [missing]);
}

/** What was sent and not answered. A reload would hide that from whoever sent it. */
function Unanswered() {
  const { t } = useTranslation();
  const pending = readPending();
  if (pending)
    return (
      <p>
        {t('common.randomizationUnanswered')}{' '}
        <Link to={address('randomize', pending.study)}>{t('common.toRandomization')}</Link>
      </p>
    );
  return isActUnanswered() ? <p>{t('common.actUnanswered')}</p> : null;
}

function Emergency() {
  const { t } = useTranslation();
  const { phase } = useSessionContext();
  if (phase.is !== 'in' || !phase.session.scopes.includes('unblind')) return null;
  return <p>{t('common.emergencyWithoutPages')}</p>;
}
