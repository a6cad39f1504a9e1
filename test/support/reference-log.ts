/** The log of a live study with the first 50 of a history of the reference, as a service leaves it, and bundles of it. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTENTS, type Content } from '../../events/record.ts';
import { clientOf } from './client.ts';
import { commandOk } from './command.ts';
import { issueKeysIn, serveHere } from './service-here.ts';
import { referenceHistories } from './vectors.ts';

export const STUDY = 'k4-chisq-a1b2w2';

export type ReferenceLog = Awaited<ReturnType<typeof referenceLog>>;

export async function referenceLog(data: string) {
  const history = referenceHistories().find(({ configuration }) => configuration.name === STUDY);
  if (!history) throw new Error(`the reference has no study ${STUDY}`);
  const { configuration, seed, participants } = history;
  const { name: _, mode, urnSelection, factors, ...urn } = configuration;
  const named = Object.fromEntries(factors.map(({ name, levels }) => [name, levels]));
  const study = { mode: 'live', ...urn, starting_seed: Number(seed), factors: named };
  const service = await serveHere(data, JSON.stringify({ [STUDY]: study }));
  const auditor = ['auditor', '--scope', 'read,audit'];
  const { user } = await issueKeysIn(service.log, { user: ['edc'], auditor });
  const { randomize } = clientOf(service.url, user);
  const notes: string[] = [];
  for (const [i, { levelIndexes }] of participants.slice(0, 50).entries()) {
    const levels = factors.map(({ name, levels }, f) => [name, levels[levelIndexes[f] ?? -1] ?? '']);
    const { headers } = await randomize(STUDY, `${i}`, Object.fromEntries(levels));
    notes.push(`${headers.get('urn-receipt')}\n`);
  }
  await service.stop();
  const receipts = join(data, 'receipts.txt');
  writeFileSync(receipts, notes.join(''));
  const trusted = (await commandOk(['signing-key', 'show', '--data', data])).trim();
  return { data, user, receipts, trusted };
}

/** Of each content, in the folder of the log. @param store where the log is, if it is not there */
export async function bundlesIn(
  data: string,
  ...store: string[]
): Promise<Readonly<Record<Content, string>>> {
  const files = CONTENTS.map((content) => [content, join(data, `${content}.zip`)] as const);
  for (const [content, out] of files)
    await commandOk([
      'bundle',
      '--study',
      STUDY,
      '--content',
      content,
      '--out',
      out,
      '--data',
      data,
      ...store,
    ]);
  return Object.fromEntries(files) as Record<Content, string>;
}

/** Bundles of a copy of the log that has a new signing key and was moved to another store. @param data a new folder */
export async function bundlesOfMoved(log: ReferenceLog, data: string) {
  cpSync(log.data, data, { recursive: true, filter: (file) => !file.endsWith('.zip') });
  await commandOk(['signing-key', 'rotate', '--reason', 'a new server', '--data', data]);
  const [from, to] = ['urn', 'moved'].map((name) => `sqlite:${join(data, `${name}.sqlite`)}`) as [
    string,
    string,
  ];
  await commandOk(['copy', '--from', from, '--to', to]);
  return bundlesIn(data, '--store', to);
}
