/**
 * How far each stream has been published: one message for each stream in a compacted topic, written in the transaction
 * that publishes. Offsets of a consumer group would expire in a quiet trial.
 *
 * The topic also says which relay publishes (`RelayClaim`, one message), and holds marks, up to which a reader reads. All
 * are JSON, with the member `format`. A relay continues only from positions that agree with the log and with the end of the
 * topic of records, so this reads both topics.
 */
import { randomUUID } from 'node:crypto';
import type { Consumer, Kafka, KafkaMessage } from 'kafkajs';
import { z } from 'zod';
import { CONTENTS, type Content } from '../../../events/record.ts';
import { DomainError } from '../../base/errors.ts';
import { counted, plural } from '../../base/wording.ts';
import { throwawayConsumer } from './kafka.ts';
import { ANOTHER_TOPIC, FeedError, type Topics } from './settings.ts';

/** Of every message in the topic of positions. */
const FORMAT = 'urn-feed@1';

const FeedPosition = z.strictObject({
  log: z.uuid(),
  stream: z.string().min(1),
  /** Revision of the last record that was published. */
  revision: z.int().nonnegative(),
  /** Leaf of that record, in lower-case hex. */
  leaf: z.string().regex(/^[0-9a-f]{64}$/),
  /** Number of the log's last recovery at that time. */
  recovery: z.int().nonnegative(),
  /** Partition of the topic of records. A stream stays in its partition even if the topic gets more of them. */
  partition: z.int().nonnegative(),
  /** Offset in that partition of the last message published with the record. */
  offset: z.int().nonnegative(),
  /** What the topic of records includes. A blinded topic never starts to include treatments. */
  content: z.enum(CONTENTS),
});
export type FeedPosition = z.infer<typeof FeedPosition>;

/** Says which relay publishes. Each relay writes it as soon as it has fenced the ones before it. */
const RelayClaim = z.strictObject({
  log: z.uuid(),
  /** Differs for each run of a relay. */
  relay: z.uuid(),
  /** Differs each time the relay opens the topic. */
  mark: z.uuid(),
});
type RelayClaim = z.infer<typeof RelayClaim>;

/** Written before a reading, which ends where it finds the mark. */
const Mark = z.strictObject({ mark: z.uuid() });

/** Keys of the messages. Kafka keeps the newest message of each key. */
const RELAY_KEY = 'relay';
const MARK_KEY = 'mark';
const POSITION_PREFIX = 'position/';

/** The content of a topic of positions, folded from its beginning. */
export class FeedPositions {
  readonly byStream = new Map<string, FeedPosition>();
  /** The claim of the relay that opened the topic last. */
  lastClaim: RelayClaim | undefined;
  /** Ids of all logs whose relays opened the topic, as far as Kafka still has their claims. */
  readonly logs = new Set<string>();

  /**
   * Takes the next message.
   * @returns the mark in it, if it has one
   * @throws FeedError for a topic without formats; DomainError `identity` for a message that no relay of this version has
   *   written
   */
  take(key: string | undefined, value: string | undefined): string | undefined {
    const { format, ...json } = parseJson(value);
    if (format === undefined && ('mark' in json || 'log' in json))
      throw new FeedError(
        'contradiction',
        `the topic of positions was written before 1.0.0; nothing was changed ${ANOTHER_TOPIC}`,
      );
    if (format !== FORMAT) throw unreadable();
    if (key === MARK_KEY) return checked(Mark.safeParse(json)).mark;
    if (key === RELAY_KEY) {
      this.lastClaim = checked(RelayClaim.safeParse(json));
      this.logs.add(this.lastClaim.log);
      return this.lastClaim.mark;
    }
    const position = checked(FeedPosition.safeParse(json));
    if (key !== `${POSITION_PREFIX}${position.stream}`) throw unreadable();
    this.byStream.set(position.stream, position);
    return undefined;
  }
}

function parseJson(text: string | undefined): { format?: unknown } {
  try {
    return Object(JSON.parse(text ?? ''));
  } catch {
    return {};
  }
}

function checked<T>(parsed: z.ZodSafeParseResult<T>): T {
  if (!parsed.success) throw unreadable();
  return parsed.data;
}

function unreadable(): DomainError {
  return new DomainError(
    'identity',
    'the topic of positions holds something that no relay of this version has written (hint: only the relay may write to the topic <records>-positions; if a newer version has written it, run that version)',
  );
}

/** A message to be written into the topic. */
export interface PositionsMessage {
  readonly key: string;
  readonly value: string;
}

export function positionMessage(position: FeedPosition): PositionsMessage {
  return message(`${POSITION_PREFIX}${position.stream}`, position);
}

export function claimMessage(claim: RelayClaim): PositionsMessage {
  return message(RELAY_KEY, claim);
}

export function markMessage(mark: string): PositionsMessage {
  return message(MARK_KEY, { mark });
}

function message(key: string, content: object): PositionsMessage {
  return { key, value: JSON.stringify({ format: FORMAT, ...content }) };
}

/** The state of the log, with which positions are compared. */
export interface LogState {
  readonly logId: string;
  /** What the feed includes. */
  readonly content: Content;
  /** Number of its last recovery. */
  readonly recovery: number;
  /** Number of folded records; of a halted stream, those before the halt. */
  size(stream: string): number;
  isHalted(stream: string): boolean;
  /** In lower-case hex. */
  leaf(stream: string, revision: number): string;
}

/**
 * Why the log cannot be published from these positions on: that would leave a gap, or publish different records under
 * revisions that were already published. Undefined: it can.
 */
export function positionsProblem(
  positions: FeedPositions,
  log: LogState,
  topics: Topics,
): string | undefined {
  const { byStream, logs } = positions;
  // If two logs open the topic at the same moment, neither has published yet, and the first one owns it.
  const owners = byStream.size > 0 ? [...byStream.values()].map((one) => one.log) : [...logs];
  const other = owners.find((owner) => owner !== log.logId);
  if (other !== undefined)
    return `the topic ${topics.positions} belongs to the log ${other}, and this log is ${log.logId} (hint: each log needs a topic of its own: --kafka-topic)`;
  for (const { stream, revision, leaf, recovery, content } of byStream.values()) {
    if (content !== log.content)
      return `the topic ${topics.records} has ${content} content, which must not be mixed with ${log.content}: someone allowed to read the one may not be allowed to read the other (hint: --kafka-content ${content}, or name a new topic with --kafka-topic; the whole log is published into it)`;
    if (recovery !== log.recovery)
      return recovery < log.recovery
        ? `the log was recovered from a backup (recovery ${log.recovery}) since it was published into ${topics.records}: revisions that were published may be lost, and others take their places ${ANOTHER_TOPIC}`
        : `the topic ${topics.records} was fed after recovery ${recovery} of the log, but this log only knows of ${log.recovery}: it was restored from an older backup (hint: run the relay where the newest log is)`;
    const size = log.size(stream);
    if (log.isHalted(stream)) continue;
    if (revision >= size)
      return `${counted(revision + 1, 'record')} of ${stream} ${plural(revision + 1, 'was', 'were')} published into ${topics.records}, but the log has ${size}: it was restored from a backup, or is an outdated copy (hint: run the relay where the newest log is; declare a loss with urn recover, and publish into a new topic)`;
    if (leaf !== log.leaf(stream, revision))
      return `record ${stream}/${revision} is not the one that was published into ${topics.records}: the log was restored from a backup and went on, or was changed (hint: urn verify --checkpoint with checkpoints of the feed shows where)`;
  }
  return undefined;
}

/** The topic of positions uses only its first partition, so that its messages stay in order. */
export const POSITIONS_PARTITION = 0;

/** How long a reading waits for anything new. */
const SILENCE_MS = 30_000;

/** What was read of one partition. Messages that this reader may not see are left out. */
interface PartitionMessages {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly KafkaMessage[];
  /** Everything before this offset has been read. */
  readonly next: number;
}

/** Offsets of a partition. */
export interface Span {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/**
 * Reads the topics of a feed briefly, in a consumer group of its own. The group commits no offsets, and Kafka forgets it
 * afterwards. Joining takes 3 s by the broker's default, so one reading covers both topics.
 */
export class TopicReader {
  readonly #topics: Topics;
  readonly #uncommitted: boolean;
  readonly #consumer: Consumer;
  #take: (seen: PartitionMessages) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  /** @param uncommitted whether to read messages of uncommitted transactions too */
  constructor(kafka: Kafka, topics: Topics, { uncommitted }: { readonly uncommitted: boolean }) {
    this.#topics = topics;
    this.#uncommitted = uncommitted;
    const group = `urn-relay-${topics.records}-${randomUUID()}`;
    this.#consumer = throwawayConsumer(kafka, group, uncommitted);
    this.#consumer.on(this.#consumer.events.CRASH, ({ payload }) => this.#fail(payload.error));
    // This also reports batches without visible messages: the ends of transactions, and aborted messages.
    this.#consumer.on(this.#consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, lastOffset } = payload;
      this.#take({ topic, partition, messages: [], next: Number(lastOffset) + 1 });
    });
  }

  /**
   * Reads the topic of positions from its beginning up to a mark. Offsets do not show where the end is: the markers that
   * end a transaction take offsets too, but are never delivered. Call this first, and once.
   * @param write writes the mark, once the topic has shown that it is one of this program; undefined: it is written
   * @throws FeedError; DomainError if the topic holds something else; errors of the client
   */
  async positions(mark: string, write?: () => Promise<unknown>): Promise<FeedPositions> {
    const positions = new FeedPositions();
    let isUnwritten = write !== undefined;
    const isMark = ({ key, value }: KafkaMessage) => {
      // Whatever follows the mark was written by a later relay.
      if (positions.take(key?.toString(), value?.toString()) === mark) return true;
      if (isUnwritten) write?.().catch(this.#fail);
      isUnwritten = false;
      return false;
    };
    await this.#until(
      this.#topics.positions,
      ({ partition, messages }) => partition === POSITIONS_PARTITION && messages.some(isMark),
      () => this.#run(),
    );
    return positions;
  }

  /**
   * Reads parts of the topic of records. Not for a reading of uncommitted messages.
   * @param spans by partition
   * @throws what `take` throws; FeedError; errors of the client
   */
  async records(
    spans: ReadonlyMap<number, Span>,
    take: (partition: number, message: KafkaMessage) => void,
  ): Promise<void> {
    const topic = this.#topics.records;
    const left = new Map([...spans].filter(([, { from, to }]) => from < to));
    if (left.size === 0) return;
    const isAll = ({ partition, messages, next }: PartitionMessages) => {
      const span = left.get(partition);
      if (!span) return false;
      for (const message of messages)
        if (Number(message.offset) >= span.from && Number(message.offset) < span.to) take(partition, message);
      if (next >= span.to) left.delete(partition);
      return left.size === 0;
    };
    await this.#until(topic, isAll, async () => {
      for (const [partition, { from }] of left) this.#consumer.seek({ topic, partition, offset: `${from}` });
    });
  }

  async close(): Promise<void> {
    await this.#consumer.disconnect().catch(() => undefined);
  }

  async #run(): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [this.#topics.positions], fromBeginning: true });
    // From its end, so that nothing is read until `records` seeks.
    if (!this.#uncommitted)
      await this.#consumer.subscribe({ topics: [this.#topics.records], fromBeginning: false });
    await this.#consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        const { topic, partition, messages } = batch;
        this.#take({ topic, partition, messages, next: Number(batch.lastOffset()) + 1 });
      },
    });
  }

  /** @param isAll whether the topic has been read far enough */
  async #until(
    topic: string,
    isAll: (seen: PartitionMessages) => boolean,
    begin: () => Promise<void>,
  ): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let isRead = false;
    const reading = new Promise<void>((resolve, reject) => {
      const restartTimer = () => {
        clearTimeout(timer);
        const silent = new FeedError('unreachable', `${topic} cannot be read to its end`);
        timer = setTimeout(() => reject(silent), SILENCE_MS);
      };
      this.#fail = reject;
      this.#take = (seen) => {
        if (seen.topic !== topic || isRead) return;
        restartTimer();
        try {
          isRead = isAll(seen);
          if (isRead) resolve();
        } catch (error) {
          reject(error);
        }
      };
      restartTimer();
      begin().catch(reject);
    });
    try {
      await reading;
    } finally {
      isRead = true;
      clearTimeout(timer);
    }
  }
}
