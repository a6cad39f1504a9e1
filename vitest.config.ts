import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Files that start processes get a generous time; none of them measures one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // Twice as many as two cores: many tests wait for processes, brokers and time-outs. With six, a run takes no less time.
    maxWorkers: 4,
    // The files that a worker runs share its modules (`isolate`): importing them anew for each file takes a tenth of the
    // whole run. So a file mocks no module, and restores what it spies on.
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.{ts,tsx}'], isolate: false, css: true },
      },
      {
        extends: true,
        test: {
          name: 'real',
          isolate: false,
          // A second, the default, is too short for a process or a browser on a busy machine.
          expect: { poll: { timeout: 30_000 } },
          include: ['test/{integration,e2e}/**/*.test.ts'],
          // The real program, and the store's writing thread, run from the build.
          globalSetup: ['test/support/build.ts', 'test/support/kafka/brokers-of-run.ts'],
        },
      },
    ],
  },
});
