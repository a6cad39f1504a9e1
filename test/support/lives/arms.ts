/** Arms, ratio, urns and factors that were amended in every way. Participants with an F were allocated outside. */
import type { DesignChange } from '../../../events/amendment.ts';
import { CONFIGURATION } from '../facts.ts';
import {
  A,
  amends,
  arm,
  B,
  C,
  COOK,
  change,
  corrects,
  DUPAGE,
  enrols,
  enters,
  FEMALE,
  lifeOf,
  MALE,
  now,
  ratio,
  retired,
  SEX,
  SITE,
  urn,
} from '../life.ts';

/** The arms that are added. */
export const [D, E] = ['D', 'E'];
export const URN: DesignChange = urn({ beta: 2, D: 'range' });
const TO_FEMALE = change(SEX, MALE, FEMALE);

export const ARMS = lifeOf({
  configuration: {
    ...{ ...CONFIGURATION, ratio: [2, 1, 1] },
    policies: { levelCounts: 'as-corrected', voidCounts: 'removed' },
  },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    manager: { scopes: ['manage'] },
    local: { scopes: ['blinded', 'randomize'], sites: [COOK] },
  },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, DUPAGE]),
    '003': enrols([FEMALE, COOK]),
    F1: enters('operator', A, [FEMALE, COOK]),
    '004': enrols([FEMALE, COOK]),
    closed: amends([arm.closed(C)], {}, 'manager'),
    '005': enrols([MALE, COOK]),
    '006': enrols([FEMALE, COOK]),
    /** Before the arm was closed. */
    F2: enters('operator', C, [FEMALE, COOK]),
    reopened: amends([arm.reopened(C), urn({ w: 2, alpha: 1 })]),
    '007': enrols([FEMALE, COOK]),
    /** With the counts that there are. */
    kept: amends([arm.added(D)], { history: 'keep' }),
    '008': enrols([FEMALE, COOK]),
    /** With nobody. */
    restarted: amends([arm.added(E, { ratio: 2 })]),
    '009': enrols([FEMALE, COOK]),
    '010': enrols([MALE, DUPAGE]),
    /** Of the first epoch. */
    early: corrects('operator', '001', 'entry', [TO_FEMALE]),
    F3: enters('operator', E, [FEMALE, COOK], () => ({ occurredAt: now() })),
    '011': enrols([FEMALE, COOK]),
    ratio: amends([ratio(1, 1, 1, 1, 3), arm.closed(B)]),
    '012': enrols([MALE, COOK]),
    '013': enrols([FEMALE, DUPAGE]),
    retired: amends([retired(SITE)]),
    '014': enrols([MALE, '']),
    /** Who has a level of the retired factor. */
    corrected: corrects('operator', '012', 'entry', [TO_FEMALE]),
    '015': enrols([FEMALE, '']),
    equal: amends([ratio(1, 1, 1, 1, 1)]),
    '016': enrols([MALE, '']),
    '017': enrols([FEMALE, '']),
    urn: amends([URN], { history: 'restart' }),
    '018': enrols([FEMALE, '']),
  },
});
