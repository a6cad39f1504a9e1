/**
 * Verifies a log or some of its studies: checks every record, decides every event again, and compares the tree of each
 * stream with its kept checkpoints.
 *
 * The streams are audited one after another: `log` and `access` first, because the others refer to them. No events are kept,
 * only what the checks of later ones need.
 */
import { v5 } from 'uuid';
import { streamKind } from '../../../events/catalogue.ts';
import type { RecoveredStream } from '../../../events/log.ts';
import type { LogEvent, PartialEvent } from '../../../events/record.ts';
import { historyAfter, type LogHistory, logHistory, type Recovery } from '../../../projections/log.ts';
import { secondsSince } from '../../base/waiting.ts';
import type { KeptCheckpoint } from '../../core/log/formats.ts';
import { isEndorsed, keyOfLog, type VerifierKey } from '../../core/log/signing.ts';
import type { Model } from '../../core/model/model.ts';
import { BrokenStream } from '../../store/event-store.ts';
import { type Evidence, type GivenCheckpoint, sortEvidence, withLastSigned } from './kept-checkpoints.ts';
import { KeyHistory } from './replay/key-history.ts';
import type { Replay } from './replay/replay.ts';
import { EnrolmentReplay } from './replay/replay-enrolment.ts';
import { AccessReplay, LogReplay, OperationsReplay } from './replay/replay-other-streams.ts';
import { StudyReplay } from './replay/replay-study.ts';
import { type Recovered, StudyChecks } from './replay/study-checks.ts';
import { type Report, type StreamReport, Warnings } from './report/report.ts';
import { type Decode, decode, type RecordSource, readingOf, type SourceReading } from './source.ts';
import { Sealing, StreamAudit } from './stream-audit.ts';

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

/** The checkpoints that the log saved itself. */
export interface LastSigned {
  readonly file: string;
  readonly checkpoints: readonly KeptCheckpoint[];
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
  const judged = {
    ...requestFindings(verification, chosen, evidence, streams),
    ...(findings && { store: findings }),
  };
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

type LogCreation = Extract<LogEvent, { type: 'LogCreated' }>['data'];

/**
 * What a log says about itself. It is read before anything is verified, because the rest depends on it. None of it is
 * certain until the stream `log` has been verified.
 */
interface ClaimedIdentity extends LogCreation, LogHistory {
  /** The first key and its successors, as long as each was endorsed by its predecessor. */
  readonly keys: readonly VerifierKey[];
}

/** Undefined when the log does not begin with LogCreated. */
async function readIdentity(
  source: RecordSource,
  reading: SourceReading,
): Promise<ClaimedIdentity | undefined> {
  let history = logHistory.initial();
  let created: LogCreation | undefined;
  const keys: VerifierKey[] = [];
  for await (const page of source.read('log'))
    for (const record of page) {
      const decoded = reading.others(record);
      if (!('event' in decoded)) {
        // Later records may still make sense without this one, but not without the first.
        if (!created) return undefined;
        continue;
      }
      const { event } = decoded;
      if (!created) {
        if (event.type !== 'LogCreated') return undefined;
        created = event.data;
      }
      history = historyAfter(history, event);
      const key = nextKey(event, created, keys.at(-1));
      if (key) keys.push(key);
    }
  if (!created) return undefined;
  const isComplete = history.recoveries.length === 0 || !reading.hidesRecoveredStudies;
  const complete = isComplete
    ? history
    : withRecoveredStudies(history, await recoveredStudies(source, reading));
  return { ...created, ...complete, keys };
}

function nextKey(
  event: LogEvent,
  { logName, logId }: LogCreation,
  last?: VerifierKey,
): VerifierKey | undefined {
  if (event.type === 'LogCreated') return last ? undefined : keyOfLog(event.data.publicKey, logName);
  if (event.type !== 'SigningKeyRotated' || !last) return undefined;
  const { publicKey, endorsement } = event.data;
  return isEndorsed(endorsement, { logName, logId, publicKey }, last)
    ? keyOfLog(publicKey, logName)
    : undefined;
}

/** The contents of StudyRecovered. LogRecovered of the same number says the same unless it is withheld. */
type RecoveredStudy = RecoveredStream & { readonly recovery: number };

async function recoveredStudies(source: RecordSource, reading: SourceReading): Promise<RecoveredStudy[]> {
  const decodeStudy = reading.undrawn ?? decode;
  const found: RecoveredStudy[] = [];
  for (const stream of (await source.streams()).filter((name) => streamKind(name) === 'study'))
    for await (const page of source.read(stream))
      for (const record of page) {
        const decoded = decodeStudy(record);
        if ('event' in decoded && decoded.event.type === 'StudyRecovered')
          found.push({ stream, ...decoded.event.data });
      }
  return found;
}

function withRecoveredStudies(history: LogHistory, studies: readonly RecoveredStudy[]): LogHistory {
  const recoveries = history.recoveries.map((one) => {
    const of = studies.filter(({ recovery }) => recovery === one.recovery);
    return { ...one, streams: new Map([...one.streams, ...of.map((each) => [each.stream, each] as const)]) };
  });
  return { ...history, recoveries };
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

/**
 * The keys with which checkpoints are checked: the keys given as trusted and every key that one of them endorsed,
 * directly or through others. If none was given, all of the log's own keys.
 */
function trustedKeys(given: readonly VerifierKey[], own: readonly VerifierKey[]): readonly VerifierKey[] {
  if (given.length === 0) return own;
  const first = own.findIndex(({ text }) => given.some((key) => key.text === text));
  const endorsed = first < 0 ? [] : own.slice(first);
  return [...given, ...endorsed.filter(({ text }) => !given.some((key) => key.text === text))];
}

/** What is known before the first stream is audited. */
interface AuditPlan {
  readonly source: RecordSource;
  readonly reading: SourceReading;
  readonly identity: ClaimedIdentity | undefined;
  /** The keys given as trusted. If empty, any key is accepted. */
  readonly trusted: readonly VerifierKey[];
  /** `log`, then `access` if it exists, then the others. */
  readonly streams: readonly string[];
  readonly evidence: Evidence;
  /** Gets the number of records audited so far. */
  readonly onProgress: (records: number) => void;
}

/** @throws what the source throws */
async function auditStreams(plan: AuditPlan): Promise<StreamReport[]> {
  const audits = new Audits(plan);
  const reports: StreamReport[] = [];
  for (const stream of plan.streams) reports.push(await audits.of(stream));
  return reports;
}

class Audits {
  readonly #plan: AuditPlan;
  readonly #history = new KeyHistory();
  readonly #sealing = new Sealing();
  /** The seeds of the studies so far, each with the first study that has it. */
  readonly #seeds = new Map<string, string>();
  #done = 0;

  constructor(plan: AuditPlan) {
    this.#plan = plan;
  }

  of(stream: string): Promise<StreamReport> {
    if (stream === 'log') return this.#log();
    if (stream === 'access') return this.#access();
    return streamKind(stream) === 'study' ? this.#study(stream) : this.#other(stream);
  }

  async #log(): Promise<StreamReport> {
    const { trusted, identity, reading } = this.#plan;
    const warnings = new Warnings();
    const replay = new LogReplay(trusted, identity?.keys ?? []);
    const audit = await this.#audit('log', warnings, reading.others, replay);
    const { moved } = replay.history;
    if (moved && audit.divergesAt === undefined)
      warnings.add(
        'moved',
        `the log was moved to ${moved.to}: if that move has arrived, the log goes on there`,
        audit.records - 1,
      );
    return audit.finish({});
  }

  async #access(): Promise<StreamReport> {
    const history = this.#history;
    const { others } = this.#plan.reading;
    const access = await this.#audit('access', new Warnings(), others, new AccessReplay(history));
    history.records = access.records;
    history.withheld = access.withheld;
    history.brokenAt = access.divergesAt;
    return access.finish({});
  }

  async #study(stream: string): Promise<StreamReport> {
    const { undrawn } = this.#plan.reading;
    const warnings = new Warnings();
    const recovered = recoveredPlaces(stream, this.#plan.identity?.recoveries ?? []);
    const checks = new StudyChecks(this.#history, warnings, recovered, this.#seeds);
    const finished = async <E extends PartialEvent>(
      decode: Decode<E>,
      replay: Replay<E> & { readonly participants: number; readonly model: Model | undefined },
    ) => {
      const audit = await this.#audit(stream, warnings, decode, replay);
      const { participants, model } = replay;
      return audit.finish({ study: checks.name, participants, life: checks.lifeReport(model) });
    };
    return undrawn
      ? finished(undrawn, new EnrolmentReplay(checks))
      : finished(decode, new StudyReplay(checks));
  }

  async #other(stream: string): Promise<StreamReport> {
    const warnings = new Warnings();
    // Records of a stream that this build does not know cannot be read anyway.
    const replay =
      stream === 'operations' ? new OperationsReplay(this.#history, warnings) : { take: () => [] };
    return (await this.#audit(stream, warnings, this.#plan.reading.others, replay)).finish({});
  }

  async #audit<E extends PartialEvent>(
    stream: string,
    warnings: Warnings,
    decode: Decode<E>,
    replay: Replay<E>,
  ): Promise<StreamAudit<E>> {
    const { source, identity, evidence, onProgress } = this.#plan;
    const audit = new StreamAudit<E>({
      ...{ stream, decode, replay, warnings },
      logId: identity?.logId,
      checkpoints: evidence.byStream.get(stream) ?? [],
      lost: evidence.lost.get(stream) ?? [],
      sealing: this.#sealing,
    });
    try {
      for await (const page of source.read(stream)) {
        for (const record of page) audit.take(record);
        this.#done += page.length;
        onProgress(this.#done);
      }
    } catch (error) {
      // The other streams can still be verified.
      if (!(error instanceof BrokenStream)) throw error;
      audit.breakOff(error.message);
    }
    return audit;
  }
}

/** By revision: where a study's generator must be restarted, directly after the records that a recovery kept. */
function recoveredPlaces(stream: string, recoveries: readonly Recovery[]): ReadonlyMap<number, Recovered> {
  const places = new Map<number, Recovered>();
  for (const { recovery, streams } of recoveries) {
    const of = streams.get(stream);
    // If nothing of a study was kept, it is registered first. The later one of two successive recoveries counts.
    if (of)
      places.set(Math.max(of.kept, 1), { recovery, kept: of.kept, ...(of.signed && { signed: of.signed }) });
  }
  return places;
}

type RequestFindings = Pick<Report, 'othersOnly' | 'missingStudyId' | 'lastCheckpoints' | 'store'>;

/** Findings about the requested studies and the checkpoints that the log saved. */
function requestFindings(
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

function isSound(streams: readonly StreamReport[], { unused }: Evidence): boolean {
  return streams.every(({ sound }) => sound) && unused.every(({ because }) => because === 'not-asked-for');
}

function isFailed({ missingStudyId, othersOnly, lastCheckpoints, store }: RequestFindings): boolean {
  return (
    missingStudyId !== undefined ||
    othersOnly !== undefined ||
    lastCheckpoints?.agree === false ||
    (store !== undefined && store.problems.length > 0)
  );
}

function isTrusted(identity: ClaimedIdentity | undefined, trusted: readonly VerifierKey[]): boolean {
  return trusted.some(({ text }) => identity?.keys.some((key) => key.text === text));
}
