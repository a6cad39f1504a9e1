/** Whether a log may go on where the positions say, and the topics are those that were published into, as their ends show. */

import type { KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import type { TopicReader } from '../../../src/service/relay/positions.ts';
import {
  claimMessage,
  type FeedPosition,
  FeedPositions,
  type LogState,
  markMessage,
  type PositionsMessage,
  positionMessage,
  positionsProblem,
} from '../../../src/service/relay/positions.ts';
import { checkTails } from '../../../src/service/relay/publishing-session.ts';
import { type Extents, lostPositions, PartitionEnds } from '../../../src/service/relay/topics.ts';
import { fixedId, LOG_ID } from '../../support/fixed-tools.ts';

const TOPICS = { records: 'feed', positions: 'feed-positions' };
const leafOf = (revision: number) => revision.toString(16).padStart(64, '0');
const position = (more: Partial<FeedPosition> = {}): FeedPosition => ({
  ...{ log: LOG_ID, stream: 'study-1', revision: 4, leaf: leafOf(4), recovery: 0 },
  ...{ partition: 2, offset: 9, content: 'blinded', ...more },
});
const LOG: LogState = {
  logId: LOG_ID,
  content: 'blinded',
  recovery: 0,
  size: () => 5,
  isHalted: () => false,
  leaf: (_, revision) => leafOf(revision),
};

function folded(...messages: readonly PositionsMessage[]): FeedPositions {
  const positions = new FeedPositions();
  for (const { key, value } of messages) positions.take(key, value);
  return positions;
}

const why = (one: Partial<FeedPosition>, log: Partial<LogState> = {}) =>
  positionsProblem(folded(positionMessage(position(one))), { ...LOG, ...log }, TOPICS);

describe('the topic of positions', () => {
  it('contains the last position written for each stream', () => {
    const positions = folded(
      positionMessage(position({ revision: 3, leaf: leafOf(3) })),
      positionMessage(position({ stream: 'log', revision: 0, leaf: leafOf(0) })),
      positionMessage(position()),
    );
    expect(positions.byStream.get('study-1')).toEqual(position());
    expect(positions.byStream.get('log')?.revision).toBe(0);
    expect(positions.lastClaim).toBeUndefined();
    expect(positionsProblem(positions, LOG, TOPICS)).toBeUndefined();
  });

  it('contains marks, and the claim of the current relay', () => {
    const positions = new FeedPositions();
    const relay = { log: LOG_ID, relay: fixedId(1), mark: fixedId(2) };
    const take = ({ key, value }: PositionsMessage) => positions.take(key, value);
    expect(take(claimMessage(relay))).toBe(fixedId(2));
    expect(take(markMessage(fixedId(3)))).toBe(fixedId(3));
    expect(take(positionMessage(position()))).toBeUndefined();
    expect(positions.lastClaim).toEqual(relay);
  });

  it.each([
    ['no JSON', 'position/log', 'hello'],
    ['nothing', 'position/log', undefined],
    ['another stream than its key', 'position/log', positionMessage(position()).value],
    ['another key', 'offset', positionMessage(position()).value],
    ['more than is known', 'mark', markMessage(fixedId(1)).value.replace('{', '{"more":1,')],
    ['another format', 'mark', markMessage(fixedId(1)).value.replace('@1', '@2')],
  ])('is not the relay’s own if a record contains %s', (_, key, value) => {
    expect(() => new FeedPositions().take(key, value)).toThrow('that no relay of this version has written');
  });

  it.each([
    markMessage(fixedId(1)),
    claimMessage({ log: LOG_ID, relay: fixedId(1), mark: fixedId(2) }),
    positionMessage(position()),
  ])('is refused by name if it was written before 1.0.0: $key', ({ key, value }) => {
    const { format: _, ...before } = JSON.parse(value);
    expect(() => new FeedPositions().take(key, JSON.stringify(before))).toThrow(
      'was written before 1.0.0; nothing was changed (hint: name a new topic',
    );
  });
});

it.each([
  ['some of its records were published', { revision: 1, leaf: leafOf(1) }, {}],
  ['one of its streams is halted', { revision: 9, leaf: leafOf(9) }, { isHalted: () => true }],
])('the feed continues with a log if %s, or none', (_, one, log) => {
  expect(why(one, log)).toBeUndefined();
  expect(positionsProblem(folded(), LOG, TOPICS)).toBeUndefined();
});

describe('the feed does not continue with a log', () => {
  it.each([
    ['of which more was published than it has', { revision: 5, leaf: leafOf(5) }, {}, 'but the log has 5'],
    ['whose record is another one', { leaf: leafOf(7) }, {}, 'study-1/4 is not the one'],
    ['that was recovered since', {}, { recovery: 1 }, 'recovery 1'],
    ['that knows of fewer recoveries', { recovery: 2 }, { recovery: 1 }, 'older backup'],
    ['in the topic of another one', { log: fixedId(9) }, {}, `belongs to the log ${fixedId(9)}`],
    ['that would disclose more than the topic', {}, { content: 'open' }, 'has blinded content'],
    ['that would disclose less than the topic', { content: 'full' }, {}, 'has full content'],
  ] as const)('%s', (_, one, log, message) => {
    expect(why(one, log)).toContain(message);
  });

  it('in a topic that another log has claimed, even if that published nothing', () => {
    const relay = { log: fixedId(9), relay: fixedId(1), mark: fixedId(2) };
    expect(positionsProblem(folded(claimMessage(relay)), LOG, TOPICS)).toContain('each log needs a topic');
  });
});

const extents = (...all: readonly (readonly [low: number, high: number])[]): Extents =>
  new Map(all.map(([low, high], partition) => [partition, { low, high }]));

describe('the ends of partitions', () => {
  const place = { topic: 'feed', partition: 1 };
  const answer = (baseOffset: number, more: object = {}) => ({
    ...{ topicName: 'feed', partition: 1, errorCode: 0, baseOffset: `${baseOffset}`, ...more },
  });
  const endsAt = (high: number) => {
    const ends = new PartitionEnds();
    ends.begin('feed', extents([0, 0], [0, high]));
    return ends;
  };

  it('advance with what is sent', () => {
    const ends = endsAt(7);
    expect(ends.placement(place, 3, [answer(7)])).toEqual({ first: 7, low: 0 });
    // The end of a transaction took one.
    expect(ends.placement(place, 2, [answer(11, { logStartOffset: '4' })])).toEqual({ first: 11, low: 4 });
    const overlaps = () => ends.placement(place, 1, [answer(12)]);
    expect(overlaps).toThrow('continues at offset 12, but had reached 13');
  });

  it.each([0, 6])('belong to a recreated topic if they start over at %i', (offset) => {
    expect(() => endsAt(7).placement(place, 3, [answer(offset)])).toThrow('the topic was recreated');
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

it('positions were partly lost if they begin after the first offset', () => {
  expect(lostPositions(extents([0, 90]), TOPICS)).toBeUndefined();
  expect(lostPositions(extents([3, 90]), TOPICS)).toContain('begins at offset 3: positions were lost');
});

describe('the end of a partition of the records', () => {
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
    const positions = folded(...last.map((one) => positionMessage(position({ partition: 0, ...one }))));
    return checkTails(readingOf(committed), positions, extents([low, high]), TOPICS);
  };

  const NOT_THERE = 'does not have, at offset 9';
  it.each([
    ['is the checkpoint that was published last', [{}], [0, 11], [message(8), message(9)]],
    ['is followed by transactions that were given up', [{}], [0, 40], [message(9)]],
    ['is of the last stream', [{ stream: 'log', revision: 0, offset: 1 }, {}], [0, 11], [message(9)]],
    ['is empty, as nothing was published', [], [0, 0], []],
    ['was cut off, with nothing after it', [{}], [11, 11], []],
  ] as const)('is sound if it %s', async (_, last, extent, committed) => {
    await expect(check(last, extent, committed)).resolves.toBeUndefined();
  });

  it.each([
    ['ends before it', [{}], [0, 9], [], 'ends at offset 9'],
    ['was given up', [{}], [0, 11], [], `${NOT_THERE}, the checkpoint of study-1/4`],
    ['is another one', [{}], [0, 11], [message(9, { ce_treesize: Buffer.from('4') })], NOT_THERE],
    ['is of another log', [{}], [0, 11], [message(9, { ce_logid: Buffer.from(fixedId(9)) })], NOT_THERE],
    ['is elsewhere', [{}], [0, 12], [message(10)], NOT_THERE],
    ['is followed by something', [{}], [0, 14], [message(9), message(11)], 'positions were lost'],
    ['was cut off, with something after it', [{}], [11, 14], [message(12)], 'positions were lost'],
    ['is in no position', [], [0, 4], [message(1)], 'positions were lost'],
    [
      'is of a partition that there is not',
      [{ partition: 1 }],
      [0, 11],
      [],
      'partition 1 of feed, which now has 1',
    ],
  ] as const)('is a contradiction if it %s', async (_, last, extent, committed, why) => {
    await expect(check(last, extent, committed)).rejects.toThrow(why);
  });
});
