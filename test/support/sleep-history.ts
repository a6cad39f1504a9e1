/** A short history with everything that can happen to a study, made by the service and the command line. */
import { expect } from 'vitest';
import { clientOf, within } from './client.ts';
import { commandOk } from './command.ts';
import { issueKeys } from './service.ts';
import { type ServiceHere, serveHere } from './service-here.ts';
import { TRIALS } from './trials.ts';

/** The study of the history, in `TRIALS`. */
export const NAME = 'Sleep';
export const LEVELS = [
  { sex: 'Male', local_site: '11-Cook County – Chicago' },
  { sex: 'Female', local_site: '30-Dupage County' },
  { sex: 'Male', local_site: '45-Kane (3+)' },
] as const;
/** Revision 0 registers, 1 to 8 randomize, 9 pauses, 10 resumes, 11 to 14 randomize. */
export const RECORDS = 15;

export interface SleepHistory {
  /** The service, which keeps running. */
  readonly service: ServiceHere;
  /** Of each participant of the study, in their order. */
  readonly receipts: readonly string[];
}

/**
 * Makes the history in a new data folder. Participants are p-1 to p-12, every third with an idempotency key, every
 * second randomized under a key for this study alone; the first event of `access` issues a key that does nothing. The
 * study "Ward" has one participant.
 */
export async function makeSleepHistory(data: string): Promise<SleepHistory> {
  await issueKeys(data, { other: ['other'] });
  const keys = await issueKeys(data, { edc: ['edc'], site: ['site', '--study', NAME] });
  const service = await serveHere(data, TRIALS);
  const [edc, site] = [clientOf(service.url, keys.edc), clientOf(service.url, keys.site)];
  const receipts: string[] = [];
  const enrol = async (n: number) => {
    const headers = n % 3 === 0 ? { 'Idempotency-Key': `ZZVISIT-${n}` } : {};
    // The service learns of the resumption a moment later than the command line.
    await within(5000, async () => {
      const client = n % 2 === 0 ? site : edc;
      const answer = await client.randomize(NAME, `p-${n}`, LEVELS[n % 3] ?? LEVELS[0], headers);
      if (answer.status === 200) receipts.push(answer.headers.get('urn-receipt') ?? '');
      return answer.status === 200;
    });
  };
  for (let n = 1; n <= 8; n++) await enrol(n);
  expect((await edc.randomize('Ward', 'w-1', { ward: 'a' })).status).toBe(200);
  await commandOk(['studies', 'pause', NAME, '--reason', 'review <b>', '--data', data]);
  await commandOk(['studies', 'resume', NAME, '--reason', 'reviewed', '--data', data]);
  for (let n = 9; n <= 12; n++) await enrol(n);
  return { service, receipts };
}
