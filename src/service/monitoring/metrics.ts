/**
 * Metrics for Prometheus: of the process, of appends, of studies and of requests.
 *
 * /metrics needs no key, so no label contains a treatment, a level, a study or a user, and no size of memory is exact. Labels
 * are few, whatever clients send: even with every route, method and status, /metrics stays below 150 kB.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Recruitment } from '../../core/study/studies.ts';
import type { WriterHooks } from '../../core/write/writer.ts';
import { STORE_FAILURES } from '../../store/event-store.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly writerHooks: WriterHooks;
  readonly observeRequest: RequestObserver;
  connectionRefused(): void;
  /** The log can no longer be followed. */
  followInterrupted(): void;
  /** An arm was shown in an emergency, and that could not be recorded anywhere. */
  revealUnrecorded(): void;
}

/** Values of the running service, read when /metrics is. */
interface ServiceMeasures {
  /** How long ago the projections last showed the whole log. */
  lagSeconds(): number;
  /** How many studies are in each state. */
  studies(): ReadonlyMap<Recruitment['state'], number>;
}

export function makeMetrics(measured: ServiceMeasures): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectProcessMetrics(registry);
  const connectionsRefused = new Counter({
    name: 'urn_http_connections_refused_total',
    help: 'Connections closed immediately because their address, or all addresses together, had too many',
    registers,
  });
  const followInterruptions = new Counter({
    name: 'urn_follow_interruptions_total',
    help: 'Times that the log could no longer be followed, such as when its store ended the subscription; it is read again at once',
    registers,
  });
  const revealsUnrecorded = new Counter({
    name: 'urn_reveals_unrecorded_total',
    help: 'Arms shown in an emergency although neither the log nor the file for such cases could be written',
    registers,
  });
  const writerHooks = makeWriterHooks(registers);
  registerGauges(registers, measured);
  return {
    registry,
    writerHooks,
    observeRequest: requestObserver(registry),
    connectionRefused: () => connectionsRefused.inc(),
    followInterrupted: () => followInterruptions.inc(),
    revealUnrecorded: () => revealsUnrecorded.inc(),
  };
}

const MIB = 1024 * 1024;

/** Gathers all metrics, which takes some milliseconds: who asks in the same turn of the event loop gets the same text. */
export function metricsGatherer(registry: Registry): () => Promise<string> {
  let gathered: Promise<string> | undefined;
  return () => {
    if (!gathered)
      setImmediate(() => {
        gathered = undefined;
      });
    gathered ??= registry.metrics();
    return gathered;
  };
}

/**
 * Metrics of the process. Sizes are rounded: memory to the byte would reveal the length of texts that the process handles,
 * such as the names of arms.
 */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const metric of registry.getMetricsAsArray())
    if (metric instanceof Gauge && metric.name.endsWith('_bytes')) roundToMib(metric);
}

function roundToMib(gauge: Gauge): void {
  const exact = gauge.get.bind(gauge);
  gauge.get = async () => {
    const metric = await exact();
    const values = metric.values.map((one) => ({ ...one, value: Math.round(one.value / MIB) * MIB }));
    return { ...metric, values };
  };
}

const APPEND_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts and times the appends of the writers. */
function makeWriterHooks(registers: Registry[]): WriterHooks {
  const events = new Counter({
    name: 'urn_events_appended_total',
    help: 'Study events of all types that the log acknowledged to this process',
    registers,
  });
  const allocations = new Counter({
    name: 'urn_allocations_total',
    help: 'Participants randomized by this process',
    registers,
  });
  const appends = new Histogram({
    name: 'urn_append_duration_seconds',
    help: 'Time until the log acknowledged an append (a batch of events of one study)',
    buckets: APPEND_SECONDS,
    registers,
  });
  const conflicts = new Counter({
    name: 'urn_append_conflicts_total',
    help: 'Appends that were decided again because another process was faster',
    registers,
  });
  const unclear = new Counter({
    name: 'urn_append_unclear_total',
    help: 'Appends that were sent again because their outcome was not known',
    registers,
  });
  const failures = new Counter({
    name: 'urn_append_failures_total',
    help: 'Attempts to append that failed, by reason: full (no room on the disk), busy, unavailable (also: too slow), corrupt, foreign',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of STORE_FAILURES) failures.inc({ reason }, 0);
  return {
    onAppend: (seconds, types) => {
      appends.observe(seconds);
      events.inc(types.length);
      const randomized = types.filter((type) => type === 'ParticipantRandomized').length;
      if (randomized > 0) allocations.inc(randomized);
    },
    onConflict: () => conflicts.inc(),
    onUnclear: () => unclear.inc(),
    onAppendFailed: ({ failure }) => failures.inc({ reason: failure }),
  };
}

function registerGauges(registers: Registry[], { lagSeconds, studies }: ServiceMeasures): void {
  new Gauge({
    name: 'urn_projection_lag_seconds',
    help: 'Time since the projections were last known to show the whole log; -1 before the first time',
    registers,
    collect() {
      this.set(lagSeconds());
    },
  });
  new Gauge({
    name: 'urn_studies',
    help: 'Studies in the log, by state; only the open ones take participants in this process',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, count] of studies()) this.set({ state }, count);
    },
  });
}

/** @param route the route that served the request; undefined when none did */
export type RequestObserver = (
  method: string,
  route: string | undefined,
  status: number,
  seconds: number,
) => void;

/** Every other method counts as `other`. */
const COUNTED_METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE']);
/** All requests that no route serves share these labels. */
const UNSERVED = { method: 'other', route: 'unknown', status: '4xx' };
const REQUEST_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Requests with the same labels. */
interface Observed {
  readonly labels: Readonly<Record<'method' | 'route' | 'status', string>>;
  /** Takes 13 lines of /metrics, so refused requests, and those with HEAD, are only counted. */
  readonly time: Histogram.Internal<string> | undefined;
  count: number;
}

/** @returns what is to be called with each request that was answered */
export function requestObserver(registry: Registry): RequestObserver {
  const registers = [registry];
  const labelNames = ['method', 'route', 'status'];
  /** By method, route and status. This is a cache: finding a metric by its labels takes longer than adding to it. */
  const observations = new Map<string, Observed>();
  const times = new Histogram({
    name: 'urn_http_request_duration_seconds',
    help: 'Time to answer a request that was not refused, other than HEAD, by method, route and status',
    labelNames,
    buckets: REQUEST_SECONDS,
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
    const known = COUNTED_METHODS.has(method) ? method : 'other';
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
