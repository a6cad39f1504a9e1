/**
 * A study that was paused by a key, closed and reopened, and whose codes were broken: both verifiers accept its bundles.
 * In all contents, both find at the same place what somebody altered who also corrected seals, leaves and manifest.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogue, type StudyFact } from '../../events/catalogue.ts';
import { CONTENTS } from '../../events/content.ts';
import { mayOf } from '../../src/core/acts/acts.ts';
import { STATUSES } from '../../src/core/model/status.ts';
import { BundleFiles } from '../e2e/audit/bundle-file.ts';
import type { Row } from '../e2e/audit/database.ts';
import {
  alteredBundles,
  asked,
  both,
  by,
  type Change,
  changed,
  configured,
  data,
  type Findings,
  inEach,
  inFull,
  issuedWith,
  type Json,
  movedOn,
  PERSON,
  removed,
  twice,
  unrequested,
  version,
  without,
} from '../support/altered-bundles.ts';
import { CONFIGURATION } from '../support/facts.ts';
import { AT, type LifeLog, makeLifeLog } from '../support/life-log.ts';
import { requiredPython } from '../support/numpy.ts';
import { firstDivergence } from '../support/own-verifier.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { verifierValue } from '../support/verifier.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();

const STOPPING = { stopAtLimit: true };
/** Of a level, by the places of factor and level in the configuration. */
const limit = (factor: number, level: number, max: number) => {
  const { name, levels } = CONFIGURATION.factors[factor] ?? { name: '', levels: [] };
  return { factor: name, level: levels[level], max };
};
const later = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();
const atOf = (rows: readonly Row[], revision: number) => JSON.parse(`${rows[revision]?.record}`).at;
const APPROVAL = { on: '2100-12-31', name: 'A', role: 'sponsor' };

describe.skipIf(found === undefined)('both verifiers of a study that lived on', () => {
  const { verifyBoth, ...bundles } = alteredBundles(python, newFolder);
  const findings = (change: Change, prepare?: (bundle: BundleFiles) => void) =>
    bundles.findings(log, change, prepare);
  let log: LifeLog;

  beforeAll(async () => {
    log = await makeLifeLog(newFolder());
  });

  it.each(CONTENTS)('accept it, content %s, and count what happened', async (content) => {
    const { code, stdout, own } = await verifyBoth(log.files[content]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      '  The study is open; codes broken: 2 emergency, 1 monitoring; 1 of them recorded after ' +
        'the arm was shown; unblinded without the service, as reported: 2\n',
    );
    const study = own.report?.streams.at(-1);
    expect(study?.life).toEqual({
      state: 'open',
      revealed: { emergency: 2, monitoring: 1 },
      unblindingReported: 2,
    });
    expect(study?.warnings.map((warning) => [warning.code, warning.count, warning.revision])).toEqual([
      ['revealed-in-emergency', 2, AT.emergency],
      ['approval-asserted', 2, AT.closed],
      ['recorded-late', 1, AT.late],
      ['unblinding-reported', 2, AT.mistake],
      ['revealed', 1, AT.monitoring],
    ]);
  });

  it.each([
    ['who asked', (sealed: Json) => Object.assign(sealed.grounds, { requestedBy: 'x'.repeat(2001) })],
    [
      'who asked, with a line feed',
      (sealed: Json) => Object.assign(sealed.grounds, { requestedBy: 'Dr.\nK.' }),
    ],
    ['an Idempotency-Key', (sealed: Json) => Object.assign(sealed.request, { idempotencyKey: 'er\u0085' })],
  ])('warn of a sealed text that no request may have: %s', async (_, change) => {
    const altering = changed(AT.emergency, (_, sealed) => change(sealed));
    const { code, stdout, own } = await bundles.verified(log, 'full', altering);
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/^WARNING {2}study-\S+, revision 4: a sealed text has control characters/m);
    expect(own.report?.streams.at(-1)?.warnings).toContainEqual(
      expect.objectContaining({ code: 'text-refused-by-http', count: 1, revision: AT.emergency }),
    );
  });

  it('show the state in which it ends', async () => {
    const ending = async (last: number) => {
      const { stdout, own } = await bundles.verified(log, 'blinded', (rows) => rows.slice(0, last + 1));
      return [/The study is (\w+)/.exec(stdout)?.[1], own.report?.streams.at(-1)?.life?.state];
    };
    expect(await ending(AT.registered)).toEqual(['open', 'open']);
    expect(await ending(AT.paused)).toEqual(['paused', 'paused']);
    expect(await ending(AT.closed)).toEqual(['closed', 'closed']);
  });

  it.each<[string, Change, Findings]>([
    ['a reason of the study', data(AT.paused, { reason: 'another' }), 'ok'],
    ['no pause', removed(AT.paused), AT.resumed - 1],
    ['a pause before the participant', movedOn(AT['002']), AT.paused],
    ['a pause after the code-break that a report names', movedOn(AT.paused), AT.mistake],
    ['two pauses', twice(AT.paused), AT.paused + 1],
    ['an end of the pause by nobody', removed(AT.resumed), AT.resumed],
    ['two ends', twice(AT.resumed), AT.resumed + 1],
    ['a participant in the pause', movedOn(AT.resumed), AT.resumed],
  ])('find altered pauses: %s', async (_, change, expected) => {
    expect(await findings(change)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['a pause by a key in version 1', version(AT.paused, 1), AT.paused],
    [
      'a pause by a key without a request in version 1',
      both(changed(AT.paused, unrequested), version(AT.paused, 1)),
      AT.paused,
    ],
    ['a pause by a key without a request', changed(AT.paused, unrequested), 'ok'],
    [
      'a pause by a person with a request',
      changed(AT.paused, (record) => Object.assign(record, { actor: PERSON })),
      'ok',
    ],
    [
      'a pause by a person that version 1 can say',
      both(
        changed(AT.paused, unrequested),
        changed(AT.paused, (record) => Object.assign(record, { actor: PERSON })),
      ),
      AT.paused,
    ],
    ['an end of a pause that version 1 can say', version(AT.resumed, 2), AT.resumed],
    ['a version that nobody knows', version(AT.paused, 3), AT.paused],
    ...([AT.closed, AT.emergency, AT.mistake, AT.reopened, AT['004']] as const).map(
      (revision): [string, Change, Findings] => [
        `version 2 of revision ${revision}`,
        version(revision, 2),
        revision,
      ],
    ),
  ])('accept only the lowest version: %s', async (_, change, expected) => {
    expect(await findings(change)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another cause', data(AT.closed, { cause: 'sponsor' }), 'ok'],
    ['a cause of its own', data(AT.closed, { cause: 'whim' }), AT.closed],
    ['nobody’s approval', without(AT.closed, 'approvals'), 'ok'],
    ['an empty list of approvals', data(AT.closed, { approvals: [] }), AT.closed],
    ['another day', data(AT.closed, { approvals: [APPROVAL] }), 'ok'],
    ['February 30th', data(AT.closed, { approvals: [{ ...APPROVAL, on: '2028-02-30' }] }), AT.closed],
    [
      'February 29th of a leap year',
      data(AT.closed, { approvals: [{ ...APPROVAL, on: '2028-02-29' }] }),
      'ok',
    ],
    [
      'February 29th of a year that is not a leap year',
      data(AT.closed, { approvals: [{ ...APPROVAL, on: '2100-02-29' }] }),
      AT.closed,
    ],
    ['a month 13', data(AT.closed, { approvals: [{ ...APPROVAL, on: '2027-13-01' }] }), AT.closed],
    ['a day 0', data(AT.closed, { approvals: [{ ...APPROVAL, on: '2027-12-00' }] }), AT.closed],
    ['year 0', data(AT.closed, { approvals: [{ ...APPROVAL, on: '0000-02-29' }] }), 'ok'],
    ['a day in another form', data(AT.closed, { approvals: [{ ...APPROVAL, on: '2027-1-1' }] }), AT.closed],
    ['no closing', removed(AT.closed), AT.reopened - 1],
    ['a closing before a participant', movedOn(AT['003']), AT.closed],
    ['a closing after a code-break', movedOn(AT.closed), 'ok'],
    ['two closings', twice(AT.closed), AT.closed + 1],
    [
      'the Idempotency-Key of the pause',
      changed(AT.closed, (_, sealed) => Object.assign(sealed.request, { idempotencyKey: 'pause-1' })),
      inFull(AT.closed),
    ],
    [
      'that of another user',
      changed(AT.closed, (_, sealed) => Object.assign(sealed.request, { idempotencyKey: 'er-1' })),
      'ok',
    ],
  ])('find altered closings: %s', async (_, change, expected) => {
    expect(await findings(change)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['nobody’s approval', data(AT.reopened, { approvals: [] }), AT.reopened],
    ['no list of approvals', without(AT.reopened, 'approvals'), AT.reopened],
    [
      'a day that does not exist',
      data(AT.reopened, { approvals: [{ ...APPROVAL, on: '2027-04-31' }] }),
      AT.reopened,
    ],
    ['another protocol', data(AT.reopened, { protocol: { version: '4' } }), 'ok'],
    [
      'a protocol of an impossible day',
      data(AT.reopened, { protocol: { version: '4', date: '2027-02-29' } }),
      AT.reopened,
    ],
    ['no reopening', removed(AT.reopened), AT.reopened],
    ['a reopening before a report', movedOn(AT.envelope), 'ok'],
    ['a reopening after a participant', movedOn(AT.reopened), AT.reopened],
    ['two reopenings', twice(AT.reopened), AT.reopened + 1],
  ])('find altered reopenings: %s', async (_, change, expected) => {
    expect(await findings(change)).toEqual(inEach(expected));
  });

  it('accept a reopening without approval in a test study', async () => {
    const [test, shown] = configured({ mode: 'test' });
    expect(await findings(both(test, data(AT.reopened, { approvals: [] })), shown)).toEqual(inEach('ok'));
  });

  it.each<[string, object, number, Findings]>([
    ['nothing new', {}, 2, AT.registered],
    ['nothing new, in version 1', {}, 1, 'ok'],
    ['blinded sites', { blinding: 'blinded' }, 2, 'ok'],
    ['blinded sites, in version 1', { blinding: 'blinded' }, 1, AT.registered],
    ['the default of blinding', { blinding: 'open' }, 2, AT.registered],
    ['a paused beginning', { start: 'paused' }, 2, AT['001']],
    ['a protocol', { protocol: { version: '2', date: '2028-02-29' } }, 2, 'ok'],
    ['a protocol of an impossible day', { protocol: { version: '2', date: '2027-02-29' } }, 2, AT.registered],
    ['no policy', { policies: {} }, 2, AT.registered],
    ['a default policy', { policies: { levelCounts: 'as-randomized' } }, 2, AT.registered],
    ['another policy', { policies: { levelCounts: 'as-corrected' } }, 2, 'ok'],
    [
      'a policy that is the default of blinded sites',
      { blinding: 'blinded', policies: { levelCounts: 'as-corrected', voidCounts: 'removed' } },
      2,
      AT.registered,
    ],
    ['no limit', { limits: {} }, 2, AT.registered],
    ['a limit of none', { limits: { total: 0 } }, 2, AT.registered],
    ['a limit that stops nobody', { limits: { total: 1 } }, 2, 'ok'],
    ['a limit that is reached', { limits: { total: 4 }, policies: STOPPING }, 2, 'ok'],
    ['a limit that is exceeded', { limits: { total: 3 }, policies: STOPPING }, 2, AT['004']],
    [
      'the limit of a level, reached',
      { limits: { levels: [limit(1, 0, 2), limit(1, 1, 2)] }, policies: STOPPING },
      2,
      'ok',
    ],
    [
      'the limit of a level, exceeded',
      { limits: { total: 9, levels: [limit(0, 1, 1), limit(1, 0, 1)] }, policies: STOPPING },
      2,
      AT['003'],
    ],
    ['limits in another order', { limits: { levels: [limit(1, 1, 9), limit(1, 0, 9)] } }, 2, AT.registered],
    ['a limit twice', { limits: { levels: [limit(1, 1, 9), limit(1, 1, 9)] } }, 2, AT.registered],
    ['a limit of no level', { limits: { levels: [{ ...limit(1, 1, 9), level: 'x' }] } }, 2, AT.registered],
    ['a limit of no factor', { limits: { levels: [{ ...limit(1, 1, 9), factor: 'x' }] } }, 2, AT.registered],
  ])('judge a registration with %s', async (_, members, to, expected) => {
    const [registered, shown] = configured(members);
    expect(await findings(both(registered, version(AT.registered, to)), shown)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another category', data(AT.emergency, { category: 'other' }), 'ok'],
    ['a category of its own', data(AT.emergency, { category: 'curiosity' }), AT.emergency],
    ['another participant', data(AT.emergency, { participantId: '002' }), AT.emergency],
    ['nobody', data(AT.emergency, { participantId: '009' }), AT.emergency],
    [
      'a participant who comes later',
      data(AT.emergency, { participantId: '003', randomizedAt: AT['003'] }),
      AT.emergency,
    ],
    ['another revision', data(AT.emergency, { randomizedAt: AT['002'] }), AT.emergency],
    [
      'a participant outside the key’s limits',
      data(AT.emergency, { participantId: '002', randomizedAt: AT['002'] }),
      AT.emergency,
    ],
    [
      'another participant, by a person',
      data(AT.monitoring, { participantId: '003', randomizedAt: AT['003'] }),
      'ok',
    ],
    ['a UUID of its own', data(AT.emergency, { reveal: randomUUID() }), 'ok'],
    ['no UUID', data(AT.emergency, { reveal: 'x' }), AT.emergency],
    ['the arm', data(AT.emergency, { treatment: 'MART' }), AT.emergency],
    ['no code-break', removed(AT.emergency), AT.late - 1],
    ['no code-break at the end', removed(AT.monitoring), 'ok'],
    ['a code-break after the pause', movedOn(AT.emergency), AT.mistake],
    ['the same one twice', twice(AT.emergency), AT.emergency + 1],
    [
      'another one at the end',
      twice(AT.monitoring, (record) => Object.assign(record.data, { reveal: randomUUID() })),
      'ok',
    ],
    ['a person', changed(AT.emergency, (record) => Object.assign(record, { actor: PERSON })), 'ok'],
    [
      'no grounds',
      changed(AT.emergency, (record, sealed) => {
        delete record.seals.grounds;
        delete sealed.grounds;
      }),
      AT.emergency,
    ],
    [
      'grounds with an escape',
      changed(AT.emergency, (_, sealed) => Object.assign(sealed.grounds, { reason: 'a\u001b' })),
      inFull(AT.emergency),
    ],
    [
      'grounds of 2,000 characters',
      changed(AT.emergency, (_, sealed) =>
        Object.assign(sealed.grounds, { reason: '😀'.repeat(1999).concat('\n') }),
      ),
      'ok',
    ],
    [
      'grounds of 2,001 characters',
      changed(AT.emergency, (_, sealed) => Object.assign(sealed.grounds, { reason: '😀'.repeat(2001) })),
      inFull(AT.emergency),
    ],
    ['the Idempotency-Key of an earlier request', asked(AT.late, 'er-1'), inFull(AT.late)],
    ['no time at which it was shown', without(AT.late, 'shownAt'), 'ok'],
    ['a planned code-break that was shown before', data(AT.late, { category: 'planned' }), AT.late],
    [
      'shown just before',
      changed(AT.late, (record) => Object.assign(record.data, { shownAt: later(record.at, 1000) })),
      'ok',
    ],
    [
      'shown after it was recorded',
      changed(AT.late, (record) => Object.assign(record.data, { shownAt: later(record.at, 1001) })),
      AT.late,
    ],
    [
      'shown just before the randomization, as clocks differ',
      (rows) => data(AT.late, { shownAt: later(atOf(rows, AT['003']), -1000) })(rows),
      'ok',
    ],
    [
      'shown before the randomization',
      (rows) => data(AT.late, { shownAt: later(atOf(rows, AT['003']), -1001) })(rows),
      AT.late,
    ],
    [
      'the UUID of an earlier one',
      (rows) => data(AT.late, { reveal: JSON.parse(`${rows[AT.emergency]?.record}`).data.reveal })(rows),
      AT.late,
    ],
  ])('find altered code-breaks: %s', async (_, change, expected) => {
    expect(await findings(change)).toEqual(inEach(expected));
  });

  it.each<[string, Change, Findings]>([
    ['another way', data(AT.mistake, { how: 'label' }), 'ok'],
    ['a way of its own', data(AT.mistake, { how: 'guess' }), AT.mistake],
    ['on purpose', data(AT.mistake, { inadvertent: false }), AT.mistake],
    ['another participant', data(AT.envelope, { participantId: '001' }), AT.envelope],
    ['another revision', data(AT.envelope, { randomizedAt: AT['001'] }), AT.envelope],
    [
      'a participant outside the key’s limits',
      data(AT.envelope, { participantId: '002', randomizedAt: AT['002'] }),
      AT.envelope,
    ],
    ['without a code-break', without(AT.mistake, 'revealedAt'), 'ok'],
    ['of somebody else’s code-break', data(AT.mistake, { revealedAt: AT.late }), AT.mistake],
    ['of something that is not a code-break', data(AT.mistake, { revealedAt: AT.paused }), AT.mistake],
    [
      'in the future',
      changed(AT.mistake, (record) => Object.assign(record.data, { occurredAt: later(record.at, 1001) })),
      AT.mistake,
    ],
    ['in the past', data(AT.mistake, { occurredAt: '2001-01-01T00:00:00.000Z' }), 'ok'],
    ['not at all', removed(AT.mistake), 'ok'],
    ['later', movedOn(AT.mistake), 'ok'],
    ['twice', twice(AT.mistake), 'ok'],
  ])('find altered reports of unblinding: %s', async (_, change, expected) => {
    expect(await findings(change)).toEqual(inEach(expected));
  });

  it.each(['paused', 'closed', 'reopened', 'emergency', 'mistake', 'envelope'] as const)(
    'find a key without the scope: %s',
    async (name) => {
      expect(await findings(by(AT[name], log.actors.nurse))).toEqual(inEach(AT[name]));
    },
  );

  it('find a registration by a key, and a participant by a person', async () => {
    expect(await findings(by(AT.registered, log.actors.manager))).toEqual(inEach(AT.registered));
    expect(await findings(by(AT['003'], PERSON))).toEqual(inEach(AT['003']));
  });

  it('judge the expiry of a key when the arm was shown', async () => {
    const row = BundleFiles.unpack(python, log.files.full).rows(log.stream)[AT.late] as Row;
    const { at } = JSON.parse(`${row.record}`);
    // The key of `desk`.
    const expiring = issuedWith(2, { expiresAt: later(at, 60_000) });
    const recordedAfter = changed(AT.late, (record) => Object.assign(record, { at: later(at, 3_600_000) }));
    expect(await findings(recordedAfter, expiring)).toEqual(inEach('ok'));
    const shownThen = both(recordedAfter, without(AT.late, 'shownAt'));
    expect(await findings(shownThen, expiring)).toEqual(inEach(AT.late));
    const shownLate = both(recordedAfter, data(AT.late, { shownAt: later(at, 75_001) }));
    expect(await findings(shownLate, expiring)).toEqual(inEach(AT.late));
  });

  it('accept a key of version 2 only if it has a new scope', async () => {
    const scopes = (revision: number, given: readonly string[]) => issuedWith(revision, { scopes: given });
    const verdict = async (prepare: (bundle: BundleFiles) => void) => {
      const { own } = await bundles.verified(log, 'blinded', (rows) => rows, prepare);
      const divergence = firstDivergence(own);
      return divergence && `${divergence.stream}/${divergence.revision}`;
    };
    expect(await verdict(scopes(1, ['read', 'manage']))).toBeUndefined();
    expect(await verdict(scopes(1, ['read']))).toBe('access/1');
    expect(await verdict(scopes(0, ['randomize', 'manage']))).toBe('access/0');
    expect(await verdict(scopes(1, ['audit', 'manage']))).toBe('access/1');
    expect(await verdict(scopes(1, ['manage', 'correct']))).toBeUndefined();
    expect(await verdict(scopes(1, ['audit', 'correct']))).toBe('access/1');
    // It is limited to levels.
    expect(await verdict(scopes(2, ['unblind', 'manage']))).toBe('access/2');
  });
});

describe.skipIf(found === undefined)('the verifier in Python knows', () => {
  it('who may write what, and when, as the program does', () => {
    const acts = verifierValue(python, '{kind: act._asdict() for kind, act in ACTS.items()}');
    const ofStudies = catalogue.all().filter(({ stream }) => stream === 'study');
    const ours = ofStudies.map(({ type }) => {
      const { commandLine: cli, scopes, in: states } = mayOf(type as StudyFact['type']);
      return [type, { cli, scopes, states }];
    });
    expect(acts).toEqual(Object.fromEntries(ours));
    expect(verifierValue(python, 'EVERY_STATE')).toEqual(STATUSES);
  });

  it('every event of the streams in a bundle, with its members, sections and authors', () => {
    const events = verifierValue(
      python,
      `{name: [
         [sorted(shape) for shape in getattr(event.data, 'shapes', [event.data])],
         sorted(event.sections),
         event.by_people,
       ] for name, event in EVENTS.items()}`,
    );
    const mark = (name: string, isOptional: boolean) => (isOptional ? `${name}?` : name);
    expect(events).toEqual(
      Object.fromEntries(
        catalogue.all().flatMap(({ type, version, stream, data, sections, by }) => {
          if (stream === 'operations') return [];
          const shapes = (data instanceof z.ZodUnion ? data.options : [data]) as z.ZodObject[];
          const members = shapes.map(({ shape }) =>
            Object.entries(shape)
              .map(([name, schema]) => mark(name, (schema as z.ZodType).safeParse(undefined).success))
              .sort(),
          );
          const names = sections.map(({ name, isOptional }) => mark(name, isOptional));
          return [[`${type}@${version}`, [members, names.sort(), by === 'people']]];
        }),
      ),
    );
  });
});
