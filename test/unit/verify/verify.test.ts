/** What is found in a log: missing, repeated or altered records, wrong keys, reused salts, backdating; and what is said of a life. */
import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import { CONTENTS, decodeRecord } from '../../../events/record.ts';
import type { DesignChange } from '../../../events/study.ts';
import { makeSigningKey } from '../../../src/core/log/signing.ts';
import { inReportingOrder } from '../../../src/evidence/verify/replay/replay.ts';
import { IdChecks, undecided } from '../../../src/evidence/verify/replay/study-checks.ts';
import { Warnings } from '../../../src/evidence/verify/report/report.ts';
import { reportText } from '../../../src/evidence/verify/report/report-text.ts';
import type { RecordSource, SourceRecord } from '../../../src/evidence/verify/source.ts';
import type { Change, Json } from '../../support/altered-record.ts';
import { CONFIGURATION, OPERATOR, randomize, resumed } from '../../support/facts.ts';
import {
  bundled,
  CORRECTIONS,
  change,
  clerk,
  divergenceOf,
  enrol,
  HISTORY,
  KEY,
  KEYS,
  LATER_LIFE,
  LIFE_KEYS,
  LOG_NAME,
  type Log,
  logOf,
  nurse,
  PAUSED,
  REGISTERED,
  RESUMED,
  STUDY,
  type Step,
  step,
  streamOf,
  trust,
  verify,
} from './support.ts';

describe('a sound log', () => {
  it('without checkpoints is sound, but only self-consistent', async () => {
    const report = await verify(logOf(HISTORY));
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: true, untrustedKey: false });
    expect(report.streams.map(({ stream, records, sound }) => [stream, records, sound])).toEqual([
      ['log', 1, true],
      ['access', 3, true],
      [STUDY, 9, true],
    ]);
    expect(streamOf(report)).toMatchObject({ study: CONFIGURATION.name, participants: 6, warnings: [] });
    expect(streamOf(report).evidence.uncovered).toEqual({ from: 0, to: 8 });
  });

  it('is proven up to its checkpoints', async () => {
    const log = logOf(HISTORY);
    const checkpoints = [7, 1, 7, 3].map((size) => log.checkpoint(STUDY, size));
    const report = await verify(log, { checkpoints });
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: false });
    expect(streamOf(report).evidence).toEqual({
      ...{ matching: 3, matchingSize: 7, failing: 0, failed: [], lost: [] },
      uncovered: { from: 7, to: 8 },
    });
    const all = await verify(log, { checkpoints: [log.checkpoint(STUDY, 9)] });
    expect(streamOf(all).evidence).not.toHaveProperty('uncovered');
  });
});

const append = (fact: StudyFact) => (log: Log) => log.append(STUDY, fact, OPERATOR);
/** Changes the order or number of the study's records. */
const reordered = (how: (records: SourceRecord[]) => SourceRecord[]) => (log: Log) =>
  log.byStream.set(STUDY, how(log.of(STUDY)));
describe('a failure in the stream of a study is found if', () => {
  const swapped = reordered((records) => {
    const [one, two] = records.slice(1, 3) as [SourceRecord, SourceRecord];
    return records.with(1, { ...two, revision: 1 }).with(2, { ...one, revision: 2 });
  });
  const changedBesideReordered = reordered((records) => {
    const first = records[1] as SourceRecord;
    const { allocation, draw, ...others } = JSON.parse(String(first.sealed));
    const reversed = Object.fromEntries(Object.entries(allocation).reverse());
    const sealed = { allocation: reversed, draw: { ...draw, uniform53: draw.uniform53 + 1 }, ...others };
    return records.with(1, { ...first, sealed: Buffer.from(JSON.stringify(sealed)) });
  });
  it.each<
    [what: string, tamper: (log: Log) => unknown, found: object, why?: string, steps?: readonly Step[]]
  >([
    [
      'a revision is missing',
      reordered((records) => records.toSpliced(5, 1)),
      { revision: 6, field: 'revision', expected: '5', found: '6' },
      'revision 5 is missing',
    ],
    [
      'two records were swapped',
      swapped,
      { revision: 1, expected: `"${STUDY}/1"`, found: `"${STUDY}/2: ParticipantRandomized"` },
    ],
    [
      'a section was changed and another reordered: the changed one is named',
      changedBesideReordered,
      { revision: 1, field: 'seals.draw' },
    ],
    [
      'it was resumed though it was not paused',
      append(resumed),
      { revision: 3, field: 'type', found: '"StudyResumed"' },
      'not paused',
      [REGISTERED, PAUSED, RESUMED],
    ],
    ['it does not begin with its registration', append(resumed), { revision: 0, field: 'type' }, '', []],
  ])('%s', async (_, tamper, expected, why = '', steps = HISTORY) => {
    const log = logOf(steps);
    tamper(log);
    const report = await verify(log);
    expect(report.ok).toBe(false);
    const { divergence } = streamOf(report);
    expect(divergence).toMatchObject(expected);
    expect(divergence?.why).toContain(why);
  });

  it.each<[string, Change, object]>([
    [
      'an equal ratio is written out',
      (record) => {
        Object.assign(record.data.configuration, { ratio: [1, 1, 1] });
      },
      { field: 'data.configuration.ratio', found: '[1,1,1]', why: 'the default is left out' },
    ],
    [
      'there is a pattern that RE2 cannot run',
      ({ data }) => Object.assign(data.configuration, { idPattern: '(?!0)[0-9]+' }),
      { field: 'data.configuration.idPattern', found: '"(?!0)[0-9]+"' },
    ],
    [
      'there are parameters of another method',
      (record, sections) => {
        Object.assign(record.seals, { blocks: '' });
        Object.assign(sections, { blocks: { perSlot: [2], salt: 'ab'.repeat(16) } });
      },
      { field: 'seals.blocks', expected: 'false', found: 'true' },
    ],
  ])('%s in its registration', async (_, how, expected) => {
    expect(await divergenceOf(change(logOf(HISTORY), 0, how))).toMatchObject({ revision: 0, ...expected });
  });
});

it('of several fields that differ, the one that tells most is named first', () => {
  const differences = ['other', 'draw.slot', 'allocation.slot', 'data.levels'].map((field) => ({
    ...{ field, expected: 1, found: 2 },
  }));
  const sorted = inReportingOrder(differences, ['data.', 'draw.', 'allocation.']);
  expect(sorted.map(({ field }) => field)).toEqual(['data.levels', 'draw.slot', 'allocation.slot', 'other']);
});

describe('a problem with the acting key is found if it', () => {
  const SITE = { keyId: 'k0022', user: 'site', accessRevision: 1 };
  const male = (n: number, actor: Step['actor'], at: string): Step => {
    const { command } = enrol(n, actor);
    if (command.type !== 'randomize') throw new Error('not a participant');
    return { command: { ...command, user: 'site', levels: ['Male', '30-Dupage County'] }, actor, at };
  };

  it.each([
    ['was never issued', { ...SITE, keyId: 'k9999' }, 'actor.keyId', /no such key/],
    ['is that of somebody else', { ...SITE, user: 'nurse' }, 'actor.user', /somebody else/],
    ['was not issued yet', { ...SITE, accessRevision: 0 }, 'actor.accessRevision', /issued later/],
    ['was revoked by then', { ...SITE, accessRevision: 2 }, 'actor.accessRevision', /revoked by then/],
    ['names a future revision', { ...SITE, accessRevision: 3 }, 'actor.accessRevision', /does not have/],
  ])('%s', async (_, actor, field, why) => {
    const found = await divergenceOf(logOf([REGISTERED, male(1, actor, '2026-03-01T09:00:02.000Z')]));
    expect(found).toMatchObject({ revision: 1, field, participant: '001' });
    expect(found?.why).toMatch(why);
  });

  it('cannot pause a study', async () => {
    const found = await divergenceOf(logOf([REGISTERED, { ...PAUSED, actor: nurse() }]));
    expect(found).toMatchObject({ revision: 1, field: 'actor.keyId' });
  });

  it('had expired: at first a warning, because the request may have waited; later a failure', async () => {
    const keys = KEYS.slice(0, 2);
    const soon = await verify(logOf([REGISTERED, male(1, SITE, '2026-03-01T12:00:14.000Z')], keys));
    expect(soon.ok).toBe(true);
    expect(streamOf(soon).warnings).toMatchObject([{ code: 'expired-key-used', revision: 1 }]);
    const late = await verify(logOf([REGISTERED, male(1, SITE, '2026-03-01T12:00:16.000Z')], keys));
    expect(streamOf(late).divergence).toMatchObject({ revision: 1, field: 'at' });
  });

  it('was revoked and used more than a second later: a warning', async () => {
    const revoked = '2026-03-01T09:00:03.000Z';
    const report = await verify(logOf([REGISTERED, male(1, SITE, '2026-03-01T09:00:04.000Z')]));
    expect(streamOf(report, 'access').records).toBe(3);
    expect(streamOf(report).warnings.filter(({ code }) => code === 'revoked-key-used')).toEqual([]);
    const late = await verify(logOf([REGISTERED, male(1, SITE, '2026-03-01T09:00:04.001Z')]));
    expect(late.ok).toBe(true);
    const [warning] = streamOf(late).warnings.filter(({ code }) => code === 'revoked-key-used');
    expect(warning).toMatchObject({ revision: 1, text: expect.stringContaining(revoked) });
  });
});

// What else can be wrong with keys: test/integration/bundles/insider.test.ts.
describe('a failure in the streams log and access is found if', () => {
  it('a key is revoked that was never issued', async () => {
    const log = logOf(HISTORY);
    log.append('access', { type: 'ApiKeyRevoked', data: { keyId: 'k7' }, sections: {} }, OPERATOR);
    expect(await divergenceOf(log, 'access')).toMatchObject({ revision: 3, field: 'data.keyId' });
  });

  it('LogCreated names a key other than the trusted one, or is not the only event', async () => {
    const other = makeSigningKey(LOG_NAME);
    const report = await verify(logOf(HISTORY), { trusted: [trust(other)] });
    expect(report).toMatchObject({ ok: false, untrustedKey: true });
    const expected = `"${other.publicKey}"`;
    expect(streamOf(report, 'log').divergence).toMatchObject({
      ...{ revision: 0, field: 'data.publicKey', expected, found: `"${KEY.publicKey}"` },
    });
    expect((await verify(logOf(HISTORY), { trusted: [trust(other), trust(KEY)] })).ok).toBe(true);
    const log = logOf(HISTORY);
    const { publicKey } = KEY;
    const data = { format: 'urn-log@1' as const, logId: STUDY.slice(6), logName: LOG_NAME, publicKey };
    log.append('log', { type: 'LogCreated', data, sections: {} }, OPERATOR);
    expect(await divergenceOf(log, 'log')).toMatchObject({ revision: 1, field: 'type' });
  });

  it('there is a stream of a kind that this build does not know', async () => {
    const log = logOf(HISTORY);
    log.byStream.set('later', [{ ...(log.of('access')[0] as SourceRecord), stream: 'later' }]);
    const report = await verify(log);
    expect(report.ok).toBe(false);
    expect(streamOf(report, 'later').divergence).toMatchObject({ revision: 0, field: 'revision' });
  });

  it('a log lacks its first record', async () => {
    const log = logOf(HISTORY);
    log.byStream.delete('log');
    const report = await verify(log);
    expect(report).toMatchObject({ ok: false, log: undefined });
    const divergence = { revision: 0, why: 'the stream has no record' };
    expect(streamOf(report, 'log').divergence).toMatchObject(divergence);
    expect(streamOf(report).sound).toBe(true);
  });
});

const SALT = 'ab'.repeat(16);

/** Every record of the study from that revision on with one salt for all sections, or for those that are named. */
function saltedAlike(from: number, names?: readonly string[]): Log {
  const log = logOf(HISTORY);
  for (let revision = from; revision < HISTORY.length; revision++)
    change(log, revision, (_, sealed) => {
      for (const [name, section] of Object.entries<Json>(sealed))
        if (!names || names.includes(name)) section.salt = SALT;
    });
  return log;
}

describe('a salt shared by several sections', () => {
  it('is a failure in a log, reported at the first section that reuses the salt', async () => {
    // Revision 5 is an allocation without an idempotency key.
    const report = await verify(saltedAlike(5, ['allocation']));
    expect(report.ok).toBe(false);
    expect(streamOf(report).divergence).toMatchObject({ revision: 6, field: 'allocation.salt' });
    expect(reportText(report)).toContain('another section has this salt');
  });

  it('is a failure across the streams of a log', async () => {
    const log = logOf(HISTORY);
    const [key] = log.of('access');
    const { salt } = JSON.parse(Buffer.from((key as SourceRecord).sealed).toString()).credential;
    change(log, 8, (_, sealed) => Object.assign(sealed.draw, { salt }));
    expect(await divergenceOf(log)).toMatchObject({ revision: 8, field: 'draw.salt' });
  });

  it.each(CONTENTS)('is a failure in a bundle of content %s, if only by equal seals', async (content) => {
    const report = await verify(bundled(saltedAlike(0, ['allocation']), content));
    expect(report.ok).toBe(false);
    const { divergence } = streamOf(report);
    expect(divergence?.field).toBe(content === 'blinded' ? 'seals.allocation' : 'allocation.salt');
    // Both arms were drawn before one of them was drawn again, so equal seals show it only then.
    expect(divergence?.revision).toBeGreaterThan(1);
  });
});

describe('a backdated record', () => {
  const codes = async (log: Log) => streamOf(await verify(log)).warnings.map(({ code }) => code);

  it('is distinguished from one whose clock differs by a second', async () => {
    const log = logOf([], KEYS);
    const at = JSON.parse(Buffer.from((log.of('access')[2] as SourceRecord).record).toString()).at;
    const earlier = (ms: number) => new Date(Date.parse(at) - ms).toISOString();
    const enrolled = (ms: number) =>
      logOf([step(REGISTERED.command, REGISTERED.actor, at), step(randomize('1'), nurse(2), earlier(ms))]);
    expect(await codes(enrolled(1000))).toEqual([]);
    expect(await codes(enrolled(1001))).toContain('older-than-access');
  });

  it('has an id from another time, which is a warning', async () => {
    const dated = (ms: number) =>
      change(logOf([REGISTERED, enrol(1)]), 1, (record) => {
        record.at = new Date(Date.parse(record.at) + ms).toISOString();
      });
    expect(await codes(dated(5000))).toEqual([]);
    expect(await codes(dated(5001))).toEqual(['id-of-another-time']);
  });

  it('may have an id without any time, which is also a warning', async () => {
    const id = '5a1e0f6c-30f7-4d21-9c3e-6a0f5d2b7c12';
    const log = change(logOf([REGISTERED]), 0, (record) => Object.assign(record, { id }));
    expect(await codes(log)).toEqual(['id-of-another-time']);
  });
});

const keys = [...KEYS, ...LIFE_KEYS];
const told = async (log: RecordSource) => {
  const report = await verify(log);
  return { ...streamOf(report), text: reportText(report) };
};
const CLOSED = step({ act: 'StudyClosed', user: 'operator', cause: 'end', reason: 'end' }, OPERATOR);

describe('the report of a study', () => {
  it('says what happened in it, and warns where somebody should look', async () => {
    const { life, warnings, sound, text } = await told(logOf([...HISTORY, ...LATER_LIFE], keys));
    expect(sound).toBe(true);
    expect(life).toEqual({
      ...{ state: 'open', revealed: { emergency: 1, planned: 1 } },
      ...{ unblindingReported: 1, peopleUnblinded: 2 },
    });
    expect(text).toContain(
      '\n  open; code-breaks: 1 in an emergency, 1 other; 1 unblinding without the service reported; people unblinded: 2\n',
    );
    expect(text).toMatch(/ Look at the 5 warnings above\.$/m);
    expect(warnings.map(({ code, count, revision }) => [code, count, revision])).toEqual([
      ['revealed', 1, 10],
      ['approval-asserted', 2, 11],
      ['unblinding-reported', 1, 12],
      ['revealed-in-emergency', 1, 14],
      ['recorded-late', 1, 14],
    ]);
  });

  it('counts no voiding that was taken back', async () => {
    const { life } = await told(logOf([...HISTORY, ...LATER_LIFE, ...CORRECTIONS], keys));
    expect(life).toMatchObject({ corrected: 1, idsCorrected: 2 });
    expect(life).not.toHaveProperty('voided');
  });

  it.each([
    ['open', [REGISTERED]],
    ['paused', [REGISTERED, PAUSED]],
    ['closed', [REGISTERED, PAUSED, CLOSED]],
  ] as const)('says only that it is %s if nothing else happened', async (state, steps) => {
    const { life, text, warnings } = await told(logOf(steps));
    expect([life, warnings]).toEqual([{ state }, []]);
    expect(text).toContain(`\n  ${state}\n`);
  });

  it('counts only what comes before a divergence', async () => {
    const log = logOf([...HISTORY, ...LATER_LIFE], keys);
    change(log, 11, ({ data }) => Object.assign(data, { cause: 'x' }));
    const { life, divergence } = await told(log);
    expect(divergence?.revision).toBe(11);
    expect(life).toEqual({ state: 'paused', revealed: { planned: 1 }, peopleUnblinded: 1 });
  });

  it('says nothing about a study whose registration is not sound', async () => {
    const log = change(logOf([REGISTERED]), 0, ({ data }) => Object.assign(data, { seedWeak: 1 }));
    expect((await told(log)).life).toBeUndefined();
  });
});

describe('what somebody may have done to choose arms', () => {
  const [LEVELS = [], OTHER = []] = [0, 1].map((i) =>
    CONFIGURATION.factors.map(({ levels }) => levels[i] ?? ''),
  );
  const hour = (hours: number) => new Date(Date.UTC(2026, 2, 1, 9) + hours * 3_600_000).toISOString();
  const started = step(REGISTERED.command, OPERATOR, hour(0));
  const drawn = (id: string, hours: number, levels = LEVELS) =>
    step(randomize(id, { levels }), nurse(), hour(hours));
  const said = { user: 'clerk', note: 'screened twice' };
  const voided = (participantId: string, hours: number) => {
    const why = { cause: 'never-enrolled', analysis: 'exclude' };
    return step({ act: 'AllocationVoided', participantId, ...why, ...said }, clerk, hour(hours));
  };
  const reinstated = (participantId: string, hours: number) =>
    step({ act: 'AllocationReinstated', participantId, ...said }, clerk, hour(hours));
  const lifeOf = async (...steps: Step[]) => (await told(logOf([started, ...steps], keys))).life;
  const pairs = async (...steps: Step[]) =>
    (await lifeOf(...steps))?.secondDraws?.map(({ draws }) =>
      draws.map((one) => [one.participant, one.next]),
    );

  it('names who was voided, if somebody with the same levels came within a day, before the voiding or after it', async () => {
    const again = [drawn('001', 0), voided('001', 1), drawn('002', 2), voided('002', 3), drawn('003', 26.9)];
    const chain = [
      ['001', '002'],
      ['002', '003'],
    ];
    expect(await pairs(...again)).toEqual([chain]);
    expect(await pairs(drawn('001', 0), drawn('002', 23), voided('001', 900))).toEqual([[['001', '002']]]);
    for (const none of [
      [drawn('001', 0), voided('001', 1), drawn('002', 25.1)],
      [drawn('001', 0), voided('001', 1), drawn('002', 2, OTHER)],
      [drawn('001', 0), voided('001', 1), drawn('002', 2), reinstated('001', 3)],
    ])
      expect(await lifeOf(...none)).not.toHaveProperty('secondDraws');
  });

  it('counts by user how often the arms differed, and which were kept, unless arms are withheld', async () => {
    const steps = [
      drawn('001', 0),
      voided('001', 1),
      drawn('002', 2),
      reinstated('001', 3),
      voided('002', 4),
    ];
    const log = logOf([started, ...steps], keys);
    // The last voiding of 001 is followed by 002, and it is 002 that is voided in the end.
    const draws = [{ participant: '001', revision: 2, voidedBy: 'clerk', next: '002', nextBy: 'nurse' }];
    const [first = '', second = ''] = log.of(STUDY).flatMap((row) => {
      const { type, sections } = decodeRecord(row);
      return type === 'ParticipantRandomized' ? [sections.allocation.treatment] : [];
    });
    const differed = Number(first !== second);
    const { life, text } = await told(log);
    expect(life?.secondDraws).toEqual([
      { user: 'nurse', draws, differed, kept: [{ treatment: first, count: 1 }] },
    ]);
    const line = `1 participant whom nurse randomized was voided, and somebody with the same levels was randomized within 24 hours`;
    const each = '    001, voided by clerk (revision 2); 002, randomized by nurse';
    expect(text).toContain(
      `\n  WORTH A LOOK: ${line}; the second arm differed in ${differed} of 1; kept: 1 ${first}\n${each}\n`,
    );
    const blinded = await told(bundled(log, 'blinded'));
    expect(blinded.life?.secondDraws).toEqual([{ user: 'nurse', draws }]);
    expect(blinded.text).toContain(`${line}\n${each}\n`);
  });

  const amended = (amendment: number, hours: number, ...changes: DesignChange[]) => {
    const approvals = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }];
    const asked = { type: 'amend', user: 'manager', reason: 'as planned' } as const;
    const actor = { keyId: 'k0033', user: 'manager', accessRevision: KEYS.length };
    return step({ ...asked, amendment, changes, approvals }, actor, hour(hours));
  };
  const ratio = (...value: number[]): DesignChange => ({ kind: 'ratio', value });
  const arm = { treatment: CONFIGURATION.treatments[2] ?? '' };

  it.each<[string, DesignChange[], DesignChange[]]>([
    ['ratio', [ratio(20, 1, 1)], [ratio(1, 1, 1)]],
    ['arms', [{ kind: 'arm-closed', ...arm }], [{ kind: 'arm-reopened', ...arm }]],
    ['limits', [{ kind: 'limits', value: { total: 9 } }], [{ kind: 'limits' }]],
    ['urn', [{ kind: 'urn', beta: 100 }], [{ kind: 'urn', beta: 1 }]],
  ])(
    'names an amendment of the %s that was undone after five randomizations or fewer',
    async (setting, there, back) => {
      const study = (between: number, ...detour: Step[]) => {
        const enrolled = Array.from({ length: between }, (_, i) => drawn(`10${i}`, 3));
        return lifeOf(
          drawn('001', 1),
          amended(1, 2, ...there),
          ...enrolled,
          ...detour,
          amended(2 + detour.length, 5, ...back),
        );
      };
      const [by, undoneBy] = ['manager', 'manager'];
      const undone = { setting, amendment: 1, by, undoneWith: 2, undoneBy };
      const randomized = ['100', '101', '102', '103', '104'];
      expect((await study(5))?.undoneAmendments).toEqual([{ ...undone, randomized }]);
      const detour = await study(1, amended(2, 4, { kind: 'target', value: 60 }));
      expect(detour?.undoneAmendments).toEqual([{ ...undone, undoneWith: 3, randomized: ['100'] }]);
      expect(await study(6)).not.toHaveProperty('undoneAmendments');
    },
  );
});

it.each([
  ['ListRegistered', 'entries[0]', 'list.entries[0]'],
  ['ListRegistered', 'file', 'data.file'],
  ['CodesRegistered', 'entries', 'codes.entries'],
  ['CodesWithdrawn', 'codes', 'withdrawn.codes'],
  ['AllocationForced', 'treatment', 'allocation.treatment'],
  ['AllocationForced', 'occurredAt', 'data.occurredAt'],
] as const)('%s is refused for its %s, which is %s in the record', (type, field, path) => {
  expect(undecided(type, { type: 'impossible', field, why: 'so' })).toMatchObject({ field: path, why: 'so' });
});

it('an id must match the pattern that an amendment has made', async () => {
  const amended = step(
    {
      ...{ type: 'amend', user: 'operator', amendment: 1, reason: 'protocol 3' },
      changes: [{ kind: 'id-pattern', value: '[0-9]{3}' }],
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27' }],
    },
    OPERATOR,
  );
  const log = logOf([REGISTERED, amended, enrol(1)]);
  expect((await verify(log)).ok).toBe(true);
  const divergence = await divergenceOf(change(log, 2, ({ data }) => (data.participantId = 'x01')));
  expect(divergence).toMatchObject({ revision: 2, field: 'data.participantId', expected: '"[0-9]{3}"' });
});

it('an id that looks like one that somebody else was given later is a warning', () => {
  const warnings = new Warnings();
  const ids = new IdChecks(warnings, undefined);
  const isRandomized = (id: string) => ['1', '2'].includes(id);
  ids.take({ participantId: '1' }, '1', 1, isRandomized);
  ids.take({ participantId: '1' }, 'A1', 2, isRandomized);
  ids.take({ participantId: '1' }, 'A\u200b1', 3, isRandomized);
  expect(warnings.list()).toEqual([]);
  ids.take({ participantId: '2' }, '\uff211', 4, isRandomized);
  expect(warnings.list()).toMatchObject([{ code: 'look-alike-ids', count: 1, revision: 4 }]);
});
