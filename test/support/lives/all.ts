/** All lives of studies, by name. */
import type { Life } from '../life.ts';
import { AMENDED } from './amended.ts';
import { ARMS } from './arms.ts';
import { CORRECTED } from './corrected.ts';
import { LIFE, SAMPLE } from './dispensing.ts';
import { FORCED } from './forced.ts';
import { AMENDED_IMPORT, FOREIGN, IMPORTED } from './imported.ts';
import { BLOCKS, COMPLETE, LISTED, MINIMIZED, URN } from './methods.ts';
import { PACKS } from './packs.ts';
import { VISIT_SETTINGS } from './visit-settings.ts';
import { WHOLE } from './whole.ts';

export const LIVES = Object.entries({
  ...{ WHOLE, CORRECTED, AMENDED, ARMS, FORCED, IMPORTED, FOREIGN, AMENDED_IMPORT, PACKS },
  ...{ SAMPLE, LIFE, VISIT_SETTINGS, BLOCKS, COMPLETE, MINIMIZED, LISTED, URN },
} satisfies Record<string, Life>).map(([name, life]) => ({
  name,
  life: life as Life,
  keys: (life as Life).keys,
}));
