/** The report for people. It says what was seen, and what that is worth, and never more. */

import { onOneLine } from '../text.ts';
import type {
  BundleReport,
  Divergence,
  FailedCheckpoint,
  LostCheckpoint,
  Report,
  StreamEvidence,
  StreamReport,
  UnusedCheckpoint,
} from './report.ts';

export function reportText(report: Report): string {
  const { log, streams, unusedCheckpoints } = report;
  const lines = [
    log
      ? `log ${log.name} (${log.id})`
      : 'log: its first record cannot be read, so it does not say which log it is',
    ...(log ? [`  signing key ${log.publicKey}`] : []),
    ...(log?.laterKeys ?? []).map((key) => `  later key   ${key}`),
    ...trust(report),
    ...(log?.recoveries ?? []).map(
      ({ recovery, at, reason }) =>
        `  RECOVERED from a backup (recovery ${recovery}, ${at}), and records are declared lost: ${reason}`,
    ),
    ...(report.bundle ? ['', ...bundleLines(report.bundle)] : []),
    ...streams.flatMap((stream) => ['', ...streamLines(stream, report)]),
    ...(unusedCheckpoints.length > 0 ? ['', ...unusedLines(unusedCheckpoints)] : []),
    '',
    ...verdict(report),
  ];
  return lines.map(onOneLine).join('\n');
}

function trust({ trusted, untrustedKey }: Report): string[] {
  if (trusted.length === 0)
    return ['  no trusted key was given (--trust): checkpoints are checked under that key'];
  return untrustedKey
    ? ['  NOT one of the keys that you trust; checkpoints are checked under those']
    : ['  as you trust it'];
}

function bundleLines({ content, notReplayed, notKnown, files }: BundleReport): string[] {
  return [
    `bundle, content ${content}: ${files.length > 0 ? 'FAILED' : 'its files are those that its manifest lists'}`,
    ...files.map(({ path, why }) => `  FAILED: ${path} ${why}`),
    ...(notReplayed === undefined ? [] : [`  the draws were NOT REPLAYED: ${notReplayed}`]),
    ...notKnown.map((what) => `  not known: ${what}`),
  ];
}

function streamLines(
  { stream, study, sound, divergence, evidence, ...report }: StreamReport,
  { trusted, bundle }: Report,
): string[] {
  const name = study === undefined ? stream : `study ${JSON.stringify(study)} (${stream})`;
  const { records, participants, withheld } = report;
  const done = bundle?.notReplayed === undefined ? ' decided again' : ', whose draws were NOT REPLAYED';
  const counted = participants === undefined ? '' : `, ${count(participants, 'participant')}${done}`;
  const hidden =
    withheld === undefined ? '' : `, ${withheld} of them withheld: their place is known, and nothing else`;
  return [
    `${name}: ${sound ? 'sound' : 'FAILED'}`,
    `  ${count(records, 'record')}${hidden}${counted}${report.root === undefined ? '' : `; root ${report.root}`}`,
    ...(divergence ? divergenceLines(divergence, stream, report.notReplayed) : []),
    ...evidenceLines(evidence, records, divergence !== undefined, trusted.length > 0),
    ...report.warnings.map(({ text, count: times, revision }) => {
      const where = revision === undefined ? '' : ` at ${stream}/${revision}`;
      return `  warning${where}: ${text}${times > 1 ? ` (and ${times - 1} times more)` : ''}`;
    }),
  ];
}

function divergenceLines(divergence: Divergence, stream: string, notReplayed: number): string[] {
  const { revision, id, type, participant, field, expected, found, why, alsoDiffer } = divergence;
  const also = alsoDiffer.length > 0 ? [`    also    ${alsoDiffer.join(', ')}`] : [];
  const says = [
    ...(type === undefined ? [] : [type]),
    ...(participant === undefined ? [] : [`participant ${JSON.stringify(participant)}`]),
    ...(id === undefined ? [] : [`event ${id}`]),
  ];
  return [
    `  FIRST DIVERGENCE at ${stream}/${revision}${says.length > 0 ? `: ${says.join(', ')}` : ''}`,
    `    ${why}`,
    `    field    ${field}`,
    `    expected ${expected}`,
    `    found    ${found}`,
    ...also,
    `    ${count(notReplayed, 'record')} from there on ${notReplayed === 1 ? 'was' : 'were'} not decided again`,
  ];
}

/** @param isTrusted whether the key that signed was given as trusted: the log's own one proves nothing */
function evidenceLines(
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
      `  ${count(matching, 'checkpoint')} ${matching === 1 ? 'matches' : 'match'}: the history up to size ${matchingSize}${matchingSize > 0 ? ` (revisions 0 to ${matchingSize - 1})` : ''} is as it was signed`,
    );
  if (cameAlong)
    lines.push(
      `  ${count(cameAlong.matching, 'checkpoint')} that came with the bundle ${cameAlong.matching === 1 ? 'matches' : 'match'} up to size ${cameAlong.matchingSize}: signed${isTrusted ? '' : " by the log's own key"}, but that alone does not show that it always was so`,
    );
  if (failing > 0)
    lines.push(`  FAILED: ${count(failing, 'checkpoint')} ${failing === 1 ? 'does' : 'do'} not match`);
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
      `  MISSING: size ${tailCutOff.signedSize} was signed, but there are ${count(tailCutOff.size, 'record')}: at least ${tailCutOff.signedSize - tailCutOff.size} that stood at the end ${tailCutOff.signedSize - tailCutOff.size === 1 ? 'is' : 'are'} gone`,
    );
  lines.push(...lostLines(lost));
  const none = failing > 0 ? 'no checkpoint that matches' : 'no given checkpoint';
  if (uncovered)
    lines.push(
      uncovered.from === 0
        ? `  ${none} covers any revision: that nothing was rewritten or removed is not proven`
        : `  ${none} covers revisions ${uncovered.from} to ${uncovered.to}: that they were not rewritten, or others removed behind them, is not proven`,
    );
  else if (records > 0)
    lines.push(
      `  every revision is covered${isTrusted ? '' : ", by the log's own key"}; what may have been removed behind the last one cannot be known`,
    );
  return lines;
}

/** Lost checkpoints listed one by one, of each kind. */
const LISTED_LOST = 5;

function lostLines(lost: readonly LostCheckpoint[]): string[] {
  return (['declared-loss', 'undeclared-loss'] as const).flatMap((because) => {
    const these = lost.filter((one) => one.because === because);
    const last = these.at(-1);
    if (!last) return [];
    const what = {
      'declared-loss': `DECLARED LOSS: ${count(these.length, 'checkpoint')} up to size ${last.size} ${these.length === 1 ? 'is' : 'are'} of records that recovery ${last.recovery} declares lost; it kept ${last.kept}`,
      'undeclared-loss': `LOST AND NOT DECLARED: ${count(these.length, 'checkpoint')} up to size ${last.size} ${these.length === 1 ? 'is' : 'are'} of records that recovery ${last.recovery} did not keep, and that it does not know to have been signed; it kept ${last.kept}`,
    };
    const listed = these.slice(-LISTED_LOST).map(({ where, size }) => `    ${where}, size ${size}`);
    const more = these.length > LISTED_LOST ? [`    and ${these.length - LISTED_LOST} more`] : [];
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

const UNUSED: Readonly<Record<UnusedCheckpoint['because'], string>> = {
  forged: 'FORGED OR DAMAGED: it names a trusted key, which did not sign this',
  'not-trusted': 'NOT SIGNED by any trusted key, so it proves nothing',
  'other-log': 'of ANOTHER LOG',
  'other-recovery': 'of A RECOVERY that this log does not record',
  'declared-loss':
    'DECLARED LOSS: of a stream that a recovery declares lost as a whole, and that was not begun again',
  'no-such-stream':
    'of A STREAM THAT THIS LOG DOES NOT HAVE: the whole stream was removed, or the log was replaced',
  'not-asked-for': 'of a stream that was not to be verified',
};
/** Checkpoints listed one by one, of each kind. */
const LISTED = 5;

function unusedLines(unused: readonly UnusedCheckpoint[]): string[] {
  return Object.entries(UNUSED).flatMap(([because, why]) => {
    const these = unused.filter((one) => one.because === because);
    const [first] = these;
    if (!first) return [];
    const listed = these
      .slice(0, LISTED)
      .map(({ where, origin, size }) => `  ${where}: ${origin}, size ${size}`);
    const more = these.length > LISTED ? [`  and ${these.length - LISTED} more`] : [];
    return [`${count(these.length, 'given checkpoint')} could not be compared: ${why}`, ...listed, ...more];
  });
}

function verdict(report: Report): string[] {
  return report.ok ? [...worth(report), '', result(report)] : ['FAILED'];
}

/** The last word, for a reader who has to know whether there is something to be done. */
function result({ streams, selfConsistentOnly, bundle }: Report): string {
  const records = streams.reduce((sum, stream) => sum + stream.records, 0);
  const warnings = streams.reduce((sum, stream) => sum + stream.warnings.length, 0);
  const far = bundle?.notReplayed === undefined ? '' : ', as far as this bundle tells';
  const worthIt = selfConsistentOnly
    ? ' That nothing from outside was compared (SELF-CONSISTENT ONLY) is no failure.'
    : '';
  const look = warnings > 0 ? ` Above: ${count(warnings, 'warning')}, to be looked at.` : '';
  return `RESULT: no fault was found in ${count(records, 'record')} of ${count(streams.length, 'stream')}${far}.${worthIt}${look}`;
}

/** What is proven by a verification that found no fault. */
function worth({ selfConsistentOnly, trusted, streams, bundle }: Report): string[] {
  const isReplayed = bundle?.notReplayed === undefined;
  const follows = isReplayed
    ? 'every event follows from those before it'
    : 'the draws were NOT REPLAYED, and the rest is what it should be as far as this bundle tells it';
  const agrees = isReplayed ? 'the history agrees with itself' : 'the records agree with one another';
  if (selfConsistentOnly)
    return [
      `SELF-CONSISTENT ONLY: ${follows}, but nothing from outside vouches for ${isReplayed ? 'them' : 'it'}.`,
      trusted.length === 0
        ? 'Whoever can write to this log can replace it, key included, by another history that is as consistent (hint: --trust with a verifier key kept elsewhere, --checkpoint with receipts kept elsewhere)'
        : 'No given checkpoint covers anything, and anybody can copy a public key into a rewritten log (hint: --checkpoint with receipts kept elsewhere)',
    ];
  if (streams.every(({ evidence }) => evidence.matchingSize === 0))
    return [
      `SIGNED, AND NO MORE: ${follows}. A trusted key signed records of this bundle, perhaps today: whoever has that key can have rewritten them before (hint: --checkpoint with receipts kept elsewhere)`,
    ];
  return streams.some(({ evidence }) => evidence.uncovered)
    ? [
        `OK as far as the ${bundle ? 'given checkpoints' : 'checkpoints'} reach${isReplayed ? '' : `: ${follows}`}; beyond them ${agrees}, which a rewritten one would too`,
      ]
    : [`OK: ${follows}, and every revision is covered by a checkpoint`];
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
