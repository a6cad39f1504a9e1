/** A model folded without the sealed sections of its events, as from a bundle: what it knows, and what stays unknown. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../../../events/record.ts';
import { generatorOf, type Model } from '../../../src/core/model/model.ts';
import { type Participant, WITHHELD } from '../../../src/core/model/participants.ts';
import type { StudyCommand } from '../../../src/core/study/commands.ts';
import { type ClearCommand, decideInClear } from '../../../src/core/study/decide.ts';
import { balance, evolve, fork, studyState } from '../../../src/core/study/fold.ts';
import { asCommand, type Written, writtenDecider } from '../../support/acts.ts';
import { type LifeStep, lifeStep, lived } from '../../support/arbitrary-life.ts';
import { ASKED, CONFIGURATION, event, randomize } from '../../support/facts.ts';
import { folded } from '../../support/folded.ts';
import { beginImport, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { check } from '../../support/property.ts';
import { TrialRun } from '../../support/trial-run.ts';
import { listOf } from '../../support/visits.ts';

/** As a bundle with some sections has it. */
function modelWith(isIncluded: (section: string) => boolean, { facts }: TrialRun): Model {
  const events = facts.map((fact, revision) => {
    const sections = Object.entries(fact.sections).filter(([name]) => isIncluded(name));
    return { ...event(fact, revision), sections: Object.fromEntries(sections) } as LogEvent;
  });
  return folded(studyState, events) as Model;
}

const blinded = (trial: TrialRun) => modelWith(() => false, trial);
const whole = (trial: TrialRun) => modelWith(() => true, trial);

/** What the sealed sections say is in place of what does not. */
function inClear({ pack, ...participant }: Participant): Participant {
  return {
    ...participant,
    ...(pack && { pack: { ...pack, treatment: undefined } }),
    ...{ treatment: WITHHELD, slot: -1, bgStateAfter: undefined },
  };
}

/** All that the part in the clear determines. */
function clearPart(model: Model) {
  const { status, design, designs, methodDesign, closings, closedAt, filled, latestAt, lastStudyWide } =
    model;
  return {
    ...{ status, design, designs, methodDesign, closings, closedAt, filled, latestAt, lastStudyWide },
    ...{ lists: model.lists, recovery: model.recovery, reveals: model.reveals, importing: model.importing },
    given: new Map(model.given.entries()),
    registered: { ...model.registered, seed: '' },
    participants: model.participants.inOrder.map(inClear),
    events: model.shown?.events.inOrder.map(({ sections: _, ...one }) => one),
  };
}

function expectNothingSealed(model: Model): void {
  expect(model.registered.seed).toBe(WITHHELD);
  expect([model.seedState, model.bgState, model.imported]).toEqual([undefined, undefined, undefined]);
  expect(() => generatorOf(model)).toThrow('the state of the generator is withheld');
  for (const { treatment, slot, bgStateAfter, pack } of model.participants.all())
    expect([treatment, slot, bgStateAfter, pack?.treatment]).toEqual([WITHHELD, -1, undefined, undefined]);
  expect(new Set(new TrialRun().counts(model).flat(2))).toEqual(new Set([0]));
  const { totals, voided } = balance.select(model)?.view() ?? {};
  const nobody = model.design.treatments.map(() => 0);
  expect([totals, voided]).toEqual([nobody, nobody]);
  for (const none of [model.packs, model.withdrawn, model.requests]) expect(none.isEmpty()).toBe(true);
}

const liveOf = (steps: readonly LifeStep[], hasSlots: boolean) =>
  lived(steps, hasSlots, { stopAtLimit: true });

/** With a list of packs, of which some were given, replaced and withdrawn, and one whose code was broken. */
function withPacks(): TrialRun {
  const trial = new TrialRun();
  const list = listOf(1, Object.fromEntries(CONFIGURATION.treatments.map((treatment) => [treatment, 4])));
  const codeOf = (id: string) => trial.list.find(id)?.pack?.code ?? '';
  trial.enrol('a');
  trial.ask(list);
  for (const id of ['b', 'c']) trial.enrol(id);
  trial.record({ act: 'CodeReplaced', participantId: 'b', code: codeOf('b'), cause: 'damaged' });
  const unused = list.entries.find(({ code }) => !trial.registered.given.get(code))?.code;
  trial.record({ act: 'CodesWithdrawn', codes: [unused], reason: 'recalled' });
  trial.record({
    ...{ act: 'AllocationRevealed', code: codeOf('c'), category: 'emergency', reason: 'anaphylaxis' },
    reveal: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4',
  });
  return trial;
}

function imported(): TrialRun {
  const rows = drawnRows([{}, {}, {}]);
  const trial = new TrialRun();
  trial.all([beginImport(rows), ...rows, { type: 'end-import', import: IMPORT }, randomize('next')]);
  expect(trial.list.inOrder).toHaveLength(4);
  return trial;
}

const lives = fc.array(lifeStep, { maxLength: 40 });

describe('a model without the sealed sections', () => {
  it('knows everything that is in the clear, and nothing else', () => {
    check(
      fc.property(lives, fc.boolean(), (steps, hasSlots) => {
        const trial = liveOf(steps, hasSlots);
        const model = blinded(trial);
        expect(clearPart(model)).toEqual(clearPart(whole(trial)));
        expectNothingSealed(model);
      }),
    );
  });

  it('knows of packs, and of an imported history, what is in the clear, and nothing else', () => {
    for (const trial of [withPacks(), imported()]) {
      const model = blinded(trial);
      expect(clearPart(model)).toEqual(clearPart(whole(trial)));
      expectNothingSealed(model);
    }
  });

  it('answers, on a fork, what needs nothing sealed as the whole one does, and stays as it was', () => {
    check(
      fc.property(lives, lives, fc.boolean(), (steps, asked, hasSlots) => {
        const trial = liveOf(steps, hasSlots);
        const [model, all] = [blinded(trial), whole(trial)];
        const before = clearPart(fork(model) as Model);
        for (const next of asked) {
          const command = inClearOf(next(model.design.amendment + 1));
          if (!command) continue;
          const fact = decideInClear(fork(model) as Model, command, ASKED, { recorded: {} }).fact;
          expect(decideInClear(all, command, ASKED, 'choose').fact).toEqual(fact);
          if (fact) evolve(fork(model), { ...event(fact, trial.facts.length), sections: {} } as LogEvent);
        }
        expect(clearPart(fork(model) as Model)).toEqual(before);
      }),
    );
  });

  it('cannot draw', () => {
    const model = blinded(new TrialRun());
    expect(() => writtenDecider.decide(fork(model), randomize('a'))).toThrow('withheld');
  });
});

/** What a replay decides again from the part in the clear. */
function inClearOf(written: Written): ClearCommand | undefined {
  const command = asCommand<StudyCommand>(written);
  return command.type === 'amend' || command.type === 'act' ? command : undefined;
}

it('a model with the treatments alone knows and tallies them, but not the generator', () => {
  check(
    fc.property(lives, (steps) => {
      const trial = liveOf(steps, false);
      const model = modelWith((section) => section === 'allocation', trial);
      expect(model.participants.inOrder.map(({ treatment }) => treatment)).toEqual(
        trial.list.inOrder.map(({ treatment }) => treatment),
      );
      expect(balance.select(model)?.view()).toEqual(trial.balance);
      expect(model.bgState).toBeUndefined();
    }),
  );
});
