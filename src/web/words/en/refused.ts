/** Why something was refused, by the word of the service (src/base/refusals.ts). */
import type { RecordedReason } from '../../../base/refusals.ts';

interface Words {
  /** In the list of operations. */
  readonly why: string;
  /** To whoever asked, in any form. Only if nothing was recorded for certain. Without these, the message of the service is shown. */
  readonly what?: string;
  readonly next?: string;
  /** Whether the message of the service is shown, too, because only it says whom it concerns. */
  readonly withMessage?: true;
}

export const refused = {
  malformed: { why: 'the request was not valid' },
  duplicate: { why: 'the participant had already been assigned' },
  'idempotency-key-reused': { why: 'the same request key was used for something else' },
  'not-permitted': { why: 'the key did not permit it' },
  'revoked-key': { why: 'the key was revoked' },
  'expired-key': { why: 'the key had expired' },
  'own-allocation': {
    why: 'whoever randomized the participant cannot void the allocation, or undo that',
    what: 'The user of this key randomized this participant, so somebody else has to do this.',
    next: 'Nothing is recorded, and treatment goes on. Ask a second person who may correct.',
  },
  'not-found': { why: 'not there, or not for this key' },
  paused: {
    why: 'the study was paused',
    what: 'The study is paused',
    next: 'Nobody can be randomized until it is resumed. Ask whoever runs the trial.',
  },
  closed: {
    why: 'the study was closed',
    what: 'The study is closed',
    next: 'It takes no more participants.',
  },
  importing: {
    why: 'a history was being imported',
    what: 'Earlier participants are being imported',
    next: 'Nothing can be recorded here until that is finished. Try again later.',
  },
  full: {
    why: 'the study had reached a limit',
    what: 'The study is full',
    next: 'Ask whoever runs the trial before you tell the participant anything.',
    withMessage: true,
  },
  'level-closed': {
    why: 'a level of the participant was closed',
    what: 'This choice takes no more participants',
    next: 'Check what you chose, or ask whoever runs the trial.',
    withMessage: true,
  },
  'no-code': {
    why: 'a treatment had no pack left',
    what: 'There are not enough packs left',
    next: 'Nothing was recorded. Ask whoever supplies packs, and try again when there are enough.',
  },
  'no-entry': {
    why: 'the list had no entry that the participant could be given',
    what: 'Nobody with these levels can be randomized now',
    next: 'Nobody was recorded. Ask whoever runs the randomization.',
  },
  stale: { why: 'somebody else had already changed it' },
  suspended: {
    why: 'the studies file differed from the design in force',
    what: 'The service takes no participants for this study',
    next: 'Its configuration does not agree with what was registered. Tell the operator of the service.',
  },
  unavailable: { why: 'the service could not do it at that moment' },
  failed: { why: 'an unexpected error' },
  several: { why: 'several reasons, too many to list one by one' },
} as const satisfies Readonly<Record<RecordedReason, Words>>;
