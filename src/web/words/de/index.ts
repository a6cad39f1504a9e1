import type { en } from '../en/index.ts';
import { audit } from './audit.ts';
import { common } from './common.ts';
import { manage } from './manage.ts';
import { offline } from './offline.ts';
import { packs } from './packs.ts';
import { participant } from './participant.ts';
import { randomize } from './randomize.ts';
import { refused } from './refused.ts';
import type { SameKeys } from './same-keys.ts';
import { signIn } from './sign-in.ts';
import { studies } from './studies.ts';
import { study } from './study.ts';

export const de: SameKeys<typeof en> = {
  common,
  signIn,
  studies,
  study,
  randomize,
  participant,
  packs,
  manage,
  audit,
  offline,
  refused,
};
