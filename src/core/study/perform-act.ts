/** Carries out what was asked for, by a program or at the command line: the same checks, the same decision, one answer. */
import type { Actor } from '../../../events/record.ts';
import type { Runner } from '../../../projections/runner.ts';
import type { Requester } from '../acts/act.ts';
import { type ActName, type ActValues, actOf } from '../acts/acts.ts';
import type { ActCommand } from '../acts/command.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import type { WriteResult } from '../write/writer-parts.ts';
import type { TriableCommand } from './decide.ts';
import { studyState } from './state.ts';
import type { Studies, Study } from './studies.ts';

export interface ActRequest {
  readonly act: ActName;
  /** What this act asks: its form has been checked. */
  readonly asked: ActValues;
  readonly by: Requester;
  /** Whether only to try it: nothing is recorded, and nothing is chosen. */
  readonly isDry: boolean;
}

/** @throws DomainError as `Studies.submit` */
export async function performAct(
  { studies, runner }: { readonly studies: Studies; readonly runner: Runner },
  study: Study,
  { act, asked, by, isDry }: ActRequest,
  actor: Actor,
): Promise<WriteResult<StudyOutcome>> {
  const { stream, design, revision } = study;
  const { fits, isJudgedOnce } = actOf(act);
  const amendment = isJudgedOnce ? design.amendment : undefined;
  // That the members are those of the act is lost where acts are treated alike.
  const command = { type: 'act', act, asked, by, amendment, askedAt: new Date().toISOString() } as ActCommand;
  const state = runner.state(studyState, stream);
  const misfit = state.status === 'unregistered' ? undefined : fits?.(asked, state);
  if (misfit && !(await wasAnswered(studies, study, by.idempotencyKey, command)))
    return { outcome: misfit, revision };
  return isDry ? studies.tryOut(stream, command) : studies.submit(stream, command, actor);
}

/** An amendment does not change the answer to a request that was answered before it, by the same key. */
export async function wasAnswered(
  studies: Studies,
  { stream, design }: Study,
  idempotencyKey: string | undefined,
  command: TriableCommand,
): Promise<boolean> {
  if (idempotencyKey === undefined || design.amendment === 0) return false;
  const { type } = (await studies.tryOut(stream, command)).outcome;
  return type === 'done-before' || type === 'idempotency-key-reused';
}
