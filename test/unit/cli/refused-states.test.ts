/** An act that the state of the study forbids is refused with the state as it is, and what to do about it. */
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../../src/cli/act-options.ts';
import type { Status } from '../../../src/core/model/outcomes.ts';
import { actRefusal } from '../../../src/service/http/request/act-route.ts';

type Reason = Exclude<Status, 'open'> | 'suspended';

/** The reason, and what is said at the command line and over HTTP. */
const REASONS: Readonly<Record<Reason, readonly [string, string]>> = {
  paused: [
    'Sleep is paused: nothing was recorded (hint: urn studies resume)',
    'The study is paused (resume it, or close it)',
  ],
  closed: [
    'Sleep is closed: nothing was recorded (hint: urn studies reopen)',
    'The study is closed (reopen it first)',
  ],
  importing: [
    'Sleep is importing: nothing was recorded (hint: a history is being imported: wait until it is in)',
    'The study is importing (a history is being imported: wait until it is in)',
  ],
  suspended: [
    'Sleep is suspended: nothing was recorded (hint: urn studies check)',
    'The study is suspended (ask the operator)',
  ],
};
const reasons = Object.entries(REASONS).map(([because, said]) => [because as Reason, ...said] as const);

describe('an act in a study that forbids it', () => {
  it.each(reasons)('is refused in words, and with 409 over HTTP: %s', (because, said, message) => {
    const outcome = { type: 'refused', because } as const;
    expect(refusalOf(outcome, { study: 'Sleep', id: '001' })?.message).toBe(said);
    expect(actRefusal(outcome, 7, '[]')).toEqual({
      ...{ status: 409, message, results: '[]', revision: 7, refused: because },
    });
  });

  it('is never refused because the study is open', () => {
    const open = { type: 'refused', because: 'open' } as const;
    expect(() => actRefusal(open, 7, '[]')).toThrow('an open study forbids nothing');
  });
});
