/**
 * The messages of the feed (docs/feed.md): records and signed checkpoints as CloudEvents 1.0, in the binary mode of the
 * Kafka binding. The attributes are headers and the data is the value, so the bytes of a record are those in the log, from
 * which its leaf is computed.
 */
import { CloudEvent, Kafka } from 'cloudevents';
import { streamKind } from '../../../events/catalogue.ts';
import type { RecordBytes } from '../../../events/record.ts';
import { type Content, includedSections, NO_SECTIONS } from '../../../events/record.ts';
import type { SignedCheckpoint } from '../../core/log/ledger.ts';

export interface FeedMessage {
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The members of a record that its attributes repeat. */
interface Attributes {
  readonly id: string;
  readonly log: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly version: number;
  readonly at: string;
}

/** @param stored a record that was checked */
export function recordMessage(stored: RecordBytes, content: Content): FeedMessage {
  const text = Buffer.from(stored.record).toString('utf8');
  const { id, log, stream, revision, type, version, at } = JSON.parse(text) as Attributes;
  const attributes = {
    id,
    source: sourceOf(log),
    type: `urn.${type}.v${version}`,
    subject: stream,
    time: at,
    datacontenttype: 'application/json',
    logid: log,
    revision: `${revision}`,
    leaf: Buffer.from(stored.leaf).toString('hex'),
    content,
  };
  return message(stream, attributes, dataOf(stored, stream, content));
}

/** @param at time of publication */
export function checkpointMessage(signed: SignedCheckpoint, log: string, at: string): FeedMessage {
  const { stream, size, recovery, note } = signed;
  const attributes = {
    // Only one checkpoint of each size is published.
    id: `checkpoint/${stream}/${recovery}/${size}`,
    source: sourceOf(log),
    type: 'urn.checkpoint.v1',
    subject: stream,
    time: at,
    datacontenttype: 'text/plain; charset=utf-8',
    logid: log,
    treesize: `${size}`,
    recovery: `${recovery}`,
  };
  return message(stream, attributes, Buffer.from(note));
}

/** The record alone. Where sections may be included, `{"record":<record>,"sealed":<sections>}`, which is canonical too. */
function dataOf({ record, sealed }: RecordBytes, stream: string, content: Content): Buffer {
  if (content === 'blinded') return Buffer.from(record);
  const sections = streamKind(stream) === 'study' ? includedSections(sealed, content) : NO_SECTIONS;
  return Buffer.concat([RECORD, record, SEALED, sections, END]);
}

const [RECORD, SEALED, END] = [Buffer.from('{"record":'), Buffer.from(',"sealed":'), Buffer.from('}')];

function sourceOf(log: string): string {
  return `urn:uuid:${log}`;
}

type CloudEventAttributes = Readonly<Record<string, string>> & {
  readonly type: string;
  readonly source: string;
};

function message(stream: string, attributes: CloudEventAttributes, value: Buffer): FeedMessage {
  const bound = Kafka.binary(new CloudEvent({ ...attributes, partitionkey: stream }));
  // The SDK also makes headers for absent attributes, and one for the content type, which already has its own.
  const present = Object.entries(bound.headers).filter(
    ([name, header]) => header !== undefined && name !== 'ce_datacontenttype',
  );
  return {
    key: stream,
    value,
    headers: Object.fromEntries(present.map(([name, header]) => [name, `${header}`])),
  };
}
