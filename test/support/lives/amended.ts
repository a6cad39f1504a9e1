/** A design that was amended in every way but in its arms (arms.ts). */
import type { DesignChange } from '../../../events/amendment.ts';
import { CONFIGURATION } from '../facts.ts';
import {
  amends,
  COOK,
  change,
  closes,
  corrects,
  DUPAGE,
  enrols,
  FEMALE,
  lifeOf,
  MALE,
  renamedLevel,
  reopens,
  SEX,
  SITE,
  site,
  voids,
} from '../life.ts';

/** The names that `MALE` and `COOK` get, and the level that is added. */
export const [MAN, CITY, MCLEAN] = ['Man', '11-Chicago', '50-Mclean County'];

export const limited = (total: number, city: number, dupage: number): DesignChange => {
  const levels = [
    { factor: SITE, level: CITY, max: city },
    { factor: SITE, level: DUPAGE, max: dupage },
  ];
  return { kind: 'limits', value: { total, levels } };
};

/** What each amendment changes. */
export const CHANGES = {
  sites: [site.added(MCLEAN), site.closed(DUPAGE)],
  names: [renamedLevel(SITE, COOK, CITY, { alias: true }), renamedLevel(SEX, MALE, MAN)],
  rules: [
    limited(7, 3, 2),
    { kind: 'id-pattern', value: '[0-9]{3}-[0-9]{2}' },
    { kind: 'target', value: 7 },
    { kind: 'blinding', value: 'blinded' },
    { kind: 'policy', name: 'stopAtLimit', value: true },
    { kind: 'policy', name: 'levelCounts', value: 'as-corrected' },
    { kind: 'policy', name: 'voidCounts', value: 'removed' },
  ],
  again: [site.reopened(DUPAGE), renamedLevel(SEX, MAN, MALE)],
} as const satisfies Record<string, readonly DesignChange[]>;

export const AMENDED = lifeOf({
  // Its limit stops nobody before an amendment says that it does.
  configuration: {
    ...{ ...CONFIGURATION, idPattern: '[0-9]{3}' },
    limits: { levels: [{ factor: SITE, level: COOK, max: 2 }] },
  },
  keys: {
    nurse: { scopes: ['blinded', 'randomize'] },
    manager: { scopes: ['manage'] },
    // By the name that it was registered with.
    site: { scopes: ['correct', 'blinded'], sites: [COOK] },
  },
  steps: {
    '001': enrols([MALE, COOK]),
    '002': enrols([FEMALE, COOK]),
    '003': enrols([FEMALE, DUPAGE]),
    sites: amends(CHANGES.sites, { idempotencyKey: 'amendment-1' }, 'manager'),
    '004': enrols([MALE, MCLEAN]),
    names: amends(CHANGES.names),
    '005': enrols([MAN, CITY]),
    corrected: corrects('site', '001', 'entry', [change(SEX, MAN, FEMALE)]),
    rules: amends(CHANGES.rules),
    '006-01': enrols([FEMALE, MCLEAN]),
    /** To a closed site. */
    source: corrects('operator', '002', 'entry', [change(SEX, FEMALE, MAN), change(SITE, CITY, DUPAGE)]),
    voided: voids('operator', '003', 'never-enrolled'),
    closed: closes(),
    again: amends(CHANGES.again, {}, 'manager'),
    reopened: reopens(),
    '007-01': enrols([MALE, DUPAGE]),
    /** What was corrected before a renaming. */
    undone: corrects('operator', '002', 'entry', [change(SEX, MALE, FEMALE)]),
    /** Nobody else would be randomized, in all and in the city. */
    '008-01': enrols([FEMALE, CITY]),
    protocol: amends([], { protocol: { version: '4.0', date: '2026-03-01' } }),
  },
});
