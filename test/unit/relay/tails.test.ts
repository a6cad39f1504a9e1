/** Whether the topics are those that were published into, as offsets and the ends of partitions show. */
import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { Ends, type Extents, lostPositions } from '../../../src/service/relay/offsets.ts';
import { type FeedPosition, FeedPositions, positionMessage } from '../../../src/service/relay/positions.ts';
import { checkTails } from '../../../src/service/relay/tails.ts';
import type { TopicReader } from '../../../src/service/relay/topic-reader.ts';
import { fixedId, LOG_ID } from '../../support/fixed-tools.ts';

const TOPICS = { records: 'feed', positions: 'feed-positions' };
const extents = (...all: readonly (readonly [low: number, high: number])[]): Extents =>
  new Map(all.map(([low, high], partition) => [partition, { low, high }]));

describe('the ends of partitions', () => {
  const place = { topic: 'feed', partition: 1 };
  const answer = (baseOffset: number, more: object = {}) => ({
    topicName: 'feed',
    partition: 1,
    errorCode: 0,
    baseOffset: `${baseOffset}`,
    ...more,
  });
  const endsAt = (high: number) => {
    const ends = new Ends();
    ends.begin('feed', extents([0, 0], [0, high]));
    return ends;
  };

  it('advance with what is sent', () => {
    const ends = endsAt(7);
    expect(ends.placement(place, 3, [answer(7)])).toEqual({ first: 7, low: 0 });
    // The end of a transaction took one.
    expect(ends.placement(place, 2, [answer(11, { logStartOffset: '4' })])).toEqual({ first: 11, low: 4 });
    expect(() => ends.placement(place, 1, [answer(12)])).toThrow(
      'continues at offset 12, but had reached 13',
    );
  });

  it('belong to a recreated topic if they start over', () => {
    expect(() => endsAt(7).placement(place, 3, [answer(0)])).toThrow('the topic was recreated');
    expect(() => endsAt(7).placement(place, 3, [answer(6)])).toThrow('the topic was recreated');
  });

  it.each([
    ['says nothing of the partition', []],
    ['is of another partition', [answer(9, { partition: 0 })]],
    ['is of another topic', [answer(9, { topicName: 'other' })]],
    ['is an error', [answer(9, { errorCode: 6 })]],
    ['names no offset', [answer(-1)]],
  ])('are not believed if the answer %s', (_, answers) => {
    expect(() => endsAt(7).placement(place, 3, answers)).toThrow('Kafka has not accepted what was sent');
  });
});

describe('positions', () => {
  it('were partly lost if they begin after the first offset', () => {
    expect(lostPositions(extents([0, 90]), TOPICS)).toBeUndefined();
    expect(lostPositions(extents([3, 90]), TOPICS)).toContain('begins at offset 3: positions were lost');
  });
});

describe('the end of a partition of the records', () => {
  const LAST: FeedPosition = {
    log: LOG_ID,
    stream: 'study-1',
    revision: 4,
    leaf: '0'.repeat(64),
    recovery: 0,
    partition: 0,
    content: 'blinded',
    offset: 9,
  };
  const message = (offset: number, more: object = {}): KafkaMessage => ({
    key: Buffer.from('study-1'),
    value: Buffer.from(''),
    timestamp: '0',
    attributes: 0,
    offset: `${offset}`,
    headers: { ce_logid: Buffer.from(LOG_ID), ce_treesize: Buffer.from('5'), ...more },
  });
  /** What is committed in partition 0. */
  const readingOf = (committed: readonly KafkaMessage[]): Pick<TopicReader, 'records'> => ({
    records: async (spans, take) => {
      const { from = 0, to = 0 } = spans.get(0) ?? {};
      for (const one of committed) if (+one.offset >= from && +one.offset < to) take(0, one);
    },
  });
  const check = (
    last: readonly Partial<FeedPosition>[],
    [low, high]: readonly [number, number],
    committed: readonly KafkaMessage[],
  ) => {
    const positions = new FeedPositions();
    for (const one of last) {
      const { key, value } = positionMessage({ ...LAST, ...one });
      positions.take(key, value);
    }
    return checkTails(readingOf(committed), positions, extents([low, high]), TOPICS);
  };

  it.each([
    ['is the checkpoint that was published last', [{}], [0, 11], [message(8), message(9)]],
    ['is followed by transactions that were given up', [{}], [0, 40], [message(9)]],
    [
      'is of the stream that was published last',
      [{ stream: 'log', revision: 0, offset: 1 }, {}],
      [0, 11],
      [message(9)],
    ],
    ['is empty, as nothing was published', [], [0, 0], []],
    ['was cut off, with nothing after it', [{}], [11, 11], []],
    ['is not known, of version 0.1.0', [{ offset: undefined }], [0, 11], [message(9), message(10)]],
  ] as const)('is sound if it %s', async (_, last, extent, committed) => {
    await expect(check(last, extent, committed)).resolves.toBeUndefined();
  });

  it.each([
    ['ends before it', [{}], [0, 9], [], 'ends at offset 9'],
    [
      'ends before so many records, of version 0.1.0',
      [{ offset: undefined }],
      [0, 5],
      [],
      'it had reached 6',
    ],
    ['was given up', [{}], [0, 11], [], 'does not have, at offset 9, the checkpoint of study-1/4'],
    [
      'is another one',
      [{}],
      [0, 11],
      [message(9, { ce_treesize: Buffer.from('4') })],
      'does not have, at offset 9',
    ],
    [
      'is of another log',
      [{}],
      [0, 11],
      [message(9, { ce_logid: Buffer.from(fixedId(9)) })],
      'does not have, at offset 9',
    ],
    ['is elsewhere', [{}], [0, 12], [message(10)], 'does not have, at offset 9'],
    ['is followed by something', [{}], [0, 14], [message(9), message(11)], 'positions were lost'],
    ['was cut off, with something after it', [{}], [11, 14], [message(12)], 'positions were lost'],
    ['is in no position', [], [0, 4], [message(1)], 'positions were lost'],
  ] as const)('is a contradiction if it %s', async (_, last, extent, committed, why) => {
    await expect(check(last, extent, committed)).rejects.toThrow(why);
  });

  it('is a contradiction if the topic has fewer partitions', async () => {
    await expect(check([{ partition: 1 }], [0, 11], [])).rejects.toThrow(
      'partition 1 of feed, which now has 1',
    );
  });
});
