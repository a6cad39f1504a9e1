/** The page of a participant: what it shows to whom, emergencies, and what a data manager does there. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  describeInBrowser,
  expectAccessible,
  openBrowser,
  type Person,
  picture,
  signIn,
  sitDown,
} from '../../support/browser.ts';
import { ask, clientOf } from '../../support/client.ts';
import { registerPacks } from '../../support/pack-lists.ts';
import { postJson } from '../../support/post-json.ts';
import { issueKeys, type Service, serve } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const STUDY = 'CHS JCOIN';
const STUDIES = `
${STUDY}:
  starting_seed: 340282366920938463463374607431768211457
  mode: test
  blinding: blinded
  id_pattern: "[0-9]{2}-[0-9]{4}"
  treatments: [ZZMART, ZZRMCQ, ZZRMCA]
  factors:
    sex: [Female, Male]
    age_group: ["18–39", "40–60", "over 60"]
    local_site: ["11-Cook County – Chicago", "30-Dupage County", "40-Grundy County"]
`;
const COOK = { sex: 'Female', age_group: '40–60', local_site: '11-Cook County – Chicago' } as const;
const DUPAGE = { sex: 'Female', age_group: '18–39', local_site: '30-Dupage County' } as const;
const ARMS = ['ZZMART', 'ZZRMCQ', 'ZZRMCA'];

const data = temporaryFolders()();
let service: Service;
let browser: Browser;
let keys: Record<'edc' | 'physician' | 'statistician' | 'manager' | 'cook', string>;

const at = (id?: string, act?: string) =>
  `${service.url}/pages/participant#${new URLSearchParams({ study: STUDY, ...(id && { id }), ...(act && { act }) })}`;

async function open(key: string, url: string, options = {}, acting?: string): Promise<Person> {
  const person = await sitDown(browser, options);
  await person.page.goto(url);
  await signIn(person, key, acting);
  return person;
}

describeInBrowser('the page of a participant', () => {
  beforeAll(async () => {
    keys = await issueKeys(data, {
      edc: ['edc', '--scope', 'randomize,read'],
      physician: ['Site 30', '--scope', 'blinded,unblind'],
      statistician: ['Trial statistics', '--scope', 'read,audit'],
      manager: ['Data management', '--scope', 'blinded,manage,correct'],
      cook: [
        'Site 11',
        '--scope',
        'blinded,unblind',
        '--study',
        STUDY,
        '--where',
        `local_site=${COOK.local_site}`,
      ],
    });
    service = await serve({ data, studies: STUDIES });
    const { randomize } = clientOf(service.url, keys.edc);
    for (let i = 0; i < 12; i++) {
      const levels = i % 2 === 0 ? COOK : { ...DUPAGE, sex: i % 3 === 0 ? 'Male' : 'Female' };
      expect((await randomize(STUDY, `30-01${70 + i}`, levels)).status).toBe(200);
    }
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('shows', async () => {
    const auditor = await open(keys.statistician, at('30-0181'));
    await auditor.page.getByRole('button', { name: 'Show why this arm' }).click();
    await auditor.page.getByText('The number drawn was').waitFor();
    await picture(auditor.page, 'participant-auditor');
    await expectAccessible(auditor.page);
    const physician = await open(keys.physician, at('30-0181'), {}, 'Dr. K. Adeyemi');
    await picture(physician.page, 'participant-physician');
    await physician.page.getByRole('button', { name: 'Emergency: break the code' }).click();
    await physician.page.getByLabel('Reason').fill('anaphylaxis, ICU');
    await picture(physician.page, 'break');
    await expectAccessible(physician.page);
    await physician.page.getByRole('button', { name: 'Show the treatment now' }).click();
    await physician.page.getByRole('alert').waitFor();
    await picture(physician.page, 'broken');
    await physician.page.getByRole('button', { name: 'Hide it' }).click();
    await physician.page.getByText('Code broken: Emergency').waitFor();
    await picture(physician.page, 'participant-broken');
    expect(physician.complaints).toEqual([]);
    expect(auditor.complaints).toEqual([]);
  });
});
