/** The entry of the program: turns the arguments into a command and runs it. */
import { Command } from 'commander';
import { DomainError, RecordError } from './base/errors.ts';
import { printable } from './base/text.ts';
import { UsageError } from './cli/options.ts';
import { note } from './cli/output.ts';
import { versionAndCommit } from './cli/version.ts';
import { StudiesFileError } from './core/configuration/finding.ts';
import { StoreError } from './store/event-store.ts';

// Files created from here on hold keys, seeds or treatments: only their owner may read them.
process.umask(0o077);
// With DEBUG set, libraries print the data that passes through them, such as sealed sections and keys.
delete process.env['DEBUG'];

// Whoever reads may have read enough, such as `head`. The exit code is the shell's for SIGPIPE.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') process.stderr.write(`urn: cannot write the result: ${message}\n`);
  process.exit(code === 'EPIPE' ? 141 : 2);
});

const program = new Command('urn')
  .description(
    'Randomization service for clinical trials: an append-only log, replayable allocation by allocation',
  )
  .version(versionAndCommit())
  .showHelpAfterError('(hint: add --help)')
  .addHelpText(
    'after',
    `
Most options have an environment variable, URN_<NAME>, such as URN_PORT, which the help names; the option wins.

Documentation:
  /docs                 of a running service: its HTTP interface (for machines: /openapi.json)
  docs/                 in the project's folder: operations.md, auditing.md, verifying.md and others
  docs/studies-file.md  reference of the studies file; studies.yaml is an example`,
  )
  // Messages repeat what was typed, so it is made printable.
  .configureOutput({
    writeOut: (text) => process.stdout.write(printable(text)),
    writeErr: (text) => process.stderr.write(printable(text)),
  })
  .exitOverride((exit) => {
    process.exit(exit.exitCode === 0 ? 0 : 2);
  });
/** By name, in the order of the help. Each is loaded only when needed: its imports take most of its start-up time. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./cli/init.ts')).initCommand(),
  serve: async () => (await import('./cli/serve.ts')).serveCommand(),
  keys: async () => {
    const { keysCommand } = await import('./cli/keys.ts');
    return group('keys', 'API keys', keysCommand());
  },
  studies: async () => {
    const { studiesCommand } = await import('./cli/studies.ts');
    return group('studies', 'studies', studiesCommand());
  },
  simulate: async () => (await import('./cli/simulate.ts')).simulateCommand(),
  import: async () => (await import('./cli/import.ts')).importCommand(),
  verify: async () => (await import('./cli/verify.ts')).verifyCommand(),
  explain: async () => (await import('./cli/explain.ts')).explainCommand(),
  participants: async () => {
    const { participantsCommand } = await import('./cli/participants.ts');
    return group('participants', 'participants', participantsCommand());
  },
  codes: async () => {
    const { codesCommand } = await import('./cli/codes.ts');
    return group('codes', 'packs of medication', codesCommand());
  },
  lists: async () => {
    const { listsCommand } = await import('./cli/lists.ts');
    return group('lists', 'lists of allocations that were made elsewhere', listsCommand());
  },
  reveal: async () => (await import('./cli/code-breaks.ts')).revealCommand(),
  'code-breaks': async () => {
    const { codeBreaksCommand } = await import('./cli/code-breaks.ts');
    return group('code-breaks', 'who was unblinded', codeBreaksCommand(), 'list');
  },
  unblindings: async () => {
    const { actCommands } = await import('./cli/act-commands.ts');
    return group('unblindings', 'unblindings outside the service, or in error', actCommands('unblindings'));
  },
  rerandomize: async () => (await import('./cli/rerandomize.ts')).rerandomizeCommand(),
  bundle: async () => (await import('./cli/bundle.ts')).bundleCommand(),
  report: async () => (await import('./cli/bundle.ts')).reportCommand(),
  export: async () => (await import('./cli/export.ts')).exportCommand(),
  relay: async () => (await import('./cli/relay.ts')).relayCommand(),
  operations: async () => (await import('./cli/operations.ts')).operationsCommand(),
  recover: async () => (await import('./cli/recover.ts')).recoverCommand(),
  copy: async () => (await import('./cli/copy.ts')).copyCommand(),
  'signing-key': async () => {
    const { signingKeyCommand } = await import('./cli/signing-key.ts');
    return group('signing-key', 'the key that signs checkpoints', signingKeyCommand());
  },
  'session-key': async () => {
    const { sessionKeyCommand } = await import('./cli/session-key.ts');
    return group('session-key', 'the key that seals the cookies of people who sign in', sessionKeyCommand());
  },
};
const [, , asked = ''] = process.argv;
// The help, and the hint after an unknown name, list all of them.
const wanted = Object.hasOwn(COMMANDS, asked) ? [asked] : Object.keys(COMMANDS);
for (const name of wanted) {
  const command = await COMMANDS[name]?.();
  if (command) add(program, command);
}

/**
 * @param about what its commands are about; their names follow
 * @param byDefault the command that runs if none is named
 */
function group(name: string, about: string, commands: readonly Command[], byDefault?: string): Command {
  const names = commands.map((one) => (one.name() === byDefault ? `${byDefault} (the default)` : one.name()));
  const made = new Command(name).description(`${about}: ${names.join(', ')}`).copyInheritedSettings(program);
  for (const command of commands) add(made, command, command.name() === byDefault);
  return made;
}

/** `addCommand` alone would leave the command with commander's own exit codes. */
function add(parent: Command, command: Command, isDefault = false): void {
  parent.addCommand(command.copyInheritedSettings(parent), { isDefault });
}

try {
  await program.parseAsync();
} catch (error) {
  const known =
    error instanceof UsageError ||
    error instanceof StudiesFileError ||
    error instanceof DomainError ||
    error instanceof StoreError ||
    error instanceof RecordError;
  const { message, code } = error as NodeJS.ErrnoException;
  // The message about an unknown type has its own hint.
  const damaged = error instanceof RecordError && error.fault !== 'unknown-type';
  if (damaged) note(`urn: ${message} (hint: keep the files as they are and restore a backup beside them)`);
  else if (known) note(`urn: ${message}`);
  else if (code === 'EADDRINUSE')
    note('urn: the port is in use (hint: another service runs there; choose another with --port)');
  else if (code === 'EACCES')
    note(
      `urn: not allowed: ${message} (hint: choose a port above 1023 with --port, or check the file's permissions)`,
    );
  else if (code === 'EROFS')
    note(`urn: ${message} (hint: as in a container, nothing may be written there: name a mounted folder)`);
  else if (code !== undefined) note(`urn: ${message}`);
  else note(`urn: unexpected error: ${(error as Error).stack ?? String(error)}`);
  process.exit(2);
}
