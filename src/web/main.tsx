/** Starts the pages. */
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import { ApiProblem } from './api/client.ts';
import { refetchUnasked } from './api/unasked.ts';
import { router } from './app/routes.tsx';
import { SessionProvider } from './session/session.tsx';
import { startWords } from './words/index.ts';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Without a connection a request fails, and the page says so. Otherwise it would wait silently.
      networkMode: 'always',
      // Fetched again below, as automatic requests.
      refetchOnReconnect: false,
      // A refusal stays a refusal, however often it is retried.
      retry: (failures, error) => failures < 2 && !(error instanceof ApiProblem && error.status < 500),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

window.addEventListener('online', () => void refetchUnasked(queries, [[]]));

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
await startWords();
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionProvider>
        <RouterProvider router={router} />
      </SessionProvider>
    </QueryClientProvider>
  </StrictMode>,
);
