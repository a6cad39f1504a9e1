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
  noted,
  onArm,
  warningLines,
  without,
} from '../../support/altered-bundles.ts';
import { A, C, COOK, DUPAGE, FEMALE, MALE, SEX, SITE, site } from '../../support/life.ts';
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
    ['no level of a factor', data({ levels: [{ factor: SEX, level: MALE }] })],
    ['another cause', data({ cause: 'protocol' }), 'ok'],
    ['a cause of its own', data({ cause: 'paper' })],
    ['the id of somebody', data({ participantId: '001' })],
    ['a note of 2,001 characters', noted('x'.repeat(2001)), inFull()],
    ['none of them', gone, { full: '003', open: 'revealed', blinded: 'revealed' }],
    ['one after the next draw', moved, inFull('003')],
    ['a moment later than the event', occurred('F1', 1000), 'ok'],
    ['later than that', occurred('F1', 1001)],
    ['when the study was registered', occurred('registered', 0), 'ok'],
    ['before that', occurred('registered', -1)],
    ['at an impossible time', data({ occurredAt: '2026-02-29T00:00:00.000Z' })],
    ['a person', by('somebody'), 'ok'],
  ],
  F2: [
    [
      'another level of somebody who was corrected',
      levels(FEMALE, DUPAGE),
      { full: '005', open: '007', blinded: '007' },
    ],
    ['no level', levels('x', DUPAGE)],
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
    ['another arm of one who is not counted', onArm(A), 'ok'],
    ['an entry that replaces nobody', data({ replaces: of.F1 })],
  ],
  F5: [
    ['no arm of the study', onArm('x'), { full: 'F5', open: 'F5', blinded: 'ok' }],
    ['a closed level', levels(MALE, DUPAGE)],
    ['a space at the end of an id', data({ participantId: 'F5 ' })],
    ['none at the end', gone, 'ok'],
    ['just before the closing', occurred('closed', -1), 'ok'],
    ['at the closing', occurred('closed', 0)],
    ['at the closing, entered before it', both(occurred('closed', 0), at('closed', moved)), 'ok'],
    ['at the closing, entered after the reopening', both(occurred('closed', 0), moved), 'ok'],
    ['a key of these levels', by('desk'), 'ok'],
  ],
  reinstated: [
    ['one after the next draw that is not counted', moved, 'ok'],
    ['no reinstatement of one who is not counted', gone, 'ok'],
    [
      'a reinstatement of what was replaced',
      data({ participantId: 'F3', randomizedAt: of.F3, voidedAt: of.voided }),
    ],
    [
      'a reinstatement of what replaced it',
      data({ participantId: 'F3', randomizedAt: of.replaced, voidedAt: of.voided }),
    ],
  ],
  paused: [['one in an open study', moved, 'ok']],
  revealed: [['a code shown before', data({ shownAt: '2026-01-01T00:00:00.000Z' }), 'ok']],
  replaced: [
    ['another arm of what replaced an entry', onArm(C), inFull('005')],
    [
      'another level of what replaced an entry',
      levels(FEMALE, COOK),
      { full: '005', open: '007', blinded: '007' },
    ],
    ['one that replaces nothing', without('replaces')],
    ['another revision', data({ replaces: of.F1 })],
    ['that of the void', data({ replaces: of.voided })],
    ['another participant', data({ participantId: 'F1', replaces: of.F1 })],
    ['a corrected id', data({ participantId: 'F30' })],
    ['somebody who was drawn', data({ participantId: '001', replaces: of['001'] })],
    ['one after the next draw', moved, inFull('005')],
    // A wrong entry fills a place until it is replaced.
    ['nothing any more', gone, { full: '005', open: '007', blinded: '007' }],
  ],
  voided: [
    ['one that is replaced before it is voided', moved, 'replaced'],
    ['one that is replaced without a void', gone, 'replaced'],
    ['one for another cause', data({ cause: 'never-enrolled', counts: 'kept' }), 'replaced'],
    ['a wrong entry that was drawn', data({ participantId: '001', randomizedAt: of['001'] })],
    ['the counts kept', data({ counts: 'kept' })],
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
    [
      'one place less for women',
      configured({ limits: { levels: [{ ...LIMITS.levels[0], max: 5 }] } }),
      '007',
    ],
    // Nobody else is drawn then, but more are entered.
    ['a place for each of those who were drawn first', configured({ limits: { total: 2 } }), '003'],
    [
      'no limit that stops',
      configured({ limits: { total: 1 }, policies: { levelCounts: 'as-corrected' } }),
      'ok',
    ],
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
