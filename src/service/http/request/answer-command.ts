/** Submits what a JSON body asks for, or tries it out. */

import type { StudyOutcome } from '../../../core/model/outcomes.ts';
import type { Amend, Force } from '../../../core/study/commands.ts';
import type { WriteResult } from '../../../core/write/writer.ts';
import type { KeyActor } from '../../operations/recorder.ts';
import { dryRunReply } from './dry-run.ts';
import { REPEATED_HEADER, receiptHeader } from './receipt.ts';
import { SUCCESS } from './reply.ts';
import type { Services } from './services.ts';
import { actorOf, type BodyRequest, type StudyReply } from './study-request.ts';

interface Answers {
  /** The answer to a command that was refused; undefined if it was not. */
  problemOf(outcome: StudyOutcome, revision: number): StudyReply | undefined;
  /** JSON of the results, once the command has been recorded, or if it was recorded before. */
  results(outcome: StudyOutcome): string;
}

type CommandRequest = BodyRequest<{ readonly study: string; readonly dry_run?: boolean | undefined }>;

export function answerCommand(
  services: Services,
  request: CommandRequest,
  command: Amend | Force,
  answers: Answers,
): Promise<StudyReply> {
  const { studies } = services;
  const { stream } = request.study;
  const ask = (isDry: boolean, actor: KeyActor) =>
    isDry ? studies.tryOut(stream, command) : studies.submit(stream, command, actor);
  return answerAsked(services, request, ask, answers);
}

/** @param ask only tries it if `isDry` */
export async function answerAsked(
  { ledger, limits: { posts } }: Services,
  request: CommandRequest,
  ask: (isDry: boolean, actor: KeyActor) => Promise<WriteResult<StudyOutcome>>,
  { problemOf, results }: Answers,
): Promise<StudyReply> {
  const isDry = request.body.dry_run === true;
  const { keyId } = request.accepted.key;
  const actor = actorOf(request);
  posts.enter(keyId);
  const { outcome, revision } = await ask(isDry, actor).finally(() => posts.leave(keyId));
  const problem = problemOf(outcome, revision);
  if (problem) return problem;
  if (isDry)
    return dryRunReply('moves' in outcome && outcome.moves ? 'moves' : 'stays', revision, request.design());
  const receipt = receiptHeader(ledger, request.study.stream, revision);
  const headers = outcome.type === 'done-before' ? { ...receipt, ...REPEATED_HEADER } : receipt;
  return { status: 200, message: SUCCESS, results: results(outcome), revision, headers };
}
