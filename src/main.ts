/** argv -> command. */
import { Command } from 'commander';
import { RecordError } from '../events/record.ts';
import { bundleCommand } from './cli/bundle.ts';
import { explainCommand } from './cli/explain.ts';
import { keysCommand } from './cli/keys.ts';
import { UsageError } from './cli/options.ts';
import { note } from './cli/output.ts';
import { recoverCommand } from './cli/recover.ts';
import { serveCommand } from './cli/serve.ts';
import { signingKeyCommand } from './cli/signing-key.ts';
import { studiesCommand } from './cli/studies.ts';
import { verifyCommand } from './cli/verify.ts';
import { VERSION } from './cli/version.ts';
import { DomainError } from './errors.ts';
import { StoreError } from './store/event-store.ts';

// Whatever is made from here on holds keys, seeds or treatments: for its owner alone.
process.umask(0o077);

const program = new Command('urn')
  .description(
    'Randomization service for clinical trials: an append-only log, replayable allocation by allocation',
  )
  .version(VERSION)
  .showHelpAfterError('(hint: add --help)')
  .addHelpText(
    'after',
    '\nEvery option has an environment variable, URN_<NAME>, such as URN_PORT; the option wins.',
  )
  .exitOverride((exit) => {
    process.exit(exit.exitCode === 0 ? 0 : 2);
  });
add(program, serveCommand());
const keys = program.command('keys').description('API keys: add, list, revoke');
for (const command of keysCommand()) add(keys, command);
const studies = program.command('studies').description('studies: check, list, show, pause, resume');
for (const command of studiesCommand()) add(studies, command);
add(program, verifyCommand());
add(program, explainCommand());
add(program, bundleCommand());
add(program, recoverCommand());
const signingKey = program.command('signing-key').description('the key that signs checkpoints: show, rotate');
for (const command of signingKeyCommand()) add(signingKey, command);

/** `addCommand` alone would leave the command with commander's own exit codes. */
function add(parent: Command, command: Command): void {
  parent.addCommand(command.copyInheritedSettings(parent));
}

try {
  await program.parseAsync();
} catch (error) {
  const known =
    error instanceof UsageError ||
    error instanceof DomainError ||
    error instanceof StoreError ||
    error instanceof RecordError;
  const { message, code } = error as NodeJS.ErrnoException;
  // An unknown type has a hint of its own.
  const damaged = error instanceof RecordError && error.fault !== 'unknown-type';
  if (damaged) note(`urn: ${message} (hint: keep the files as they are and restore a backup beside them)`);
  else if (known) note(`urn: ${message}`);
  else if (code === 'EADDRINUSE')
    note('urn: the port is in use (hint: another service runs there; choose another with --port)');
  else if (code === 'EACCES')
    note(
      `urn: not allowed: ${message} (hint: choose a port above 1023 with --port, or check the file's permissions)`,
    );
  else if (code !== undefined) note(`urn: ${message}`);
  else note(`urn: unexpected error: ${(error as Error).stack ?? String(error)}`);
  process.exit(2);
}
