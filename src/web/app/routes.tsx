import { useTranslation } from 'react-i18next';
import { createBrowserRouter, Link, Navigate } from 'react-router';
import { address } from '../parts/fragment.ts';
import { Page } from '../parts/page.tsx';
import { lazily } from './load-page.ts';
import { PageFailed } from './page-failed.tsx';
import { Outside, Shell } from './shell.tsx';

function NotFound() {
  const { t } = useTranslation();
  return (
    <Page title={t('common.noSuchPage')}>
      <p>
        <Link to={address('studies')}>{t('common.toStudies')}</Link>
      </p>
    </Page>
  );
}

/** The pages by their paths. */

/** Inside of what surrounds the pages, so that the navigation stays. */
const failing = { errorElement: <PageFailed /> };
/** What surrounds them may break, too. */
const around = {
  HydrateFallback: () => null,
  errorElement: (
    <main>
      <PageFailed />
    </main>
  ),
};

export const router = createBrowserRouter([
  {
    ...around,
    Component: Outside,
    children: [{ ...failing, children: [{ path: '/pages/offline', lazy: lazily('offline') }] }],
  },
  {
    ...around,
    Component: Shell,
    children: [
      {
        ...failing,
        children: [
          { index: true, element: <Navigate to="/pages/studies" replace /> },
          { path: '/pages/', element: <Navigate to="/pages/studies" replace /> },
          { path: '/pages/studies', lazy: lazily('studies') },
          { path: '/pages/study', lazy: lazily('study') },
          { path: '/pages/randomize', lazy: lazily('randomize') },
          { path: '/pages/participant', lazy: lazily('participant') },
          { path: '/pages/manage', lazy: lazily('manage') },
          { path: '/pages/packs', lazy: lazily('packs') },
          { path: '/pages/audit', lazy: lazily('audit') },
          { path: '*', Component: NotFound },
        ],
      },
    ],
  },
]);
