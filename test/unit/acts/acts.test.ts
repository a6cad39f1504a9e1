/** Every act of the table: who may ask for it and when, what is recorded of it, and where, what it leaves, and asked for again. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogue, type StudyFact } from '../../../events/catalogue.ts';
import { AllocationReinstated } from '../../../events/corrections.ts';
import { defineEvent } from '../../../events/define.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { StudyPaused } from '../../../events/study.ts';
import {
  aboutParticipant,
  factOf,
  membersOf,
  type Permit,
  participantAct,
  placesOf,
  studyAct,
} from '../../../src/core/acts/act.ts';
import {
  ACT_NAMES,
  type ActName,
  actOf,
  commandIn,
  isCorrection,
  mayOf,
} from '../../../src/core/acts/acts.ts';
import { Note, SealedReason, StudyReason } from '../../../src/core/model/members.ts';
import type { Model } from '../../../src/core/model/model.ts';
import type { Members, StudyOutcome } from '../../../src/core/model/outcomes.ts';
import { STATUSES } from '../../../src/core/model/outcomes.ts';
import { isFree } from '../../../src/core/model/packs.ts';
import { currentId, currentLevels } from '../../../src/core/model/participants.ts';
import { decideInClear } from '../../../src/core/study/decide.ts';
import { studyState } from '../../../src/core/study/fold.ts';
import { bodyName, bodyOf, checkedBody } from '../../../src/service/http/request/body-form.ts';
import {
  ACTS,
  type ActRow,
  APPROVALS,
  COOK,
  type Codes,
  DUPAGE,
  PACKS,
  SEX,
  SITE,
  VISITS,
} from '../../support/act-table.ts';
import { asCommand, type FlatAct, tryWritten, writtenDecider } from '../../support/acts.ts';
import { ASKED, event } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { frozenSamples } from '../../support/samples.ts';
import { importingTrial, TrialRun } from '../../support/trial-run.ts';

/** Participants and packs; then levels have been renamed, one of them twice, and an id was corrected twice. */
function begun(site: string): TrialRun {
  const trial = new TrialRun({ visits: VISITS });
  trial.ask({ type: 'register-packs', list: 1, key: '0f1e2d3c4b5a69788796a5b4c3d2e1f0', entries: PACKS });
  for (const id of ['a', 'b', 'c']) trial.enrol(id, ['Female', site]);
  const renamings = [
    [SITE, DUPAGE, 'DuPage'],
    [SITE, 'DuPage', 'North'],
    [SEX, 'Male', 'Man'],
    [SEX, 'Female', 'Woman'],
  ] as const;
  for (const [i, [factor, level, to]] of renamings.entries()) {
    const amended = trial.ask({
      ...{ type: 'amend', user: 'nurse', amendment: i + 1, reason: 'new names', approvals: APPROVALS },
      changes: [{ kind: 'level-renamed', factor, level, to, alias: true }],
    });
    expect(amended).toEqual({ type: 'amended' });
  }
  for (const [participantId, to] of [
    ['b', 'y'],
    ['y', 'z'],
  ])
    trial.ask({ act: 'ParticipantIdCorrected', participantId, to, cause: 'entry' });
  expect(trial.facts).toHaveLength(11);
  return trial;
}

type Site = typeof DUPAGE | typeof COOK;
const BEGUN: Readonly<Record<Site, TrialRun>> = { [DUPAGE]: begun(DUPAGE), [COOK]: begun(COOK) };

type Row = ActRow & { readonly name: ActName };
const ROWS: readonly Row[] = Object.entries(ACTS).map(([name, row]) => ({ name: name as ActName, ...row }));
const ON_PARTICIPANTS = ROWS.filter(({ limits }) => limits !== undefined);

/** Of the study as it is. */
function codesOf({ registered }: TrialRun): Codes {
  const a = registered.participants.find('a');
  const free = PACKS.findLast(({ code }) => isFree(registered, code))?.code ?? '';
  return { held: a?.pack?.code ?? '', given: a?.dispensed?.[0]?.code ?? '', free };
}

/** The example of an act, for the study as it is. */
function example(name: ActName, trial: TrialRun, more: Members = {}): FlatAct {
  const { asked, brings } = ACTS[name];
  return { act: name, ...asked(codesOf(trial)), ...brings, ...more };
}

function recorded(trial: TrialRun, command: FlatAct, occasion = ASKED): StudyFact {
  const { length } = trial.facts;
  expect(trial.ask(command, occasion), JSON.stringify(command)).toMatchObject({ type: 'recorded' });
  expect(trial.facts).toHaveLength(length + 1);
  return trial.facts.at(-1) as StudyFact;
}

/** A study in which the example is possible. */
function lived(
  { after = [], state = 'open' }: ActRow,
  site: Site = DUPAGE,
  trial = BEGUN[site].copy(),
): TrialRun {
  for (const earlier of after) recorded(trial, example(earlier, trial));
  if (state === 'paused') recorded(trial, example('StudyPaused', trial));
  if (state === 'closed') recorded(trial, example('StudyClosed', trial));
  return trial;
}

function transfer(trial: TrialRun, from: string, to: string): void {
  recorded(trial, {
    ...{ act: 'LevelsCorrected', participantId: 'a', cause: 'transfer', note: 'moved' },
    changes: [{ factor: SITE, from, to }],
  });
}

/** The answer to the same request without its idempotency key. */
const againOf = ({ again }: ActRow) => (again.type === 'recorded' ? expect.objectContaining(again) : again);

/** What acts change. */
function shownOf(trial: TrialRun) {
  const { registered: model } = trial;
  const { status, closedAt, designs, reveals, participants, registered } = model;
  const a = participants.find('a');
  if (!a) throw new Error('the participant is lost');
  return {
    ...{ status, closedAt, reveals, halt: registered.halt },
    protocols: [...designs, model.design].map(({ protocol }) => protocol?.version),
    ...{ id: currentId(a), levels: currentLevels(a), voided: a.corrected?.voided },
    ...{ counts: trial.counts(), pack: a.pack, dispensed: a.dispensed },
    ...{ isFree: isFree(model, codesOf(BEGUN[DUPAGE]).free) },
  };
}

const without = (members: Members, names: readonly string[]) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

describe('the table of acts', () => {
  it('has a row for every act, in the order of the documents', () => {
    expect(ROWS.map(({ name }) => name)).toEqual(ACT_NAMES);
  });

  it.each(ROWS)('says who may write $name, in which states of the study', (row) => {
    const states = STATUSES.filter((status) => row.in[status] === 'possible');
    expect(actOf(row.name).may).toEqual({ scopes: row.scopes, commandLine: row.commandLine, in: states });
    expect(mayOf(row.name)).toBe(actOf(row.name).may);
    expect(actOf(row.name).about).toBe(row.limits ? 'participant' : 'study');
  });

  it('says which acts find that something recorded of a participant was wrong', () => {
    expect(ACT_NAMES.filter(isCorrection)).toEqual([
      'LevelsCorrected',
      'AllocationVoided',
      'AllocationReinstated',
      'ParticipantIdCorrected',
      'DispensationCorrected',
    ]);
  });

  it.each(ROWS)('has another value for each member that $name asks', (row) => {
    const codes = codesOf(BEGUN[DUPAGE]);
    expect(Object.keys(row.other(codes)).toSorted()).toEqual(Object.keys(actOf(row.name).asks).toSorted());
  });
});

describe('the form of', () => {
  /** Of a request with these members, in the words of the form. */
  function problems(name: ActName, members: Members): readonly string[] {
    const body = Object.entries(members).map(([member, value]) => [bodyName(member), value]);
    const checked = checkedBody({ study: 'x', ...Object.fromEntries(body) }, bodyOf(name));
    return 'problems' in checked ? checked.problems : [];
  }

  it.each(ROWS)('$name takes the example, and needs each member but those that are optional', (row) => {
    const asked = row.asked(codesOf(lived(row)));
    expect(problems(row.name, asked)).toEqual([]);
    expect(problems(row.name, { ...asked, dry_run: true })).toEqual([]);
    for (const name of Object.keys(actOf(row.name).asks)) {
      const missing = problems(row.name, without(asked, [name]));
      if (row.optional?.includes(name)) expect(missing, name).toEqual([]);
      else expect(missing, name).toEqual([expect.stringContaining(`${bodyName(name)} is missing`)]);
    }
  });

  it.each(ROWS)('$name refuses what it does not ask, and values that cannot be', (row) => {
    const asked = row.asked(codesOf(lived(row)));
    expect(problems(row.name, { ...asked, arm: 'A' })).toEqual(['arm is not a member of this request']);
    for (const [member, value, why] of row.wrong)
      expect(
        problems(row.name, { ...asked, [member]: value }),
        `${member}: ${JSON.stringify(value)}`,
      ).toEqual([why]);
  });
});

it.each([
  ['the reason of an act on a study', 1, StudyReason],
  ['a note', 1, Note],
  ['the reason of an act on a participant', 3, SealedReason],
])('%s is long enough with %i characters, not with one less', (_, least, text) => {
  const lengths = [least, least - 1];
  expect(lengths.map((length) => text.safeParse('x'.repeat(length)).success)).toEqual([true, false]);
});

describe('the record of', () => {
  it.each(ROWS)('$name has what was asked for, and leaves what follows from it', (row) => {
    const trial = lived(row);
    const earlier = shownOf(trial);
    const command = example(row.name, trial);
    const outcome = trial.ask(command);
    const { type, data, sections } = trial.facts.at(-1) as StudyFact;
    expect({ type, data, sections }).toEqual({
      type: row.name,
      data: row.records.data,
      sections: row.records.sections ?? {},
    });
    const participantId = row.limits && 'a';
    expect(outcome).toEqual({ type: 'recorded', participantId, moves: false, data });
    expect(shownOf(trial)).toMatchObject({ ...earlier, ...row.leaves });
  });

  it.each(ROWS)('$name is the same on a fork, and when it is replayed', (row) => {
    const [trial, fork, replay] = [lived(row, DUPAGE, begun(DUPAGE)), lived(row), lived(row)];
    const command = example(row.name, trial);
    for (const one of [trial, fork]) recorded(one, command);
    recorded(replay, command, { ...ASKED, mode: 'replay' });
    for (const one of [fork, replay]) {
      expect(one.facts).toEqual(trial.facts);
      expect(shownOf(one)).toEqual(shownOf(trial));
    }
  });
});

it.each<[ActName, Members, why?: string]>([
  ['CodeReplaced', { by: 'P0-0' }],
  ['CodeReplaced', { by: 'P0-2' }, 'this pack was given out before'],
  ['PackDispensed', { code: 'P0-0' }],
  ['PackDispensed', { code: 'P0-2' }, 'this pack was given out before'],
  ['CodesWithdrawn', { count: 1 }],
  ['CodesWithdrawn', { count: 2 }, 'not the number of the packs'],
])('what %s chose must be possible in a record whose lists are withheld: %j', (name, chosen, why) => {
  const { registered } = lived(ACTS[name]);
  const command = asCommand(example(name, lived(ACTS[name])));
  const decide = (model: Model) =>
    decideInClear(model, command, { ...ASKED, mode: 'replay' }, { recorded: chosen });
  const [field] = Object.keys(chosen);
  if (why) expect(decide(registered)).toEqual({ outcome: { type: 'impossible', field, why } });
  else expect(decide(registered).fact?.data).toMatchObject(chosen);
  const nothing = decide({ ...registered, lists: 0 });
  if (name !== 'CodesWithdrawn') expect(nothing).toEqual({ outcome: { type: 'no-code' } });
});

it.each(ROWS)(
  'a dry run of $name says what would be recorded but for what is chosen, and leaves nothing',
  (row) => {
    const [trial, untouched] = [lived(row), lived(row)];
    const command = example(row.name, trial, { idempotencyKey: 'k' });
    const tried = tryWritten(trial.state, command);
    const decided = writtenDecider.decide(trial.state, command);
    // Deciding is pure: it moves nothing, and can be repeated.
    expect(writtenDecider.decide(trial.state, command)).toEqual(decided);
    expect(trial.state).toEqual(untouched.state);
    const outcome = trial.ask(command) as { data: Members };
    expect(tried).toEqual({ ...outcome, data: without(outcome.data, row.chooses ?? []) });
    expect(tryWritten(trial.state, command)).toMatchObject({ type: 'done-before' });
  },
);

describe('in each state of the study', () => {
  it.each(ROWS)('$name is possible or refused', (row) => {
    for (const status of STATUSES) {
      const trial =
        status === 'importing' ? importingTrial({ visits: VISITS }) : lived({ ...row, state: status });
      const expected = row.in[status];
      const command = example(row.name, trial);
      const refused = { type: 'refused', because: status };
      const other = typeof expected === 'string' ? refused : { type: 'already', why: expected.already };
      const answer = expected === 'possible' ? expect.objectContaining({ type: 'recorded' }) : other;
      for (const outcome of [tryWritten(trial.state, command), trial.ask(command)])
        expect([status, outcome]).toEqual([status, answer]);
    }
  });

  it.each(ROWS)('$name is refused before the study is registered', ({ name }) => {
    const command = example(name, BEGUN[DUPAGE]);
    for (const outcome of [
      writtenDecider.decide(studyState.initial(), command).outcome,
      tryWritten(studyState.initial(), command),
    ])
      expect(outcome).toEqual({ type: 'not-registered' });
  });

  it.each(ROWS)('$name is refused if the design has been amended since it was judged', (row) => {
    const trial = lived(row);
    const command = example(row.name, trial, { amendment: 3 });
    expect(trial.ask(command)).toEqual({ type: 'amended-meanwhile' });
    expect(trial.ask({ ...command, amendment: 4 })).toMatchObject({ type: 'recorded' });
  });
});

describe('the participant of', () => {
  const UNKNOWN: StudyOutcome = { type: 'no-such-participant' };
  const where = [{ factor: SITE, levels: [DUPAGE] }];

  it.each(ON_PARTICIPANTS)('$name must be in the study, from the enrolment that is meant', (row) => {
    const trial = lived(row);
    const command = example(row.name, trial);
    expect(trial.ask({ ...command, participantId: 'nobody' })).toEqual(UNKNOWN);
    expect(trial.ask({ ...command, randomizedAt: 3 })).toEqual(UNKNOWN);
    expect(trial.ask({ ...command, randomizedAt: 2 })).toMatchObject({ type: 'recorded' });
  });

  it.each(ON_PARTICIPANTS)('$name must be within the limits of the key ($limits)', (row) => {
    const sites = [
      ['stayed within', DUPAGE, undefined, true],
      ['left', DUPAGE, COOK, row.limits === 'now-or-as-randomized'],
      ['came', COOK, DUPAGE, true],
      ['stayed outside', COOK, undefined, false],
    ] as const;
    for (const [why, from, to, isSeen] of sites) {
      const trial = lived(row, from);
      if (to) transfer(trial, from, to);
      const command = example(row.name, trial, { where });
      for (const outcome of [tryWritten(trial.state, command), trial.ask(command)])
        expect(outcome, why).toEqual(isSeen ? expect.objectContaining({ type: 'recorded' }) : UNKNOWN);
    }
  });
});

describe('asked for again,', () => {
  it.each(ROWS)('$name is so already, or is recorded once more', (row) => {
    const trial = lived(row);
    const command = example(row.name, trial);
    recorded(trial, command);
    for (const outcome of [tryWritten(trial.state, command), trial.ask(command)])
      expect(outcome).toEqual(againOf(row));
  });

  it.each(ROWS)('$name with the same idempotency key gets the same answer, in every state', (row) => {
    const trial = lived(row);
    const command = example(row.name, trial, { idempotencyKey: 'k' });
    const { data, sections } = recorded(trial, command);
    expect(sections).toMatchObject({ request: { idempotencyKey: 'k' } });
    const revision = trial.facts.length - 1;
    const again = [{}, ...(row.alike ?? [])].map((words) => ({ ...command, ...words }));
    const ofRecord = commandIn(actOf(row.name), event(trial.facts[revision] as StudyFact, revision));
    for (const next of ['nothing', 'StudyPaused', 'StudyClosed', 'StudyReopened'] as const) {
      if (next !== 'nothing') trial.ask(example(next, trial));
      for (const one of [...again, ofRecord])
        expect(trial.ask(one), `after ${next}`).toEqual({ type: 'done-before', revision, data });
    }
  });

  it.each(ROWS)(
    '$name with the same key is another request if any member is another, and none of another user',
    (row) => {
      const trial = lived(row);
      const command = example(row.name, trial, { idempotencyKey: 'k' });
      recorded(trial, command);
      const { length } = trial.facts;
      for (const [member, value] of Object.entries(row.other(codesOf(BEGUN[DUPAGE]))))
        expect(trial.ask({ ...command, [member]: value }), member).toEqual({
          type: 'idempotency-key-reused',
        });
      expect(trial.facts).toHaveLength(length);
      expect(trial.ask({ ...command, user: 'doctor' })).toEqual(againOf(row));
    },
  );

  it.each(ROWS)('$name with the key of any other act is another request', (row) => {
    const trial = lived(row);
    const earlier = row.name === 'UnblindingReported' ? 'AllocationRevealed' : 'UnblindingReported';
    recorded(trial, example(earlier, trial, { idempotencyKey: 'k' }));
    expect(trial.ask(example(row.name, trial, { idempotencyKey: 'k' }))).toEqual({
      type: 'idempotency-key-reused',
    });
  });

  it.each(ON_PARTICIPANTS)('$name is confirmed to a key whose limits the participant has left', (row) => {
    const trial = lived(row, COOK);
    transfer(trial, COOK, DUPAGE);
    const where = [{ factor: SITE, levels: [DUPAGE] }];
    const command = example(row.name, trial, { idempotencyKey: 'k', where });
    recorded(trial, command);
    transfer(trial, DUPAGE, COOK);
    expect(trial.ask(command)).toMatchObject({
      type: row.isConfirmedWithin ? 'no-such-participant' : 'done-before',
    });
  });
});

/** Resolved once, they stay as they are, and the request is known by them again. */
describe('the words in which a request is recorded', () => {
  const { registered } = BEGUN[DUPAGE];
  const resolved = (name: ActName, asked: Members) => actOf(name).resolve?.(asked, registered) ?? asked;

  it('really differ from those of some requests', () => {
    const from = [
      { factor: SITE, from: DUPAGE, to: COOK },
      { factor: SEX, from: 'Female', to: 'Male' },
    ];
    // In the order of the design.
    expect(resolved('LevelsCorrected', { changes: from })).toMatchObject({
      changes: [{ from: 'Woman' }, { from: 'North' }],
    });
    expect(resolved('AllocationVoided', { duplicateOf: 'z' })).toEqual({ duplicateOf: 'b' });
    expect(resolved('StudyClosed', { approvals: [] })).toEqual({});
    expect(resolved('StudyReopened', {})).toEqual({ approvals: [] });
    expect(resolved('UnblindingReported', { occurredAt: '2026-03-02T21:40Z', inadvertent: false })).toEqual({
      occurredAt: '2026-03-02T21:40:00.000Z',
    });
  });

  const text = fc.constantFrom('review', 'slip');
  const id = fc.constantFrom('a', 'b', 'c', 'y', 'z', 'nobody');
  const visit = fc.constantFrom('V2', 'v2', 'U1');
  const level = fc.constantFrom(COOK, DUPAGE, 'DuPage', 'North', 'Male', 'Man', 'Woman', 'Nowhere');
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  /** What a member may be. Others are as in the table, in any mixture. */
  const ANY: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    ...{ participantId: id, duplicateOf: maybe(id), reason: text, note: text, requestedBy: maybe(text) },
    approvals: maybe(fc.constantFrom([], APPROVALS)),
    changes: fc.array(fc.record({ factor: fc.constantFrom(SEX, SITE, 'age'), from: level, to: level })),
    ...{ visit, to: fc.oneof(id, visit, fc.constant(null)) },
    occurredAt: fc.constantFrom('2026-03-02T21:40Z', '2026-03-02T21:40:00.5Z', '2026-03-02T21:40:00.123456Z'),
    ...{ inadvertent: maybe(fc.boolean()), revealedAt: maybe(fc.nat(20)) },
  };

  it.each(ROWS)('stay the same when they are asked for: $name', ({ name, asked, other }) => {
    const codes = codesOf(BEGUN[DUPAGE]);
    const members = Object.entries(other(codes)).map(([member, value]) => [
      member,
      ANY[member] ?? fc.constantFrom(asked(codes)[member], value),
    ]);
    check(
      fc.property(fc.record<Members>(Object.fromEntries(members)), (words) => {
        const once = resolved(name, words);
        expect(resolved(name, once)).toEqual(once);
      }),
    );
  });
});

/** Who may write which event of a study, and when: the same in the documents. */
const DOCUMENT = new URL('../../../docs/event-log.md', import.meta.url);
const [, TABLE = ''] =
  /\| Event \| Command line \|[^\n]*\n\|[-|]+\|\n((?:\|.*\|\n)+)/.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
/** Every event of a study, in the order of the table. */
const TYPES = [...TABLE.matchAll(/^\| `(\w+)`/gm)].map(([, type]) => type as StudyFact['type']);

describe('the table of rights in docs/event-log.md', () => {
  it('lists every event of a study and no others', () => {
    const types = catalogue.all().flatMap(({ stream, type }) => (stream === 'study' ? [type] : []));
    expect(TYPES.toSorted()).toEqual([...new Set(types)].sort());
  });

  it('says of each who may write it, in which states', () => {
    const listed = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ') || '–';
    const rows = TYPES.map((type) => {
      const { commandLine, scopes, in: states } = mayOf(type);
      return `| \`${type}\` | ${commandLine ? 'yes' : 'no'} | ${listed(scopes)} | ${listed(states)} |\n`;
    });
    expect(TABLE).toBe(rows.join(''));
  });
});

const may: Permit = { scopes: ['correct'], commandLine: true, in: ['open'] };

/** Every sample of an act, without salts, and with the idempotency key of its request. */
const samples = frozenSamples().flatMap((sample) => {
  const event = decodeRecord(sample);
  const act = actOf(event.type);
  if (!act) return [];
  const sections = Object.entries<object>(event.sections).map(([name, section]) => {
    const { salt: _, ...members } = section as { readonly salt: string };
    return [name, members];
  });
  const unsalted = { ...event, sections: Object.fromEntries(sections) } as LogEvent;
  const { request } = event.sections as { readonly request?: { readonly idempotencyKey: string } };
  return [{ name: sample.name, event: unsalted, writes: act.writes, key: request?.idempotencyKey }];
});

describe('a member of an act', () => {
  it('must have a place in the record, or the program does not start', () => {
    const about = { writes: AllocationReinstated, may, asks: aboutParticipant };
    expect(() => participantAct(about)).not.toThrow();
    expect(() => participantAct({ ...about, asks: { ...aboutParticipant, cause: z.string() } })).toThrow(
      'AllocationReinstated has no member cause',
    );
    expect(() => participantAct({ ...about, brings: ['cause' as never] })).toThrow('no member cause');
    const chooses = {
      ...{ members: ['by' as never], none: () => ({ type: 'no-code' }) as const, problem: () => undefined },
      ...{ lacks: () => false, choose: () => undefined },
    };
    expect(() => participantAct({ ...about, chooses })).toThrow('no member by');
    const NO_NOTE = 'StudyPaused has no member note';
    expect(() => studyAct({ writes: StudyPaused, may, asks: { note: Note } })).toThrow(NO_NOTE);
    expect(() => factOf(StudyPaused, { reason: 'review', note: 'slip' }, undefined)).toThrow(NO_NOTE);
  });

  it('stands in one place: an event cannot have two of one name', () => {
    const parts = { stream: 'study', data: z.strictObject({ note: z.string() }), sections: {} } as const;
    const inTwo = defineEvent('InTwo', 1, { ...parts, optionalSections: { note: { text: z.string() } } });
    expect(() => placesOf(inTwo)).toThrow('InTwo has two members note');
    const grounds = { reason: z.string() };
    const sealedTwice = defineEvent('SealedTwice', 1, {
      ...parts,
      optionalSections: { grounds, withdrawn: grounds },
    });
    expect(() => placesOf(sealedTwice)).toThrow('SealedTwice has two members reason');
  });
});

describe('the record of an act', () => {
  it('has its members in the order of their names, in which a replay reports what differs', () => {
    const members = { voidedAt: 5, note: 'slip', randomizedAt: 1, participantId: 'a' };
    const { data, sections } = factOf(AllocationReinstated, members, 'k');
    expect(Object.keys(data)).toEqual(['participantId', 'randomizedAt', 'voidedAt']);
    expect(Object.keys(sections)).toEqual(['note', 'request']);
  });

  it('has a sample of each act', () => {
    const types = samples.map(({ event }) => event.type);
    expect(types).toEqual(expect.arrayContaining(ACT_NAMES));
  });

  it.each(samples)('is made of the members into which it is taken apart: $name', (sample) => {
    const { event, writes, key } = sample;
    const { type, data, sections } = event;
    const members = membersOf(writes, event);
    const fact = factOf(writes, members, key);
    expect(fact).toEqual({ type, data, sections });
    expect(membersOf(writes, fact)).toEqual(members);
    // Nothing is taken for a member of another name, and nothing is left out.
    const parts = { ...sections, data } as Record<string, object>;
    const inRecord = Object.entries(parts).flatMap(([part, one]) =>
      part === 'request' ? [] : Object.values(one),
    );
    const given = Object.values(members).filter((value) => value !== undefined);
    expect(given).toHaveLength(inRecord.length);
    expect(given).toEqual(expect.arrayContaining(inRecord));
    // Of sections that are withheld, there is nothing.
    const inClear = membersOf(writes, { data: event.data, sections: {} } as never);
    for (const [name, { part }] of placesOf(writes))
      expect(inClear[name], name).toEqual(part === 'data' ? members[name] : undefined);
  });
});
