import type { Runner } from '../../../projections/runner.ts';
import type { Bundles } from '../../bundle/bundles.ts';
import type { CodeBreaks } from '../../code-break/code-breaks.ts';
import type { ExpectedBands } from '../../expected/expected-bands.ts';
import type { History } from '../../history/history.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Recorder } from '../../operations/recorder.ts';
import type { Studies } from '../../study/studies.ts';
import type { Verifications } from '../../verify/verifications.ts';
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
