/** The report for people. It says what was found and what that proves, and never more. */
import { onOneLine } from '../../../base/text.ts';
import { counted } from '../../../base/wording.ts';
import { lifeTexts } from '../../../core/model/life.ts';
import { steeringTexts } from '../../bundle/texts.ts';
import type {
  BundleReport,
  Divergence,
  FailedCheckpoint,
  LifeReport,
  LostCheckpoint,
  Report,
  StreamEvidence,
  StreamReport,
  UnusedCheckpoint,
} from './report.ts';

/** How many checkpoints of each kind are listed one by one. */
const MAX_LISTED = 5;

export function reportText(report: Report): string {
  const { log, streams, unusedCheckpoints } = report;
  const lines = [
    log
      ? `log ${log.name} (${log.id})`
      : 'log: its first record cannot be read, so it is not known which log this is',
    ...(log ? [`  signing key ${log.publicKey}`] : []),
    ...(log?.laterKeys ?? []).map((key) => `  later key   ${key}`),
    ...trustLines(report),
    ...(log?.recoveries ?? []).map(
      ({ recovery, at, reason }) =>
        `  RECOVERED from a backup (recovery ${recovery}, ${at}), and records are declared lost: ${reason}`,
    ),
    ...storeLines(report),
    ...(report.bundle ? ['', ...bundleLines(report.bundle)] : []),
    ...streams.flatMap((stream) => ['', ...streamLines(stream, report)]),
    ...(unusedCheckpoints.length > 0 ? ['', ...unusedLines(unusedCheckpoints)] : []),
    ...studyLines(report),
    '',
    ...verdictLines(report),
  ];
  return lines.map(onOneLine).join('\n');
}

function trustLines({ trusted, untrustedKey }: Report): string[] {
  if (trusted.length === 0)
    return ['  no trusted key was given (--trust): checkpoints are checked under that key'];
  return untrustedKey
    ? ['  NOT one of the keys that you trust; checkpoints are checked under those']
    : ['  a key that you trust'];
}

function storeLines({ store, lastCheckpoints }: Report): string[] {
  const problems = (store?.problems ?? []).map(
    (what) => `  FAILED: the database differs from one that this program makes: ${what}`,
  );
  const warnings = (store?.warnings ?? []).map((what) => `  warning: ${what} in the database`);
  if (!lastCheckpoints) return [...problems, ...warnings];
  const { file, agree } = lastCheckpoints;
  const lastSigned = agree
    ? `  ${file}, where this log noted what it signed last, agrees; it is the operator's, so it proves nothing`
    : `  FAILED: ${file}, where this log noted what it signed last, disagrees: the store was rolled back or replaced (hint: for a copy that was restored on purpose, --no-last-checkpoints)`;
  return [...problems, ...warnings, lastSigned];
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
  const decided = participants === undefined ? '' : `, ${counted(participants, 'participant')}${done}`;
  const hidden = withheld === undefined ? '' : `, ${withheld} of them withheld: only their place is known`;
  return [
    `${name}: ${sound ? 'sound' : 'FAILED'}`,
    `  ${counted(records, 'record')}${hidden}${decided}${report.root === undefined ? '' : `; root ${report.root}`}`,
    ...(report.life ? [`  ${lifeLine(report.life)}`, ...steeringLines(report.life)] : []),
    ...(divergence ? divergenceLines(divergence, stream, report.notReplayed) : []),
    ...evidenceLines(evidence, records, divergence !== undefined, trusted.length > 0),
    ...report.warnings.map(({ text, count: times, revision }) => {
      const where = revision === undefined ? '' : ` at ${stream}/${revision}`;
      return `  warning${where}: ${text}${times > 1 ? ` (and ${counted(times - 1, 'time')} more)` : ''}`;
    }),
  ];
}

/** The state of the study after its last sound record, and what happened in it besides its allocations. */
function lifeLine({ state, method, certain = 0, ...life }: LifeReport): string {
  return [
    state,
    ...(method === undefined ? [] : [`method: ${method}`]),
    ...(certain > 0 ? [`certain: ${counted(certain, 'draw')} with one possible arm`] : []),
    ...lifeTexts(life),
  ].join('; ');
}

/** How many second draws of each user are listed; the JSON has all. */
const MAX_DRAWS = 50;

function steeringLines({ secondDraws = [], undoneAmendments = [] }: LifeReport): string[] {
  return steeringTexts(secondDraws, undoneAmendments, MAX_DRAWS).flatMap(({ text, details }) => [
    `  WORTH A LOOK: ${text}`,
    ...details.map((one) => `    ${one}`),
  ]);
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
    `    ${counted(notReplayed, 'record')} from there on ${notReplayed === 1 ? 'was' : 'were'} not decided again`,
  ];
}

/**
 * What the checkpoints of a stream prove.
 * @param isTrusted whether the signing key was given as trusted; the log's own key proves nothing
 */
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

function failedLine({ where, size, because }: FailedCheckpoint): string {
  const why = {
    'other-root': 'these are not the records that were signed',
    'missing-tail': 'there are fewer records than were signed',
    gap: 'a record before that size is missing, so there is nothing to compare with',
  };
  return `    ${where}, size ${size}: ${why[because]}`;
}

function lostLines(lost: readonly LostCheckpoint[]): string[] {
  return (['declared-loss', 'undeclared-loss'] as const).flatMap((because) => {
    const these = lost.filter((one) => one.because === because);
    const last = these.at(-1);
    if (!last) return [];
    const what = {
      'declared-loss': `DECLARED LOSS: ${counted(these.length, 'checkpoint')} up to size ${last.size} ${these.length === 1 ? 'is' : 'are'} of records that recovery ${last.recovery} declares lost; it kept ${last.kept}`,
      'undeclared-loss': `LOST AND NOT DECLARED: ${counted(these.length, 'checkpoint')} up to size ${last.size} ${these.length === 1 ? 'is' : 'are'} of records that recovery ${last.recovery} did not keep, and that it does not know to have been signed; it kept ${last.kept}`,
    };
    const listed = these.slice(-MAX_LISTED).map(({ where, size }) => `    ${where}, size ${size}`);
    const more = these.length > MAX_LISTED ? [`    and ${these.length - MAX_LISTED} more`] : [];
    return [`  ${what[because]}`, ...listed, ...more];
  });
}

function unusedLines(unused: readonly UnusedCheckpoint[]): string[] {
  return Object.entries(UNUSED_BECAUSE).flatMap(([because, why]) => {
    const these = unused.filter((one) => one.because === because);
    const [first] = these;
    if (!first) return [];
    const listed = these
      .slice(0, MAX_LISTED)
      .map(({ where, origin, size }) => `  ${where}: ${origin}, size ${size}`);
    const more = these.length > MAX_LISTED ? [`  and ${these.length - MAX_LISTED} more`] : [];
    return [`${counted(these.length, 'given checkpoint')} could not be compared: ${why}`, ...listed, ...more];
  });
}

const UNUSED_BECAUSE: Readonly<Record<UnusedCheckpoint['because'], string>> = {
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

function studyLines({ missingStudyId, othersOnly, bundle }: Report): string[] {
  const where = bundle ? 'this bundle is of another study' : 'this log does not have it';
  const missing =
    missingStudyId === undefined
      ? []
      : ['', `FAILED: the study ${missingStudyId} was expected, and ${where}`];
  if (!othersOnly) return missing;
  const origins = othersOnly
    .slice(0, MAX_LISTED)
    .map(({ origin, checkpoints }) => `${origin} (${checkpoints})`);
  const more = othersOnly.length > MAX_LISTED ? [`${othersOnly.length - MAX_LISTED} more`] : [];
  return [
    ...missing,
    '',
    `FAILED: none of the given checkpoints is of ${bundle ? 'this study' : 'the studies that were verified'}; they are of ${[...origins, ...more].join(', ')}`,
    '  Either they are of something else, or another study or log was put in the place of theirs.',
  ];
}

function verdictLines(report: Report): string[] {
  return report.ok ? [...proofLines(report), '', resultLine(report)] : ['FAILED'];
}

/** What a verification without a fault proves. */
function proofLines({ selfConsistentOnly, trusted, streams, bundle }: Report): string[] {
  const isReplayed = bundle?.notReplayed === undefined;
  const follows = isReplayed
    ? 'every event follows from those before it'
    : 'the draws were NOT REPLAYED, and the rest is as it should be, as far as this bundle shows';
  const agrees = isReplayed ? 'the history agrees with itself' : 'the records agree with one another';
  if (selfConsistentOnly)
    return [
      `SELF-CONSISTENT ONLY: ${follows}, but nothing from outside vouches for ${isReplayed ? 'them' : 'it'}.`,
      whyNotMore(trusted.length > 0, streams),
    ];
  return streams.some(({ evidence }) => evidence.uncovered)
    ? [
        `OK as far as the ${bundle ? 'given checkpoints' : 'checkpoints'} reach${isReplayed ? '' : `: ${follows}`}; beyond them ${agrees}, which a rewritten one would too`,
      ]
    : [`OK: ${follows}, and every revision is covered by a checkpoint`];
}

function whyNotMore(isTrusting: boolean, streams: Report['streams']): string {
  if (!isTrusting)
    return 'Whoever can write to this log can replace it, key included, by another history that is as consistent (hint: --trust with a verifier key kept elsewhere, --checkpoint with receipts kept elsewhere)';
  const isSigned = streams.some(
    ({ evidence: { cameAlong, lastSigned } }) =>
      (cameAlong?.matchingSize ?? 0) > 0 || (lastSigned?.matchingSize ?? 0) > 0,
  );
  return isSigned
    ? 'SIGNED, AND NO MORE: a trusted key signed these records, perhaps today; whoever has that key may have rewritten them first (hint: --checkpoint with receipts kept elsewhere)'
    : 'No given checkpoint covers anything, and anybody can copy a public key into a rewritten log (hint: --checkpoint with receipts kept elsewhere)';
}

/** The last line, for a reader who wants to know whether there is anything to do. */
function resultLine({ streams, selfConsistentOnly, bundle }: Report): string {
  const records = streams.reduce((sum, stream) => sum + stream.records, 0);
  const warnings = streams.reduce((sum, stream) => sum + stream.warnings.length, 0);
  const far = bundle?.notReplayed === undefined ? '' : ', as far as this bundle shows';
  const worthIt = selfConsistentOnly
    ? ' That nothing from outside was compared (SELF-CONSISTENT ONLY) is no failure.'
    : '';
  const which = warnings === 1 ? 'warning' : counted(warnings, 'warning');
  const look = warnings > 0 ? ` Look at the ${which} above.` : '';
  return `RESULT: no fault was found in ${counted(records, 'record')} of ${counted(streams.length, 'stream')}${far}.${worthIt}${look}`;
}
