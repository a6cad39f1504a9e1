import { StudyReopened } from '../../../events/study.ts';
import { approvalProblems, protocolProblems } from '../model/approvals.ts';
import { Approvals, ProtocolVersion, StudyReason } from '../model/members.ts';
import { already, firstOf } from '../model/outcomes.ts';
import { studyAct } from './act.ts';

const LACKING = 'a live study can be reopened only with an approval';

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
  problem: ({ asked: { approvals = [], protocol }, askedAt, model }) =>
    firstOf([
      ...approvalProblems(approvals, askedAt, model.design.mode, LACKING),
      ...protocolProblems(protocol),
    ]),
  apply: ({ design, designs, registered }, { data: { protocol } }) => {
    const opened = { status: 'open', registered: { ...registered, halt: undefined } } as const;
    if (!protocol) return opened;
    const inForce = { ...design, protocol };
    return { ...opened, design: inForce, designs: [...designs, inForce] };
  },
});
