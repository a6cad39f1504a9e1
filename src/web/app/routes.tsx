/** Which path shows which page. Each page is loaded when somebody goes there (load-page.ts). */
import { useTranslation } from 'react-i18next';
import { createBrowserRouter, Link, Navigate } from 'react-router';
import { address } from '../parts/fragment.ts';
import { Page } from '../parts/page.tsx';
import { lazily } from './load-page.ts';
import { PageFailed } from './page-failed.tsx';
import { Outside, Shell } from './shell.tsx';

/** A page that breaks: inside of what surrounds the pages, so that the navigation stays. */
const withinFrame = { errorElement: <PageFailed /> };

/** What surrounds the pages may break, too. */
const frame = {
  HydrateFallback: () => null,
  errorElement: (
    <main>
      <PageFailed />
    </main>
  ),
};

export const router = createBrowserRouter([
  {
    ...frame,
    Component: Outside,
    children: [{ ...withinFrame, children: [{ path: '/pages/offline', lazy: lazily('offline') }] }],
  },
  {
    ...frame,
    Component: Shell,
    children: [
      {
        ...withinFrame,
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
