/** Verifies a bundle: its records like those of a database, as far as they are included, and its files. */

import type { Content } from '../../../events/record.ts';
import { secondsSince } from '../../base/waiting.ts';
import { BundleFiles } from '../bundle/bundle-files.ts';
import { BundleSource } from './bundle-source.ts';
import type { Report } from './report/report.ts';
import { type Verification, verifyLog } from './verify.ts';

export interface BundleVerification extends Omit<Verification, 'source' | 'studies'> {
  readonly file: string;
}

const NOT_REPLAYED: Partial<Record<Content, string>> = {
  open: 'the content is open: it includes the treatments but not the states of the generator, so the draws themselves are not checked',
  blinded:
    'the content is blinded: it includes neither the treatments nor the states of the generator, so neither the treatments nor the draws are checked',
};

/** @throws BundleError for a file that is not a bundle or cannot be read to its end */
export async function verifyBundle({ file, ...verification }: BundleVerification): Promise<Report> {
  const started = performance.now();
  const files = await BundleFiles.open(file);
  try {
    const source = new BundleSource(files);
    const bundled = (await source.checkpoints()).map((one) => ({ ...one, from: 'bundle' as const }));
    const report = await verifyLog({
      ...verification,
      source,
      // A checkpoint that was kept elsewhere counts as such even if the bundle holds it too.
      checkpoints: [...verification.checkpoints, ...bundled],
    });
    const keys = report.log && [report.log.publicKey, ...report.log.laterKeys];
    const problems = await source.problems(keys);
    const notReplayed = NOT_REPLAYED[source.content];
    return {
      ...report,
      ok: report.ok && problems.length === 0,
      bundle: {
        content: source.content,
        ...(notReplayed !== undefined && { notReplayed }),
        notKnown: notKnown(report),
        files: problems,
      },
      seconds: secondsSince(started),
    };
  } finally {
    await files.close();
  }
}

function notKnown({ streams, log }: Report): string[] {
  const withheld = streams.reduce((sum, stream) => sum + (stream.withheld ?? 0), 0);
  return [
    ...(withheld > 0
      ? [
          `${withheld} ${withheld === 1 ? 'record' : 'records'} of access ${withheld === 1 ? 'is' : 'are'} withheld: a key that the study used may have been revoked there`,
        ]
      : []),
    ...(log && log.recoveries.length > 0
      ? [
          'what the recoveries of the log say about the study is withheld: the report relies on the study itself for where its generator was restarted, so a missing restart would go unnoticed',
        ]
      : []),
  ];
}
