/**
 * Measures how fast the relay drains a log into Kafka, compared with a plain producer that sends the same messages without
 * transactions, and how long after the answer to a POST the allocation reaches a consumer of committed records.
 */
import { mkdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel, type Message } from 'kafkajs';
import { pino } from 'pino';
import { type OpenLog, openLog } from '../src/service/open/open-log.ts';
import { recordMessage } from '../src/service/relay/batch.ts';
import { makeRelay } from '../src/service/relay/relay.ts';
import { apacheKafka, lacking } from '../test/support/kafka/apache-kafka.ts';
import { type Figure, median, pairedRatio, quantile } from './figures.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { randomLevels, STUDY } from './study.ts';

export interface RelayingPlan {
  readonly records: number;
  readonly rounds: number;
  readonly posts: number;
}

const CLI = { cli: true, user: 'bench' } as const;
/** The most that the relay takes at once. */
const SENT_TOGETHER = 500;
/** Pause between two POSTs: longer than a transaction, so that no transaction waits for the previous one. */
const [PAUSE_MS, BEGINNING] = [20, 50];

export async function measureRelaying(processes: Processes, plan: RelayingPlan): Promise<Figure[]> {
  const missing = lacking();
  if (missing !== undefined) {
    process.stderr.write(`relaying is not measured: ${missing}\n`);
    return [];
  }
  const folder = join(processes.folder, 'kafka');
  mkdirSync(folder);
  const broker = await apacheKafka(folder);
  try {
    const apiKey = await populate({ data: processes.folder }, plan.records, ['read', 'randomize']);
    const figures = await measureDraining(processes.folder, broker.address, plan);
    return [...figures, ...(await measureDelay(processes, broker.address, apiKey, plan))];
  } finally {
    await broker.stop();
  }
}

async function measureDraining(data: string, address: string, plan: RelayingPlan): Promise<Figure[]> {
  const log = await openLog({ data }, CLI);
  try {
    await log.rebuild();
    const messages = await messagesOf(log);
    const relayed: number[] = [];
    const sent: number[] = [];
    // Round 0 warms up the optimizing compilers, including the broker's.
    for (let round = 0; round <= plan.rounds; round++) {
      const [one, other] = [await drain(log, address, round), await send(messages, address, round)];
      if (round === 0) continue;
      relayed.push(one);
      sent.push(other);
    }
    const on = `relay of ${plan.records.toLocaleString('en-US')} records`;
    return [
      { name: `${on}, in transactions, from the store`, value: median(relayed), unit: 'per second' },
      {
        name: 'plain producer, the same messages ready in memory',
        value: median(sent),
        unit: 'per second',
      },
      { name: `${on} / plain producer`, value: pairedRatio(relayed, sent), unit: '' },
    ];
  } finally {
    await log.close();
  }
}

/** Records per second, counted from the first transaction. */
async function drain(log: OpenLog, address: string, round: number): Promise<number> {
  const settings = {
    brokers: [address],
    topic: `relayed-${round}`,
    content: 'blinded',
    tls: undefined,
    sasl: undefined,
    createTopics: true,
  } as const;
  const relay = makeRelay(log, settings, CLI, pino({ level: 'silent' }));
  await relay.open();
  const started = performance.now();
  void relay.run();
  while (relay.status().lagRecords > 0) await delay(1);
  const seconds = (performance.now() - started) / 1000;
  const { published } = relay.status();
  await relay.stop();
  return published / seconds;
}

async function messagesOf(log: OpenLog): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const page of log.store.readAll())
    for (const stored of page) messages.push({ ...recordMessage(stored, 'blinded'), partition: 0 });
  return messages;
}

async function send(messages: readonly Message[], address: string, round: number): Promise<number> {
  const kafka = clientOf(address);
  const topic = `sent-${round}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ createPartitioner: () => () => 0 });
  await producer.connect();
  // Connects and fetches the topic's metadata, which the relay also has by then.
  await producer.send({ topic, messages: messages.slice(0, 1) });
  const started = performance.now();
  for (let first = 0; first < messages.length; first += SENT_TOGETHER)
    await producer.send({ topic, messages: messages.slice(first, first + SENT_TOGETHER) });
  const seconds = (performance.now() - started) / 1000;
  await producer.disconnect();
  return messages.length / seconds;
}

/** A service with `--relay`, one client, and a consumer in this process. */
async function measureDelay(
  processes: Processes,
  address: string,
  apiKey: string,
  { records, posts }: RelayingPlan,
): Promise<Figure[]> {
  const topic = 'delay';
  const args = [
    '--data',
    processes.folder,
    '--relay',
    '--kafka-brokers',
    address,
    '--kafka-topic',
    topic,
    '--create-topics',
  ];
  const { port } = await processes.startService(args);
  const consumer = clientOf(address).consumer({ groupId: 'bench', maxWaitTimeInMs: 5000 });
  const arrivedAt = new Map<string, number>();
  await consumer.connect();
  await eventually(() => consumer.subscribe({ topic, fromBeginning: true }));
  await consumer.run({
    eachMessage: async ({ message: { headers = {} } }) => {
      arrivedAt.set(`${headers['ce_subject']} ${headers['ce_revision']}`, performance.now());
    },
  });
  await eventually(async () => {
    if (arrivedAt.size < records) throw new Error('the log has not been published');
  });
  const answeredAt = new Map<string, number>();
  const agent = new Agent({ keepAlive: true });
  let stream = '';
  for (let i = 0; i < posts; i++) {
    const { revision, receipt } = await post(agent, port, apiKey, i);
    stream = /^[^/]+\/(\S+)/.exec(Buffer.from(receipt, 'base64').toString())?.[1] ?? '';
    answeredAt.set(`${stream} ${revision}`, performance.now());
    await delay(PAUSE_MS);
  }
  agent.destroy();
  await eventually(async () => {
    if (![...answeredAt.keys()].every((key) => arrivedAt.has(key))) throw new Error('not all have arrived');
  });
  await consumer.disconnect();
  // The first ones are a warm-up, because nothing is compiled for single records yet.
  const delays = [...answeredAt]
    .slice(BEGINNING)
    .map(([key, answered]) => (arrivedAt.get(key) ?? Number.NaN) - answered);
  const name = 'from the answer to a POST to a consumer of committed records';
  return [
    { name: `${name}: p50`, value: quantile(delays, 0.5), unit: 'ms' },
    { name: `${name}: p99`, value: quantile(delays, 0.99), unit: 'ms' },
  ];
}

interface Posted {
  readonly revision: string;
  readonly receipt: string;
}

function post(agent: Agent, port: number, apiKey: string, i: number): Promise<Posted> {
  const levels = Object.fromEntries(randomLevels().map((level, k) => [STUDY.factors[k]?.name ?? '', level]));
  const query = new URLSearchParams({ study: STUDY.name, id: `delayed-${i}`, ...levels });
  return new Promise((resolve, reject) => {
    const path = `/study_participants?${query}`;
    const headers = { 'X-API-Key': apiKey };
    const asked = request({ method: 'POST', host: '127.0.0.1', port, path, agent, headers }, (response) => {
      response.resume();
      const { 'urn-revision': revision, 'urn-receipt': receipt } = response.headers;
      if (response.statusCode !== 200) return reject(new Error(`POST: ${response.statusCode}`));
      response.once('end', () => resolve({ revision: `${revision}`, receipt: `${receipt}` }));
    });
    asked.once('error', reject);
    asked.end();
  });
}

function clientOf(address: string): Kafka {
  return new Kafka({ brokers: [address], logLevel: logLevel.NOTHING });
}

async function eventually(action: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      return await action();
    } catch (error) {
      if (tries === 300) throw error;
      await delay(100);
    }
}
