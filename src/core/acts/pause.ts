import { StudyPaused } from '../../../events/study.ts';
import { StudyReason } from '../model/members.ts';
import { already } from '../model/outcomes.ts';
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
