/** A log that is being made: its data folder, its keys, its service, and what was signed of it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ask, programIn } from '../0.1.0/program.mjs';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The service closes its database, which leaves one file. */
export function keep(from, to) {
  for (const side of ['-wal', '-shm'])
    if (existsSync(from + side)) throw new Error(`${from}${side} is still there`);
  copyFileSync(from, to);
}

export class Stage {
  data;
  url;
  /** Signed by the log, about the study whose receipts are kept. */
  receipts = [];
  /** The same, of records that are lost afterwards. */
  lost = [];
  areLost = false;
  keys = {};
  #program;
  #checkout;
  #stop;
  #requests = 0;

  /** @param studies the studies file; @param receiptsOf the study whose receipts are kept */
  constructor(checkout, data, studies, receiptsOf) {
    Object.assign(this, { data, studies, receiptsOf });
    this.#checkout = checkout;
    this.#program = programIn(checkout);
  }

  urn(...args) {
    return this.urnAnywhere(...args, '--data', this.data);
  }

  /** A command that needs no data folder. */
  urnAnywhere(...args) {
    return this.#program.urn(...args);
  }

  /** Runs a command that a module kills. */
  async urnKilledBy(module, ...args) {
    const env = { ...process.env, NODE_OPTIONS: `--import=${module}` };
    const command = [join(this.#checkout, 'bin/urn.js'), ...args, '--data', this.data];
    const [, signal] = await once(spawn(process.execPath, command, { env, stdio: 'ignore' }), 'close');
    if (signal !== 'SIGKILL') throw new Error(`urn ${args.join(' ')} was not killed`);
  }

  async issue(name, ...args) {
    this.keys[name] = await this.urn('keys', 'add', name, ...args);
  }

  async start(studies = this.studies) {
    const { url, stop } = await this.#program.serve(this.data, studies);
    this.url = url;
    this.#stop = stop;
  }

  async stop() {
    const stop = this.#stop;
    this.#stop = undefined;
    await stop?.();
  }

  #keepReceipt(study, receipt) {
    const kept = this.areLost ? this.lost : this.receipts;
    if (receipt && study === this.receiptsOf && !kept.includes(receipt)) kept.push(receipt);
  }

  async enrol(who, study, ...participants) {
    for (const [id, levels, headers] of participants)
      await this.#answered(
        200,
        who,
        '/study_participants',
        { study, id, ...levels },
        { method: 'POST', headers },
      );
  }

  /** Posts JSON with an Idempotency-Key. Asks again while the service has not yet read what a command wrote. */
  async post(who, path, body, expected = 200, headers = {}) {
    const request = {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: {
        'Content-Type': 'application/json',
        'X-API-Key': this.keys[who],
        'Idempotency-Key': `${path.slice(1)}-${++this.#requests}`,
        ...headers,
      },
    };
    for (let tries = 0; ; tries++) {
      const answer = await fetch(`${this.url}${path}`, request);
      const text = await answer.text();
      if (answer.status === expected) {
        this.#keepReceipt(body.study, answer.headers.get('urn-receipt'));
        return { results: JSON.parse(text).results, recorded: answer.headers.get('urn-recorded') };
      }
      if (tries > 20) throw new Error(`${path} as ${who}: ${answer.status} ${text}`);
      await pause(100);
    }
  }

  /** What a key is shown. */
  async shown(who, path, parameters) {
    const answer = await ask(this.url, path, this.keys[who], parameters);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path} as ${who}: ${text}`);
    return text;
  }

  /** Asks again while the service has not yet read what a command wrote. */
  async #answered(status, who, path, parameters, options) {
    for (let tries = 0; ; tries++) {
      const answer = await ask(this.url, path, this.keys[who], parameters, options);
      const text = await answer.text();
      if (answer.status === status)
        return this.#keepReceipt(parameters.study, answer.headers.get('urn-receipt'));
      if (tries > 20) throw new Error(`${path} as ${who}: ${answer.status} instead of ${status}: ${text}`);
      await pause(100);
    }
  }

  /** A request in the query that must be refused with this status. */
  refused(status, who, path, parameters = {}, method = 'GET', headers = {}) {
    return this.#answered(status, who, path, parameters, { method, headers });
  }

  refusedTo(who, study, id, levels, status = 409, headers = {}) {
    return this.refused(status, who, '/study_participants', { study, id, ...levels }, 'POST', headers);
  }

  module(path) {
    return import(pathToFileURL(join(this.#checkout, 'dist/src', path)));
  }
}
