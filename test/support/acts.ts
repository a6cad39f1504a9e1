/** Commands for acts, written flat: what is asked for and who asks, side by side. */

import type { ActCommand } from '../../src/core/acts/acts.ts';
import { type ActName, actOf } from '../../src/core/acts/acts.ts';
import type { Members, StudyOutcome } from '../../src/core/model/outcomes.ts';
import type { StudyCommand } from '../../src/core/study/commands.ts';
import { studyDecider, type TriableCommand, tryOut } from '../../src/core/study/decide.ts';
import type { StudyState } from '../../src/core/study/fold.ts';
import { ASKED } from './facts.ts';

export interface FlatAct extends Members {
  readonly act: ActName;
  /** Its members are asked for as well: `reason` and `requestedBy`. */
  readonly grounds?: Members;
}

/** A command as a test writes it. */
export type Written = StudyCommand | FlatAct;

const BY = ['user', 'idempotencyKey', 'isKey', 'where', 'isSupply', 'mayRead'];
const OWN = ['randomizedAt', 'amendment'];

export function asCommand(written: FlatAct): ActCommand;
export function asCommand<C extends StudyCommand>(written: C | FlatAct): C | ActCommand;
export function asCommand<C extends StudyCommand>(written: C | FlatAct): C | ActCommand {
  if (!isFlat(written)) return written;
  const { act, grounds, ...flat } = written;
  const { asks, brings = [] } = actOf(act);
  const given: Members = { ...flat, ...grounds };
  const names = { asked: Object.keys(asks), by: BY, brings, own: OWN };
  const stray = Object.keys(given).find((name) => !Object.values(names).flat().includes(name));
  if (stray !== undefined) throw new Error(`${act} has no member ${stray}`);
  const those = (wanted: readonly string[]) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => wanted.includes(name)));
  const command = {
    ...{ type: 'act', act, asked: those(names.asked), brings: those(names.brings) },
    ...{ by: { user: 'nurse', ...those(BY) }, ...those(OWN) },
  };
  // The form of a command is checked before it is made, and tests also write some that no form lets through.
  return command as unknown as ActCommand;
}

function isFlat(written: StudyCommand | FlatAct): written is FlatAct {
  return !('type' in written);
}

/** The decider of a study, for commands as tests write them. */
export const writtenDecider = {
  ...studyDecider,
  decide: (state: StudyState, written: Written, occasion = ASKED) =>
    studyDecider.decide(state, asCommand(written), occasion),
};

export const tryWritten = (state: StudyState, written: TriableCommand | FlatAct): StudyOutcome =>
  tryOut(state, asCommand(written), ASKED.at);
