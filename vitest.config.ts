import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Files that start processes get a generous time; none of them measures one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // Twice as many as two cores: many tests wait for processes, brokers and time-outs.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        // Unit tests touch nothing outside themselves, so their files need no processes of their own.
        test: { name: 'unit', include: ['test/unit/**/*.test.{ts,tsx}'], isolate: false, css: true },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/{integration,e2e}/**/*.test.ts'],
          // The real program, and the store's writing thread, run from the build.
          globalSetup: ['test/support/build.ts'],
        },
      },
    ],
  },
});
