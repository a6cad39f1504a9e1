/**
 * Serves each connection one request at a time. Node hands over every pipelined request as soon as it is parsed and keeps
 * the answers until those before them have left, so one client that reads nothing could have thousands worked on. Here the
 * next request begins when the answer before it has left, and not at all once the peer is gone.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endSoon } from './raw-refusal.ts';

/**
 * Requests that may wait in the whole process: about as many as one connection can bring at once (64 KiB, of 18 bytes each).
 * Each takes 2 kB and 30 µs before it is looked at. A connection that brings more is ended behind those it has brought.
 */
const MOST_WAITING = 4_000;

interface Turn {
  /** The answer under way, until it has left. */
  serving: ServerResponse | undefined;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** Nothing more is read: the connection ends with the last answer. */
  isEnding: boolean;
}

export class Turns {
  readonly #serve: RequestListener;
  readonly #turns = new WeakMap<Socket, Turn>();
  readonly #underWay = new Set<ServerResponse>();
  #waiting = 0;
  #isDraining = false;

  constructor(serve: RequestListener) {
    this.#serve = serve;
  }

  /** Answers that have begun and not left. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** For each new connection, after Node's own listeners. */
  readonly add = (socket: Socket): void => {
    const turn: Turn = { serving: undefined, waiting: [], isEnding: false };
    this.#turns.set(socket, turn);
    // Node goes on reading by itself, when what it had buffered has left or a body is done with.
    socket.on('resume', () => {
      if (turn.waiting.length > 0 || turn.isEnding) socket.pause();
    });
    // Before Node does it, with an error for each, whose stack is most of the work.
    socket.prependOnceListener('close', () => {
      for (const [request] of turn.waiting) request.destroy();
      this.#waiting -= turn.waiting.length;
      turn.waiting.length = 0;
    });
  };

  readonly take: RequestListener = (request, response) => {
    const { socket } = request;
    const turn = this.#turns.get(socket);
    if (!turn) throw new Error('a request of a connection that was not added');
    if (!turn.serving) {
      this.#begin(turn, request, response);
      return;
    }
    turn.waiting.push([request, response]);
    socket.pause();
    if (++this.#waiting < MOST_WAITING || turn.isEnding) return;
    stopParsing(socket);
    this.endAfterLast(socket);
  };

  /** Has the sockets of answers under way emit `timeout` when nothing has arrived or left for so long. */
  watch(ms: number): void {
    for (const { socket } of this.#underWay) if (!socket?.timeout) socket?.setTimeout(ms);
  }

  /** Whether nothing of an answer waits to leave, because it is still worked on, however long that takes. */
  isWorkedOn(socket: Socket): boolean {
    return this.#turns.get(socket)?.serving !== undefined && socket.writableLength === 0;
  }

  /**
   * Reads nothing more from a connection, answers what it has sent so far, and ends it.
   * @returns false when there is nothing to answer
   */
  endAfterLast(socket: Socket): boolean {
    const turn = this.#turns.get(socket);
    if (!turn?.serving) return false;
    turn.isEnding = true;
    socket.pause();
    const [, last] = turn.waiting.at(-1) ?? [undefined, turn.serving];
    endsConnection(last);
    // An answer that had begun does not end it.
    last.once('close', () => endSoon(socket));
    return true;
  }

  /** From now on every answer ends its connection, and what waits behind it is not begun. */
  drain(): void {
    this.#isDraining = true;
    for (const response of this.#underWay) endsConnection(response);
  }

  #begin(turn: Turn, request: IncomingMessage, response: ServerResponse): void {
    turn.serving = response;
    this.#underWay.add(response);
    response.once('close', () => {
      this.#underWay.delete(response);
      if (turn.waiting.length === 0) turn.serving = undefined;
      // Others first: the answers of a whole pipeline may come without any waiting in between.
      else setImmediate(() => this.#next(turn, request.socket));
    });
    if (this.#isDraining) endsConnection(response);
    this.#serve(request, response);
  }

  #next(turn: Turn, socket: Socket): void {
    turn.serving = undefined;
    // Not writable: the answer before this one has ended the connection, or the peer has.
    const next = socket.writable ? turn.waiting.shift() : undefined;
    if (!next) return;
    this.#waiting--;
    if (turn.waiting.length === 0 && !turn.isEnding) socket.resume();
    this.#begin(turn, ...next);
  }
}

/**
 * Node's parser goes on to the end of what was read at once, which is none the wiser for a pause. To its question what
 * follows a request, 2 is the answer that it is no HTTP. This is Node's own affair; without it the rest only costs time.
 */
function stopParsing(socket: Socket & { readonly parser?: { onIncoming?: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => 2;
}

/** Has no effect on an answer that has begun. */
function endsConnection(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}
