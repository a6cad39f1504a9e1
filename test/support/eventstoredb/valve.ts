/**
 * A port in front of a server. When shut, it behaves like a stopped process, or a machine whose packets are dropped:
 * connections are accepted and stay open, and nothing passes in either direction.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly outer: Socket;
  /** Undefined while nothing has passed. */
  inner: Socket | undefined;
}

function valve(target: () => number) {
  const pairs = new Set<Pair>();
  let isShut = false;
  let lastsBytes = Number.POSITIVE_INFINITY;
  const join = (pair: Pair) => {
    const { outer } = pair;
    pair.inner ??= connect(target(), '127.0.0.1')
      .on('error', () => undefined)
      .on('close', () => outer.destroy());
    outer.pipe(pair.inner);
    pair.inner.pipe(outer);
    let passed = 0;
    pair.inner.on('data', ({ length }: Buffer) => {
      passed += length;
      if (passed > lastsBytes) outer.destroySoon();
    });
  };
  const server = createServer((outer) => {
    const pair: Pair = { outer, inner: undefined };
    pairs.add(pair);
    outer
      .on('error', () => undefined)
      .on('close', () => {
        pairs.delete(pair);
        pair.inner?.destroy();
      });
    if (isShut) outer.pause();
    else join(pair);
  });
  return {
    /** @param port 0 picks a free one. @returns the port */
    async listen(port: number): Promise<number> {
      await once(server.listen(port, '127.0.0.1'), 'listening');
      return (server.address() as AddressInfo).port;
    },
    cutAfter(bytes: number) {
      lastsBytes = bytes;
    },
    shut() {
      isShut = true;
      for (const { outer, inner } of pairs) {
        outer.unpipe();
        inner?.unpipe();
      }
    },
    open() {
      isShut = false;
      for (const pair of pairs) join(pair);
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const { outer } of pairs) outer.destroy();
      await closed;
    },
  };
}

/** The port of a server, and the connections to it. */
export class Door {
  readonly #take: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  #net: Server | undefined;
  #valve: ReturnType<typeof valve> | undefined;

  constructor(take: (socket: Socket) => void) {
    this.#take = take;
  }

  /** @param canFreeze whether `freeze` works. @returns the port */
  async listen(wanted: number, canFreeze: boolean): Promise<number> {
    const net = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
      this.#take(socket);
    });
    await once(net.listen(canFreeze ? 0 : wanted, '127.0.0.1'), 'listening');
    this.#net = net;
    const { port } = net.address() as AddressInfo;
    if (!canFreeze) return port;
    this.#valve = valve(() => port);
    return this.#valve.listen(wanted);
  }

  get connections(): number {
    return this.#sockets.size;
  }

  freeze(): void {
    this.#ownValve.shut();
  }

  cutAfter(bytes: number): void {
    this.#ownValve.cutAfter(bytes);
  }

  get #ownValve(): ReturnType<typeof valve> {
    if (!this.#valve) throw new Error('it must be made with canFreeze');
    return this.#valve;
  }

  thaw(): void {
    this.#valve?.open();
  }

  /** Accepts no new connections; open ones stay. */
  shut(): void {
    this.#net?.close();
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = this.#net && once(this.#net, 'close');
    this.#net?.close();
    await this.#valve?.close();
    this.dropConnections();
    await closed;
    this.#net = undefined;
    this.#valve = undefined;
  }
}
