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
export function randomizedAt({ datetime }: Pick<ParticipantRecord, 'datetime'>): string {
  const isBare = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(datetime);
  return new Date(isBare ? `${datetime.replace(' ', 'T')}Z` : datetime).toISOString();
}

/** A pack that a participant has. */
export interface HeldPack {
  /** Absent for the pack of the enrolment. */
  readonly visit?: string;
  readonly code: string;
  /** When it was given out, or the one in whose place it is. */
  readonly at: string;
}

/** The pack of the enrolment, and those of visits in the order in which they were given out. */
export function packsOf(record: ParticipantRecord): HeldPack[] {
  const { 'urn.code': code, 'urn.packs': packs = [], 'urn.occurred_at': at = randomizedAt(record) } = record;
  return [
    ...(code === undefined ? [] : [{ code, at }]),
    ...packs.map((pack) => ({ visit: pack.visit, code: pack.code, at: randomizedAt(pack) })),
  ];
}

/** `local_site` as people write it: Local site. */
export function factorName(factor: string): string {
  const words = factor.replaceAll('_', ' ');
  return words.charAt(0).toLocaleUpperCase() + words.slice(1);
}
