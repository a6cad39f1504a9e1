/** urn code-breaks: who was unblinded; and printed code-breaks for sites that may be offline. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Command } from 'commander';
import type { Participant } from '../core/model/participants.ts';
import { currentId, presentPacks } from '../core/model/participants.ts';
import { participantEvents, participants } from '../core/study/fold.ts';
import { type CodeBreak, codeBreaksIn } from '../core/study/tally.ts';
import { recordDisclosure } from './disclosed.ts';
import { emergencyPage } from './emergency-page.ts';
import { type ParticipantOptions, withParticipant } from './grounds.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  namedStudy,
  option,
  UsageError,
  unknownParticipant,
} from './options.ts';
import { note, result, table } from './output.ts';
import { withNamedLog } from './studies-log.ts';

interface ListOptions extends LogOptions {
  readonly study: string;
  readonly json?: boolean;
}

interface PrintOptions extends ParticipantOptions {
  readonly out?: string;
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
      .action(list),
    withParticipant(logCommand('print'))
      .description("print one participant's arm, to be sealed in an envelope for a site that may be offline")
      .addOption(option('--out <file>', 'a new file (default: standard output)'))
      .addHelpText('after', PRINT_HELP)
      .action(printEnvelope),
    logCommand('page')
      .description('print the page for an emergency, with the whole command line for this machine')
      .addHelpText('after', PAGE_HELP)
      .action((options: LogOptions) => result(emergencyPage(options))),
  ];
}

async function list({ study: name, json, ...options }: ListOptions): Promise<void> {
  await withNamedLog(options, async ({ studies, runner }) => {
    const study = namedStudy(studies, name);
    const everybody = runner.state(participants, study.stream);
    const all = codeBreaksIn(runner.state(participantEvents, study.stream)).map((one) => {
      const participant = everybody.find(one.participantId ?? '');
      return { ...one, id: participant ? currentId(participant) : one.participantId };
    });
    if (json) result(JSON.stringify(all, null, 2));
    else if (all.length === 0) note(`nobody in ${name} was unblinded, as far as the log says`);
    else result(table(all.map(row)));
  });
}

/** `id`: the one in use. */
function row(one: CodeBreak & { readonly id: string | undefined }): string[] {
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
    const file = out === undefined ? undefined : newFile(out);
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
function newFile(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(`cannot write ${path}: ${(error as Error).message} (hint: name a new file)`);
  }
}
