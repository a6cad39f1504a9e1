/** What is asked of an EventStoreDB server and what it says, without a word of the client that carries it. */

/** A place in the transaction log of the server. */
export interface LogPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

export interface ReadEvent {
  readonly stream: string;
  readonly revision: number;
  readonly position: LogPosition;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export type Message =
  | { readonly type: 'event'; readonly event: ReadEvent }
  /** All that matches up to here has been delivered. */
  | { readonly type: 'checkpoint'; readonly position: LogPosition }
  | { readonly type: 'no-such-stream' };

/** What to read. `from` is inclusive for a read, and exclusive for a subscription. */
export type Reading =
  | { readonly of: 'stream'; readonly stream: string; readonly from: number; readonly count: number }
  | { readonly of: 'last'; readonly stream?: string }
  | {
      readonly of: 'all';
      readonly prefix: string;
      readonly from: LogPosition | undefined;
      readonly count: number;
    }
  | { readonly of: 'live'; readonly prefix: string; readonly from: LogPosition | undefined };
