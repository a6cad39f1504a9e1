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

export class Valve {
  readonly #server: Server;
  readonly #target: () => number;
  readonly #pairs = new Set<Pair>();
  #isShut = false;

  constructor(target: () => number) {
    this.#target = target;
    this.#server = createServer((outer) => this.#take(outer));
  }

  /** @param port 0 picks a free one. @returns the port */
  async listen(port: number): Promise<number> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  shut(): void {
    this.#isShut = true;
    for (const { outer, inner } of this.#pairs) {
      outer.unpipe();
      inner?.unpipe();
    }
  }

  open(): void {
    this.#isShut = false;
    for (const pair of this.#pairs) this.#join(pair);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const { outer } of this.#pairs) outer.destroy();
    await closed;
  }

  #take(outer: Socket): void {
    const pair: Pair = { outer, inner: undefined };
    this.#pairs.add(pair);
    outer
      .on('error', () => undefined)
      .on('close', () => {
        this.#pairs.delete(pair);
        pair.inner?.destroy();
      });
    if (this.#isShut) outer.pause();
    else this.#join(pair);
  }

  #join(pair: Pair): void {
    const { outer } = pair;
    pair.inner ??= connect(this.#target(), '127.0.0.1')
      .on('error', () => undefined)
      .on('close', () => outer.destroy());
    outer.pipe(pair.inner);
    pair.inner.pipe(outer);
  }
}

/** The port of a server, and the connections to it. */
export class Door {
  readonly #take: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  #net: Server | undefined;
  #valve: Valve | undefined;

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
    net.listen(canFreeze ? 0 : wanted, '127.0.0.1');
    await once(net, 'listening');
    this.#net = net;
    const { port } = net.address() as AddressInfo;
    if (!canFreeze) return port;
    this.#valve = new Valve(() => port);
    return this.#valve.listen(wanted);
  }

  get connections(): number {
    return this.#sockets.size;
  }

  freeze(): void {
    if (!this.#valve) throw new Error('it must be made with canFreeze');
    this.#valve.shut();
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
