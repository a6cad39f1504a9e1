/** For the tests: Node 20 runs what builds the program as JavaScript. */
export function installBuild(next: string, present: string): Generator<string, void>;
export function removeLeftOver(present: string, files: readonly string[]): void;
export function filesIn(folder: string): string[];
