/** A log of the studies in trials.ts: services that start and stop on it in this process, and copies of its database. */
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Answer, clientOf } from './client.ts';
import { issueKeys } from './service.ts';
import { type ServiceHere, serveHere } from './service-here.ts';
import { COOK, TRIALS } from './trials.ts';

export class TrialLog {
  readonly data: string;
  readonly keys: Readonly<Record<'user' | 'audit', string>>;
  /** By participant, as a site keeps them. */
  readonly receipts: Map<string, string>;

  private constructor(data: string, keys: TrialLog['keys'], receipts: ReadonlyMap<string, string>) {
    this.data = data;
    this.keys = keys;
    this.receipts = new Map(receipts);
  }

  static async begin(data: string): Promise<TrialLog> {
    const keys = await issueKeys(data, { user: ['user'], audit: ['auditor', '--scope', 'read,audit'] });
    return new TrialLog(data, keys, new Map());
  }

  /** The same log in another folder. */
  copyTo(folder: string): TrialLog {
    cpSync(this.data, folder, { recursive: true });
    return new TrialLog(folder, this.keys, this.receipts);
  }

  file(name: string): string {
    return join(this.data, name);
  }

  backUp(name = 'backup'): void {
    copyFileSync(this.file('urn.sqlite'), this.file(name));
  }

  restore(name = 'backup'): void {
    this.empty();
    copyFileSync(this.file(name), this.file('urn.sqlite'));
  }

  /** Takes the database away, with its write-ahead log, which would make an older copy the newest one. */
  empty(): void {
    for (const side of ['', '-wal', '-shm']) rmSync(this.file(`urn.sqlite${side}`), { force: true });
  }

  start(): Promise<ServiceHere> {
    return serveHere(this.data, TRIALS);
  }

  async randomize({ url }: { readonly url: string }, id: string, study = 'Sleep'): Promise<Answer> {
    const levels = study === 'Sleep' ? COOK : { ward: 'a' };
    const answer = await clientOf(url, this.keys.user).randomize(study, id, levels);
    if (answer.status === 200) this.receipts.set(id, answer.headers.get('urn-receipt') ?? '');
    return answer;
  }

  /** Randomizes these participants with a service that starts and stops. */
  async run(...ids: string[]): Promise<void> {
    const service = await this.start();
    try {
      for (const id of ids) expect((await this.randomize(service, id)).status).toBe(200);
    } finally {
      await service.stop();
    }
  }
}
