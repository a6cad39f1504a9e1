/** What the state of the study forbids is refused with the state as it is, and what to do about it. */
import { describe, expect, it } from 'vitest';
import { refusalError } from '../../../src/cli/act-options.ts';
import type { Status } from '../../../src/core/model/outcomes.ts';
import { refusedReply } from '../../../src/service/http/request/command-reply.ts';

type Reason = Exclude<Status, 'open'> | 'suspended';

/** The reason, its status, and what is said at the command line and over HTTP. */
const REASONS: Readonly<Record<Reason, readonly [number, string, string]>> = {
  paused: [
    409,
    'the study is paused (hint: urn studies resume)',
    'the study is paused (hint: it takes participants again once it is resumed)',
  ],
  closed: [
    409,
    'the study is closed (hint: urn studies reopen)',
    'the study is closed (hint: it takes participants again once it is reopened)',
  ],
  importing: [
    409,
    'a history is being imported into the study (hint: wait until it is in)',
    'a history is being imported into the study (hint: wait until it is in)',
  ],
  suspended: [
    503,
    'the study takes no participants: the studies file of the service differs from what was registered (hint: urn studies check)',
    'the study takes no participants: the studies file of the service differs from what was registered (hint: ask the operator; the messages of the service show the differences)',
  ],
};
const reasons = Object.entries(REASONS).map(([because, said]) => [because as Reason, ...said] as const);

describe('what the state of the study forbids', () => {
  it.each(reasons)('is refused in words: %s', (because, status, said, message) => {
    const outcome = { type: 'refused', because } as const;
    expect(refusalError(outcome, { study: 'Sleep', id: '001' })?.message).toBe(
      `nothing was recorded: ${said}`,
    );
    expect(refusedReply(outcome, 7, '[]')).toEqual({
      ...{
        status,
        message: `Nothing was recorded: ${message}`,
        results: '[]',
        revision: 7,
        refused: because,
      },
      ...(status === 503 && { headers: { 'Retry-After': '60' } }),
    });
  });
});
