/** Records and checkpoints as CloudEvents: what the SDK reads from them, and what they disclose. */
import { CloudEvent, Kafka } from 'cloudevents';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { checkpointMessage, recordMessage } from '../../../src/service/relay/batch.ts';
import { topicsOf, transactionalIdOf } from '../../../src/service/relay/settings.ts';
import { randomizedFact } from '../../support/arbitrary-facts.ts';
import { OPERATOR, randomized, STREAM, stored } from '../../support/facts.ts';
import { fixedId, LOG_ID } from '../../support/fixed-tools.ts';
import { check } from '../../support/property.ts';
import { drawIn } from '../../support/urn-study.ts';

/** What the SDK makes of a message that came from Kafka. */
function received({ key, value, headers }: ReturnType<typeof recordMessage>): CloudEvent<unknown> {
  // It takes the data for JSON when that is what the content type says.
  const message = { key, value, headers, body: value, timestamp: undefined };
  return Kafka.toEvent(message) as CloudEvent<unknown>;
}

describe('a record in the feed', () => {
  it('is, when blinded, its exact bytes, whatever it contains, and reveals nothing that is sealed', () => {
    check(
      fc.property(randomizedFact, (fact) => {
        const record = stored(fact, 3);
        const message = recordMessage(record, 'blinded');
        expect(Buffer.compare(message.value, record.record)).toBe(0);
        const { allocation } = fact.sections;
        const draw = drawIn(fact.sections);
        const headers = JSON.stringify(message.headers);
        for (const secret of [allocation.treatment, `${draw.uniform53}`, draw.bgStateAfter.state.state])
          if (secret.length > 3) expect(headers).not.toContain(secret);
      }),
    );
  });

  it('is read by the SDK as a valid CloudEvent', () => {
    const event = received(recordMessage(stored(randomized(), 3), 'blinded'));
    // Attributes of the binary mode are text; the constructor checks them.
    expect(() => new CloudEvent({ ...event })).not.toThrow();
    expect(event).toMatchObject({
      ...{ id: fixedId(1, 3), source: `urn:uuid:${LOG_ID}`, type: 'urn.ParticipantRandomized.v1' },
      ...{ subject: STREAM, specversion: '1.0', datacontenttype: 'application/json' },
      ...{ revision: '3', content: 'blinded', logid: LOG_ID, data: { stream: STREAM, revision: 3 } },
    });
  });

  it.each([
    ['open', ['allocation']],
    ['full', ['allocation', 'draw', 'request']],
  ] as const)('contains, with %s content, its bytes and the sections %j', (content, sections) => {
    const fact = randomized();
    const draw = { ...drawIn(fact.sections), slot: 2 };
    const one = stored({ ...fact, sections: { ...fact.sections, draw } }, 3);
    const { value, headers } = recordMessage(one, content);
    const text = value.toString();
    expect(text.includes('"slot":')).toBe(content === 'full');
    expect(JSON.stringify(headers)).not.toContain('slot');
    expect(text.startsWith(`{"record":${Buffer.from(one.record)},"sealed":`)).toBe(true);
    const { sealed } = JSON.parse(text);
    expect(Object.keys(sealed)).toEqual(sections);
    const all = JSON.parse(Buffer.from(one.sealed).toString());
    for (const section of sections) expect(sealed[section]).toEqual(all[section]);
  });

  const REPLACED = { by: 'P-2', cause: 'damaged', code: 'P-1', participantId: '001', randomizedAt: 1 };

  /** The sealed sections that each content tells; what is sealed contains ZZ. */
  const REVEALED = { category: 'emergency', participantId: '001', randomizedAt: 1, reveal: fixedId(7) };
  const CODES = { key: '0f'.repeat(16), entries: [{ code: 'ZZ-1', treatment: 'ZZVERUM' }] };
  const request = { idempotencyKey: 'ZZ-request' };
  it.each<[type: string, data: object, sections: object]>([
    ['AllocationRevealed', REVEALED, { grounds: { reason: 'ZZ: anaphylaxis, ICU' }, request }],
    ['CodesRegistered', { count: 1, list: 1 }, { codes: CODES }],
    ['CodeReplaced', REPLACED, { request }],
  ])('of the type %s is in the clear, but for what is sealed, which only full content has', (...row) => {
    const [type, data, sections] = row;
    const one = stored({ type, data, sections } as unknown as StudyFact, 3, { actor: OPERATOR });
    for (const content of ['full', 'open', 'blinded'] as const) {
      const message = recordMessage(one, content);
      const said = JSON.parse(message.value.toString());
      expect(received(message).type).toBe(`urn.${type}.v1`);
      expect(content === 'blinded' ? said.data : said.record.data).toEqual(data);
      const told = { full: Object.keys(sections), open: [], blinded: undefined }[content];
      expect(said.sealed && Object.keys(said.sealed), content).toEqual(told);
      expect(message.value.includes('ZZ'), content).toBe(content === 'full');
      expect(JSON.stringify(message.headers)).not.toContain('ZZ');
    }
  });

  it('reveals no credential, even with full content', () => {
    const data = { keyId: 'k0123456789ab', user: 'edc', scopes: ['read'] };
    const issued = { type: 'ApiKeyIssued', data, sections: { credential: { sha256: 'a'.repeat(64) } } };
    const one = stored(issued as never, 0, { stream: 'access' });
    expect(JSON.parse(recordMessage(one, 'full').value.toString()).sealed).toEqual({});
  });
});

it('a checkpoint in the feed is the signed note', () => {
  const signed = {
    ...{ origin: `urn/${STREAM}/2`, stream: STREAM, recovery: 2, publicKey: 'key', size: 12, base64: '' },
    note: `urn/${STREAM}/2\n12\nroot\n\n— urn signature\n`,
  };
  const message = checkpointMessage(signed, LOG_ID, '2026-03-01T09:00:00.000Z');
  expect(message).toMatchObject({ key: STREAM, value: Buffer.from(signed.note) });
  expect(received(message)).toMatchObject({
    ...{ id: `checkpoint/${STREAM}/2/12`, type: 'urn.checkpoint.v1', subject: STREAM },
    ...{ treesize: '12', recovery: '2' },
  });
});

describe('the topics of the feed', () => {
  it('are named after the log', () => {
    const topics = topicsOf(undefined, 'trials.north');
    expect(topics).toEqual({ records: 'urn-trials.north', positions: 'urn-trials.north-positions' });
    expect(transactionalIdOf(LOG_ID, topics)).toBe(`urn-relay-${LOG_ID}-urn-trials.north`);
  });

  it.each([
    [undefined, 'prüfung', '--kafka-topic'],
    ['a b', 'urn', '"a b" cannot be the name of a Kafka topic'],
    ['..', 'urn', 'cannot be the name of a Kafka topic'],
    ['x'.repeat(231), 'urn', 'cannot be the name of a Kafka topic'],
  ])('are refused if Kafka does not allow them: %s', (topic, logName, message) => {
    expect(() => topicsOf(topic, logName)).toThrow(message);
  });
});
