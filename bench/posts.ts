/**
 * Durable POSTs beside two routes that answer a constant, and beside one bare flush to the disk.
 *
 * The three servers run all the time and are loaded in turn, round by round, so that each ratio is between
 * neighbours in time.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Figure, median, pairedRatio } from './figures.ts';
import type { LoadReport } from './load.ts';
import { populate } from './populate.ts';
import {
  type LoadGenerator,
  type Running,
  startConstant,
  startLoadGenerator,
  startService,
} from './processes.ts';

export interface PostsPlan {
  readonly rounds: number;
  readonly measuredMs: number;
}

const CONTENDERS = ['service', 'middleware', 'express'] as const;
type Contender = (typeof CONTENDERS)[number];
type Reports = Readonly<Record<Contender, LoadReport[]>>;

const LABELS: Readonly<Record<Contender, string>> = {
  service: 'the service, durable',
  middleware: '(a) constant behind the same middleware',
  express: '(b) constant on bare Express',
};

export async function measurePosts(
  folder: string,
  plan: PostsPlan,
  nodeOptions: readonly string[],
): Promise<Figure[]> {
  const apiKey = await populate(folder, 0, ['read', 'randomize']);
  const servers: Readonly<Record<Contender, Running>> = {
    service: { ...(await startService(folder, nodeOptions)), apiKey },
    middleware: await startConstant('middleware', folder),
    express: await startConstant('express', folder),
  };
  const load = startLoadGenerator();
  try {
    // Until the optimizing compiler has seen everything.
    await rounds(servers, load, { rounds: 1, connections: 64, measuredMs: plan.measuredMs });
    const many = await rounds(servers, load, { ...plan, connections: 64 });
    const flushes: Flushes[] = [];
    const one = await rounds(servers, load, { ...plan, connections: 1 }, () => {
      flushes.push(flush(folder));
    });
    return [...loadFigures(64, many), ...ratios(many), ...loadFigures(1, one), ...flushFigures(one, flushes)];
  } finally {
    await Promise.all([load, ...Object.values(servers)].map((running) => running.stop()));
  }
}

async function rounds(
  servers: Readonly<Record<Contender, Running>>,
  load: LoadGenerator,
  plan: PostsPlan & { readonly connections: number },
  eachRound: () => void = () => undefined,
): Promise<Reports> {
  const reports: Reports = { service: [], middleware: [], express: [] };
  for (let round = 0; round < plan.rounds; round++) {
    eachRound();
    // Each comes first in its turn.
    const order = CONTENDERS.map((_, i) => CONTENDERS[(i + round) % CONTENDERS.length] ?? 'service');
    for (const contender of order) {
      const { port, apiKey } = servers[contender];
      const path = contender === 'express' ? '/' : '/study_participants';
      const { connections, measuredMs } = plan;
      reports[contender].push(
        await load.run({ port, path, apiKey, connections, warmUpMs: measuredMs / 5, measuredMs }),
      );
    }
  }
  return reports;
}

function loadFigures(connections: number, reports: Reports): Figure[] {
  const at = connections === 1 ? '1 connection' : `${connections} connections`;
  return CONTENDERS.flatMap((contender) => {
    const of = (pick: (report: LoadReport) => number) => median(reports[contender].map(pick));
    const name = `POST, ${at}, ${LABELS[contender]}`;
    return [
      { name, value: of(({ perSecond }) => perSecond), unit: 'per second' },
      { name: `${name}: p50`, value: of(({ p50 }) => p50), unit: 'ms' },
      { name: `${name}: p99`, value: of(({ p99 }) => p99), unit: 'ms' },
    ];
  });
}

function ratios(reports: Reports): Figure[] {
  const ratio = (a: Contender, b: Contender) =>
    pairedRatio(
      reports[a].map(({ perSecond }) => perSecond),
      reports[b].map(({ perSecond }) => perSecond),
    );
  const own = CONTENDERS.flatMap((contender) => reports[contender].map((report) => report.ownMicroseconds));
  return [
    {
      name: 'POST, 64 connections, service / (a)',
      value: ratio('service', 'middleware'),
      unit: '',
      target: { relation: 'at least', value: 0.85 },
    },
    {
      name: 'POST, 64 connections, service / (b)',
      value: ratio('service', 'express'),
      unit: '(ambition 0.85)',
      target: { relation: 'at least', value: 0.7 },
    },
    { name: 'POST, 64 connections, (a) / (b)', value: ratio('middleware', 'express'), unit: '' },
    { name: 'processor time of the load generator itself', value: median(own), unit: 'µs per request' },
  ];
}

interface Flushes {
  /** Medians, in ms. */
  readonly write: number;
  readonly commit: number;
}

/** What one client waits for beyond an answer that needs no disk, in flushes. */
function flushFigures(reports: Reports, flushes: readonly Flushes[]): Figure[] {
  const write = median(flushes.map((one) => one.write));
  const commit = median(flushes.map((one) => one.commit));
  const p50 = (contender: Contender) => median(reports[contender].map((report) => report.p50));
  return [
    { name: 'bare write of 4 KiB and fdatasync: p50', value: write, unit: 'ms' },
    { name: 'bare SQLite commit of one record: p50', value: commit, unit: 'ms' },
    {
      name: 'POST, 1 connection: what the service adds to (a) and one commit',
      value: p50('service') - p50('middleware') - commit,
      unit: 'ms',
    },
  ];
}

const FLUSHES = 100;

function flush(folder: string): Flushes {
  const file = openSync(join(folder, 'flush.bin'), 'w');
  const page = Buffer.alloc(4096, 1);
  // Overwritten in place, as SQLite does with its write-ahead log: a file that grows costs the file system more.
  for (let i = 0; i < FLUSHES; i++) writeSync(file, page, 0, page.length, i * page.length);
  fdatasyncSync(file);
  const write = medianTime((i) => {
    writeSync(file, page, 0, page.length, i * page.length);
    fdatasyncSync(file);
  });
  closeSync(file);

  const db = new Database(join(folder, 'flush.sqlite'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE IF NOT EXISTS records (record BLOB NOT NULL)');
  const insert = db.prepare('INSERT INTO records VALUES (?)');
  const record = Buffer.alloc(1500, 1);
  const commit = medianTime(() => insert.run(record));
  db.close();
  return { write, commit };
}

/** In ms. */
function medianTime(action: (i: number) => void): number {
  const times = Array.from({ length: FLUSHES }, (_, i) => {
    const started = performance.now();
    action(i);
    return performance.now() - started;
  });
  return median(times);
}
