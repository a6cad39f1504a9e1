/** A study with allocations made outside the service, altered. */
import { describe, expect, it } from 'vitest';
import {
  asked,
  at,
  both,
  bundlesOf,
  by,
  type Change,
  changed,
  changes,
  configured,
  data,
  gone,
  hasPython,
  inClear,
  inFull,
  issuedWith,
  moved,
  onArm,
  warningLines,
  without,
} from '../../support/altered-bundles.ts';
import { C, COOK, DUPAGE, FEMALE, MALE, SEX, SITE, site } from '../../support/life.ts';
import { FORCED, LIMITS, POLICIES } from '../../support/lives/forced.ts';

const DAY_MS = 24 * 3600 * 1000;
const levels = (sex: string, place: string) =>
  data({
    levels: [
      { factor: SEX, level: sex },
      { factor: SITE, level: place },
    ],
  });
/** Says that it happened this long after another event was written. */
const occurred = (after: string, ms: number) =>
  data((bundle) => ({ occurredAt: new Date(Date.parse(bundle.record(after).at) + ms).toISOString() }));
const uncounted = at('amended', changes(site.closed(DUPAGE)));
const of = FORCED.at;
const { alterations, judge } = bundlesOf(FORCED);

alterations('both verifiers of altered entries', {
  F1: [
    ['not counted against the policy', data({ counted: false })],
    ['another arm', onArm(C), inFull('003')],
    ['another level', levels(MALE, COOK), inFull('003')],
    ['none of them', gone, { full: '003', open: 'revealed', blinded: 'revealed' }],
    ['one after the next draw', moved, inFull('003')],
    ['a moment later than the event', occurred('F1', 1000), 'ok'],
    ['later than that', occurred('F1', 1001)],
    ['when the study was registered', occurred('registered', 0), 'ok'],
    ['before that', occurred('registered', -1)],
  ],
  F2: [
    [
      'another level of somebody who was corrected',
      levels(FEMALE, DUPAGE),
      { full: '005', open: '007', blinded: '007' },
    ],
    ['a key of other levels', by('desk')],
  ],
  F3: [
    ['another arm of a wrong entry', onArm(C), inFull('004')],
    ['the Idempotency-Key of another', asked('f-1'), inFull()],
  ],
  F4: [
    ['counted against the policy', data({ counted: true })],
    [
      'another policy, and counted by it',
      both(uncounted, data({ counted: true }), at('F5', data({ counted: true }))),
      inFull('006'),
    ],
    ['only another policy', uncounted],
    ['an entry that replaces nobody', data({ replaces: of.F1 })],
  ],
  F5: [
    ['no arm of the study', onArm('x'), { full: 'F5', open: 'F5', blinded: 'ok' }],
    ['a closed level', levels(MALE, DUPAGE)],
    ['just before the closing', occurred('closed', -1), 'ok'],
    ['at the closing', occurred('closed', 0)],
    ['at the closing, entered after the reopening', both(occurred('closed', 0), moved), 'ok'],
  ],
  reinstated: [
    [
      'a reinstatement of what replaced it',
      data({ participantId: 'F3', randomizedAt: of.replaced, voidedAt: of.voided }),
    ],
  ],
  replaced: [
    ['another arm of what replaced an entry', onArm(C), inFull('005')],
    ['one that replaces nothing', without('replaces')],
    ['another revision', data({ replaces: of.F1 })],
    ['a corrected id', data({ participantId: 'F30' })],
    ['somebody who was drawn', data({ participantId: '001', replaces: of['001'] })],
    // A wrong entry fills a place until it is replaced.
    ['nothing any more', gone, { full: '005', open: '007', blinded: '007' }],
  ],
  voided: [
    ['one that is replaced without a void', gone, 'replaced'],
    ['a wrong entry that was drawn', data({ participantId: '001', randomizedAt: of['001'] })],
  ],
  voidedToo: [
    ['another cause, of one who is not counted', data({ cause: 'other', counts: 'kept' }), 'ok'],
    ['that of what replaced it', data({ participantId: 'F3', randomizedAt: of.replaced }), 'reinstated'],
  ],
  registered: [
    [
      'a policy that counts nobody',
      configured({ policies: { ...POLICIES, forcedCounts: 'not-counted' } }),
      'F1',
    ],
    ['one place less', configured({ limits: { ...LIMITS, total: 11 } }), '007'],
    // Nobody else is drawn then, but more are entered.
    ['a place for each of those who were drawn first', configured({ limits: { total: 2 } }), '003'],
  ],
});

/** The key of `desk`. */
const scopes = (granted: string, members: object = {}) =>
  issuedWith(1, { scopes: ['force', granted], ...members });
const knowingly = { allowPrediction: true };
alterations('both verifiers of a key that may force, and', {
  registered: [
    ['blinded', scopes('blinded'), inClear('access/1')],
    ['blinded, knowingly', scopes('blinded', knowingly), inClear('access/1')],
    ['audit', scopes('audit', { where: undefined }), inClear('access/1')],
    ['audit, knowingly', scopes('audit', { where: undefined, ...knowingly }), inClear('ok')],
    ['randomize', scopes('randomize'), inClear('access/1')],
    ['randomize, knowingly', scopes('randomize', knowingly), inClear('ok')],
    ['correct', scopes('correct'), inClear('ok')],
  ],
});

describe.skipIf(!hasPython)('both verifiers warn', () => {
  it('of what was entered more than seven days after it was made', async () => {
    const early: Change = at(
      'registered',
      changed((record) => {
        record.at = new Date(Date.parse(record.at) - 8 * DAY_MS).toISOString();
      }),
    );
    const late = async (ms: number) => {
      const altering = both(early, at('F1', occurred('F1', -ms)));
      const { found, report, stdout } = await judge('blinded', altering, { isShown: true });
      expect(found).toBe('ok');
      const [entered, ...others] = warningLines(report).filter((line) => line.includes('seven days'));
      expect(others).toEqual([]);
      expect(stdout?.split('\n').find((line) => line.includes('seven days'))).toBe(entered);
      return report.streams.at(-1)?.warnings.filter((warning) => warning.code === 'entered-late');
    };
    expect(await late(7 * DAY_MS)).toEqual([]);
    expect(await late(7 * DAY_MS + 1)).toMatchObject([{ count: 1, revision: of.F1 }]);
  });
});
