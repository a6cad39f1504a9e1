/** What can happen in a study besides allocations. Who may do it is tested in acts.test.ts. */

import { describe, expect, it } from 'vitest';
import type { StudyFact } from '../../../events/catalogue.ts';
import type { Actor } from '../../../events/record.ts';
import { registeredDesign } from '../../../projections/design.ts';
import { isWithin } from '../../../src/core/model/key-limits.ts';
import type { StudyOutcome } from '../../../src/core/model/outcomes.ts';
import { STATUSES, type Status } from '../../../src/core/model/status.ts';
import { studyState } from '../../../src/core/study/state.ts';
import { type FlatAct, type Written, writtenDecider } from '../../support/acts.ts';
import {
  CONFIGURATION,
  event,
  LEVELS,
  NURSE,
  OPERATOR,
  paused,
  REGISTER,
  randomize,
  randomized,
  registered,
  resumed,
  SEED,
} from '../../support/facts.ts';
import { type Happened, sentences } from '../../support/given.ts';
import { beginImport, drawnRows } from '../../support/import-facts.ts';

const given = sentences(writtenDecider, studyState.initial);
type History = readonly Happened<StudyFact>[];
type FactOf<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>;

const ID = '001-0001';
const APPROVAL = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-09-01' };
const REVEAL_ID = '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c3e';
const ANOTHER = '7b0e6a52-4f1d-4b92-8f5e-1c2d3e4f5a6b';
const GROUNDS = { reason: 'anaphylaxis, ICU', requestedBy: 'Dr. K.' };
const user = 'nurse';

const PAUSE = { act: 'StudyPaused', user, reason: 'data review' } as const;
const RESUME = { act: 'StudyResumed', user, reason: 'review done' } as const;
const CLOSE = { act: 'StudyClosed', user, cause: 'target', reason: '300 randomized' } as const;
const REOPEN = { act: 'StudyReopened', user, reason: 'target raised', approvals: [APPROVAL] } as const;
const REVEAL: FlatAct = {
  ...{ act: 'AllocationRevealed', user, participantId: ID, category: 'emergency' },
  ...{ grounds: GROUNDS, reveal: REVEAL_ID },
};
const REPORT: FlatAct = {
  ...{ act: 'UnblindingReported', user, participantId: ID, how: 'envelope' },
  ...{ inadvertent: false, occurredAt: '2026-03-01T08:00:00.000Z', grounds: GROUNDS },
};
const RECOVER = { type: 'recover', recovery: 1, kept: 2, seed: SEED } as const;

const closed: FactOf<'StudyClosed'> = {
  type: 'StudyClosed',
  data: { cause: 'target', reason: '300 randomized' },
  sections: {},
};
const reopened: FactOf<'StudyReopened'> = {
  type: 'StudyReopened',
  data: { approvals: [APPROVAL], reason: 'target raised' },
  sections: {},
};
const revealed: FactOf<'AllocationRevealed'> = {
  type: 'AllocationRevealed',
  data: { category: 'emergency', participantId: ID, randomizedAt: 1, reveal: REVEAL_ID },
  sections: { grounds: GROUNDS },
};
const reported: FactOf<'UnblindingReported'> = {
  type: 'UnblindingReported',
  data: { how: 'envelope', occurredAt: '2026-03-01T08:00:00.000Z', participantId: ID, randomizedAt: 1 },
  sections: { grounds: GROUNDS },
};

/** One participant, at revision 1, under the idempotency key `visit-7` of `nurse`. */
const OPEN: History = [registered(), randomized(ID)];
const PAUSED: History = [...OPEN, paused];
const CLOSED: History = [...OPEN, closed];
/** The same participant, imported from another system. */
const IMPORTING: History = importingOf(ID);
const HISTORIES: Readonly<Record<Status, readonly History[]>> = {
  open: [OPEN, [...PAUSED, resumed], [...CLOSED, reopened], [...PAUSED, closed, reopened]],
  paused: [PAUSED, [...CLOSED, reopened, paused]],
  closed: [CLOSED, [...PAUSED, closed]],
  importing: [IMPORTING],
};

function importingOf(participantId: string): StudyFact[] {
  const [row] = drawnRows([{}]);
  if (!row) throw new Error('no row');
  const facts: StudyFact[] = [registered()];
  for (const command of [beginImport([row]), { ...row, participantId }]) {
    const { fact } = writtenDecider.decide(stateAfter(facts), command);
    if (fact) facts.push(fact);
  }
  return facts;
}

function stateAfter(history: History) {
  return history.reduce((state, happened, revision) => {
    const { by, fact } = 'by' in happened ? happened : { by: NURSE, fact: happened };
    return writtenDecider.evolve(state, event(fact, revision, { actor: by }));
  }, studyState.initial());
}

function outcomeOf(history: History, command: Written): StudyOutcome {
  const { fact, outcome } = writtenDecider.decide(stateAfter(history), command);
  // There is a fact exactly if something was done.
  expect(fact !== undefined, outcome.type).toBe(DONE.includes(outcome.type));
  return outcome;
}

const DONE: readonly StudyOutcome['type'][] = [
  ...(['amended', 'recorded', 'randomized', 'recovered', 'registered'] as const),
];

function withRequest<F extends StudyFact>(fact: F, idempotencyKey: string): F {
  return { ...fact, sections: { ...fact.sections, request: { idempotencyKey } } };
}

/** What an act on the study gives. */
const RECORDED = { type: 'recorded', moves: false, data: expect.any(Object) } as const;
/** What an act on the participant gives. */
const RECORDED_OF_IT = {
  type: 'recorded',
  participantId: ID,
  moves: false,
  data: expect.any(Object),
} as const;
const already = (why: string) => ({ type: 'already', why }) as const;
const refused = (because: Status) => ({ type: 'refused', because }) as const;
const impossible = (field: string, why: string) => ({ type: 'impossible', field, why }) as const;

const DESIGN = registeredDesign(CONFIGURATION);

describe('a command in each state of the study', () => {
  const randomizedNow = { type: 'randomized', participantId: '001-0002' } as const;

  it.each<[string, Written, Readonly<Record<Status, StudyOutcome>>]>([
    [
      'pause',
      PAUSE,
      {
        open: RECORDED,
        paused: already('the study is paused already'),
        closed: refused('closed'),
        importing: refused('importing'),
      },
    ],
    [
      'resume',
      RESUME,
      {
        open: already('the study is not paused'),
        paused: RECORDED,
        closed: refused('closed'),
        importing: refused('importing'),
      },
    ],
    [
      'close',
      CLOSE,
      {
        open: RECORDED,
        paused: RECORDED,
        closed: already('the study is closed already'),
        importing: refused('importing'),
      },
    ],
    [
      'reopen',
      REOPEN,
      {
        open: already('the study is not closed'),
        paused: refused('paused'),
        closed: RECORDED,
        importing: refused('importing'),
      },
    ],
    [
      'reveal',
      REVEAL,
      { open: RECORDED_OF_IT, paused: RECORDED_OF_IT, closed: RECORDED_OF_IT, importing: RECORDED_OF_IT },
    ],
    [
      'report',
      REPORT,
      { open: RECORDED_OF_IT, paused: RECORDED_OF_IT, closed: RECORDED_OF_IT, importing: RECORDED_OF_IT },
    ],
    [
      'randomize',
      randomize('001-0002'),
      {
        open: randomizedNow,
        paused: refused('paused'),
        closed: refused('closed'),
        importing: refused('importing'),
      },
    ],
    [
      'randomize again',
      randomize(ID),
      {
        open: { type: 'duplicate', participantId: ID, differingFactors: [] },
        paused: { type: 'duplicate', participantId: ID, differingFactors: [] },
        closed: { type: 'duplicate', participantId: ID, differingFactors: [] },
        importing: { type: 'duplicate', participantId: ID, differingFactors: [] },
      },
    ],
    [
      'register',
      REGISTER,
      {
        open: { type: 'already-registered' },
        paused: { type: 'already-registered' },
        closed: { type: 'already-registered' },
        importing: { type: 'already-registered' },
      },
    ],
    [
      'recover',
      RECOVER,
      {
        open: { type: 'recovered' },
        paused: { type: 'recovered' },
        closed: { type: 'recovered' },
        importing: { type: 'recovered' },
      },
    ],
  ])('%s', (_, command, expected) => {
    for (const status of STATUSES)
      for (const history of HISTORIES[status])
        expect([status, outcomeOf(history, command)]).toEqual([status, expected[status]]);
  });

  it('is refused before the study is registered', () => {
    for (const command of [PAUSE, RESUME, CLOSE, REOPEN, REVEAL, REPORT, RECOVER])
      given([]).when(command).then([], { type: 'not-registered' });
  });
});

describe('a fact', () => {
  it('about a closing has the contents of the request, and approvals only if there are any', () => {
    given(OPEN).when(CLOSE).then([closed], RECORDED);
    given(OPEN)
      .when({ ...CLOSE, approvals: [APPROVAL], idempotencyKey: 'c' })
      .then([withRequest({ ...closed, data: { ...closed.data, approvals: [APPROVAL] } }, 'c')], RECORDED);
  });

  it('about a reopening has the protocol that applies from then on', () => {
    const protocol = { version: '3.0', date: '2027-09-02' };
    given(CLOSED)
      .when({ ...REOPEN, protocol })
      .then([{ ...reopened, data: { ...reopened.data, protocol } }], RECORDED);
  });

  it('about a code-break names the participant by id and revision, and no arm', () => {
    given(OPEN).when(REVEAL).then([revealed], RECORDED_OF_IT);
    const shownAt = '2026-03-01T09:00:00.000Z';
    given(CLOSED)
      .when({ ...REVEAL, shownAt })
      .then([{ ...revealed, data: { ...revealed.data, shownAt } }], RECORDED_OF_IT);
    const { treatment } = randomized(ID).sections.allocation;
    expect(JSON.stringify(writtenDecider.decide(stateAfter(OPEN), REVEAL))).not.toContain(treatment);
  });

  it('about a reported unblinding can say that a code-break was a mistake', () => {
    const mistake = { ...REPORT, inadvertent: true, revealedAt: 2 };
    const { how, occurredAt, participantId, randomizedAt } = reported.data;
    const data = { how, inadvertent: true, occurredAt, participantId, randomizedAt, revealedAt: 2 } as const;
    given([...OPEN, revealed])
      .when(mistake)
      .then([{ ...reported, data }], RECORDED_OF_IT);
  });
});

describe('an idempotency key', () => {
  const asked = { idempotencyKey: 'once' };
  const commands: readonly [string, History, FlatAct, (key: string) => StudyFact][] = [
    ['pause', OPEN, { ...PAUSE, ...asked }, (key) => withRequest(paused as FactOf<'StudyPaused'>, key)],
    ['resume', PAUSED, { ...RESUME, ...asked }, (key) => withRequest(resumed as FactOf<'StudyResumed'>, key)],
    ['close', OPEN, { ...CLOSE, ...asked }, (key) => withRequest(closed, key)],
    ['reopen', CLOSED, { ...REOPEN, ...asked }, (key) => withRequest(reopened, key)],
    ['reveal', OPEN, { ...REVEAL, ...asked }, (key) => withRequest(revealed, key)],
    ['report', OPEN, { ...REPORT, ...asked }, (key) => withRequest(reported, key)],
  ];

  it.each(commands)('gets the same answer again, in every state: %s', (_, before, command, factWith) => {
    const history = [...before, factWith('once')];
    const answer = { type: 'done-before', revision: before.length, data: expect.any(Object) } as const;
    given(history).when(command).then([], answer);
    const wasClosed = before === CLOSED || command.act === 'StudyClosed';
    const after = wasClosed ? [reopened, paused] : [closed];
    given([...history, ...(command.act === 'StudyReopened' ? [paused] : after)])
      .when(command)
      .then([], answer);
  });

  it.each(commands)('is refused with another request of any type: %s', (_, before, command, factWith) => {
    const reused = { type: 'idempotency-key-reused' } as const;
    const history = [...before, factWith('once')];
    for (const [, , other] of commands)
      if (other.act !== command.act) given(history).when(other).then([], reused);
    given(history).when(randomize('001-0002', asked)).then([], reused);
    // The participant of the history has the key `visit-7`.
    given(before)
      .when({ ...command, idempotencyKey: 'visit-7' })
      .then([], reused);
  });

  it('belongs to one user', () => {
    const history = [...OPEN, withRequest(revealed, 'once')];
    given(history)
      .when({ ...REPORT, user: 'doctor', ...asked })
      .then([withRequest(reported, 'once')], RECORDED_OF_IT);
  });

  it('covers the whole request except the UUID and the time of a code-break', () => {
    const history = [...OPEN, withRequest(revealed, 'once')];
    const answer = { type: 'done-before', revision: 2, data: expect.any(Object) } as const;
    const again = { ...REVEAL, ...asked };
    given(history)
      .when({ ...again, reveal: ANOTHER, shownAt: '2026-03-01T09:00:00.000Z' })
      .then([], answer);
    for (const other of [
      { category: 'planned' },
      { grounds: { reason: 'another' } },
      { grounds: { reason: GROUNDS.reason } },
    ] as const)
      given(history)
        .when({ ...again, ...other })
        .then([], { type: 'idempotency-key-reused' });
  });
});

describe('a code-break', () => {
  it('is recorded only once, even by different users', () => {
    const history = [...OPEN, revealed];
    for (const command of [REVEAL, { ...REVEAL, user: 'doctor', category: 'other' } as const])
      given(history).when(command).then([], { type: 'already-recorded', revision: 2 });
    given([...history, closed])
      .when(REVEAL)
      .then([], { type: 'already-recorded', revision: 2 });
  });

  it('is recorded each time somebody asks for the arm', () => {
    given([...OPEN, revealed])
      .when({ ...REVEAL, reveal: ANOTHER })
      .then([{ ...revealed, data: { ...revealed.data, reveal: ANOTHER } }], RECORDED_OF_IT);
  });

  it('must be of a participant in the study', () => {
    for (const command of [REVEAL, REPORT])
      given(OPEN)
        .when({ ...command, participantId: '001-0002' })
        .then([], { type: 'no-such-participant' });
  });

  it('can be reported as a mistake only for the participant whose code was broken', () => {
    const other = randomized('001-0002');
    const { request: _, ...sections } = other.sections;
    const history: History = [...OPEN, { ...other, sections }, revealed];
    const why = 'no code of this participant was broken at this revision';
    for (const about of [{ revealedAt: 2 }, { revealedAt: 4 }, { participantId: '001-0002', revealedAt: 3 }])
      given(history)
        .when({ ...REPORT, ...about })
        .then([], impossible('revealedAt', why));
  });
});

describe('the limits of a key', () => {
  const [sex, site] = CONFIGURATION.factors as [
    (typeof CONFIGURATION.factors)[number],
    (typeof CONFIGURATION.factors)[number],
  ];
  const within = [{ factor: site.name, levels: [...site.levels] }];
  const outside = [{ factor: sex.name, levels: ['Male'] }];

  it('hide participants outside them', () => {
    for (const command of [REVEAL, REPORT]) {
      expect(outcomeOf(OPEN, { ...command, where: within })).toMatchObject({ participantId: ID });
      given(OPEN)
        .when({ ...command, where: outside })
        .then([], { type: 'no-such-participant' });
      given(OPEN)
        .when({ ...command, where: [...within, ...outside] })
        .then([], { type: 'no-such-participant' });
    }
  });

  it('also hide earlier answers', () => {
    const history = [...OPEN, withRequest(revealed, 'once')];
    given(history)
      .when({ ...REVEAL, idempotencyKey: 'once', where: outside })
      .then([], { type: 'no-such-participant' });
  });

  it('must all be met, and must name a factor of the study', () => {
    expect(isWithin(undefined, DESIGN, LEVELS)).toBe(true);
    expect(isWithin([], DESIGN, LEVELS)).toBe(true);
    expect(isWithin([{ factor: sex.name, levels: ['Male', 'Female'] }], DESIGN, LEVELS)).toBe(true);
    expect(isWithin([{ factor: sex.name, levels: ['Male'] }], DESIGN, LEVELS)).toBe(false);
    expect(isWithin([{ factor: 'none', levels: LEVELS }], DESIGN, LEVELS)).toBe(false);
    expect(isWithin([{ factor: site.name, levels: [LEVELS[0] ?? ''] }], DESIGN, LEVELS)).toBe(false);
  });
});

describe('an approval', () => {
  const approvedOn = (on: string) => ({ ...CLOSE, approvals: [{ ...APPROVAL, on }] });

  it('is needed only to reopen a live study', () => {
    const unapproved = { ...REOPEN, approvals: [] };
    given(CLOSED)
      .when(unapproved)
      .then([], impossible('approvals', 'a live study can be reopened only with an approval'));
    const fact = registered();
    const test: History = [
      { ...fact, data: { ...fact.data, configuration: { ...CONFIGURATION, mode: 'test' } } },
      closed,
    ];
    given(test)
      .when(unapproved)
      .then([{ ...reopened, data: { ...reopened.data, approvals: [] } }], RECORDED);
  });

  it('must be dated with a calendar day', () => {
    const approvals = [APPROVAL, { ...APPROVAL, on: '2027-02-29' }];
    const why = 'it is not a day of the calendar';
    given(OPEN)
      .when({ ...CLOSE, approvals })
      .then([], impossible('approvals[1].on', why));
    given(CLOSED)
      .when({ ...REOPEN, approvals })
      .then([], impossible('approvals[1].on', why));
    given(CLOSED)
      .when({ ...REOPEN, protocol: { version: '3', date: '2027-04-31' } })
      .then([], impossible('protocol.date', why));
  });

  it.each(['2027-01-31', '2028-02-29', '2000-02-29', '0000-02-29', '9999-12-31'])(
    'can be dated %s',
    (day) => {
      expect(outcomeOf(OPEN, approvedOn(day))).toEqual(RECORDED);
    },
  );

  it.each(['2027-02-29', '2100-02-29', '2027-04-31', '2027-00-01', '2027-01-00', '2027-13-01', '2027-12-32'])(
    'cannot be dated %s',
    (day) => {
      expect(outcomeOf(OPEN, approvedOn(day))).toMatchObject({ field: 'approvals[0].on' });
    },
  );
});

describe('an approval of a request', () => {
  // In Kiritimati it is the next day from 10:00 UTC on.
  it.each([
    ['2026-11-25T09:59:59.999Z', '2026-11-25'],
    ['2026-11-25T10:00:00.000Z', '2026-11-26'],
    ['2026-12-31T10:00:00.000Z', '2027-01-01'],
  ])('asked for at %s is of %s at the latest', (askedAt, last) => {
    const next = new Date(Date.parse(last) + 86_400_000).toISOString().slice(0, 10);
    const on = (day: string) => ({ approvals: [APPROVAL, { ...APPROVAL, on: day }].slice(1) });
    const amend: Written = {
      ...{ type: 'amend', user, amendment: 1, reason: 'more', changes: [{ kind: 'target', value: 9 }] },
      ...on(last),
    };
    for (const [history, command, done] of [
      [OPEN, CLOSE, 'recorded'],
      [CLOSED, REOPEN, 'recorded'],
      [OPEN, amend, 'amended'],
    ] as const) {
      expect(outcomeOf(history, { ...command, ...on(last), askedAt })).toMatchObject({ type: done });
      // Replay leaves it out.
      expect(outcomeOf(history, { ...command, ...on(next), askedAt: undefined })).toMatchObject({
        type: done,
      });
      const refused = outcomeOf(history, { ...command, ...on(next), askedAt });
      const problem = refused.type === 'not-amendable' ? refused.problems[0] : refused;
      expect(problem).toMatchObject({ field: 'approvals[0].on', why: `${next} is in the future` });
    }
  });

  it('is not judged again when the request is repeated', () => {
    const first = { ...CLOSE, approvals: [APPROVAL], idempotencyKey: 'c' };
    const history: History = [
      ...OPEN,
      withRequest({ ...closed, data: { ...closed.data, approvals: [APPROVAL] } }, 'c'),
    ];
    expect(outcomeOf(history, { ...first, askedAt: '2026-11-25T09:00:00.000Z' })).toMatchObject({
      type: 'done-before',
    });
  });
});

describe('the fold', () => {
  it('treats an event by a person like one by a key', () => {
    const byPerson = (fact: StudyFact, by: Actor = OPERATOR) => ({ by, fact });
    expect(outcomeOf([...OPEN, byPerson(closed)], REOPEN)).toEqual(RECORDED);
  });

  it('keeps state, code-breaks and enrolments through a recovery', () => {
    const recovered: StudyFact = {
      type: 'StudyRecovered',
      data: { recovery: 1, kept: 4 },
      sections: { generator: registered().sections.generator },
    };
    const history: History = [...OPEN, revealed, closed, recovered];
    expect(outcomeOf(history, randomize('001-0002'))).toEqual(refused('closed'));
    expect(outcomeOf(history, REVEAL)).toEqual({ type: 'already-recorded', revision: 2 });
    expect(outcomeOf(history, REPORT)).toEqual(RECORDED_OF_IT);
  });
});
