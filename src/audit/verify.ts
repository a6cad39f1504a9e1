/**
 * Verifying a log, or some of its studies: every record checked and every event decided again, and the tree of each
 * stream compared with the checkpoints that were kept of it.
 *
 * The streams `log` and `access` come first, because studies refer to them. Of each stream no event is kept; see
 * replay-study.ts for what is.
 */
import { v5 } from 'uuid';
import { streamKind } from '../../events/catalogue.ts';
import type { DisclosedEvent } from '../../events/record.ts';
import type { Recovery } from '../../projections/log.ts';
import type { VerifierKey } from '../ledger/verifier-key.ts';
import { BrokenStream } from '../store/event-store.ts';
import { type Decode, decode } from './decoding.ts';
import { readingOf } from './disclosure.ts';
import { type GivenCheckpoint, sortEvidence } from './evidence.ts';
import { KeyHistory } from './key-history.ts';
import { type ClaimedIdentity, readIdentity, trustedKeys } from './log-identity.ts';
import type { Replay } from './replay.ts';
import { AccessReplay } from './replay-access.ts';
import { EnrolmentReplay } from './replay-enrolment.ts';
import { LogReplay } from './replay-log.ts';
import { OperationsReplay } from './replay-operations.ts';
import { StudyReplay } from './replay-study.ts';
import type { Report, StreamReport } from './report.ts';
import type { RecordSource } from './source.ts';
import { StreamAudit } from './stream-audit.ts';
import { type Recovered, StudyForm } from './study-form.ts';
import { Warnings } from './warnings.ts';

export interface Verification {
  readonly source: RecordSource;
  /** From outside; empty: the log's own key is taken, and the report says what that is worth. */
  readonly trusted: readonly VerifierKey[];
  readonly checkpoints: readonly GivenCheckpoint[];
  /** Names of the studies to verify, beside `log` and `access`; undefined: every stream. */
  readonly studies?: readonly string[] | undefined;
  /** Gets the number of records verified so far. */
  readonly onProgress?: (records: number) => void;
}

/** A study was named that the log does not have, and of which no checkpoint was given either. */
export class UnknownStudyError extends Error {
  override readonly name = 'UnknownStudyError';
}

/** @throws UnknownStudyError, and whatever the source throws */
export async function verifyLog(verification: Verification): Promise<Report> {
  const started = performance.now();
  const { source, trusted, checkpoints } = verification;
  const reading = readingOf(source.content);
  const identity = await readIdentity(source, reading);
  const own = identity?.keys ?? [];
  const recoveries = identity?.recoveries ?? [];
  const keys = trustedKeys(trusted, own);
  // A log that was replaced may bear any name; the receipts are those of the log that the trusted key names.
  const logName = trusted[0]?.name ?? identity?.logName;
  const there = await source.streams();
  const chosen = chooseStreams(verification, there, identity);
  const evidence = sortEvidence(checkpoints, keys, logName, recoveries, (stream) => {
    if (chosen.includes(stream)) return 'compare';
    // A bundle leaves out what it is not about.
    return there.includes(stream) || source.content !== undefined ? 'not-asked-for' : 'no-such-stream';
  });

  const history = new KeyHistory();
  let done = 0;
  const audit = async <E extends DisclosedEvent>(
    stream: string,
    warnings: Warnings,
    decode: Decode<E>,
    replay: Replay<E>,
  ) => {
    const records = new StreamAudit<E>({
      stream,
      logId: identity?.logId,
      decode,
      replay,
      warnings,
      checkpoints: evidence.byStream.get(stream) ?? [],
      lost: evidence.lost.get(stream) ?? [],
      moves: stream === 'log' ? undefined : (identity?.moves ?? new Set()),
    });
    try {
      for await (const page of source.read(stream)) {
        for (const record of page) records.take(record);
        done += page.length;
        verification.onProgress?.(done);
      }
    } catch (error) {
      // The others can be verified all the same.
      if (!(error instanceof BrokenStream)) throw error;
      records.breakOff(error.message);
    }
    return records;
  };

  const auditStudy = async (stream: string, warnings: Warnings, form: StudyForm) => {
    if (reading.undrawn) {
      const replay = new EnrolmentReplay(form);
      return [await audit(stream, warnings, reading.undrawn, replay), replay] as const;
    }
    const replay = new StudyReplay(form);
    return [await audit(stream, warnings, decode, replay), replay] as const;
  };

  const streams: StreamReport[] = [];
  const log = await audit('log', new Warnings(), reading.others, new LogReplay(trusted, own));
  streams.push(log.finish({}));
  if (chosen.includes('access')) {
    const access = await audit('access', new Warnings(), reading.others, new AccessReplay(history));
    history.records = access.records;
    history.withheld = access.withheld;
    history.brokenAt = access.divergesAt;
    streams.push(access.finish({}));
  }
  for (const stream of chosen.filter((name) => name !== 'log' && name !== 'access')) {
    const warnings = new Warnings();
    if (streamKind(stream) === 'study') {
      const form = new StudyForm(history, warnings, recoveredPlaces(stream, recoveries));
      const [records, { participants }] = await auditStudy(stream, warnings, form);
      streams.push(records.finish({ study: form.name, participants }));
    } else {
      // Of a stream that this build does not know no record can be read.
      const replay = stream === 'operations' ? new OperationsReplay(history, warnings) : { take: () => [] };
      streams.push((await audit(stream, warnings, reading.others, replay)).finish({}));
    }
  }

  const { unused } = evidence;
  const isSigned = streams.some(
    ({ evidence: { matchingSize, cameAlong } }) => matchingSize > 0 || (cameAlong?.matchingSize ?? 0) > 0,
  );
  return {
    ok: streams.every(({ sound }) => sound) && unused.every(({ because }) => because === 'not-asked-for'),
    selfConsistentOnly: trusted.length === 0 || !isSigned,
    log: identity && {
      id: identity.logId,
      name: identity.logName,
      publicKey: identity.publicKey,
      laterKeys: own.slice(1).map(({ text }) => text),
      recoveries: recoveries.map(({ recovery, at, reason }) => ({ recovery, at, reason })),
    },
    trusted: trusted.map(({ text }) => text),
    untrustedKey: trusted.length > 0 && !trusted.some(({ text }) => own.some((key) => key.text === text)),
    streams,
    unusedCheckpoints: unused,
    seconds: (performance.now() - started) / 1000,
  };
}

/** By revision: where a study's generator must begin anew, directly behind what a recovery kept of it. */
function recoveredPlaces(stream: string, recoveries: readonly Recovery[]): ReadonlyMap<number, Recovered> {
  const places = new Map<number, Recovered>();
  for (const { recovery, streams } of recoveries) {
    const of = streams.get(stream);
    // A study of which nothing was kept is registered first. Of two recoveries in a row the later one counts.
    if (of)
      places.set(Math.max(of.kept, 1), { recovery, kept: of.kept, ...(of.signed && { signed: of.signed }) });
  }
  return places;
}

/** `log`, `access` and the studies to verify. @throws UnknownStudyError */
function chooseStreams(
  { studies, checkpoints }: Verification,
  there: readonly string[],
  identity: ClaimedIdentity | undefined,
): string[] {
  const kinds = ['log', ...there.filter((stream) => stream === 'access')];
  const others = there.filter((stream) => stream !== 'log' && stream !== 'access');
  if (studies === undefined || identity === undefined) return [...kinds, ...others];
  const wanted = studies.map((name) => {
    const stream = `study-${v5(name, identity.logId)}`;
    const isWitnessed = checkpoints.some(({ claims }) => claims.origin.endsWith(`/${stream}`));
    if (!there.includes(stream) && !isWitnessed) throw new UnknownStudyError(name);
    return stream;
  });
  return [...kinds, ...others.filter((stream) => wanted.includes(stream))];
}
