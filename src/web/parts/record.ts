/** How the records of participants are read and named on a page. */
import type { Schemas } from '../api/client.ts';

export type ParticipantRecord = Schemas['ParticipantRecord'];

/** The levels of a participant, by the names of the factors. */
export function levelsOf(record: ParticipantRecord): [factor: string, level: string][] {
  return Object.entries(record).flatMap(([member, value]) =>
    member.startsWith('f_') && typeof value === 'string' ? [[member.slice(2), value]] : [],
  );
}

/** When they were randomized. An operator may have chosen the form without a zone, which is UTC. */
export function randomizedAt({ datetime }: ParticipantRecord): string {
  const isBare = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(datetime);
  return new Date(isBare ? `${datetime.replace(' ', 'T')}Z` : datetime).toISOString();
}

/** `local_site` as people write it: Local site. */
export function factorName(factor: string): string {
  const words = factor.replaceAll('_', ' ');
  return words.charAt(0).toLocaleUpperCase() + words.slice(1);
}
