/** Whether a log may go on where the positions say. */
import { describe, expect, it } from 'vitest';
import {
  claimMessage,
  contradiction,
  type FeedPosition,
  FeedPositions,
  type LogState,
  markMessage,
  type PositionsMessage,
  positionMessage,
} from '../../../src/service/relay/positions.ts';
import { fixedId, LOG_ID } from '../../support/fixed-tools.ts';

const TOPICS = { records: 'feed', positions: 'feed-positions' };
const leafOf = (revision: number) => revision.toString(16).padStart(64, '0');
const position = (more: Partial<FeedPosition> = {}): FeedPosition => ({
  log: LOG_ID,
  stream: 'study-1',
  revision: 4,
  leaf: leafOf(4),
  recovery: 0,
  partition: 2,
  content: 'blinded',
  ...more,
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
  contradiction(folded(positionMessage(position(one))), { ...LOG, ...log }, TOPICS);

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
  });

  it('also contains it as written by version 0.1.0', () => {
    const written = `{"log":"${LOG_ID}","stream":"study-1","revision":4,"leaf":"${leafOf(4)}","recovery":0,"content":"blinded","partition":2}`;
    const positions = folded({ key: 'position/study-1', value: written });
    expect(positions.byStream.get('study-1')).toEqual(position());
    expect(contradiction(positions, LOG, TOPICS)).toBeUndefined();
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
    ['another stream than its key', 'position/log', JSON.stringify(position())],
    ['another key', 'offset', JSON.stringify(position())],
    ['more than is known', 'mark', JSON.stringify({ mark: fixedId(1), more: 1 })],
  ])('is not the relay’s own if a record contains %s', (_, key, value) => {
    expect(() => new FeedPositions().take(key, value)).toThrow('that no relay of this version has written');
  });
});

describe('the feed continues with a log', () => {
  it('if nothing was published yet', () => {
    expect(contradiction(folded(), LOG, TOPICS)).toBeUndefined();
  });

  it('whether some or all of its records were published', () => {
    expect(why({})).toBeUndefined();
    expect(why({ revision: 1, leaf: leafOf(1) })).toBeUndefined();
  });

  it('if one of its streams is halted: the others are published', () => {
    expect(why({ revision: 9, leaf: leafOf(9) }, { isHalted: () => true })).toBeUndefined();
  });
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
    expect(contradiction(folded(claimMessage(relay)), LOG, TOPICS)).toContain('each log needs a topic');
  });
});
