/** Allocations made outside the service, entered in every way. Participants with an F were. */
import { CONFIGURATION } from '../facts.ts';
import {
  A,
  amends,
  asks,
  B,
  C,
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  enrols,
  enters,
  FEMALE,
  lifeOf,
  MALE,
  reinstates,
  renames,
  reopens,
  reveals,
  SEX,
  SITE,
  site,
  voids,
} from '../life.ts';

const UNCOUNTED = { kind: 'policy', name: 'forcedCounts', value: 'not-counted' } as const;
/** One participant more, and one woman more, and nobody else would have been randomized. */
export const LIMITS = { total: 12, levels: [{ factor: SEX, level: FEMALE, max: 6 }] };
export const POLICIES = { stopAtLimit: true, levelCounts: 'as-corrected' } as const;

export const FORCED = lifeOf({
  configuration: { ...CONFIGURATION, limits: LIMITS, policies: POLICIES },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    desk: { scopes: ['force', 'read'], sites: [COOK] },
    clerk: { scopes: ['correct', 'read'] },
  },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, DUPAGE]),
    F1: enters('desk', A, [FEMALE, COOK], { idempotencyKey: 'f-1' }),
    '003': enrols([FEMALE, COOK]),
    paused: asks('operator', { act: 'StudyPaused', reason: 'outage' }),
    F2: enters('operator', B, [MALE, DUPAGE], { cause: 'elsewhere' }),
    resumed: asks('operator', { act: 'StudyResumed', reason: 'it is back' }),
    /** A woman, and with an arm that is not hers. */
    F3: enters('desk', A, [FEMALE, COOK]),
    revealed: reveals('operator', { participantId: 'F1' }),
    corrected: corrects('clerk', 'F2', 'source', [change(SITE, DUPAGE, COOK)]),
    '004': enrols([MALE, COOK]),
    renamed: renames('clerk', 'F3', 'F30'),
    voided: voids('clerk', 'F3', 'entry'),
    replaced: enters('desk', B, [MALE, COOK], ({ at }) => ({ participantId: 'F3', replaces: at['F3'] })),
    '005': enrols([MALE, COOK]),
    /** From here on Dupage County is closed, and entries are not counted. */
    amended: amends([site.closed(DUPAGE), UNCOUNTED]),
    F4: enters('desk', C, [FEMALE, COOK], { cause: 'protocol' }),
    voidedToo: voids('clerk', 'F4', 'entry'),
    reinstated: reinstates('clerk', 'F4'),
    '006': enrols([FEMALE, COOK]),
    closed: closes(),
    F5: enters('operator', C, [MALE, COOK], { cause: 'other' }),
    reopened: reopens(),
    '007': enrols([FEMALE, COOK]),
  },
});
