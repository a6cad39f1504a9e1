/**
 * The acts that change whether a study takes participants: pause and resume, close and reopen. Each says why. The events are
 * in events/study.ts.
 */
import {
  ClosingCause,
  StudyClosed,
  StudyPaused,
  StudyReopened,
  StudyResumed,
} from '../../../events/study.ts';
import {
  Approvals,
  approvalProblems,
  ProtocolVersion,
  protocolProblems,
  StudyReason,
} from '../model/members.ts';
import { already, firstOf } from '../model/outcomes.ts';
import { studyAct } from './act.ts';

/** The study takes no participants for a while. */
export const pause = studyAct({
  writes: StudyPaused,
  may: { scopes: ['manage'], commandLine: true, in: ['open'] },
  asks: { reason: StudyReason },
  done: ({ model }) => (model.status === 'paused' ? already('the study is paused already') : undefined),
  apply: ({ registered }, { at, data: { reason } }) => ({
    status: 'paused',
    registered: { ...registered, halt: { state: 'paused', reason, at } },
  }),
});

/** A paused study takes participants again. */
export const resume = studyAct({
  writes: StudyResumed,
  may: { scopes: ['manage'], commandLine: true, in: ['paused'] },
  asks: { reason: StudyReason },
  done: ({ model }) => (model.status === 'open' ? already('the study is not paused') : undefined),
  apply: ({ registered }) => ({ status: 'open', registered: { ...registered, halt: undefined } }),
});

/** The study takes no more participants. Those in it can still be corrected, and codes can be broken. */
export const close = studyAct({
  writes: StudyClosed,
  may: { scopes: ['manage'], commandLine: true, in: ['open', 'paused'] },
  asks: {
    reason: StudyReason,
    cause: ClosingCause.meta({ description: 'Why the study takes no more participants' }),
    approvals: Approvals.optional(),
  },
  resolve: ({ approvals = [], ...asked }) => ({
    ...asked,
    ...(approvals.length > 0 && { approvals }),
  }),
  done: ({ model }) => (model.status === 'closed' ? already('the study is closed already') : undefined),
  problem: ({ asked: { approvals = [] }, occasion }) => firstOf(approvalProblems(approvals, occasion.at)),
  apply: ({ registered }, { at, data: { cause, reason } }) => ({
    status: 'closed',
    closedAt: at,
    registered: { ...registered, halt: { state: 'closed', reason: `${cause}: ${reason}`, at } },
  }),
});

/** A closed study takes participants again. */
export const reopen = studyAct({
  writes: StudyReopened,
  may: { scopes: ['manage'], commandLine: true, in: ['closed'] },
  asks: {
    reason: StudyReason,
    approvals: Approvals.optional().meta({
      description: 'Who decided this outside the system: at least one in a live study',
    }),
    protocol: ProtocolVersion.optional().meta({
      description: 'The version of the protocol from here on',
    }),
  },
  resolve: ({ approvals = [], ...asked }) => ({ ...asked, approvals }),
  done: ({ model }) => (model.status === 'open' ? already('the study is not closed') : undefined),
  problem: ({ asked: { approvals = [], protocol }, model, occasion }) =>
    firstOf([
      ...approvalProblems(approvals, occasion.at, model.design.mode, APPROVAL_LACKING),
      ...protocolProblems(protocol),
    ]),
  apply: ({ design, designs, registered }, { data: { protocol } }) => {
    const opened = { status: 'open', registered: { ...registered, halt: undefined } } as const;
    if (!protocol) return opened;
    const inForce = { ...design, protocol };
    return { ...opened, design: inForce, designs: [...designs, inForce] };
  },
});

const APPROVAL_LACKING = 'a live study can be reopened only with an approval';
