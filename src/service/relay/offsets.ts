/**
 * Offsets show whether a topic is still the one that was published into: they rise and never start over. A topic that was
 * deleted and recreated, or whose folder was lost, begins at 0.
 */
import type { Message as OutgoingMessage, Producer, RecordMetadata } from 'kafkajs';
import { ANOTHER_TOPIC, FeedError } from './feed-error.ts';
import type { FeedPositions } from './positions.ts';
import type { Topics } from './settings.ts';

export interface Extent {
  /** Offset of the first message that Kafka still has. */
  readonly low: number;
  /** Offset of the next message. */
  readonly high: number;
}

/** By partition. */
export type Extents = ReadonlyMap<number, Extent>;

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Where Kafka has put the messages that were sent. */
export interface Placement {
  /** Offset of the first message. */
  readonly first: number;
  /** The first offset of the partition. */
  readonly low: number;
}

/** The next offset of each partition, as one session knows it: nobody else writes. */
export class Ends {
  readonly #next = new Map<string, number>();

  begin(topic: string, extents: Extents): void {
    for (const [partition, { high }] of extents) this.#next.set(keyOf(topic, partition), high);
  }

  /**
   * Sends to one partition, and checks the client's answer: the client silently leaves out a partition that it does not
   * know.
   * @throws FeedError `busy` if nothing was sent; `contradiction` if offsets started over; errors of the client
   */
  async send(
    sender: Sender,
    place: TopicPartition,
    messages: readonly OutgoingMessage[],
  ): Promise<Placement> {
    const { topic, partition } = place;
    const placed = messages.map((message) => ({ ...message, partition }));
    return this.placement(place, messages.length, await sender.send({ topic, messages: placed }));
  }

  placement(
    { topic, partition }: TopicPartition,
    count: number,
    answers: readonly RecordMetadata[],
  ): Placement {
    const answer = answers.find((one) => one.topicName === topic && one.partition === partition);
    const first = Number(answer?.baseOffset ?? -1);
    if (answer?.errorCode !== 0 || first < 0)
      throw new FeedError(
        'busy',
        `Kafka has not accepted what was sent to partition ${partition} of ${topic}`,
      );
    const key = keyOf(topic, partition);
    const next = this.#next.get(key) ?? 0;
    if (first < next)
      throw new FeedError(
        'contradiction',
        `partition ${partition} of ${topic} continues at offset ${first}, but had reached ${next}: ${RECREATED}`,
      );
    this.#next.set(key, first + count);
    return { first, low: Math.max(0, Number(answer.logStartOffset ?? 0)) };
  }
}

type Sender = Pick<Producer, 'send'>;

const keyOf = (topic: string, partition: number) => `${topic}/${partition}`;

/** Why records must be missing that were published, according to the positions. Undefined: nothing shows that. */
export function lostRecords(
  { byStream }: FeedPositions,
  extents: Extents,
  topics: Topics,
): string | undefined {
  const ends = new Map<number, { least: number; known: number }>();
  for (const { partition, revision, offset } of byStream.values()) {
    const { least, known } = ends.get(partition) ?? { least: 0, known: 0 };
    // Version 0.1.0 wrote no offsets. But every record took one, and so did the checkpoint of every stream.
    ends.set(partition, { least: least + revision + 2, known: Math.max(known, (offset ?? -1) + 1) });
  }
  for (const [partition, { least, known }] of ends) {
    const extent = extents.get(partition);
    if (!extent)
      return `records were published into partition ${partition} of ${topics.records}, which now has ${extents.size}: ${RECREATED}`;
    const end = Math.max(least, known);
    if (extent.high < end)
      return `partition ${partition} of ${topics.records} ends at offset ${extent.high}, but ${topics.positions} says that it had reached ${end}: ${RECREATED}`;
  }
  return undefined;
}

/** Why positions may be missing. Undefined: Kafka has all that was written, except what compaction removes. */
export function lostPositions(extents: Extents, { positions }: Topics): string | undefined {
  for (const [partition, { low }] of extents)
    if (low > 0) return `partition ${partition} of ${positions} begins at offset ${low}: ${POSITIONS_LOST}`;
  return undefined;
}

export const RECREATED = `the topic was recreated, or Kafka has lost what was in it ${ANOTHER_TOPIC}`;
export const POSITIONS_LOST = `positions were lost, and records would be published twice ${ANOTHER_TOPIC}`;
