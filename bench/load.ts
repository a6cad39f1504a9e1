/**
 * The load generator, a separate process: a number of keep-alive connections, each with one request in progress.
 *
 * It does as little as possible, because on a small machine it competes with the service for the processor: raw sockets,
 * and requests assembled from prepared text. It looks only at the status and the length of a response.
 */
import { connect, type Socket } from 'node:net';
import { quantile } from './figures.ts';
import { levelsOf, STUDY } from './study.ts';

export interface LoadOrder {
  /** Ports of the servers; connections take them in turn. */
  readonly ports: readonly number[];
  readonly path: string;
  /** Names of studies of this configuration, for each server or for all of them. Requests take them in turn. */
  readonly studies: readonly string[] | readonly (readonly string[])[];
  /** Those of these studies; absent: of the benchmarks' study. */
  readonly factors?: typeof STUDY.factors;
  readonly apiKey: string;
  readonly connections: number;
  /** This time is not measured. */
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

export interface LoadReport {
  readonly perSecond: number;
  /** Number of requests, including the warm-up. */
  readonly answered: number;
  /** Latency in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the load generator per request, in µs. */
  readonly ownMicroseconds: number;
}

const HEADER_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;

let runs = 0;

async function run(order: LoadOrder): Promise<LoadReport> {
  const run = `${process.pid}-${++runs}`;
  const { ports, studies } = order;
  const nextRequests = ports.map((_, i) => {
    const own = studies[i % studies.length];
    const names = typeof own === 'object' ? own : (studies as readonly string[]);
    return requests(order, names, `${run}-${i}-`);
  });
  const latencies: number[] = [];
  const start = performance.now() + order.warmUpMs;
  const end = start + order.measuredMs;
  const cpu = process.cpuUsage();
  let answered = 0;
  const answeredOne = (sent: number): boolean => {
    const now = performance.now();
    answered++;
    if (now >= start && now < end) latencies.push(now - sent);
    return now < end;
  };
  await Promise.all(
    Array.from({ length: order.connections }, (_, i) => {
      const server = i % ports.length;
      return client(ports[server] ?? 0, nextRequests[server] ?? String, answeredOne);
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: latencies.length / (order.measuredMs / 1000),
    answered,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    ownMicroseconds: (user + system) / answered,
  };
}

/** Requests, each with an id of its own and random levels. */
function requests(
  { path, apiKey, factors = STUDY.factors }: LoadOrder,
  studies: readonly string[],
  idPrefix: string,
): () => string {
  const heads = studies.map((study) => `POST ${path}?study=${encodeURIComponent(study)}&id=${idPrefix}`);
  const headers = `Host: 127.0.0.1\r\nX-API-Key: ${apiKey}\r\nContent-Length: 0`;
  const tails = Array.from({ length: 1000 }, () => {
    const parameters = levelsOf(factors).map(
      (level, i) => `${encodeURIComponent(factors[i]?.name ?? '')}=${encodeURIComponent(level)}`,
    );
    return `&${parameters.join('&')} HTTP/1.1\r\n${headers}${HEADER_END}`;
  });
  let id = 0;
  return () => (heads[++id % heads.length] ?? '') + id + tails[Math.floor(Math.random() * tails.length)];
}

/** Sends, waits for the answer and sends again, until `answeredOne` ends it. Rejects on any answer but 200. */
function client(
  port: number,
  nextRequest: () => string,
  answeredOne: (sent: number) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let sent = 0;
    let begun = '';
    const send = () => {
      sent = performance.now();
      socket.write(nextRequest(), 'latin1');
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (chunk) => {
      begun += chunk.toString('latin1');
      const headerEnd = begun.indexOf(HEADER_END);
      if (headerEnd < 0) return;
      const length = Number(LENGTH.exec(begun)?.[1]);
      if (begun.length < headerEnd + HEADER_END.length + length) return;
      if (!begun.startsWith('HTTP/1.1 200 ')) {
        reject(new Error(`a request was answered unexpectedly: ${begun}`));
        socket.destroy();
        return;
      }
      begun = '';
      if (answeredOne(sent)) {
        send();
      } else {
        resolve();
        socket.end();
      }
    });
  });
}

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (report) => process.send?.(report),
    (error: Error) => {
      process.stderr.write(`load generator: ${error.message}\n`);
      process.exit(1);
    },
  );
});
