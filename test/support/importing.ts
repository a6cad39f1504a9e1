/** Histories to import, and logs to import them into. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseStudiesFile } from '../../src/core/configuration/studies-file.ts';
import { withOpenLog } from './cli-log.ts';
import { command } from './command.ts';
import { OPERATOR } from './facts.ts';

const vector = (name: string) => fileURLToPath(new URL(`../vectors/${name}`, import.meta.url));

export const REFERENCE = {
  studies: readFileSync(vector('reference-study.yaml'), 'utf8'),
  csv: vector('reference-export.csv'),
  database: vector('reference.db'),
  raced: vector('reference-raced.csv'),
  next: vector('reference-next.json'),
} as const;
export const HARVEST = 'Harvest (2) Trial';
export const APPROVED = ['--approved-by', 'Dr. A. Ruiz, sponsor, 2026-10-01'];

/** Registers the studies of a file in a new log. */
export async function registerIn(data: string, studies = REFERENCE.studies): Promise<string> {
  await withOpenLog(data, async (log) => {
    for (const { configuration, seed } of parseStudiesFile(studies, 'studies.yaml').studies)
      await log.studies.register(configuration, seed, OPERATOR);
  });
  return data;
}

export const importInto = (data: string, from: string, ...args: string[]) =>
  command(['import', '--study', HARVEST, '--from', from, '--data', data, ...args]);

export function changedExport(folder: string, change: (text: string) => string): string {
  const file = join(folder, 'changed.csv');
  writeFileSync(file, change(readFileSync(REFERENCE.csv, 'utf8')));
  return file;
}
