/**
 * Commands of the program, run in this process, for tests of what a command does to a log and says about it. Starting the
 * program takes a third of a second of processor time; that it starts, and how it ends, is tested in e2e/cli.
 */
import type { Command } from 'commander';
import { type Finished, inProcess } from './service.ts';

type Made = Command | readonly Command[];

/** Each is loaded when it is needed, as in the program. */
const COMMANDS: Readonly<Record<string, () => Promise<Made>>> = {
  init: async () => (await import('../../src/cli/init.ts')).initCommand(),
  keys: async () => (await import('../../src/cli/keys.ts')).keysCommand(),
  studies: async () => (await import('../../src/cli/studies.ts')).studiesCommand(),
  simulate: async () => (await import('../../src/cli/simulate.ts')).simulateCommand(),
  import: async () => (await import('../../src/cli/import.ts')).importCommand(),
  verify: async () => (await import('../../src/cli/verify.ts')).verifyCommand(),
  explain: async () => (await import('../../src/cli/explain.ts')).explainCommand(),
  participants: async () => (await import('../../src/cli/participants.ts')).participantsCommand(),
  codes: async () => (await import('../../src/cli/codes.ts')).codesCommand(),
  export: async () => (await import('../../src/cli/export.ts')).exportCommand(),
  reveal: async () => (await import('../../src/cli/reveal.ts')).revealCommand(),
  'code-breaks': async () => (await import('../../src/cli/code-breaks.ts')).codeBreaksCommand(),
  unblindings: async () => (await import('../../src/cli/unblindings.ts')).unblindingsCommand(),
  rerandomize: async () => (await import('../../src/cli/rerandomize.ts')).rerandomizeCommand(),
  bundle: async () => (await import('../../src/cli/bundle.ts')).bundleCommand(),
  report: async () => (await import('../../src/cli/report.ts')).reportCommand(),
  relay: async () => (await import('../../src/cli/relay.ts')).relayCommand(),
  operations: async () => (await import('../../src/cli/operations.ts')).operationsCommand(),
  recover: async () => (await import('../../src/cli/recover.ts')).recoverCommand(),
  copy: async () => (await import('../../src/cli/copy.ts')).copyCommand(),
  'signing-key': async () => (await import('../../src/cli/signing-key.ts')).signingKeyCommand(),
  'session-key': async () => (await import('../../src/cli/session-key.ts')).sessionKeyCommand(),
};

/** Of a group, the command that runs if none is named. */
const BY_DEFAULT: Readonly<Record<string, string>> = { 'code-breaks': 'list' };

let last: Promise<unknown> = Promise.resolve();

/** Like `urn`, such as `command(['keys', 'list'])`. One runs at a time, because its output is that of this process. */
export function command(args: readonly string[]): Promise<Finished> {
  const finished = last.then(() => run(args));
  last = finished.catch(() => undefined);
  return finished;
}

/** Like `command`, but returns its stdout. @throws Error with all its output if it does not exit with 0 */
export async function commandOk(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args);
  if (code !== 0) throw new Error(`urn ${args.join(' ')} exited with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

async function run([name = '', ...rest]: readonly string[]): Promise<Finished> {
  const made = await COMMANDS[name]?.();
  if (made === undefined) throw new Error(`these tests have no urn ${name}`);
  if (!isGroup(made)) return inProcess(made, rest);
  const named = made.find((one) => one.name() === rest[0]);
  const chosen = named ?? made.find((one) => one.name() === BY_DEFAULT[name]);
  if (chosen === undefined) throw new Error(`these tests have no urn ${name} ${rest[0]}`);
  return inProcess(chosen, named ? rest.slice(1) : rest);
}

function isGroup(made: Made): made is readonly Command[] {
  return Array.isArray(made);
}
