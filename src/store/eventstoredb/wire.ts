/**
 * EventStoreDB's protocol, with the generated definitions of `@eventstore/db-client`: requests become messages, and the
 * server's answers become bytes, numbers and CallErrors. Nothing else of that package is used
 * (docs/adr/0009-eventstoredb-client.md).
 */
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Member } from './discovery.ts';
import { CallError } from './errors.ts';
import type { LogEventData } from './event.ts';
import { type LogPosition, prefixesOf, type ReadTarget, type ServerMessage } from './protocol.ts';

type AppendRequest = InstanceType<typeof streams.AppendReq>;
type AppendResponse = InstanceType<typeof streams.AppendResp>;
type ReadRequest = InstanceType<typeof streams.ReadReq>;
type ReadResponse = InstanceType<typeof streams.ReadResp>;

export const EMPTY = new shared.Empty();

/** The largest revision there can be: the event that ends a stream for good has it. */
const TOMBSTONE = String(2n ** 63n - 1n);

/** Number of other programs' events that the server searches between two signs of life. */
const SEARCH_WINDOW = 500;

/** @param expectedRevision the exact one, -1 for a stream that does not exist */
export function appendRequests(
  stream: string,
  expectedRevision: number,
  events: readonly LogEventData[],
): AppendRequest[] {
  const { AppendReq } = streams;
  const options = new AppendReq.Options().setStreamIdentifier(identifier(stream));
  if (expectedRevision < 0) options.setNoStream(EMPTY);
  else options.setRevision(String(expectedRevision));
  const messages = events.map(({ id, type, data, metadata }) => {
    const message = new AppendReq.ProposedMessage()
      .setId(new shared.UUID().setString(id))
      .setData(data)
      .setCustomMetadata(metadata);
    message.getMetadataMap().set('type', type).set('content-type', 'application/octet-stream');
    return new AppendReq().setProposedMessage(message);
  });
  return [new AppendReq().setOptions(options), ...messages];
}

/** The revision of the last event. @throws CallError `wrong-revision`, or `lost` for an answer that says nothing */
export function appendedRevision(response: AppendResponse): number {
  const success = response.getSuccess();
  if (success) return Number(success.getCurrentRevision());
  if (response.hasWrongExpectedVersion())
    throw new CallError('wrong-revision', 'the stream ends at another revision');
  throw new CallError('lost', 'an empty answer');
}

export function readRequest(reading: ReadTarget): ReadRequest {
  const { Options } = streams.ReadReq;
  const options = new Options();
  options.setUuidOption(new Options.UUIDOption().setString(EMPTY));
  options.setResolveLinks(false);
  options.setReadDirection(reading.of === 'last' ? 1 : 0);
  if (reading.of === 'live') options.setSubscription(new Options.SubscriptionOptions());
  else options.setCount(String(reading.of === 'last' ? 1 : reading.count));
  const prefixes = prefixesOf(reading);
  if (prefixes === undefined) options.setNoFilter(EMPTY);
  else options.setFilter(filterFor(prefixes));
  if (reading.of === 'stream' || (reading.of === 'last' && reading.stream !== undefined)) {
    const stream = new Options.StreamOptions().setStreamIdentifier(identifier(reading.stream ?? ''));
    if (reading.of === 'last') stream.setEnd(EMPTY);
    else stream.setRevision(String(reading.from));
    options.setStream(stream);
  } else {
    options.setAll(allFor(reading));
  }
  return new streams.ReadReq().setOptions(options);
}

export function messageOf(response: ReadResponse): ServerMessage | undefined {
  const event = response.getEvent()?.getEvent();
  if (event) {
    return {
      type: 'event',
      event: {
        stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
        revision: Number(event.getStreamRevision()),
        isTombstone: event.getStreamRevision() === TOMBSTONE,
        position: positionOf(event),
        data: event.getData_asU8(),
        metadata: event.getCustomMetadata_asU8(),
      },
    };
  }
  const checkpoint = response.getCheckpoint();
  if (checkpoint) return { type: 'checkpoint', position: positionOf(checkpoint) };
  return response.hasStreamNotFound() ? { type: 'no-such-stream' } : undefined;
}

export function membersIn(info: InstanceType<typeof gossip.ClusterInfo>): Member[] {
  return info.getMembersList().flatMap((member) => {
    const host = member.getHttpEndPoint();
    if (!host) return [];
    const leads = member.getState() === gossip.MemberInfo.VNodeState.LEADER;
    return {
      host: { address: host.getAddress(), port: host.getPort() },
      isLeader: leads && member.getIsAlive(),
    };
  });
}

function allFor(reading: ReadTarget): InstanceType<typeof streams.ReadReq.Options.AllOptions> {
  const { AllOptions, Position } = streams.ReadReq.Options;
  const all = new AllOptions();
  if (reading.of === 'last') return all.setEnd(EMPTY);
  if (reading.of === 'stream' || reading.from === undefined) return all.setStart(EMPTY);
  const { commit, prepare } = reading.from;
  return all.setPosition(
    new Position().setCommitPosition(String(commit)).setPreparePosition(String(prepare)),
  );
}

function filterFor(prefixes: readonly string[]): InstanceType<typeof streams.ReadReq.Options.FilterOptions> {
  const { FilterOptions } = streams.ReadReq.Options;
  return new FilterOptions()
    .setStreamIdentifier(new FilterOptions.Expression().setPrefixList([...prefixes]))
    .setMax(SEARCH_WINDOW)
    .setCheckpointintervalmultiplier(1);
}

function positionOf(of: { getCommitPosition(): string; getPreparePosition(): string }): LogPosition {
  return { commit: BigInt(of.getCommitPosition()), prepare: BigInt(of.getPreparePosition()) };
}

function identifier(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}
