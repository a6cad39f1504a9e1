/**
 * Offsets tell whether a topic is still the one that was published into: they rise, and never begin again. One that was
 * deleted and made anew, or whose folder was lost, begins at 0.
 */
import type { Message, Producer, RecordMetadata } from 'kafkajs';
import { ANOTHER_TOPIC, FeedError } from './feed-error.ts';
import type { Positions } from './positions.ts';
import type { Topics } from './settings.ts';

export interface Extent {
  /** Of the first record that is kept. */
  readonly low: number;
  /** Of the next record to be written. */
  readonly high: number;
}

/** By partition. */
export type Extents = ReadonlyMap<number, Extent>;

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** Where Kafka has put what was sent. */
export interface Taken {
  /** Offset of the first message. */
  readonly first: number;
  /** Where the partition begins. */
  readonly low: number;
}

/** The next offset of each partition, as far as one session knows: nobody else writes. */
export class Ends {
  readonly #next = new Map<string, number>();

  begin(topic: string, extents: Extents): void {
    for (const [partition, { high }] of extents) this.#next.set(placeOf(topic, partition), high);
  }

  /**
   * Sends to one partition, and holds the client's answer against it: a partition that the client has not heard of, it
   * leaves out without an error.
   * @throws FeedError `busy` when it was not sent; `contradiction` when offsets began again; errors of the client
   */
  async send(sender: Sender, place: Place, messages: readonly Message[]): Promise<Taken> {
    const { topic, partition } = place;
    const placed = messages.map((message) => ({ ...message, partition }));
    return this.taken(place, messages.length, await sender.send({ topic, messages: placed }));
  }

  taken({ topic, partition }: Place, count: number, answers: readonly RecordMetadata[]): Taken {
    const answer = answers.find((one) => one.topicName === topic && one.partition === partition);
    const first = Number(answer?.baseOffset ?? -1);
    if (answer?.errorCode !== 0 || first < 0)
      throw new FeedError('busy', `Kafka has not taken what was sent to partition ${partition} of ${topic}`);
    const place = placeOf(topic, partition);
    const next = this.#next.get(place) ?? 0;
    if (first < next)
      throw new FeedError(
        'contradiction',
        `partition ${partition} of ${topic} goes on at offset ${first}, and had come to ${next}: ${MADE_ANEW}`,
      );
    this.#next.set(place, first + count);
    return { first, low: Math.max(0, Number(answer.logStartOffset ?? 0)) };
  }
}

type Sender = Pick<Producer, 'send'>;

const placeOf = (topic: string, partition: number) => `${topic}/${partition}`;

/** Why the topic of records lacks what the positions say was published into it. Undefined: it need not. */
export function lostRecords({ byStream }: Positions, extents: Extents, topics: Topics): string | undefined {
  const ends = new Map<number, { least: number; known: number }>();
  for (const { partition, revision, offset } of byStream.values()) {
    const { least, known } = ends.get(partition) ?? { least: 0, known: 0 };
    // Version 0.1.0 wrote no offsets. But each record has taken one, and each stream's checkpoint.
    ends.set(partition, { least: least + revision + 2, known: Math.max(known, (offset ?? -1) + 1) });
  }
  for (const [partition, { least, known }] of ends) {
    const extent = extents.get(partition);
    if (!extent)
      return `records were published into partition ${partition} of ${topics.records}, which has ${extents.size} now: ${MADE_ANEW}`;
    const end = Math.max(least, known);
    if (extent.high < end)
      return `partition ${partition} of ${topics.records} ends at offset ${extent.high}, and ${topics.positions} says that it had come to ${end}: ${MADE_ANEW}`;
  }
  return undefined;
}

/** Why positions can be missing. Undefined: Kafka has all that was written, or what compaction leaves of it. */
export function lostPositions(extents: Extents, { positions }: Topics): string | undefined {
  for (const [partition, { low }] of extents)
    if (low > 0) return `partition ${partition} of ${positions} begins at offset ${low}: ${POSITIONS_LOST}`;
  return undefined;
}

export const MADE_ANEW = `the topic was made anew, or Kafka has lost what was in it ${ANOTHER_TOPIC}`;
export const POSITIONS_LOST = `positions were lost, and records would be published twice ${ANOTHER_TOPIC}`;
