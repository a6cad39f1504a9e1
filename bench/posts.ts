/**
 * Compares durable POSTs with routes that answer a constant, and with a bare flush to the disk.
 *
 * The servers run throughout and are loaded in turn, round by round, so that each ratio is between neighbours in time.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase, openDatabase } from '../src/store/sqlite/schema.ts';
import { type Figure, median, pairedRatio } from './figures.ts';
import type { LoadOrder, LoadReport } from './load.ts';
import { populate } from './populate.ts';
import type { Processes } from './processes.ts';
import { STUDY } from './study.ts';

export interface PostsPlan {
  readonly rounds: number;
  readonly measuredMs: number;
}

const CONTENDERS = ['service', 'middleware', 'plain', 'express'] as const;
type Contender = (typeof CONTENDERS)[number];
type Servers = Readonly<Record<Contender, { readonly port: number; readonly apiKey: string }>>;
type Reports = Readonly<Record<Contender, LoadReport[]>>;

/** How long the optimizing compiler needs to warm up. */
const COMPILED_MS = 2000;

const LABELS: Readonly<Record<Contender, string>> = {
  service: 'the service, durable',
  middleware: '(a) constant behind the same middleware',
  plain: '(a) on a plain server of Node',
  express: '(b) constant on bare Express',
};

export async function measurePosts(processes: Processes, plan: PostsPlan): Promise<Figure[]> {
  const { folder } = processes;
  const apiKey = await populate({ data: folder }, 0, ['read', 'randomize']);
  const servers: Servers = {
    service: { ...(await processes.startService()), apiKey },
    middleware: await processes.startConstant('middleware'),
    plain: await processes.startConstant('middleware', 'plain'),
    express: await processes.startConstant('express'),
  };
  const load = processes.startLoadGenerator();
  await rounds(servers, load, { rounds: 1, connections: 64, measuredMs: COMPILED_MS });
  const many = await rounds(servers, load, { ...plan, connections: 64 });
  const flushes: Flushes[] = [];
  const one = await rounds(servers, load, { ...plan, connections: 1 }, () => {
    flushes.push(flush(folder, `flush-${flushes.length}`));
  });
  return [...loadFigures(64, many), ...ratios(many), ...loadFigures(1, one), ...flushFigures(one, flushes)];
}

async function rounds(
  servers: Servers,
  load: (order: LoadOrder) => Promise<LoadReport>,
  plan: PostsPlan & { readonly connections: number },
  eachRound: () => void = () => undefined,
): Promise<Reports> {
  const reports: Reports = { service: [], middleware: [], plain: [], express: [] };
  for (let round = 0; round < plan.rounds; round++) {
    eachRound();
    // Each comes first in turn.
    const order = CONTENDERS.map((_, i) => CONTENDERS[(i + round) % CONTENDERS.length] ?? 'service');
    for (const contender of order) {
      const { port, apiKey } = servers[contender];
      const path = contender === 'express' ? '/' : '/study_participants';
      const { connections, measuredMs } = plan;
      reports[contender].push(
        await load({
          ports: [port],
          path,
          studies: [STUDY.name],
          apiKey,
          connections,
          warmUpMs: measuredMs / 5,
          measuredMs,
        }),
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
    },
    {
      name: 'POST, 64 connections, service / (a) on a plain server of Node',
      value: ratio('service', 'plain'),
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

/** How much longer one client waits than for an answer that needs no disk, in flushes. */
function flushFigures(reports: Reports, flushes: readonly Flushes[]): Figure[] {
  const write = median(flushes.map((one) => one.write));
  const commit = median(flushes.map((one) => one.commit));
  const p50 = (contender: Contender) => median(reports[contender].map((report) => report.p50));
  return [
    { name: 'bare write of 4 KiB and fdatasync: p50', value: write, unit: 'ms' },
    { name: 'bare SQLite commit of one record, same schema: p50', value: commit, unit: 'ms' },
    {
      name: 'POST, 1 connection: what the service adds to (a) and one commit',
      value: p50('service') - p50('middleware') - commit,
      unit: 'ms',
    },
  ];
}

const FLUSHES = 100;

/** @param stream a new one each time */
function flush(folder: string, stream: string): Flushes {
  const file = openSync(join(folder, 'flush.bin'), 'w');
  const page = Buffer.alloc(4096, 1);
  // Overwritten in place, as SQLite does with its write-ahead log: a growing file costs the file system more.
  for (let i = 0; i < FLUSHES; i++) writeSync(file, page, 0, page.length, i * page.length);
  fdatasyncSync(file);
  const write = medianTime((i) => {
    writeSync(file, page, 0, page.length, i * page.length);
    fdatasyncSync(file);
  });
  closeSync(file);

  const database = join(folder, 'flush.sqlite');
  createDatabase(database);
  const db = openDatabase(database, 'append');
  const insert = db.prepare(
    'INSERT INTO records (stream, revision, record, sealed, leaf) VALUES (?, ?, ?, ?, ?)',
  );
  const [record, sealed, leaf] = [700, 650, 32].map((length) => Buffer.alloc(length, 1));
  const commit = medianTime((i) => insert.run(stream, i, record, sealed, leaf));
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
