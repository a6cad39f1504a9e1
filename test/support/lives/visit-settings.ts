/** Visits that are amended, packs of closed arms, and an arm that is stopped. No key is ever issued. */
import { CONFIGURATION } from '../facts.ts';
import { A, amends, arm, B, C, lifeOf, registersPacks, visits } from '../life.ts';

const packs = (list: number, ...arms: string[]) =>
  registersPacks(arms.map((treatment, i) => ({ code: `P${list}-${i}`, treatment })));

export const VISIT_SETTINGS = lifeOf({
  configuration: { ...CONFIGURATION, visits: ['V2', 'Week 12'] },
  keys: {},
  steps: {
    visits: amends([visits('V2', 'V3', 'Week 12')]),
    closed: amends([arm.closed(C)]),
    ...{ ofClosed: packs(1, A, C), ofOpen: packs(2, A, B) },
    stopped: amends([arm.stopped(C), visits()]),
    reopened: amends([arm.reopened(C)]),
  },
});
