/** The exit code and the report of `urn verify --bundle`, without starting a process each time. */

import { DomainError } from '../../src/base/errors.ts';
import { checkpointsIn } from '../../src/cli/checkpoints.ts';
import { UsageError } from '../../src/cli/options.ts';
import { parsedStudyId, trustedKey } from '../../src/cli/trusted.ts';
import { BundleError } from '../../src/evidence/bundle/bundle-error.ts';
import type { Divergence, Report } from '../../src/evidence/verify/report/report.ts';
import { reportText } from '../../src/evidence/verify/report/report-text.ts';
import { verifyBundle } from '../../src/evidence/verify/verify-bundle.ts';

export interface OwnVerdict {
  readonly code: number;
  /** Undefined if nothing was verified. */
  readonly report: Report | undefined;
  readonly text: string;
}

/** @param args `--trust`, `--checkpoint` and `--study-id`, as the verifier in Python takes them */
export async function verifyOurselves(file: string, args: readonly string[]): Promise<OwnVerdict> {
  const of = (option: string) => args.filter((_, i) => args[i - 1] === option);
  try {
    const report = await verifyBundle({
      file,
      trusted: of('--trust').map(trustedKey),
      checkpoints: of('--checkpoint').flatMap(checkpointsIn),
      studyId: of('--study-id').map(parsedStudyId)[0],
    });
    return { code: report.ok ? 0 : 1, report, text: reportText(report) };
  } catch (error) {
    const isToldToUsers = [BundleError, UsageError, DomainError].some((kind) => error instanceof kind);
    if (!isToldToUsers || !(error instanceof Error)) throw error;
    return { code: 2, report: undefined, text: error.message };
  }
}

/** Of the first stream that has one. */
export function firstDivergence({
  report,
}: OwnVerdict): (Divergence & { readonly stream: string }) | undefined {
  for (const { stream, divergence } of report?.streams ?? [])
    if (divergence) return { stream, ...divergence };
  return undefined;
}
