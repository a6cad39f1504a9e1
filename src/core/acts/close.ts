import { ClosingCause, StudyClosed } from '../../../events/study.ts';
import { approvalProblems } from '../model/approvals.ts';
import { Approvals, StudyReason } from '../model/members.ts';
import { already, firstOf } from '../model/outcomes.ts';
import { studyAct } from './act.ts';

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
  problem: ({ asked: { approvals = [] }, askedAt }) => firstOf(approvalProblems(approvals, askedAt)),
  apply: ({ registered }, { at, data: { cause, reason } }) => ({
    status: 'closed',
    closedAt: at,
    registered: { ...registered, halt: { state: 'closed', reason: `${cause}: ${reason}`, at } },
  }),
});
