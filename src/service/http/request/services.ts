import type { Runner } from '../../../../projections/runner.ts';
import type { Ledger } from '../../../core/log/ledger.ts';
import type { Studies } from '../../../core/study/studies.ts';
import type { Bundles } from '../../../evidence/bundle/bundles.ts';
import type { History } from '../../../evidence/history/history.ts';
import type { Verifications } from '../../../evidence/verify/verifications.ts';
import type { ExpectedBands } from '../../../statistics/expected/expected-bands.ts';
import type { CodeBreaks } from '../../code-break/code-breaks.ts';
import type { Recorder } from '../../operations/recorder.ts';
import type { Authentication } from './credentials.ts';
import type { InProgress } from './in-progress.ts';
import type { SessionCookies } from './session-cookie.ts';
import type { StudyViews } from './study-view.ts';

/** The parts of the running service that routes use. */
export interface Services {
  readonly authentication: Authentication;
  readonly sessionCookies: SessionCookies;
  readonly studies: Studies;
  readonly codeBreaks: CodeBreaks;
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly history: History;
  readonly verifications: Verifications;
  readonly bundles: Bundles;
  readonly expectedBands: Pick<ExpectedBands, 'of'>;
  /** The name with which the origins of its checkpoints begin. */
  readonly logName: string;
  readonly views: StudyViews;
  readonly recorder: Pick<Recorder, 'refused' | 'disclosed' | 'disclosedAlways'>;
  readonly limits: InProgress;
  /** Why the service is not ready, or undefined when it is. */
  readonly notReady: () => string | undefined;
}
