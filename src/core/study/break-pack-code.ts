/** Breaks the code of a participant, or of a pack alone. Pure, like decide.ts. */

import type { StudyFact } from '../../../events/catalogue.ts';
import type { Requester } from '../acts/act.ts';
import { breakCode, recordedAlready } from '../acts/break-code.ts';
import { askedDigest, type CommandOf } from '../acts/command.ts';
import { decideAct, type Source } from '../acts/decide-act.ts';
import { factOf } from '../acts/record-of.ts';
import { isPackWithin } from '../model/key-limits.ts';
import { idByPack, type Model, repeated } from '../model/model.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import type { Decision } from '../write/decider.ts';

type Break = CommandOf<'AllocationRevealed'>;

/** If the pack was given out, the code-break is also about the participant. */
export function decideBreak(model: Model, command: Break, source: Source): Decision<StudyFact, StudyOutcome> {
  const { asked, by, brings = {} } = command;
  const { code } = asked;
  const participantId = code === undefined ? asked.participantId : idByPack(model, code);
  if (participantId !== undefined)
    return decideAct(model, { ...command, asked: { ...asked, participantId } }, source);
  const alone = { ...asked, participantId };
  const problem =
    repeated(model, by, () => askedDigest(breakCode, alone, model)) ??
    recordedAlready(model, brings) ??
    (isKnown(model, command, source) ? undefined : ({ type: 'no-such-participant' } as const));
  if (problem) return { outcome: problem };
  const fact = factOf(breakCode.writes, { ...alone, ...brings }, by.idempotencyKey);
  return { fact, outcome: { type: 'recorded', moves: false } };
}

/** Whether the pack is on a list and within the limits of the key, as far as the lists are there. */
function isKnown(model: Model, { asked: { code }, by }: Break, source: Source): boolean {
  if (code === undefined || model.lists === 0) return false;
  if (typeof source !== 'string') return true;
  const pack = model.packs.get(code);
  return pack !== undefined && isPackWithin(by.where, pack, model.design);
}

/** @param more by default, what a dry run brings */
export function breakCommand(
  asked: Break['asked'],
  by: Requester,
  more: Partial<Break> = { brings: { reveal: 'dry run' } },
): Break {
  return { type: 'act', act: 'AllocationRevealed', asked, by, ...more };
}
