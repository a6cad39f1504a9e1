/**
 * Serves each connection one request at a time. Node hands over every pipelined request as soon as it is parsed, and holds
 * each answer until those before it are sent. So a client that reads nothing could have thousands of requests processed.
 * Here a request starts only when the answer before it has been sent, and never after the peer has disconnected.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endSoon } from './raw-refusal.ts';
import { cutShort } from './request/cut-short.ts';
import { HttpProblem } from './request/problem.ts';

/**
 * How many requests may wait in the whole process: about as many as one connection can bring at once (64 KiB, at 18 bytes
 * each). Each costs 2 kB and 30 µs before it is looked at. A connection that exceeds the limit ends after the requests that
 * it has brought so far.
 */
const MAX_WAITING = 4_000;

interface Turn {
  /** The answer in progress, until it has been sent. */
  serving: ServerResponse | undefined;
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[];
  /** Nothing more is read, and the connection ends with the last answer. */
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

  /** The number of answers that are in progress. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** Call it for each new connection, after Node's own listeners. */
  readonly add = (socket: Socket): void => {
    const turn: Turn = { serving: undefined, waiting: [], isEnding: false };
    this.#turns.set(socket, turn);
    // Node resumes reading on its own when its buffer has been sent or a body has ended.
    socket.on('resume', () => {
      if (turn.waiting.length > 0 || turn.isEnding) socket.pause();
    });
    // Node would destroy each request with an error, and making its stack is most of the work. This comes before Node.
    socket.prependOnceListener('close', () => {
      for (const [request] of turn.waiting) request.destroy();
      this.#waiting -= turn.waiting.length;
      turn.waiting.length = 0;
    });
  };

  readonly take: RequestListener = (request, response) => {
    const { socket } = request;
    const turn = this.#turns.get(socket);
    if (!turn) throw new Error('a request on a connection that was not added');
    if (!turn.serving) {
      this.#begin(turn, request, response);
      return;
    }
    turn.waiting.push([request, response]);
    socket.pause();
    if (++this.#waiting < MAX_WAITING || turn.isEnding) return;
    stopParsing(socket);
    this.endAfterLast(socket, new HttpProblem(400, 'Too many requests wait on this connection'));
  };

  /** Makes the sockets of answers in progress emit `timeout` when nothing was received or sent for this long. */
  watch(ms: number): void {
    for (const { socket } of this.#underWay) if (!socket?.timeout) socket?.setTimeout(ms);
  }

  /** Whether an answer is still being produced: one is in progress, and no part of it waits to be sent. */
  isWorkedOn(socket: Socket): boolean {
    return this.#turns.get(socket)?.serving !== undefined && socket.writableLength === 0;
  }

  /**
   * Reads nothing more from a connection, answers the requests it has sent so far, and ends it.
   * @param why is answered to the last of them if its body is not complete
   * @returns false when no request is being answered
   */
  endAfterLast(socket: Socket, why: HttpProblem): boolean {
    const turn = this.#turns.get(socket);
    if (!turn?.serving) return false;
    turn.isEnding = true;
    socket.pause();
    const [, last] = turn.waiting.at(-1) ?? [undefined, turn.serving];
    endsConnection(last);
    cutShort(last.req, why);
    // An answer whose headers are already sent does not end the connection.
    last.once('close', () => endSoon(socket));
    return true;
  }

  /** From now on every answer ends its connection, and the requests waiting after it are not started. */
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
      // Other work first: a whole pipeline may be answered without ever waiting.
      else setImmediate(() => this.#next(turn, request.socket));
    });
    if (this.#isDraining) endsConnection(response);
    this.#serve(request, response);
  }

  #next(turn: Turn, socket: Socket): void {
    turn.serving = undefined;
    // If it is not writable, the previous answer or the peer has ended the connection.
    const next = socket.writable ? turn.waiting.shift() : undefined;
    if (!next) return;
    this.#waiting--;
    if (turn.waiting.length === 0 && !turn.isEnding) socket.resume();
    this.#begin(turn, ...next);
  }
}

/**
 * Pausing a socket does not stop Node's parser in the middle of the bytes it has already read. The parser asks what follows
 * a request, and the answer 2 means that it is not HTTP. This depends on Node's internals. If it stops working, parsing the
 * rest only costs time.
 */
function stopParsing(socket: Socket & { readonly parser?: { onIncoming?: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => 2;
}

/** Makes the answer end its connection. Has no effect once its headers are sent. */
function endsConnection(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}
