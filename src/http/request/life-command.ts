/** Submits a command from a JSON body, or tries it out. */

import type { StudyOutcome } from '../../model/outcomes.ts';
import type { Amend, Force } from '../../study/commands.ts';
import { isRepeated } from '../../study/perform-act.ts';
import { dryRunReply } from './dry-run.ts';
import { REPEATED_HEADER, receiptHeader } from './receipt.ts';
import { SUCCESS } from './reply.ts';
import type { Services } from './services.ts';
import { actorOf, type BodyRequest, type StudyReply, type StudyRequest } from './study-request.ts';

interface Answers {
  /** The answer to a command that was refused; undefined if it was not. */
  problemOf(outcome: StudyOutcome, revision: number): StudyReply | undefined;
  /** JSON of the results, once the command has been recorded, or if it was recorded before. */
  results(outcome: StudyOutcome): string;
}

export async function answerCommand(
  services: Services,
  request: BodyRequest<{ readonly study: string; readonly dry_run?: boolean | undefined }>,
  command: Amend | Force,
  { problemOf, results }: Answers,
): Promise<StudyReply> {
  const { studies, ledger } = services;
  const { stream } = request.study;
  const isDry = request.body.dry_run === true;
  const { posts } = services.limits;
  const { keyId } = request.accepted.key;
  posts.enter(keyId);
  const { outcome, revision } = await (isDry
    ? studies.tryOut(stream, command)
    : studies.submit(stream, command, actorOf(request))
  ).finally(() => posts.leave(keyId));
  const problem = problemOf(outcome, revision);
  if (problem) return problem;
  if (isDry) return dryRunReply('moves' in outcome && outcome.moves ? 'moves' : 'stays', revision);
  const receipt = receiptHeader(ledger, stream, revision);
  const headers = outcome.type === 'done-before' ? { ...receipt, ...REPEATED_HEADER } : receipt;
  return { status: 200, message: SUCCESS, results: results(outcome), revision, headers };
}

/** An amendment does not change the answer to a request that was answered before it. */
export async function wasAnswered(
  { studies }: Services,
  { design, study }: StudyRequest,
  command: Force,
): Promise<boolean> {
  if (command.idempotencyKey === undefined || design().amendment === 0) return false;
  const { outcome } = await studies.tryOut(study.stream, command);
  return isRepeated(outcome);
}
