/** Carries out what was asked for, by a program or at the command line: the same checks, the same decision, one answer. */
import type { Actor } from '../../events/record.ts';
import type { Runner } from '../../projections/runner.ts';
import type { By, Misfit } from '../acts/act.ts';
import { type ActName, type Asked, actOf } from '../acts/acts.ts';
import type { ActCommand } from '../acts/command.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import type { Written } from '../write/writer-parts.ts';
import { studyState } from './state.ts';
import type { Studies, Study } from './studies.ts';

export interface ActRequest<N extends ActName = ActName> {
  readonly act: N;
  /** Its form has been checked. */
  readonly asked: Asked<N>;
  readonly by: By;
  /** Whether only to try it: nothing is recorded, and nothing is chosen. */
  readonly isDry?: boolean | undefined;
}

/** @throws DomainError as `Studies.submit` */
export async function performAct(
  { studies, runner }: { readonly studies: Studies; readonly runner: Runner },
  { stream, design, revision }: Study,
  { act: name, asked, by, isDry = false }: ActRequest,
  actor: Actor,
): Promise<Written<StudyOutcome | Misfit>> {
  const { fits, isJudgedOnce } = actOf(name);
  const amendment = isJudgedOnce ? design.amendment : undefined;
  // The form was that of the act, so what is asked for is what the act asks.
  const command = {
    type: 'act',
    act: name,
    asked,
    by,
    amendment,
    askedAt: new Date().toISOString(),
  } as ActCommand;
  const state = runner.state(studyState, stream);
  const misfit = state.status === 'unregistered' ? undefined : fits?.(asked, state);
  // An amendment does not change the answer to a request that was answered before it.
  const mayBeRepeated = by.idempotencyKey !== undefined && design.amendment > 0;
  if (misfit && !(mayBeRepeated && isRepeated((await studies.tryOut(stream, command)).outcome)))
    return { outcome: misfit, revision };
  return isDry ? studies.tryOut(stream, command) : studies.submit(stream, command, actor);
}

/** Whether the idempotency key was used before. */
export function isRepeated({ type }: StudyOutcome): boolean {
  return type === 'done-before' || type === 'idempotency-key-reused';
}
