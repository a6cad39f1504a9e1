import { defineConfig } from 'vitest/config';
import all from './vitest.config.ts';

/** Unit tests alone, which need no build: they run even while the program does not compile. */
export default defineConfig({
  ...all,
  test: { ...all.test, include: ['test/unit/**/*.test.{ts,tsx}'], globalSetup: [] },
});
