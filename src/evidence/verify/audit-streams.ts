/**
 * Audits the streams of a log one after another: `log` and `access` first, because the others refer to them. No events are
 * kept; replay-study.ts says what is.
 */
import { streamKind } from '../../../events/catalogue.ts';
import type { PartialEvent } from '../../../events/record.ts';
import type { Recovery } from '../../../projections/log.ts';
import type { VerifierKey } from '../../core/log/signing.ts';
import type { Status } from '../../core/model/outcomes.ts';
import { BrokenStream } from '../../store/event-store.ts';
import { type Decode, decode } from './decoding.ts';
import type { Evidence } from './evidence.ts';
import type { ClaimedIdentity } from './log-identity.ts';
import type { SourceReading } from './reading.ts';
import { KeyHistory } from './replay/key-history.ts';
import type { Replay } from './replay/replay.ts';
import { AccessReplay } from './replay/replay-access.ts';
import { EnrolmentReplay } from './replay/replay-enrolment.ts';
import { LogReplay } from './replay/replay-log.ts';
import { OperationsReplay } from './replay/replay-operations.ts';
import { StudyReplay } from './replay/replay-study.ts';
import { type Recovered, StudyChecks } from './replay/study-checks.ts';
import type { StreamReport } from './report/report.ts';
import { Warnings } from './report/warnings.ts';
import { Sealing } from './sealing.ts';
import type { RecordSource } from './source.ts';
import { StreamAudit } from './stream-audit.ts';

/** What is known before the first stream is audited. */
export interface AuditPlan {
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
export async function auditStreams(plan: AuditPlan): Promise<StreamReport[]> {
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
    const replay = new LogReplay(trusted, identity?.keys ?? []);
    return (await this.#audit('log', new Warnings(), reading.others, replay)).finish({});
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
      replay: Replay<E> & { readonly participants: number; readonly status: Status | undefined },
    ) => {
      const audit = await this.#audit(stream, warnings, decode, replay);
      const { participants, status } = replay;
      return audit.finish({ study: checks.name, participants, life: checks.lifeReport(status) });
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
      moves: stream === 'log' ? undefined : (identity?.moves ?? new Set()),
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
