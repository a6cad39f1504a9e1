/** The pages by their paths. Each is loaded when it is first opened. */
import { createBrowserRouter, Navigate } from 'react-router';
import { Outside, Shell } from './shell.tsx';

export const router = createBrowserRouter([
  {
    Component: Outside,
    HydrateFallback: () => null,
    children: [
      {
        path: '/pages/offline',
        lazy: async () => ({ Component: (await import('../offline/offline.tsx')).Offline }),
      },
    ],
  },
  {
    Component: Shell,
    HydrateFallback: () => null,
    children: [
      { index: true, element: <Navigate to="/pages/studies" replace /> },
      { path: '/pages/', element: <Navigate to="/pages/studies" replace /> },
      {
        path: '/pages/studies',
        lazy: async () => ({ Component: (await import('../studies/studies.tsx')).Studies }),
      },
      { path: '/pages/study', lazy: async () => ({ Component: (await import('../study/study.tsx')).Study }) },
      {
        path: '/pages/randomize',
        lazy: async () => ({ Component: (await import('../randomize/randomize.tsx')).Randomize }),
      },
      {
        path: '/pages/participant',
        lazy: async () => ({ Component: (await import('../participant/participant.tsx')).Participant }),
      },
      {
        path: '/pages/manage',
        lazy: async () => ({ Component: (await import('../manage/manage.tsx')).Manage }),
      },
      { path: '/pages/audit', lazy: async () => ({ Component: (await import('../audit/audit.tsx')).Audit }) },
      { path: '*', lazy: async () => ({ Component: (await import('./not-found.tsx')).NotFound }) },
    ],
  },
]);
