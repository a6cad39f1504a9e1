/** What operators ask of the tests' EventStoreDB server: deletions, and users. */

import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import users from '@eventstore/db-client/generated/users_pb.js';
import type { ServerErrorResponse, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { type Metadata, status } from '@grpc/grpc-js';
import type { Access } from './access.ts';
import type { AppendDecision, ServerLog } from './log.ts';
import { deletedFailure, failure, streamName } from './messages.ts';

type Refusal = (metadata: Metadata, stream: string) => ServerErrorResponse | undefined;
type Delete = InstanceType<typeof streams.DeleteReq>;
type Tombstone = InstanceType<typeof streams.TombstoneReq>;
type Create = InstanceType<typeof users.CreateReq>;

/** @param refusal why the caller may not delete a stream */
export function deletions(log: ServerLog, refusal: Refusal) {
  const handle = <Response>(
    { request, metadata }: ServerUnaryCall<Delete | Tombstone, Response>,
    answer: sendUnaryData<Response>,
    remove: (stream: string) => AppendDecision,
    response: Response,
  ) => {
    const stream = streamName(request.getOptions()?.getStreamIdentifier());
    const refused = refusal(metadata, stream);
    if (refused) answer(refused);
    else if (remove(stream).type === 'deleted') answer(deletedFailure(stream));
    else answer(null, response);
  };
  const { DeleteResp, TombstoneResp } = streams;
  return {
    delete: (
      call: ServerUnaryCall<Delete, InstanceType<typeof DeleteResp>>,
      answer: sendUnaryData<InstanceType<typeof DeleteResp>>,
    ) =>
      handle(
        call,
        answer,
        (stream) => log.softDelete(stream),
        new DeleteResp().setNoPosition(new shared.Empty()),
      ),
    tombstone: (
      call: ServerUnaryCall<Tombstone, InstanceType<typeof TombstoneResp>>,
      answer: sendUnaryData<InstanceType<typeof TombstoneResp>>,
    ) =>
      handle(
        call,
        answer,
        (stream) => log.tombstone(stream),
        new TombstoneResp().setNoPosition(new shared.Empty()),
      ),
  };
}

/** Only administrators create users. */
export function userService(access: Access | undefined) {
  return {
    create: (
      { request, metadata }: ServerUnaryCall<Create, InstanceType<typeof users.CreateResp>>,
      answer: sendUnaryData<InstanceType<typeof users.CreateResp>>,
    ) => {
      const options = request.getOptions();
      const refused = access?.refusalOfOthers(metadata);
      if (refused || !options) {
        answer(refused ?? failure(status.INVALID_ARGUMENT, 'no options'));
        return;
      }
      const name = options.getLoginName();
      const user = { password: options.getPassword(), groups: options.getGroupsList() };
      if (access && !access.create(name, user))
        answer(failure(status.FAILED_PRECONDITION, 'Conflict.', 'user-conflict', { 'login-name': name }));
      else answer(null, new users.CreateResp());
    },
  };
}
