/** The part of the report for people that is about a stream's checkpoints. */
import { counted } from '../../../base/wording.ts';
import type { FailedCheckpoint, LostCheckpoint, StreamEvidence } from './report.ts';

/** @param isTrusted whether the signing key was given as trusted; the log's own key proves nothing */
export function evidenceLines(
  evidence: StreamEvidence,
  records: number,
  diverges: boolean,
  isTrusted: boolean,
): string[] {
  const { matching, matchingSize, cameAlong, failing, failed, rewritten, tailCutOff, lost, uncovered } =
    evidence;
  const provenBy = (size: number) => {
    if (!isTrusted) return "as the log's own key signed it";
    return size <= matchingSize ? 'proven unchanged' : 'as a trusted key signed it';
  };
  const lines: string[] = [];
  if (matching > 0)
    lines.push(
      `  ${counted(matching, 'checkpoint')} ${matching === 1 ? 'matches' : 'match'}: the history up to size ${matchingSize}${matchingSize > 0 ? ` (revisions 0 to ${matchingSize - 1})` : ''} is as it was signed`,
    );
  if (cameAlong)
    lines.push(
      `  ${counted(cameAlong.matching, 'checkpoint')} that came with the bundle ${cameAlong.matching === 1 ? 'matches' : 'match'} up to size ${cameAlong.matchingSize}: signed${isTrusted ? '' : " by the log's own key"}, but that alone does not show that it was always so`,
    );
  if (failing > 0)
    lines.push(`  FAILED: ${counted(failing, 'checkpoint')} ${failing === 1 ? 'does' : 'do'} not match`);
  lines.push(...failed.map(failedLine));
  if (failed.length < failing) lines.push(`    and ${failing - failed.length} more`);
  if (rewritten)
    lines.push(
      `  CHANGED SINCE IT WAS SIGNED: ${
        rewritten.afterSize > 0
          ? `the history up to size ${rewritten.afterSize} is ${provenBy(rewritten.afterSize)}; between size ${rewritten.afterSize + 1} and ${rewritten.upToSize}`
          : `no smaller checkpoint matches; up to size ${rewritten.upToSize}`
      } it is not what was signed${diverges ? '' : ', although it agrees with itself'}`,
    );
  if (tailCutOff)
    lines.push(
      `  MISSING: size ${tailCutOff.signedSize} was signed, but there are ${counted(tailCutOff.size, 'record')}: at least ${tailCutOff.signedSize - tailCutOff.size} at the end ${tailCutOff.signedSize - tailCutOff.size === 1 ? 'is' : 'are'} gone`,
    );
  lines.push(...lostLines(lost));
  const none = failing > 0 ? 'no checkpoint that matches' : 'no given checkpoint';
  if (uncovered)
    lines.push(
      uncovered.from === 0
        ? `  ${none} covers any revision: it is not proven that nothing was rewritten or removed`
        : `  ${none} covers revisions ${uncovered.from} to ${uncovered.to}: it is not proven that they were not rewritten, or others removed after them`,
    );
  else if (records > 0)
    lines.push(
      `  every revision is covered${isTrusted ? '' : ", by the log's own key"}; whether any were removed after the last one cannot be known`,
    );
  return lines;
}

/** How many lost checkpoints of each kind are listed one by one. */
const MAX_LISTED_LOST = 5;

function lostLines(lost: readonly LostCheckpoint[]): string[] {
  return (['declared-loss', 'undeclared-loss'] as const).flatMap((because) => {
    const these = lost.filter((one) => one.because === because);
    const last = these.at(-1);
    if (!last) return [];
    const what = {
      'declared-loss': `DECLARED LOSS: ${counted(these.length, 'checkpoint')} up to size ${last.size} ${these.length === 1 ? 'is' : 'are'} of records that recovery ${last.recovery} declares lost; it kept ${last.kept}`,
      'undeclared-loss': `LOST AND NOT DECLARED: ${counted(these.length, 'checkpoint')} up to size ${last.size} ${these.length === 1 ? 'is' : 'are'} of records that recovery ${last.recovery} did not keep, and that it does not know to have been signed; it kept ${last.kept}`,
    };
    const listed = these.slice(-MAX_LISTED_LOST).map(({ where, size }) => `    ${where}, size ${size}`);
    const more = these.length > MAX_LISTED_LOST ? [`    and ${these.length - MAX_LISTED_LOST} more`] : [];
    return [`  ${what[because]}`, ...listed, ...more];
  });
}

function failedLine({ where, size, because }: FailedCheckpoint): string {
  const why = {
    'other-root': 'these are not the records that were signed',
    'missing-tail': 'there are fewer records than were signed',
    gap: 'a record before that size is missing, so there is nothing to compare with',
  };
  return `    ${where}, size ${size}: ${why[because]}`;
}
