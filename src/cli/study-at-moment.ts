/** A study as it is, or as it was at a revision or instant: what urn studies show is about. */
import type { BalanceView } from '../core/model/balance.ts';
import { type Design, registeredDesign } from '../core/model/design.ts';
import { type HeadCount, headCount, voidedByCause } from '../core/model/participants.ts';
import {
  balance,
  designs,
  participantEvents,
  participants,
  studyConfig,
  studyState,
} from '../core/study/fold.ts';
import { type LimitInForce, limitsInForce } from '../core/study/public-design.ts';
import type { Study } from '../core/study/studies.ts';
import {
  type CodeBreak,
  codeBreaksIn,
  type EntryNumbers,
  entryNumbers,
  type PackNumbers,
  packNumbers,
} from '../core/study/tally.ts';
import { foldUntil, isBeyond, type Moment } from '../evidence/history/history.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { UsageError } from './options.ts';

export interface StudyAtMoment {
  readonly study: Study;
  /** Every design until then, in order. */
  readonly designsUntil: readonly Design[];
  readonly counts: BalanceView | undefined;
  readonly breaks: readonly CodeBreak[];
  readonly heads: HeadCount;
  /** How many are voided, by cause. */
  readonly voided: Readonly<Record<string, number>>;
  readonly limits: readonly LimitInForce[];
  /** Undefined for a study without packs. */
  readonly packs: PackNumbers | undefined;
  /** Undefined for a study that follows no list. */
  readonly entries: EntryNumbers | undefined;
  /** The time of the last event that is shown. */
  readonly at: string | undefined;
  /** The time of the first event that is not. */
  readonly nextAt: string | undefined;
}

export function present({ runner, studies }: OpenLog, study: Study): StudyAtMoment {
  const { stream } = study;
  const { inOrder } = runner.state(participants, stream);
  return {
    study,
    designsUntil: studies.designs(stream),
    counts: runner.state(balance, stream)?.view(),
    breaks: codeBreaksIn(runner.state(participantEvents, stream)),
    heads: headCount(inOrder),
    voided: voidedByCause(inOrder),
    limits: limitsInForce(study.design, inOrder),
    packs: packNumbers(runner.state(studyState, stream), runner.state(participantEvents, stream)),
    entries: entryNumbers(runner.state(studyState, stream)),
    at: runner.lastAt(stream),
    nextAt: undefined,
  };
}

/** @throws UsageError for a moment before the study was registered, or a revision it has not reached */
export async function past(
  { store, identity }: OpenLog,
  study: Study,
  moment: Moment,
): Promise<StudyAtMoment> {
  const { stream, revision: last, registered } = study;
  if (moment.type === 'revision' && moment.revision > last)
    throw new UsageError(`--revision ${moment.revision} is beyond the study, which is at revision ${last}`);
  if (moment.type === 'instant' && moment.at < registered.registeredAt)
    throw new UsageError(
      `--at ${moment.at} is before the study, which was registered at ${registered.registeredAt}`,
    );
  const { states, revision, at, next } = await foldUntil(
    { store, logId: identity.logId },
    stream,
    { registered: studyConfig, designs, participants, balance, participantEvents, studyState },
    isBeyond(moment),
  );
  const { inOrder } = states.participants;
  const design = states.designs.at(-1) ?? registeredDesign(registered.configuration);
  return {
    study: { stream, revision, registered: states.registered ?? registered, design },
    designsUntil: states.designs,
    counts: states.balance?.view(),
    breaks: codeBreaksIn(states.participantEvents),
    heads: headCount(inOrder),
    voided: voidedByCause(inOrder),
    limits: limitsInForce(design, inOrder),
    packs: packNumbers(states.studyState, states.participantEvents),
    entries: entryNumbers(states.studyState),
    at,
    nextAt: next?.at,
  };
}
