import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

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

/** Files that mostly wait, for processes, brokers and time-outs. */
const WAITING = /\/test\/(e2e|integration)\/(deploy|faults|instances|relay|store)\//;

/** Spreads the files that wait over the whole run: others compute beside them. */
class Spread extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isWaiting = ({ moduleId }: TestSpecification) => WAITING.test(moduleId);
    return [sorted.filter(isWaiting), sorted.filter((file) => !isWaiting(file))]
      .flatMap((kind) => kind.map((file, i) => ({ file, at: i / kind.length })))
      .sort((a, b) => a.at - b.at)
      .map(({ file }) => file);
  }
}

export default defineConfig({
  plugins: [programAsFunction],
  test: {
    // Files that start processes get a generous time; none of them measures one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // For two cores: many tests wait for processes, brokers and time-outs. A sixth worker takes as long to import what is tested
    // as it saves.
    maxWorkers: 5,
    sequence: { sequencer: Spread },
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
