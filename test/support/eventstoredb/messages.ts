/** Protobuf messages and gRPC errors of EventStoreDB's protocol, as its server makes them. */

import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, type ServerErrorResponse, status } from '@grpc/grpc-js';
import { type AppendDecision, DELETED, DELETED_STREAM, type ProposedEvent, type ServerEvent } from './log.ts';

export function eventMessage(event: ServerEvent): InstanceType<typeof streams.ReadResp> {
  const { ReadEvent } = streams.ReadResp;
  const recorded = new ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(event.id))
    .setStreamIdentifier(identifier(event.stream))
    .setStreamRevision(String(event.revision === DELETED ? DELETED_STREAM : event.revision))
    .setCommitPosition(String(event.position))
    .setPreparePosition(String(event.position))
    .setData(event.data)
    .setCustomMetadata(event.metadata);
  recorded.getMetadataMap().set('type', event.type);
  recorded.getMetadataMap().set('content-type', event.contentType);
  // In units of 100 ns.
  recorded.getMetadataMap().set('created', String(event.created * 10_000));
  return new streams.ReadResp().setEvent(
    new ReadEvent().setEvent(recorded).setCommitPosition(String(event.position)),
  );
}

const { ReadResp } = streams;

export const confirmation = () =>
  new ReadResp().setConfirmation(
    new ReadResp.SubscriptionConfirmation().setSubscriptionId(crypto.randomUUID()),
  );

export const checkpoint = (position: bigint) =>
  new ReadResp().setCheckpoint(
    new ReadResp.Checkpoint().setCommitPosition(String(position)).setPreparePosition(String(position)),
  );

export const caughtUp = () => new ReadResp().setCaughtUp(new ReadResp.CaughtUp());

export const noSuchStream = (stream: string) =>
  new ReadResp().setStreamNotFound(new ReadResp.StreamNotFound().setStreamIdentifier(identifier(stream)));

export function proposed(message: InstanceType<typeof streams.AppendReq.ProposedMessage>): ProposedEvent {
  return {
    id: message.getId()?.getString() ?? '',
    type: message.getMetadataMap().get('type') ?? '',
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

/** The answers for a refused and an accepted revision. @param expected as given by the caller */
export function appendResponse(
  decision: Exclude<AppendDecision, { readonly type: 'deleted' }>,
  expected: number | 'any',
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
  if (expected === 'any') wrong.setExpectedAny(new shared.Empty());
  else if (expected < 0)
    wrong.setExpectedNoStream(new shared.Empty()).setExpectedRevision2060(Number.MAX_SAFE_INTEGER);
  else wrong.setExpectedRevision(String(expected)).setExpectedRevision2060(expected);
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
}

export const streamName = (id: InstanceType<typeof shared.StreamIdentifier> | undefined): string =>
  Buffer.from(id?.getStreamName_asU8() ?? []).toString();

/** The server puts the kind of the error into the trailing metadata. */
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

/** A node that does not lead names the leader to a caller that requires it. */
export const leaderFailure = (leaderPort: number) =>
  failure(status.NOT_FOUND, 'Leader info available', 'not-leader', {
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(leaderPort),
  });

/** As 23.10 ends a subscription for which 32 events wait. */
export const tooSlow = () =>
  failure(
    status.ABORTED,
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
  );

export const notReady = () => failure(status.UNAVAILABLE, 'Server Is Not Ready');

/** During an election: no kind, and no address. */
export const noLeaderFailure = () => failure(status.UNKNOWN, 'No leader info available in response');

/** A node, as described by another node or by itself. */
export interface MemberView {
  readonly port: number;
  readonly state: 'leader' | 'follower' | 'pre-leader' | 'unknown';
  readonly isAlive: boolean;
}

export function clusterInfo(members: readonly MemberView[]): InstanceType<typeof gossip.ClusterInfo> {
  const { LEADER, FOLLOWER, PRELEADER, UNKNOWN } = gossip.MemberInfo.VNodeState;
  const states = { leader: LEADER, follower: FOLLOWER, 'pre-leader': PRELEADER, unknown: UNKNOWN };
  return new gossip.ClusterInfo().setMembersList(
    members.map(({ port, state, isAlive }) =>
      new gossip.MemberInfo()
        .setInstanceId(
          new shared.UUID().setString(`00000000-0000-4000-8000-${String(port).padStart(12, '0')}`),
        )
        .setState(states[state])
        .setIsAlive(isAlive)
        .setTimeStamp('0')
        .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(port)),
    ),
  );
}

const identifier = (stream: string): InstanceType<typeof shared.StreamIdentifier> =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
