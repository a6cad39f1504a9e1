/** A connection to one node, and the calls on it. */

import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Channel, type ChannelCredentials, type Metadata } from '@grpc/grpc-js';
import type { Host } from './address.ts';
import type { Member } from './discovery.ts';
import type { CallError } from './errors.ts';
import { EMPTY, membersIn } from './wire.ts';

/** A call in progress. */
export interface OpenCall {
  /** It goes on until somebody ends it. */
  readonly isEndless: boolean;
  /** Cancels the call; its caller gets the error. */
  abort(error: CallError): void;
}

export class Line {
  readonly host: Host;
  readonly streams: InstanceType<typeof streamsService.StreamsClient>;
  readonly #gossip: InstanceType<typeof gossipService.GossipClient>;
  readonly #channel: Channel;
  readonly #calls = new Set<OpenCall>();
  isDoubted = false;

  constructor(host: Host, security: ChannelCredentials, options: Record<string, number>) {
    const uri = `${host.address}:${host.port}`;
    this.host = host;
    this.#channel = new Channel(uri, security, options);
    const over = { channelOverride: this.#channel };
    this.streams = new streamsService.StreamsClient(uri, security, over);
    this.#gossip = new gossipService.GossipClient(uri, security, over);
  }

  /** @returns a function to call when the call has ended */
  track(call: OpenCall): () => void {
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  /** What the node knows of its cluster. @throws an error of gRPC if it does not answer in time */
  ask(metadata: Metadata, timeoutMs: number): Promise<readonly Member[]> {
    return new Promise((resolve, reject) => {
      this.#gossip.read(EMPTY, metadata, { deadline: Date.now() + timeoutMs }, (error, info) =>
        error ? reject(error) : resolve(membersIn(info)),
      );
    });
  }

  /** Takes no more calls. @param which calls in progress are aborted */
  close(error: CallError, which: (call: OpenCall) => boolean = () => true): void {
    for (const call of [...this.#calls].filter(which)) call.abort(error);
    this.#channel.close();
  }
}
