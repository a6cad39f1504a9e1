/**
 * What happens to the urns over the life of a study, in order, with everything that people decided: which levels came when,
 * what was corrected, voided and amended. A replicate runs these steps again with other random numbers (replicate.ts).
 */
import type { PartialEvent } from '../../../events/record.ts';
import { type Design, openTreatments } from '../../core/model/design.ts';
import type { MethodDesign } from '../../core/model/method-of.ts';
import { forkOf, type Model } from '../../core/model/model.ts';
import { countedLevels, type EnrolmentEvent, isEnrolment } from '../../core/model/participants.ts';
import { fold, modelOf } from '../../core/study/fold.ts';

/**
 * Numbers alone, so that steps can be sent to another process. Levels are indexes, one per factor in the order of the
 * design; `NO_LEVEL` of a factor that was retired before. Persons are numbered in the order of their enrolment, from 0.
 * Slots and arms are indexes in the lists of the design.
 */
export type Step =
  | DesignStep
  | DrawStep
  | {
      /** Allocated in another way: the arm stays as recorded in every replicate. */
      readonly kind: 'fixed';
      readonly person: number;
      readonly levels: readonly number[];
      readonly arm: number;
      /** As recorded. */
      readonly slot: number;
      readonly isCounted: boolean;
      /** The same participant was entered before, wrongly. That entry is void, and a person of its own. */
      readonly isAgain: boolean;
    }
  | {
      /** The urns count a person otherwise: at other levels, no longer, or again. */
      readonly kind: 'move';
      readonly person: number;
      readonly from: readonly number[] | undefined;
      readonly to: readonly number[] | undefined;
    };

/** The design in force from here on. The first step is always one of these. */
export interface DesignStep {
  readonly kind: 'design';
  readonly methodDesign: MethodDesign;
  /** As version 1 of the urn's algorithm draws, by which imported allocations are repeated. */
  readonly methodDesignOfImports: MethodDesign;
  /** All there ever were, closed ones and retired ones too. Later designs may have more at the ends. */
  readonly treatments: readonly string[];
  readonly factors: readonly { readonly name: string; readonly levels: readonly string[] }[];
  /** The arm of each slot. */
  readonly arms: readonly number[];
  readonly openArms: readonly number[];
  /** Whether the urns begin anew. */
  readonly restarts: boolean;
}

export interface DrawStep {
  readonly kind: 'draw';
  readonly person: number;
  readonly levels: readonly number[];
  /** As recorded; -1 if it is withheld. */
  readonly slot: number;
  /** Of the block from which the place was drawn, as recorded: how many places each slot had. Only with blocks. */
  readonly perSlot?: number | undefined;
  readonly isImported: boolean;
}

/** Makes the steps of one study from its events, in order. Everything needs the arms, and nothing the generator. */
export class StudySteps {
  #model: Model | undefined;
  /** By the id as randomized, of those who were enrolled last under it. */
  #persons = new Map<string, number>();
  #count = 0;

  /** How many participants there are so far: one who was entered again counts once. */
  get participants(): number {
    return this.#persons.size;
  }

  /** The study after the events so far; undefined before its registration. */
  get model(): Model | undefined {
    return this.#model;
  }

  /** The number of a person, from 0, by the id as randomized. */
  person(participantId: string): number | undefined {
    return this.#persons.get(participantId);
  }

  /**
   * @returns the steps of the event: none, or one; or `emptied`, if an import was given up, after which the steps begin anew
   *   with the design that `designStep` gives
   */
  after(event: PartialEvent): readonly Step[] | 'emptied' {
    const model = this.#model;
    if (event.type === 'StudyRegistered') {
      this.#model = forkOf(modelOf(event));
      return [designStep(this.#model, false)];
    }
    if (!model) throw new Error(`${event.type} comes before StudyRegistered`);
    const { design } = model;
    const { participantId = '' } = event.data as { readonly participantId?: string };
    const before = model.participants.get(participantId);
    fold(model, event);
    if (isEnrolment(event)) return [this.#enrolled(event, model)];
    const after = model.participants.get(participantId);
    const person = this.#persons.get(participantId);
    if (before && after && before !== after && person !== undefined) {
      const from = indexes(countedLevels(before, model.design), model.design);
      const to = indexes(countedLevels(after, model.design), model.design);
      return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ kind: 'move', person, from, to }];
    }
    if (event.type === 'StudyAmended') return [designStep(model, model.design.epoch !== design.epoch)];
    if (event.type === 'HistoryImportEnded' && 'aborted' in event.data) {
      this.#persons = new Map();
      this.#count = 0;
      return 'emptied';
    }
    return [];
  }

  #enrolled(event: EnrolmentEvent, { design, participants }: Model): Step {
    const { participantId } = event.data;
    const participant = participants.get(participantId);
    if (!participant) throw new Error('an enrolment did not enrol');
    const person = this.#count++;
    const isAgain = this.#persons.has(participantId);
    this.#persons.set(participantId, person);
    const levels = indexes(participant.levels, design) ?? [];
    const { slot } = participant;
    const isImported = event.type === 'ParticipantImported';
    if (event.type === 'ParticipantRandomized')
      return { kind: 'draw', person, levels, slot, perSlot: event.sections.pick?.block?.perSlot, isImported };
    if (isImported && event.data.redrawn) return { kind: 'draw', person, levels, slot, isImported };
    const treatment = event.sections.allocation?.treatment;
    const arm = design.treatments.indexOf(treatment ?? '');
    const isCounted = participant.forced?.isCounted !== false;
    return { kind: 'fixed', person, levels, arm, slot, isCounted, isAgain };
  }
}

/** The step by which a design comes into force. */
export function designStep(
  { design, methodDesign }: Pick<Model, 'design' | 'methodDesign'>,
  restarts: boolean,
): DesignStep {
  const { treatments, factors, slots } = design;
  const arm = (treatment: string) => treatments.indexOf(treatment);
  return {
    kind: 'design',
    methodDesign,
    methodDesignOfImports: methodDesign.hasRatio ? { ...methodDesign, hasRatio: false } : methodDesign,
    treatments,
    factors: factors.map(({ name, levels }) => ({ name, levels })),
    arms: slots.map(arm),
    openArms: openTreatments(design).map(arm),
    restarts,
  };
}

/** The place of each level in its factor, which no amendment changes. */
function indexes(levels: readonly string[] | undefined, { factors }: Design): number[] | undefined {
  return levels?.map((level, factor) => factors[factor]?.levels.indexOf(level) ?? -1);
}
