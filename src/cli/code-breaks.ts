/**
 * urn reveal breaks the code of one participant, or of one pack. urn code-breaks lists who was unblinded, and prints what a
 * site needs for the night: an arm to be sealed in an envelope, and the page for an emergency.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, realpathSync, statSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { RevealCategory } from '../../events/unblinding.ts';
import { currentId, heldCodes, type Participant, presentPacks } from '../core/model/participants.ts';
import { type CodeBreak, codeBreaksIn } from '../core/study/code-breaks.ts';
import { breakCommand } from '../core/study/decide.ts';
import { participantEvents, participants } from '../core/study/fold.ts';
import type { Subject } from '../service/code-break/code-breaks.ts';
import { PENDING_REVEALS } from '../service/code-break/pending-reveals.ts';
import { locate, mayHoldLog, NoLogError } from '../service/open/store-location.ts';
import {
  caseOption,
  choice,
  type ParticipantOptions,
  type ReasonOptions,
  reasonOf,
  refusalError,
  withParticipant,
  withReason,
} from './act-options.ts';
import { STDOUT } from './files.ts';
import { namedStudy, withNamedLog } from './named-studies.ts';
import { recordDisclosure } from './open-log.ts';
import {
  cliActor,
  jsonOption,
  type LogOptions,
  logCommand,
  logSettings,
  option,
  UsageError,
  unknownParticipant,
} from './options.ts';
import { note, result, table } from './output.ts';

interface RevealOptions extends ReasonOptions {
  readonly id?: string;
  readonly code?: string;
  readonly category: RevealCategory;
  readonly json?: boolean;
}

const REVEAL_HELP = `
Works whether or not the service is running. The code-break is recorded first: who, when, which participant, the
category; the reason under seal. Everybody who may read the study sees that the code was broken, but not the arm.

In an emergency the arm is shown even if the log cannot be written. The code-break then waits in the file
${PENDING_REVEALS} of the data folder, and the service or the next command will record it. The same happens without the
log's signing key: then a process that has the key records it. Other categories need the log, and its key.

It works from any folder if --data or URN_DATA says where the log is. urn code-breaks page prints the page for an emergency, with
the whole command line for this machine.

With --code, the code on the pack is enough: for a pack that was given out, the code-break is about the participant who
has or had it; for any other pack, about the pack alone.

Examples:
  urn reveal --study 'CHS JCOIN' --id 001-0007 --category emergency --reason 'anaphylaxis, ICU' --requested-by 'Dr. K.'
  urn reveal --study 'CHS JCOIN' --code AF5-0017 --category emergency --reason 'a child swallowed tablets'`;

export function revealCommand(): Command {
  return withReason(logCommand('reveal'))
    .description('break the code of one participant, or of one pack: record it, and show the arm')
    .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
    .addOption(caseOption('--id <id>', 'an id that the participant has or had'))
    .addOption(caseOption('--code <code>', 'what is printed on the pack').conflicts('id'))
    .addOption(choice('--category <category>', 'why the code is broken', RevealCategory.options))
    .addOption(jsonOption())
    .addHelpText('after', REVEAL_HELP)
    .action(breakCode);
}

async function breakCode(options: RevealOptions): Promise<void> {
  const { study: name, id: participantId, code, category, dryRun, json } = options;
  if (participantId === undefined && code === undefined)
    throw new UsageError('say whose code to break: --id, or --code of a pack');
  const grounds = reasonOf(options);
  // The patient must not wait for somebody who finds the key.
  const opened = { ...options, mayLackKey: category === 'emergency' && !dryRun };
  await withNamedLog(opened, async ({ studies, codeBreaks, identity }) => {
    const study = namedStudy(studies, name);
    const actor = cliActor();
    if (dryRun) {
      const { user } = actor;
      const asked = { participantId, code, category, ...grounds };
      const { outcome } = await studies.tryOut(study.stream, breakCommand(asked, { user }));
      const refused = refusalError(outcome, options);
      if (refused) throw refused;
      return note(`the code of ${participantId ?? `the pack ${code}`} would be broken; nothing was recorded`);
    }
    const revealed = await codeBreaks.reveal(study, { participantId, code, category, grounds }, actor);
    if (revealed.type === 'not-revealed')
      throw (
        refusalError(revealed.outcome, options) ?? new Error(`unexpected outcome ${revealed.outcome.type}`)
      );
    const { subject, recordedIn, revision, isReasonCut } = revealed;
    const { id, treatment, text } = answerOf(subject, options);
    if (json) result(JSON.stringify({ study: name, id, code, treatment, recordedIn, revision }, null, 2));
    else result(`${text}${recordedIn === 'log' ? ` (code-break recorded at revision ${revision})` : ''}`);
    if (isReasonCut) note('warning: the disk is full, so only 200 characters of the reason are recorded');
    if (recordedIn === 'pending') {
      const why = identity.hasSigningKey ? 'the log could not be written' : 'the signing key is not here';
      const who = identity.hasSigningKey
        ? 'the service or the next command'
        : 'a process that has the key: the service, or a command with --signing-key';
      note(
        `warning: ${why}, so this is NOT recorded yet. It waits in ${resolve(options.data, PENDING_REVEALS)} for ${who}`,
      );
    }
    if (recordedIn === 'none')
      note(
        'warning: this code-break could be recorded NOWHERE. Write it down now, and record it later: urn unblindings add',
      );
  });
}

/** Names the participant by the id that was asked for or, if found by the pack, by the id in use. */
function answerOf(subject: Subject, { id, code }: RevealOptions) {
  if ('pack' in subject) {
    const { code: of, treatment } = subject.pack;
    return {
      id: undefined,
      treatment,
      text: `the pack ${of} holds ${treatment}; nobody is known to have it`,
    };
  }
  const { participant } = subject;
  const { treatment } = participant;
  const of = id ?? currentId(participant);
  const whose = code === undefined || heldCodes(participant).includes(code) ? 'has' : 'had';
  const found = code === undefined ? '' : `, who ${whose} the pack ${code},`;
  return { id: of, treatment, text: `${of}${found} is on ${treatment}` };
}

const PRINT_HELP = `
The text names the participant's ARM. Seal it in an envelope that shows whether it has been opened, and report an opened
envelope with urn unblindings add. Printing is recorded (urn operations).`;

const PAGE_HELP = `
The page is docs/emergency.md. The command line in it works from any folder, for everybody who may use sudo. It contains no password.
Give the options with which the service runs. Fill in the lines, try the command once, and keep the page where people can find
it at night.`;

/** The first one is the default. */
export function codeBreaksCommand(): Command[] {
  return [
    logCommand('list')
      .description('list who was unblinded, when, by whom, and why; never an arm')
      .addOption(option('--study <name>', 'name of the study').makeOptionMandatory())
      .addOption(jsonOption())
      .action(listCodeBreaks),
    withParticipant(logCommand('print'))
      .description("print one participant's arm, to be sealed in an envelope for a site that may be offline")
      .addOption(option('--out <file>', 'a new file (default: -, standard output)'))
      .addHelpText('after', PRINT_HELP)
      .action(printEnvelope),
    logCommand('page')
      .description('print the page for an emergency, with the whole command line for this machine')
      .addHelpText('after', PAGE_HELP)
      .action((options: LogOptions) => result(emergencyPage(options))),
  ];
}

interface ListOptions extends LogOptions {
  readonly study: string;
  readonly json?: boolean;
}

async function listCodeBreaks({ study: name, json, ...options }: ListOptions): Promise<void> {
  await withNamedLog(options, async ({ studies, runner }) => {
    const study = namedStudy(studies, name);
    const everybody = runner.state(participants, study.stream);
    const events = runner.state(participantEvents, study.stream);
    const all = codeBreaksIn(events).map((one) => {
      const { participantId: id = '', randomizedAt = -1 } = one;
      // Somebody else may have the id of who came with an import that was given up.
      const participant = events.byEnrolment.has(randomizedAt) ? everybody.get(id) : undefined;
      return { ...one, id: participant ? currentId(participant) : one.participantId };
    });
    if (json) result(JSON.stringify(all, null, 2));
    else if (all.length === 0) note(`nobody in ${name} was unblinded, as far as the log says`);
    else result(table(all.map(codeBreakRow)));
  });
}

/** `id`: the one in use. */
function codeBreakRow(one: CodeBreak & { readonly id: string | undefined }): string[] {
  const {
    knownAt,
    id = '',
    participantId,
    code,
    how,
    user,
    keyId,
    onBehalfOf,
    reason,
    requestedBy,
    isLate,
  } = one;
  const what = how.type === 'revealed' ? how.category : `reported: ${how.way}`;
  const by = [
    `${user}${keyId === undefined ? ' (command line)' : ` (${keyId})`}`,
    ...(onBehalfOf === undefined ? [] : [`on behalf of ${onBehalfOf}`]),
    ...(requestedBy === undefined ? [] : [`for ${requestedBy}`]),
  ].join(' ');
  const remarks = [
    ...(code === undefined ? [] : [`requested with the pack ${code}`]),
    ...(participantId === undefined ? ['which nobody had'] : []),
    ...(how.type === 'reported' && how.inadvertent ? ['inadvertent'] : []),
    ...(isLate ? [`recorded late, at ${one.at}`] : []),
  ].join(', ');
  return [
    knownAt,
    participantId === undefined || id === participantId ? id : `${id} (randomized as ${participantId})`,
    what,
    by,
    reason,
    remarks,
  ];
}

interface PrintOptions extends ParticipantOptions {
  readonly out?: string;
}

async function printEnvelope({ study: name, id, out, ...options }: PrintOptions): Promise<void> {
  await withNamedLog(options, async (log) => {
    const study = namedStudy(log.studies, name);
    const participant = log.runner.state(participants, study.stream).find(id);
    if (!participant) throw unknownParticipant(name, id);
    const { mode } = study.registered.configuration;
    const text = [
      `CODE-BREAK${mode === 'test' ? ' (TEST STUDY)' : ''}`,
      '',
      `Study        ${name}`,
      `Participant  ${currentId(participant)}`,
      ...formerId(participant),
      `Randomized   ${participant.at} (revision ${participant.revision})`,
      ...(participant.pack ? [`Pack         ${participant.pack.code}`] : []),
      ...presentPacks(participant).map(({ code, visit }) => `Pack         ${code} (${visit})`),
      `Arm          ${participant.treatment}`,
      '',
      `Printed      ${new Date().toISOString()}`,
      '',
      'Open only in an emergency. Then report it: who opened it, when, and why.',
    ].join('\n');
    // The file is created first: no disclosure may be recorded for a file that cannot be written.
    const file = out === undefined || out === STDOUT ? undefined : createFile(out);
    await recordDisclosure(log, { what: 'envelopes', study: name, participant: id });
    if (file === undefined) result(text);
    else {
      writeSync(file, `${text}\n`);
      closeSync(file);
      note(`written: ${out} (it names the arm: seal it)`);
    }
  });
}

/** The label may still show the id under which the participant was randomized. */
function formerId(participant: Participant): string[] {
  const { participantId } = participant;
  return currentId(participant) === participantId ? [] : [`Formerly     ${participantId}`];
}

/** @throws UsageError if the file exists */
function createFile(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(`cannot write ${path}: ${(error as Error).message} (hint: name a new file)`);
  }
}

const require = createRequire(import.meta.url);

/** The command in the document. */
const REVEAL_LINE = /^urn reveal (--study[^`]*```\n)/m;
const CREDENTIALS = /\/\/.*@/s;

/**
 * The page for an emergency: docs/emergency.md, with a command that works on this machine from any folder.
 * @throws NoLogError if there is no log
 */
function emergencyPage(options: LogOptions): string {
  const settings = logSettings(options);
  const location = locate(settings);
  if (!mayHoldLog(location)) throw new NoLogError(settings);
  const text = readFileSync(require.resolve('#emergency'), 'utf8');
  if (!REVEAL_LINE.test(text))
    throw new Error('docs/emergency.md has no line that begins with urn reveal --study');
  const owned = location.kind === 'sqlite' ? location.file : resolve(options.data);
  const begin = [...asOwnerOf(owned), process.execPath, programPath(), 'reveal'].map(shellQuoted).join(' ');
  const lines = [begin, ...locatingOptions(options)].map((line) => `${line} \\\n  `);
  const hint = CREDENTIALS.test(options.store ?? '')
    ? '\nNAME and PASSWORD are those of the store. They are kept ______________________________\n'
    : '';
  return text.replace(REVEAL_LINE, (_, rest: string) => `${lines.join('')}${rest}${hint}`).trimEnd();
}

/** Whoever is called at night need not be the user of the service. */
function asOwnerOf(path: string): string[] {
  const { uid } = statSync(path);
  return uid === 0 ? ['sudo'] : ['sudo', '-u', userName(uid)];
}

/** sudo takes a number, too. */
function userName(uid: number): string {
  try {
    return execFileSync('id', ['-nu', String(uid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return `#${uid}`;
  }
}

/** By the name that it was called by, if that is a link: the link stays when a new version takes the place of this one. */
function programPath(): string {
  const own = join(dirname(require.resolve('#package')), 'bin/urn.js');
  const [, called = own] = process.argv;
  return existsSync(called) && realpathSync(called) === realpathSync(own) ? resolve(called) : own;
}

/** What the command must say so that it finds the log from any folder: paths in full, and no password. */
function locatingOptions({ data, store, streamPrefix, signingKey, allowGroupKey }: LogOptions): string[] {
  const given = {
    '--data': resolve(data),
    '--store': store?.startsWith('sqlite:')
      ? storeInFull(store)
      : store?.replace(CREDENTIALS, '//NAME:PASSWORD@'),
    '--stream-prefix': streamPrefix,
    '--signing-key': signingKey === undefined ? undefined : resolve(signingKey),
  };
  return [
    ...Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : `${name} ${shellQuoted(value)}`,
    ),
    ...(allowGroupKey ? ['--allow-group-key'] : []),
  ];
}

/** `sqlite:` alone is the database of the data folder. */
function storeInFull(store: string): string {
  const file = store.slice('sqlite:'.length);
  return file === '' ? store : `sqlite:${resolve(file)}`;
}

/** As a shell reads it. */
function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
