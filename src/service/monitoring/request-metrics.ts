/**
 * The metrics of requests. Labels are few, whatever clients send: even with every route, method and status, /metrics stays
 * below 150 kB.
 */
import { Counter, Histogram, type Registry } from 'prom-client';

/** @param route the route that served the request; undefined when none did */
export type RequestObserver = (
  method: string,
  route: string | undefined,
  status: number,
  seconds: number,
) => void;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE']);
const UNSERVED = { method: 'other', route: 'unknown', status: '4xx' };
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

interface Observed {
  readonly labels: Readonly<Record<'method' | 'route' | 'status', string>>;
  /** Takes 13 lines of /metrics, so refused requests, and those with HEAD, are only counted. */
  readonly time: Histogram.Internal<string> | undefined;
  count: number;
}

export function requestObserver(registry: Registry): RequestObserver {
  const registers = [registry];
  const labelNames = ['method', 'route', 'status'];
  /** By method, route and status. This is a cache: finding a metric by its labels takes longer than adding to it. */
  const observations = new Map<string, Observed>();
  const times = new Histogram({
    name: 'urn_http_request_duration_seconds',
    help: 'Time to answer a request that was not refused, other than HEAD, by method, route and status',
    labelNames,
    buckets: BUCKETS,
    registers,
  });
  new Counter({
    name: 'urn_http_requests_total',
    help: 'Requests by method, route and status; those that no route serves share one set of labels',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of observations.values()) this.inc(labels, count);
    },
  });
  const begin = (method: string, route: string | undefined, status: number): Observed => {
    const known = METHODS.has(method) ? method : 'other';
    const labels = route === undefined ? UNSERVED : { method: known, route, status: String(status) };
    const isTimed = route === undefined || (status < 400 && method !== 'HEAD');
    return { labels, time: isTimed ? times.labels(labels) : undefined, count: 0 };
  };
  return (method, route, status, seconds) => {
    const key = route === undefined ? '' : `${method} ${route} ${status}`;
    let observed = observations.get(key);
    if (!observed) {
      observed = begin(method, route, status);
      observations.set(key, observed);
    }
    observed.count++;
    observed.time?.observe(seconds);
  };
}
