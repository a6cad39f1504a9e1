/**
 * Verifies a log or some of its studies: checks every record, decides every event again, and compares the tree of each
 * stream with its kept checkpoints.
 */

import { v5 } from 'uuid';
import { secondsSince } from '../../base/waiting.ts';
import type { KeptCheckpoint } from '../../core/log/formats.ts';
import type { VerifierKey } from '../../core/log/signing.ts';
import { auditStreams } from './audit-streams.ts';
import { type Evidence, type GivenCheckpoint, sortEvidence, withLastSigned } from './evidence.ts';
import { type ClaimedIdentity, readIdentity, trustedKeys } from './log-identity.ts';
import { readingOf } from './reading.ts';
import type { Report, StreamReport } from './report/report.ts';
import type { RecordSource } from './source.ts';

/** The checkpoints that the log saved itself. */
export interface LastSigned {
  readonly file: string;
  readonly checkpoints: readonly KeptCheckpoint[];
}

export interface Verification {
  readonly source: RecordSource;
  /** Keys from outside. If empty, the log's own keys are used, and the report says what that is worth. */
  readonly trusted: readonly VerifierKey[];
  readonly checkpoints: readonly GivenCheckpoint[];
  /** Names of the studies to verify in addition to `log` and `access`. Without these and `studyId`: every stream. */
  readonly studies?: readonly string[] | undefined;
  /** A study that must be found; it is verified like those of `studies`. In lower case. */
  readonly studyId?: string | undefined;
  /** Must be read before the source is opened, because a running service goes on signing. */
  readonly lastSigned?: LastSigned | undefined;
  /** Gets the number of records verified so far. */
  readonly onProgress?: (records: number) => void;
}

/** The log does not have the named study, and no checkpoint of it was given either. */
export class UnknownStudyError extends Error {
  override readonly name = 'UnknownStudyError';
}

/** @throws UnknownStudyError, and what the source throws */
export async function verifyLog(verification: Verification): Promise<Report> {
  const started = performance.now();
  const { source, trusted } = verification;
  const reading = readingOf(source.content);
  const identity = await readIdentity(source, reading);
  const there = await source.streams();
  const chosen = chooseStreams(verification, there, identity);
  const evidence = evidenceFor(verification, identity, { there, chosen });
  const streams = await auditStreams({
    ...{ source, reading, identity, trusted, evidence },
    streams: chosen,
    onProgress: verification.onProgress ?? (() => undefined),
  });
  const findings = await source.findings?.();
  const judged = { ...judge(verification, chosen, evidence, streams), ...(findings && { store: findings }) };
  return {
    ok: isSound(streams, evidence) && !isFailed(judged),
    selfConsistentOnly: trusted.length === 0 || streams.every((one) => one.evidence.matchingSize === 0),
    log: identity && {
      id: identity.logId,
      name: identity.logName,
      publicKey: identity.publicKey,
      laterKeys: identity.keys.slice(1).map(({ text }) => text),
      recoveries: identity.recoveries.map(({ recovery, at, reason }) => ({ recovery, at, reason })),
    },
    trusted: trusted.map(({ text }) => text),
    untrustedKey: trusted.length > 0 && !isTrusted(identity, trusted),
    streams,
    unusedCheckpoints: evidence.unused,
    ...judged,
    seconds: secondsSince(started),
  };
}

function isTrusted(identity: ClaimedIdentity | undefined, trusted: readonly VerifierKey[]): boolean {
  return trusted.some(({ text }) => identity?.keys.some((key) => key.text === text));
}

/** What the given checkpoints and those that the log saved say about the streams. */
function evidenceFor(
  { source, trusted, checkpoints, lastSigned }: Verification,
  identity: ClaimedIdentity | undefined,
  { there, chosen }: { readonly there: readonly string[]; readonly chosen: readonly string[] },
): Evidence {
  const own = identity?.keys ?? [];
  const recoveries = identity?.recoveries ?? [];
  // A replaced log may have any name. The receipts belong to the log that the trusted key names.
  const logName = trusted[0]?.name ?? identity?.logName;
  const use = (stream: string) => {
    if (chosen.includes(stream)) return 'compare';
    // A bundle leaves out the streams of other studies.
    const isLeftOut = source.content !== undefined && stream !== 'access';
    return there.includes(stream) || isLeftOut ? 'not-asked-for' : 'no-such-stream';
  };
  const keys = trustedKeys(trusted, own);
  const given = sortEvidence(checkpoints, keys, logName, recoveries, use);
  if (!lastSigned) return given;
  const noted = lastSigned.checkpoints.map((one) => ({ ...one, from: 'data-folder' as const }));
  return withLastSigned(given, sortEvidence(noted, [...keys, ...own], identity?.logName, recoveries, use));
}

type RequestFindings = Pick<Report, 'othersOnly' | 'missingStudyId' | 'lastCheckpoints' | 'store'>;

/** Findings about the requested studies and the checkpoints that the log saved. */
function judge(
  { studyId, checkpoints, lastSigned }: Verification,
  chosen: readonly string[],
  evidence: Evidence,
  streams: readonly StreamReport[],
): RequestFindings {
  const isMissing = studyId !== undefined && !chosen.includes(`study-${studyId}`);
  const others = othersOnly(checkpoints, chosen, evidence);
  return {
    ...(isMissing && { missingStudyId: studyId }),
    ...(others.length > 0 && { othersOnly: others }),
    ...(lastSigned && {
      lastCheckpoints: { file: lastSigned.file, agree: agrees(lastSigned, evidence, streams) },
    }),
  };
}

function isFailed({ missingStudyId, othersOnly, lastCheckpoints, store }: RequestFindings): boolean {
  return (
    missingStudyId !== undefined ||
    othersOnly !== undefined ||
    lastCheckpoints?.agree === false ||
    (store !== undefined && store.problems.length > 0)
  );
}

function isSound(streams: readonly StreamReport[], { unused }: Evidence): boolean {
  return streams.every(({ sound }) => sound) && unused.every(({ because }) => because === 'not-asked-for');
}

/**
 * What the unused checkpoints are of, if there are any and none is of a verified study. Someone who has receipts of one
 * study and is handed another must be told.
 */
function othersOnly(
  checkpoints: readonly GivenCheckpoint[],
  chosen: readonly string[],
  evidence: Evidence,
): NonNullable<Report['othersOnly']> {
  const isOfStudy = (stream: string) => stream.startsWith('study-') && chosen.includes(stream);
  const given = [...evidence.byStream].filter(([, list]) => list.some(({ from }) => from === 'elsewhere'));
  if ([...given, ...evidence.lost].some(([stream]) => isOfStudy(stream))) return [];
  const byOrigin = new Map<string, number>();
  const kept = new Set(checkpoints.filter(({ from }) => from !== 'bundle').map(({ where }) => where));
  for (const { where, origin, because } of evidence.unused)
    if (because === 'not-asked-for' && kept.has(where)) byOrigin.set(origin, (byOrigin.get(origin) ?? 0) + 1);
  return [...byOrigin].map(([origin, checkpoints]) => ({ origin, checkpoints }));
}

function agrees(
  { checkpoints }: LastSigned,
  { unused, lost }: Evidence,
  streams: readonly StreamReport[],
): boolean {
  const places = new Set(checkpoints.map(({ where }) => where));
  return (
    streams.every(({ evidence }) => (evidence.lastSigned?.failing ?? 0) === 0) &&
    [...unused, ...[...lost.values()].flat()].every(({ where }) => !places.has(where))
  );
}

/** `log`, `access` and those of the requested studies that exist. @throws UnknownStudyError */
function chooseStreams(
  { studies, studyId, checkpoints, source }: Verification,
  there: readonly string[],
  identity: ClaimedIdentity | undefined,
): string[] {
  const kinds = ['log', ...there.filter((stream) => stream === 'access')];
  const others = there.filter((stream) => stream !== 'log' && stream !== 'access');
  const isEverything = (studies ?? studyId) === undefined || source.content !== undefined;
  if (isEverything || identity === undefined) return [...kinds, ...others];
  const wanted = (studies ?? []).map((name) => {
    const stream = `study-${v5(name, identity.logId)}`;
    const isWitnessed = checkpoints.some(({ claims }) => claims.origin.endsWith(`/${stream}`));
    if (!there.includes(stream) && !isWitnessed) throw new UnknownStudyError(name);
    return stream;
  });
  if (studyId !== undefined) wanted.push(`study-${studyId}`);
  return [...kinds, ...others.filter((stream) => wanted.includes(stream))];
}
