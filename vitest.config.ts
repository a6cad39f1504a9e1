import { defineConfig } from 'vitest/config';

/**
 * `src/main.ts?function` is the program as a function: what follows its imports runs when `main` is called. Tests run it hundreds
 * of times in their own process, and a module runs only once; to transform it anew each time takes longer than most commands.
 */
const programAsFunction = {
  name: 'program-as-function',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!id.endsWith('/src/main.ts?function')) return undefined;
    const end = code.indexOf('\n', code.lastIndexOf('\nimport ') + 1);
    return `${code.slice(0, end)}\nexport async function main() {${code.slice(end)}}`;
  },
};

export default defineConfig({
  plugins: [programAsFunction],
  test: {
    // Files that start processes get a generous time; none of them measures one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // Twice as many as two cores: many tests wait for processes, brokers and time-outs. With more, a run takes no less time.
    maxWorkers: 4,
    // The files that a worker runs share its modules: importing them anew for each file takes a tenth of the whole run. So a
    // file mocks no module, and restores what it spies on. All kinds are one project, since unit tests run while others wait.
    isolate: false,
    include: ['test/{unit,integration,e2e}/**/*.test.{ts,tsx}'],
    css: true,
    // A second, the default, is too short for a process or a browser on a busy machine.
    expect: { poll: { timeout: 30_000 } },
    // The real program, and the store's writing thread, run from the build.
    globalSetup: ['test/support/build.ts', 'test/support/kafka/brokers-of-run.ts'],
  },
});
