/** Protobuf messages and gRPC errors of EventStoreDB's protocol, as its server makes them. */

import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, type ServerErrorResponse, status } from '@grpc/grpc-js';
import type { AppendDecision, ProposedEvent, ServerEvent } from './log.ts';

export function eventMessage(event: ServerEvent): InstanceType<typeof streams.ReadResp> {
  const { ReadEvent } = streams.ReadResp;
  const recorded = new ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(event.id))
    .setStreamIdentifier(identifier(event.stream))
    .setStreamRevision(String(event.revision))
    .setCommitPosition(String(event.position))
    .setPreparePosition(String(event.position))
    .setData(event.data)
    .setCustomMetadata(event.metadata);
  recorded.getMetadataMap().set('type', event.type);
  recorded.getMetadataMap().set('content-type', event.contentType);
  recorded.getMetadataMap().set('created', '17000000000000000');
  return new streams.ReadResp().setEvent(
    new ReadEvent().setEvent(recorded).setCommitPosition(String(event.position)),
  );
}

export function confirmation(): InstanceType<typeof streams.ReadResp> {
  return new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(crypto.randomUUID()),
  );
}

export function checkpoint(position: bigint): InstanceType<typeof streams.ReadResp> {
  return new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint()
      .setCommitPosition(String(position))
      .setPreparePosition(String(position)),
  );
}

export function caughtUp(): InstanceType<typeof streams.ReadResp> {
  return new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp());
}

export function noSuchStream(stream: string): InstanceType<typeof streams.ReadResp> {
  return new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier(stream)),
  );
}

export function proposed(message: InstanceType<typeof streams.AppendReq.ProposedMessage>): ProposedEvent {
  return {
    id: message.getId()?.getString() ?? '',
    type: message.getMetadataMap().get('type') ?? '',
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

/** What a refused revision and a taken one look like. @param expected as the caller gave it */
export function appendResponse(
  decision: Exclude<AppendDecision, { readonly type: 'deleted' }>,
  expected: number,
): InstanceType<typeof streams.AppendResp> {
  const { Success, WrongExpectedVersion, Position } = streams.AppendResp;
  if (decision.type === 'written') {
    const position = String(decision.position);
    return new streams.AppendResp().setSuccess(
      new Success()
        .setCurrentRevision(String(decision.lastRevision))
        .setPosition(new Position().setCommitPosition(position).setPreparePosition(position)),
    );
  }
  const wrong = new WrongExpectedVersion();
  // Each of them twice, the second time for clients of 20.6.
  if (decision.current < 0) wrong.setCurrentNoStream(new shared.Empty()).setNoStream2060(new shared.Empty());
  else wrong.setCurrentRevision(String(decision.current)).setCurrentRevision2060(decision.current);
  if (expected < 0)
    wrong.setExpectedNoStream(new shared.Empty()).setExpectedRevision2060(Number.MAX_SAFE_INTEGER);
  else wrong.setExpectedRevision(String(expected)).setExpectedRevision2060(expected);
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
}

export function streamName(id: InstanceType<typeof shared.StreamIdentifier> | undefined): string {
  return Buffer.from(id?.getStreamName_asU8() ?? []).toString();
}

/** The server puts what kind of error it is into the trailing metadata. */
export function failure(
  code: status,
  details: string,
  kind?: string,
  more: Readonly<Record<string, string>> = {},
): ServerErrorResponse {
  const metadata = new Metadata();
  if (kind !== undefined) metadata.set('exception', kind);
  for (const [name, value] of Object.entries(more)) metadata.set(name, value);
  return Object.assign(new Error(details), { code, details, metadata });
}

export const deletedFailure = (stream: string) =>
  failure(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, 'stream-deleted', {
    'stream-name': stream,
  });

export const eventTooLarge = () =>
  failure(
    status.INVALID_ARGUMENT,
    'Event with Id: 0, Size: 9, exceeds Maximum Append Event Size of 4.',
    'maximum-append-event-size-exceeded',
  );

/** Who gives wrong credentials is unknown, who gives none may do nothing. */
export function accessFailure(
  wanted: { readonly username: string; readonly password: string } | undefined,
  metadata: Metadata,
): ServerErrorResponse | undefined {
  const [given] = metadata.get('authorization');
  if (!wanted) return undefined;
  if (given === undefined) return failure(status.PERMISSION_DENIED, 'Access Denied', 'access-denied');
  const basic = Buffer.from(`${wanted.username}:${wanted.password}`).toString('base64');
  return given === `Basic ${basic}` ? undefined : failure(status.UNAUTHENTICATED, 'Unauthenticated');
}

/** A node that does not lead says who does, to whoever wants the leader. */
export function leaderFailure(
  leaderPort: number | undefined,
  metadata: Metadata,
): ServerErrorResponse | undefined {
  if (leaderPort === undefined || !metadata.get('requires-leader').includes('true')) return undefined;
  return failure(status.NOT_FOUND, 'Leader info available', 'not-leader', {
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(leaderPort),
  });
}

/** During an election: no kind, and no address. */
export const noLeaderFailure = () => failure(status.UNKNOWN, 'No leader info available in response');

/** @param nodes the last one leads */
export function clusterInfo(
  nodes: readonly { readonly port: number }[],
): InstanceType<typeof gossip.ClusterInfo> {
  const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState;
  return new gossip.ClusterInfo().setMembersList(
    nodes.map(({ port }, i) =>
      new gossip.MemberInfo()
        .setState(i === nodes.length - 1 ? LEADER : FOLLOWER)
        .setIsAlive(true)
        .setTimeStamp('0')
        .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(port)),
    ),
  );
}

function identifier(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
}
