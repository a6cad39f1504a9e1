/**
 * Reads the topic of positions from its beginning up to a mark that was just written. Offsets do
 * not tell where the end is: the records that end a transaction take some, too, and are delivered to nobody.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { FeedError } from './feed-error.ts';
import { throwawayConsumer } from './kafka.ts';
import { Positions } from './positions.ts';
import type { Topics } from './settings.ts';

/** All that is in the topic is in its first partition, where one record overtakes no other. */
export const POSITIONS_PARTITION = 0;
/** Without anything new. Joining a group alone takes 3 s by the broker's default. */
const SILENCE_MS = 30_000;

export interface PositionsRead {
  readonly topics: Topics;
  readonly mark: string;
  /** Of transactions that are not committed, too. */
  readonly uncommitted: boolean;
}

/** @throws FeedError; DomainError when something else stands there; errors of the client */
export async function readPositions(
  kafka: Kafka,
  { topics, mark, uncommitted }: PositionsRead,
): Promise<Positions> {
  // A group of this one reading: it commits no offsets, and Kafka forgets it when it is left.
  const group = `urn-relay-${topics.records}-${randomUUID()}`;
  const consumer = throwawayConsumer(kafka, group, uncommitted);
  const positions = new Positions();
  let timer: NodeJS.Timeout | undefined;
  let isRead = false;
  const reading = new Promise<void>((resolve, reject) => {
    const waitOn = () => {
      clearTimeout(timer);
      const silent = new FeedError('unreachable', `${topics.positions} cannot be read to its end`);
      timer = setTimeout(() => reject(silent), SILENCE_MS);
    };
    const take = (message: Pick<KafkaMessage, 'key' | 'value'>) => {
      waitOn();
      // What comes behind the mark is of somebody who came later.
      isRead ||= positions.take(message.key?.toString(), message.value?.toString()) === mark;
      if (isRead) resolve();
    };
    waitOn();
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    const run = async () => {
      await consumer.connect();
      await consumer.subscribe({ topics: [topics.positions], fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition, message }) => {
          try {
            if (partition === POSITIONS_PARTITION && !isRead) take(message);
          } catch (error) {
            reject(error);
          }
        },
      });
    };
    run().catch(reject);
  });
  try {
    await reading;
    return positions;
  } finally {
    clearTimeout(timer);
    await consumer.disconnect().catch(() => undefined);
  }
}
