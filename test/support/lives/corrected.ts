/** All kinds of corrections. */
import { CONFIGURATION } from '../facts.ts';
import {
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  enrols,
  FEMALE,
  lifeOf,
  MALE,
  reinstates,
  renames,
  reopens,
  reveals,
  SEX,
  SITE,
  voids,
} from '../life.ts';

export const TO_MALE = change(SEX, FEMALE, MALE);
export const TO_DUPAGE = change(SITE, COOK, DUPAGE);
export const TO_COOK = change(SITE, DUPAGE, COOK);

export const CORRECTED = lifeOf({
  // One participant more, and one more of Cook County, and nobody else would have been randomized.
  configuration: {
    ...CONFIGURATION,
    limits: { total: 7, levels: [{ factor: SITE, level: COOK, max: 6 }] },
    policies: { stopAtLimit: true, levelCounts: 'as-corrected', voidCounts: 'removed' },
  },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    site: { scopes: ['correct', 'blinded'], sites: [COOK] },
    clerk: { scopes: ['correct', 'read'] },
    desk: { scopes: ['unblind'] },
  },
  steps: {
    '001': enrols([MALE, COOK], { idempotencyKey: 'visit-1' }),
    '002': enrols([FEMALE, COOK]),
    '003': enrols([FEMALE, DUPAGE]),
    '004': enrols([MALE, COOK]),
    levels: corrects('site', '002', 'entry', [TO_MALE]),
    '005': enrols([MALE, COOK]),
    transfer: corrects('site', '001', 'transfer', [TO_DUPAGE], { idempotencyKey: 'lc-2' }),
    duplicate: voids('clerk', '004', 'duplicate', { duplicateOf: '002', idempotencyKey: 'v-1' }),
    '006': enrols([FEMALE, DUPAGE]),
    chained: voids('operator', '003', 'duplicate', { duplicateOf: '004' }),
    renamed: renames('clerk', '005', '050', { idempotencyKey: 'ic-1' }),
    revealed: reveals('desk', { participantId: '006' }, { category: 'planned' }),
    source: corrects('operator', '006', 'source', [TO_MALE, TO_COOK]),
    reinstated: reinstates('clerk', '004'),
    '007': enrols([FEMALE, COOK]),
    closed: closes('operator', { cause: 'end' }),
    again: renames('clerk', '050', '051', { cause: 'other' }),
    ineligible: voids('clerk', '001', 'ineligible', { analysis: 'keep' }),
    reopened: reopens(),
    '008': enrols([MALE, COOK]),
  },
});
