import { StudyResumed } from '../../../events/study.ts';
import { StudyReason } from '../model/members.ts';
import { already } from '../model/outcomes.ts';
import { studyAct } from './act.ts';

/** A paused study takes participants again. */
export const resume = studyAct({
  writes: StudyResumed,
  may: { scopes: ['manage'], commandLine: true, in: ['paused'] },
  asks: { reason: StudyReason },
  done: ({ model }) => (model.status === 'open' ? already('the study is not paused') : undefined),
  apply: ({ registered }) => ({ status: 'open', registered: { ...registered, halt: undefined } }),
});
