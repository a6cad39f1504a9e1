/** Everything that can happen in a study but corrections (corrected.ts). */
import { CONFIGURATION } from '../facts.ts';
import { asks, COOK, closes, DUPAGE, enrols, lifeOf, MALE, reopens, reports, reveals } from '../life.ts';

const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28', reference: 'Minutes 3' }];
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

export const WHOLE = lifeOf({
  configuration: CONFIGURATION,
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    manager: { scopes: ['manage'] },
    desk: { scopes: ['unblind', 'blinded'], sites: [COOK] },
  },
  steps: {
    '001': enrols([MALE, COOK], { idempotencyKey: 'visit-1' }),
    '002': enrols([MALE, DUPAGE]),
    paused: asks('manager', { act: 'StudyPaused', reason: 'data review', idempotencyKey: 'pause-1' }),
    emergency: reveals('desk', { participantId: '001' }, { idempotencyKey: 'er-1' }),
    resumed: asks('operator', { act: 'StudyResumed', reason: 'review done' }),
    '003': enrols([MALE, COOK]),
    closed: closes('manager', { cause: 'target', approvals, idempotencyKey: 'close-1' }),
    /** Recorded late. */
    late: reveals('desk', { participantId: '003' }, () => ({ shownAt: ago(500) })),
    /** The emergency's code-break was one. */
    mistake: reports('operator', '001', ({ at }) => ({
      ...{ how: 'disclosure', inadvertent: true, occurredAt: ago(1000), revealedAt: at['emergency'] },
    })),
    envelope: reports('desk', '003', () => ({
      ...{ how: 'envelope', inadvertent: false, occurredAt: ago(60_000) },
    })),
    reopened: reopens({ approvals, protocol: { version: '3.0', date: '2026-02-27' } }),
    '004': enrols([MALE, DUPAGE]),
    monitoring: reveals('operator', { participantId: '002' }, { category: 'monitoring' }),
  },
});
