/** All lives of studies, by name. */
import type { Life } from '../life.ts';
import { AMENDED_IMPORT, BLOCKS, COMPLETE, FOREIGN, IMPORTED, LISTED, MINIMIZED, URN } from './methods.ts';
import { LIFE, PACKS, SAMPLE } from './packs.ts';
import { AMENDED, ARMS, CORRECTED, FORCED, VISIT_SETTINGS, WHOLE } from './urns.ts';

export const LIVES = Object.entries({
  ...{ WHOLE, CORRECTED, AMENDED, ARMS, FORCED, IMPORTED, FOREIGN, AMENDED_IMPORT, PACKS },
  ...{ SAMPLE, LIFE, VISIT_SETTINGS, BLOCKS, COMPLETE, MINIMIZED, LISTED, URN },
} satisfies Record<string, Life>).map(([name, life]) => ({
  name,
  life: life as Life,
  keys: (life as Life).keys,
}));
