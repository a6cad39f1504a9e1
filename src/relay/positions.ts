/**
 * Up to where each stream has been published: a record for each stream in a compacted topic, written in the transaction
 * that publishes. Offsets of a consumer group would expire in a quiet trial.
 *
 * The topic also holds who relays (`Relay`, one record) and marks, up to which a reader reads. All are JSON.
 */
import { z } from 'zod';
import { CONTENTS, type Content } from '../../events/content.ts';
import { DomainError } from '../base/errors.ts';
import { ANOTHER_TOPIC } from './feed-error.ts';
import type { Topics } from './settings.ts';

const Position = z.strictObject({
  log: z.uuid(),
  stream: z.string().min(1),
  /** Of the last record that was published. */
  revision: z.int().nonnegative(),
  /** Of that record, in lower-case hex. */
  leaf: z.string().regex(/^[0-9a-f]{64}$/),
  /** Number of the log's last recovery then. */
  recovery: z.int().nonnegative(),
  /** Of the topic of records: a stream stays where it began, also when the topic is given more partitions. */
  partition: z.int().nonnegative(),
  /** In that partition, of the last message that was published with it. Version 0.1.0 did not write it. */
  offset: z.int().nonnegative().optional(),
  /** What the topic of records tells. A blinded one never begins to tell treatments. */
  content: z.enum(CONTENTS),
});
export type Position = z.infer<typeof Position>;

/** Who relays: written by each relay as soon as it has fenced the ones before it. */
const Relay = z.strictObject({
  log: z.uuid(),
  /** One for each run of a relay. */
  relay: z.uuid(),
  /** One for each time that it opened the topic. */
  mark: z.uuid(),
});
export type Relay = z.infer<typeof Relay>;

const Mark = z.strictObject({ mark: z.uuid() });

export const RELAY_KEY = 'relay';
export const MARK_KEY = 'mark';
const POSITION_PREFIX = 'position/';

export interface Message {
  readonly key: string;
  readonly value: string;
}

export function positionMessage(position: Position): Message {
  return { key: `${POSITION_PREFIX}${position.stream}`, value: JSON.stringify(position) };
}

export function relayMessage(relay: Relay): Message {
  return { key: RELAY_KEY, value: JSON.stringify(relay) };
}

export function markMessage(mark: string): Message {
  return { key: MARK_KEY, value: JSON.stringify({ mark }) };
}

/** What a topic of positions says, folded from its beginning. */
export class Positions {
  readonly byStream = new Map<string, Position>();
  /** The last one that opened the topic. */
  relay: Relay | undefined;
  /** All that opened it, as far as Kafka has kept that. */
  readonly logs = new Set<string>();

  /**
   * Takes the next record.
   * @returns the mark in it, if it has one
   * @throws DomainError `identity` for a record that no relay of this version has written
   */
  take(key: string | undefined, value: string | undefined): string | undefined {
    const json = parseJson(value);
    if (key === MARK_KEY) return checked(Mark.safeParse(json)).mark;
    if (key === RELAY_KEY) {
      this.relay = checked(Relay.safeParse(json));
      this.logs.add(this.relay.log);
      return this.relay.mark;
    }
    const position = checked(Position.safeParse(json));
    if (key !== `${POSITION_PREFIX}${position.stream}`) throw unreadable();
    this.byStream.set(position.stream, position);
    return undefined;
  }
}

/** What the log says, against which positions are held. */
export interface LogState {
  readonly logId: string;
  /** What is to be told of it. */
  readonly content: Content;
  /** Number of its last recovery. */
  readonly recovery: number;
  /** Records that are folded; of a stream that is halted those before. */
  size(stream: string): number;
  isHalted(stream: string): boolean;
  /** In lower-case hex. */
  leaf(stream: string, revision: number): string;
}

/**
 * Why the log cannot go on where the positions say: going on would leave a gap, or publish other records under
 * revisions that were published. Undefined: it can.
 */
export function contradiction(positions: Positions, log: LogState, topics: Topics): string | undefined {
  const { byStream, logs } = positions;
  // Of two that open it at the same moment, neither has published: it is of the one that comes first.
  const owners = byStream.size > 0 ? [...byStream.values()].map((one) => one.log) : [...logs];
  const other = owners.find((owner) => owner !== log.logId);
  if (other !== undefined)
    return `the topic ${topics.positions} is of the log ${other}, and this log is ${log.logId} (hint: each log needs a topic of its own: --kafka-topic)`;
  for (const { stream, revision, leaf, recovery, content } of byStream.values()) {
    if (content !== log.content)
      return `the topic ${topics.records} is of ${content} content, and is not to be mixed with ${log.content}: who may read the one need not be allowed to read the other (hint: --kafka-content ${content}, or --kafka-topic with a new topic, into which all of the log is published)`;
    if (recovery !== log.recovery)
      return recovery < log.recovery
        ? `the log was recovered from a backup (recovery ${log.recovery}) since it was published into ${topics.records}: revisions that were published can be lost, and others take their places ${ANOTHER_TOPIC}`
        : `the topic ${topics.records} was fed after recovery ${recovery} of the log, and this log knows of ${log.recovery} only: it was restored from an older backup (hint: run the relay where the newest log is)`;
    const size = log.size(stream);
    if (log.isHalted(stream)) continue;
    if (revision >= size)
      return `${revision + 1} records of ${stream} were published into ${topics.records}, and the log has ${size}: it was restored from a backup, or is a copy that was left behind (hint: run the relay where the newest log is; declare a loss with urn recover, and publish into a new topic)`;
    if (leaf !== log.leaf(stream, revision))
      return `record ${stream}/${revision} is not the one that was published into ${topics.records}: the log was restored from a backup and went on, or was changed (hint: urn verify --checkpoint with checkpoints of the feed says where)`;
  }
  return undefined;
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

function checked<T>(parsed: z.ZodSafeParseResult<T>): T {
  if (!parsed.success) throw unreadable();
  return parsed.data;
}

function unreadable(): DomainError {
  return new DomainError(
    'identity',
    'the topic of positions holds something that no relay of this version has written (hint: the topic <records>-positions belongs to the relay alone; a newer version needs to be run again)',
  );
}
