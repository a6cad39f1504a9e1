/** Packs of medication: which one a participant gets, and what a caller cannot find out by asking. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Model } from '../../../src/core/model/model.ts';
import type { Members } from '../../../src/core/model/outcomes.ts';
import { isFor, isFree } from '../../../src/core/model/packs.ts';
import type { Amend, Force, RegisterPacks } from '../../../src/core/study/commands.ts';
import { studyDecider } from '../../../src/core/study/decide.ts';
import { type FlatAct, tryWritten, type Written, writtenDecider } from '../../support/acts.ts';
import { CONFIGURATION, LEVELS } from '../../support/facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';

const [COOK, DUPAGE] = ['11-Cook County – Chicago', '30-Dupage County'];
const [MART, RMCQ, RMCA] = CONFIGURATION.treatments as [string, string, string];
const KEY = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';

/** As many packs of each treatment as given; codes start with the number of the treatment. */
function packs(of: readonly (readonly [string, number])[], name = 'P'): RegisterPacks['entries'] {
  return of.flatMap(([treatment, packsOfIt], arm) =>
    Array.from({ length: packsOfIt }, (_, n) => ({ code: `${name}${arm}-${n}`, treatment })),
  );
}

const every = (number: number) => [MART, RMCQ, RMCA].map((treatment) => [treatment, number] as const);

function register(
  entries: RegisterPacks['entries'],
  list = 1,
  more: Partial<RegisterPacks> = {},
): RegisterPacks {
  return { type: 'register-packs', list, key: KEY, entries, ...more };
}

function stocked(number: number, more = {}): TrialRun {
  const trial = new TrialRun(more);
  expect(trial.ask(register(packs(every(number))))).toEqual({ type: 'codes-registered' });
  return trial;
}

function replace(participantId: string, code: string, more: Members = {}): FlatAct {
  return {
    act: 'CodeReplaced',
    user: 'nurse',
    participantId,
    code,
    cause: 'damaged',
    isSupply: false,
    ...more,
  };
}

function withdraw(codes: readonly string[], more: Members = {}): FlatAct {
  return { act: 'CodesWithdrawn', user: 'pharmacy', codes, reason: 'recalled', ...more };
}

function reveal(more: Members): FlatAct {
  return {
    ...{
      act: 'AllocationRevealed',
      user: 'physician',
      category: 'emergency',
      grounds: { reason: 'a child ate it' },
    },
    ...{ reveal: '6d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d', ...more },
  };
}

function force(participantId: string, more: Partial<Force> = {}): Force {
  return {
    ...{ type: 'force', user: 'nurse', participantId, levels: LEVELS, treatment: RMCQ, cause: 'outage' },
    ...{ occurredAt: '2999-01-01T00:00:00.000Z', note: 'envelope 12', ...more },
  };
}

function closing(treatment: string): Amend {
  return {
    ...{ type: 'amend', user: 'nurse', amendment: 1, reason: 'stopped' },
    changes: [{ kind: 'arm-closed', treatment }],
    approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }],
  };
}

const armOf = (trial: TrialRun, id: string) => trial.list.find(id)?.treatment;
const packOf = (trial: TrialRun, id: string) => trial.list.find(id)?.pack?.code ?? '';

describe('a participant in a study with packs', () => {
  it('gets the free pack of the drawn arm with the smallest hash', () => {
    const [plain, trial] = [new TrialRun(), stocked(20)];
    const left = new Set(packs(every(20)).map(({ code }) => code));
    for (let n = 0; n < 20; n++) {
      const id = `p${n}`;
      plain.enrol(id);
      trial.enrol(id);
      // The choice uses no random number of the study.
      expect(armOf(trial, id)).toBe(armOf(plain, id));
      const arm = [MART, RMCQ, RMCA].indexOf(armOf(trial, id) ?? '');
      const hashOf = (code: string) =>
        createHash('sha256').update(Buffer.from(KEY, 'hex')).update(`\0${id}\0${code}`).digest('hex');
      const own = [...left].filter((code) => code.startsWith(`P${arm}-`));
      const [first] = own.toSorted((a, b) => (hashOf(a) < hashOf(b) ? -1 : 1));
      expect(trial.last('ParticipantRandomized').code).toBe(first);
      left.delete(first ?? '');
    }
    expect(trial.bgState).toEqual(plain.bgState);
  });

  it('is refused before any draw if any arm has no pack left', () => {
    for (const lacking of [0, 1, 2]) {
      const trial = new TrialRun();
      const numbers = every(3).map(([arm, n], i) => [arm, i === lacking ? 0 : n] as const);
      trial.ask(register(packs(numbers)));
      const before = trial.bgState;
      expect(trial.enrol('a')).toEqual({ type: 'no-code' });
      expect(trial.bgState).toEqual(before);
      trial.ask(register(packs([[[MART, RMCQ, RMCA][lacking] ?? '', 1]], 'Q'), 2));
      expect(trial.enrol('a')).toMatchObject({ type: 'randomized' });
    }
  });

  it('does not need a pack of a closed arm to be left', () => {
    const trial = new TrialRun();
    trial.ask(
      register(
        packs([
          [MART, 2],
          [RMCQ, 2],
        ]),
      ),
    );
    expect(trial.enrol('a')).toEqual({ type: 'no-code' });
    trial.ask(closing(RMCA));
    expect(trial.enrol('a')).toMatchObject({ type: 'randomized' });
  });

  it('gets only packs for everybody or for one of their levels, even after a renaming', () => {
    const trial = new TrialRun();
    trial.ask(register(packs(every(1), 'C'), 1, { where: { factor: '9', level: COOK } }));
    expect(trial.enrol('a', ['Male', DUPAGE])).toEqual({ type: 'no-code' });
    trial.ask({
      ...{ type: 'amend', user: 'nurse', amendment: 1, reason: 'new name' },
      changes: [{ kind: 'level-renamed', factor: '9', level: COOK, to: 'Cook' }],
      approvals: [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2027-03-01' }],
    });
    expect(trial.enrol('a', ['Male', 'Cook'])).toMatchObject({ type: 'randomized' });
    trial.ask(register(packs(every(1), 'E'), 2));
    expect(trial.enrol('b', ['Male', DUPAGE])).toMatchObject({ type: 'randomized' });
    expect(packOf(trial, 'b')).toMatch(/^E/);
  });

  it('has no pack if randomized before the first list', () => {
    const trial = new TrialRun();
    trial.enrol('a');
    trial.ask(register(packs(every(2))));
    trial.enrol('b');
    expect([packOf(trial, 'a'), packOf(trial, 'b')]).toEqual(['', expect.stringMatching(/^P/)]);
    expect(trial.ask(replace('a', 'P0-0'))).toMatchObject({ type: 'stale' });
  });
});

describe('a list of packs', () => {
  it('must have the next number, new codes, open arms, and existing levels', () => {
    const trial = stocked(1);
    const refused: [RegisterPacks, string][] = [
      [register(packs(every(1), 'Q'), 3), 'list'],
      [register(packs(every(1)), 2), 'entries'],
      [register([...packs(every(1), 'Q'), { code: 'Q0-0', treatment: MART }], 2), 'entries'],
      [register([{ code: 'X', treatment: 'placebo' }], 2), 'entries'],
      [register([{ code: 'mart', treatment: RMCQ }], 2), 'entries'],
      [register([{ code: 'x-mart-1', treatment: RMCQ }], 2), 'entries'],
      [register(packs(every(1), 'Q'), 2, { where: { factor: '9', level: 'Will' } }), 'where.level'],
      [register(packs(every(1), 'Q'), 2, { where: { factor: 'age', level: COOK } }), 'where.factor'],
      [register(packs(every(1400), 'Q'), 2), 'count'],
    ];
    for (const [command, field] of refused) expect(trial.ask(command)).toMatchObject({ field });
    expect(trial.ask(register(packs(every(1), 'Q'), 2))).toEqual({ type: 'codes-registered' });
  });
});

describe('a replaced pack', () => {
  it('gives way to one of the same arm, and is never given again', () => {
    const trial = stocked(8);
    trial.enrol('a');
    const arm = armOf(trial, 'a');
    const seen = [packOf(trial, 'a')];
    for (let n = 0; n < 3; n++) {
      expect(trial.ask(replace('a', seen.at(-1) ?? ''))).toMatchObject({ type: 'recorded' });
      expect(armOf(trial, 'a')).toBe(arm);
      seen.push(packOf(trial, 'a'));
    }
    expect(new Set(seen.map((code) => code.slice(0, 2))).size).toBe(1);
    expect(new Set(seen).size).toBe(4);
    expect(trial.ask(replace('a', seen.at(-1) ?? ''))).toMatchObject({
      type: 'impossible',
      field: 'participantId',
    });
    expect(trial.ask(replace('a', seen.at(-1) ?? '', { isSupply: true }))).toMatchObject({
      type: 'recorded',
    });
    expect(trial.ask(replace('a', seen[0] ?? ''))).toMatchObject({ type: 'stale' });
  });

  it('does not show a site which arm is short of packs: every arm must have three, even a closed one', () => {
    for (const short of [MART, RMCQ, RMCA]) {
      const trial = stocked(4);
      trial.enrol('a');
      const ofArm = packs(every(4)).filter(
        ({ treatment, code }) => treatment === short && code !== packOf(trial, 'a'),
      );
      // The arm of the participant has three left, the others have four.
      trial.ask(withdraw(ofArm.slice(3).map(({ code }) => code)));
      trial.ask(closing(short));
      const command = replace('a', packOf(trial, 'a'));
      expect(tryWritten(trial.state, command)).toMatchObject({ type: 'recorded' });
      trial.ask(withdraw(ofArm.slice(0, 1).map(({ code }) => code)));
      for (const outcome of [tryWritten(trial.state, command), trial.ask(command)])
        expect(outcome).toEqual({ type: 'no-code' });
      // Records of earlier versions show less.
      expect(writtenDecider.decide(trial.state, { ...command, askedAt: undefined }).outcome).toMatchObject({
        type: 'recorded',
      });
      expect(trial.ask({ ...command, isSupply: true })).toMatchObject({ type: 'recorded' });
    }
  });

  it('needs one pack of the own arm with supply, whatever the others have', () => {
    const trial = stocked(2);
    trial.enrol('a');
    const [own, others] = [true, false].map((isOwn) =>
      packs(every(2)).filter(({ treatment }) => (treatment === armOf(trial, 'a')) === isOwn),
    );
    trial.ask(withdraw((others ?? []).map(({ code }) => code)));
    const command = replace('a', packOf(trial, 'a'), { isSupply: true });
    expect(tryWritten(trial.state, command)).toEqual({
      ...{ type: 'recorded', participantId: 'a', moves: false, data: expect.any(Object) },
    });
    const left = own?.find(({ code }) => code !== packOf(trial, 'a'))?.code;
    expect(trial.ask(command)).toMatchObject({ type: 'recorded', data: { by: left } });
    const next = replace('a', packOf(trial, 'a'), { isSupply: true });
    for (const outcome of [tryWritten(trial.state, next), trial.ask(next)])
      expect(outcome).toEqual({ type: 'no-code' });
  });

  it('is found wrong in every other way before the packs are counted', () => {
    const trial = stocked(1);
    trial.enrol('a');
    expect(trial.ask(replace('a', 'X'))).toMatchObject({ type: 'stale' });
    expect(trial.ask(replace('z', 'X'))).toEqual({ type: 'no-such-participant' });
  });

  it('is named in a refusal only to somebody who may read it', () => {
    const trial = stocked(4);
    trial.enrol('a');
    const why = (mayRead: boolean) => {
      const outcome = trial.ask(replace('a', 'X', { mayRead }));
      return outcome.type === 'stale' ? outcome.why : '';
    };
    expect(why(true)).toBe(`the participant has the pack ${packOf(trial, 'a')} now`);
    expect(why(false)).toBe('the participant has another pack now');
  });

  it('is not replaced for somebody who is no patient, though a record of it stays sound', () => {
    const causes = ['duplicate', 'never-enrolled', 'ineligible', 'other'] as const;
    const trial = stocked(9);
    for (const cause of causes) {
      trial.enrol(cause);
      const participantId = cause;
      const about = { user: 'nurse', participantId, note: 'slip' };
      trial.ask({ ...about, act: 'AllocationVoided', cause, analysis: 'exclude' });
      const command = replace(cause, packOf(trial, cause));
      const isPatient = cause === 'ineligible' || cause === 'other';
      expect(tryWritten(trial.state, command)).toMatchObject({ type: isPatient ? 'recorded' : 'stale' });
      if (isPatient) continue;
      expect(trial.ask(command)).toMatchObject({ why: 'the participant is voided and gets no packs' });
      expect(trial.ask({ ...command, mayRead: true, isSupply: true })).toMatchObject({
        why: `the participant is voided (${cause}) and gets no packs`,
      });
      expect(writtenDecider.decide(trial.state, { ...command, askedAt: undefined }).outcome).toMatchObject({
        type: 'recorded',
      });
      trial.ask({ ...about, act: 'AllocationReinstated' });
      expect(trial.ask(command)).toMatchObject({ type: 'recorded' });
    }
    trial.ask(force('entered', { code: 'P1-8' }));
    const about = { user: 'nurse', participantId: 'entered', note: 'slip' };
    trial.ask({ ...about, act: 'AllocationVoided', cause: 'entry', analysis: 'exclude' });
    expect(trial.ask(replace('entered', 'P1-8'))).toMatchObject({ type: 'stale' });
  });

  it('is replaced only once with the same idempotency key', () => {
    const trial = stocked(6);
    trial.enrol('a');
    const command = replace('a', packOf(trial, 'a'), { idempotencyKey: 'k' });
    const first = trial.ask(command);
    const by = packOf(trial, 'a');
    expect(first).toEqual({
      ...{ type: 'recorded', participantId: 'a', moves: false, data: expect.objectContaining({ by }) },
    });
    expect(trial.ask(command)).toMatchObject({ type: 'done-before', data: { by } });
    expect(trial.ask({ ...command, cause: 'lost' })).toEqual({ type: 'idempotency-key-reused' });
    // The answer stays that of its own event.
    trial.ask(replace('a', by));
    expect(packOf(trial, 'a')).not.toBe(by);
    for (const outcome of [trial.ask(command), tryWritten(trial.state, command)])
      expect(outcome).toMatchObject({ type: 'done-before', data: { by } });
  });
});

describe('withdrawn packs', () => {
  it('are never given, and must be free and within the limits of the key', () => {
    const trial = new TrialRun();
    trial.ask(register(packs(every(2), 'C'), 1, { where: { factor: '9', level: COOK } }));
    trial.enrol('a', ['Male', COOK]);
    const where = [{ factor: '9', levels: [DUPAGE] }];
    const [free = ''] = packs(every(2), 'C')
      .map(({ code }) => code)
      .filter((code) => code !== packOf(trial, 'a'));
    const texts = [
      withdraw([packOf(trial, 'a')]),
      withdraw(['unknown']),
      withdraw([free, free]),
      withdraw([free], { where }),
    ].map((command) => trial.ask(command));
    for (const outcome of texts) expect(outcome).toMatchObject({ type: 'impossible', field: 'codes' });
    expect(trial.ask(withdraw([free]))).toEqual({ type: 'recorded', moves: false, data: { count: 1 } });
    expect(trial.ask(withdraw([free]))).toMatchObject({ field: 'codes' });
  });
});

describe('a pack that was given outside the service', () => {
  it('is named, or said to be none, in a study with packs: silence is refused', () => {
    const trial = stocked(3);
    const silent = force('x', { idempotencyKey: 'k' });
    for (const outcome of [tryWritten(trial.state, silent), trial.ask(silent)])
      expect(outcome).toMatchObject({ type: 'impossible', field: 'code' });
    expect(trial.ask({ ...silent, code: null })).toMatchObject({ type: 'recorded' });
    expect(trial.last('AllocationForced')).not.toHaveProperty('code');
    // A request from before this was asked, sent again.
    expect(trial.ask(silent)).toMatchObject({ type: 'done-before', revision: 2 });
    const without = new TrialRun();
    expect(without.ask(force('x'))).toMatchObject({ type: 'recorded' });
  });

  it('must be free and of the arm, and a refusal does not say which it is not', () => {
    const trial = stocked(3);
    trial.enrol('a');
    const wrong = [packOf(trial, 'a'), 'P0-0', 'unknown'].map((code) =>
      trial.ask(force('x', { treatment: RMCQ, code })),
    );
    for (const outcome of wrong)
      expect(outcome).toEqual({
        ...{ type: 'impossible', field: 'code' },
        why: 'no free pack of this arm has this code',
      });
    // Nor does a dry run show which.
    const dry = (code: string) => tryWritten(trial.state, force('x', { treatment: RMCQ, code })).type;
    const free = ['P0-0', 'P1-0', 'P2-0'].filter((code) => code !== packOf(trial, 'a'));
    expect(free.map(dry)).toEqual(free.map(() => 'recorded'));
    const right = free.find((code) => code.startsWith('P1')) ?? 'P1-1';
    expect(trial.ask(force('x', { treatment: RMCQ, code: right }))).toMatchObject({ type: 'recorded' });
    expect(packOf(trial, 'x')).toBe(right);
  });

  it('can be used again by the entry that replaces a wrong one, and otherwise stays used', () => {
    const trial = stocked(3);
    trial.ask(force('x', { treatment: RMCQ, code: 'P1-0' }));
    const voiding: FlatAct = {
      ...{ act: 'AllocationVoided', user: 'nurse', participantId: 'x', cause: 'entry' },
      ...{ analysis: 'exclude', note: 'slip' },
    };
    trial.ask(voiding);
    expect(trial.ask(force('x', { treatment: RMCQ, code: 'P1-0', replaces: 2 }))).toMatchObject({
      type: 'recorded',
    });
    trial.ask(voiding);
    expect(trial.ask(force('x', { treatment: RMCA, code: 'P2-0', replaces: 4 }))).toMatchObject({
      type: 'recorded',
    });
    expect(trial.ask(force('y', { treatment: RMCQ, code: 'P1-0' }))).toMatchObject({ field: 'code' });
    expect(trial.ask(reveal({ code: 'P1-0' }))).toEqual({ type: 'recorded', moves: false });
  });
});

describe('a code-break by pack', () => {
  it('is about the participant who has the pack, or only about the pack if nobody has it', () => {
    const trial = stocked(3);
    trial.enrol('a');
    const code = packOf(trial, 'a');
    trial.ask(replace('a', code));
    expect(trial.ask(reveal({ code }))).toEqual({
      ...{ type: 'recorded', participantId: 'a', moves: false, data: expect.any(Object) },
    });
    expect(trial.last('AllocationRevealed')).toMatchObject({ code, participantId: 'a', randomizedAt: 2 });
    const [free = ''] = packs(every(3))
      .map((pack) => pack.code)
      .filter((one) => one !== code && one !== packOf(trial, 'a'));
    const id = '7d2f1c3a-8b4e-4f5a-9c6d-7e8f9a0b1c2d';
    expect(trial.ask(reveal({ code: free, reveal: id }))).toEqual({ type: 'recorded', moves: false });
    expect(trial.last('AllocationRevealed')).not.toHaveProperty('participantId');
    for (const nobody of [reveal({ code: 'unknown' }), reveal({ participantId: 'z' }), reveal({})])
      expect(trial.ask({ ...nobody, reveal: 'new' })).toEqual({ type: 'no-such-participant' });
  });

  it('respects the limits of the key', () => {
    const trial = new TrialRun();
    trial.ask(register(packs(every(2), 'C'), 1, { where: { factor: '9', level: COOK } }));
    trial.enrol('a', ['Male', COOK]);
    const free = packs(every(2), 'C').find(({ code }) => code !== packOf(trial, 'a'))?.code;
    for (const code of [free, packOf(trial, 'a')]) {
      const limited = (level: string) => reveal({ code, where: [{ factor: '9', levels: [level] }] });
      expect(trial.ask(limited(DUPAGE))).toEqual({ type: 'no-such-participant' });
    }
    const where = [{ factor: '9', levels: [COOK] }];
    expect(trial.ask(reveal({ code: free, where }))).toMatchObject({ type: 'recorded' });
  });
});

/** As they are kept. */
const freeCodes = (state: Model, site: string) =>
  state.free
    .for(['Male', site], state.design)
    .map(({ code }) => code)
    .toSorted();

/** Among all that were ever registered. */
const foundCodes = (state: Model, site: string) =>
  [...state.packs.entries()]
    .flatMap(([code, pack]) =>
      isFree(state, code) && isFor(pack, state.design, ['Male', site]) ? [code] : [],
    )
    .toSorted();

describe('any life of a study with packs', () => {
  const ids = fc.stringMatching(/^[a-f]$/);
  const codes = fc.tuple(fc.nat(2), fc.nat(5)).map(([arm, n]) => `P${arm}-${n}`);
  const step: fc.Arbitrary<(trial: TrialRun) => Written> = fc.oneof(
    fc.tuple(ids, fc.constantFrom(COOK, DUPAGE)).map(
      ([id, site]) =>
        (): Written => ({
          ...{ type: 'randomize', user: 'nurse', participantId: id, levels: ['Male', site ?? ''] },
        }),
    ),
    fc.tuple(ids, fc.boolean()).map(
      ([id, isSupply]) =>
        (trial: TrialRun): Written =>
          replace(id, packOf(trial, id), { isSupply }),
    ),
    fc.array(codes, { minLength: 1, maxLength: 2 }).map((some) => (): Written => withdraw(some)),
    fc.tuple(ids, codes, fc.constantFrom(MART, RMCQ, RMCA)).map(
      ([id, code, treatment]) =>
        (): Written =>
          force(id, { code, treatment }),
    ),
    codes.map((code) => (): Written => reveal({ code })),
    fc
      .tuple(fc.nat(3), fc.constantFrom(COOK, undefined))
      .map(([number, level]) => (trial: TrialRun): Written => {
        const list = trial.registered.lists + 1;
        const where = level === undefined ? undefined : { factor: '9', level };
        return register(packs(every(number + 1), `L${list}-`), list, where ? { where } : {});
      }),
  );

  it('gives each pack once, to the arm that it belongs to, and a replay decides the same', () => {
    check(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [trial, replay] = [new TrialRun(), new TrialRun().onFork()];
        for (const [n, first] of [register(packs(every(6))), ...steps].entries()) {
          const command = typeof first === 'function' ? first(trial) : first;
          expect(replay.ask(command)).toEqual(trial.ask(command));
          // As in batches, which are decided on forks.
          if (n % 4 === 0) trial.state = studyDecider.fork(trial.state);
        }
        expect(replay.facts).toEqual(trial.facts);
        expect(replay.list.inOrder).toEqual(trial.list.inOrder);
        const given = trial.facts.flatMap((fact) => {
          if (fact.type === 'CodeReplaced') return [fact.data.by];
          if (fact.type !== 'ParticipantRandomized' && fact.type !== 'AllocationForced') return [];
          return fact.data.code === undefined ? [] : [fact.data.code];
        });
        expect(new Set(given).size).toBe(given.length);
        for (const { pack, treatment } of trial.list.inOrder)
          if (pack) expect(trial.registered.packs.get(pack.code)?.treatment).toBe(treatment);
        for (const code of given) expect(trial.registered.withdrawn.get(code)).toBeUndefined();
        for (const site of [COOK, DUPAGE])
          expect(freeCodes(trial.registered, site)).toEqual(foundCodes(trial.registered, site));
      }),
      { numRuns: 200 },
    );
  });
});
