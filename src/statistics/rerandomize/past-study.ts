/** What a re-randomization test needs of a study, from its records. The states of the generator are not needed. */
import type { VoidAnalysis } from '../../../events/corrections.ts';
import type { PartialEvent } from '../../../events/record.ts';
import { type Design, hasRatio } from '../../core/model/design.ts';
import type { Model } from '../../core/model/model.ts';
import type { Status } from '../../core/model/outcomes.ts';
import { isEnrolment } from '../../core/model/participants.ts';
import { designStep, type Step, StudySteps } from '../replicate/steps.ts';

export interface PastPerson {
  /** The number of the person in the steps. */
  readonly person: number;
  /** As randomized. */
  readonly participantId: string;
  /** As randomized, in the order of the factors, under their current names. */
  readonly levels: readonly string[];
  /** What was decided about the analysis when the participant was voided; undefined if they are not voided. */
  readonly voided: VoidAnalysis | undefined;
}

export interface PastStudy {
  readonly studyId: string;
  readonly status: Status;
  readonly design: Design;
  /** Whether the study had a ratio at any time. */
  readonly hadRatio: boolean;
  readonly steps: readonly Step[];
  /** For every person: the arm as recorded, as an index in the treatments. */
  readonly arms: Int8Array;
  /** The seeds of the generator, as far as they are not withheld. */
  readonly seeds: readonly bigint[];
  readonly numbers: StudyNumbers;
  /** Who has, or had, this id. */
  find(id: string): PastPerson | undefined;
}

/** What people decided while the study went on. */
export interface StudyNumbers {
  readonly participants: number;
  /** Participants whose levels were corrected. */
  readonly corrected: number;
  readonly voided: number;
  readonly forced: number;
  /** Imported participants: those who are drawn again, and the others. */
  readonly redrawn: number;
  readonly unproven: number;
  readonly amendments: number;
}

/** Folds the events of one study, in order. */
export class PastStudyFold {
  readonly #studySteps = new StudySteps();
  #steps: Step[] = [];
  #arms: number[] = [];
  #studyId = '';
  #hadRatio = false;
  #redrawn = 0;
  #unproven = 0;
  readonly #seeds = new Set<bigint>();
  /** By the ids as randomized. */
  readonly #corrected = new Set<string>();
  readonly #analysis = new Map<string, VoidAnalysis>();

  take(event: PartialEvent): void {
    const after = this.#studySteps.after(event);
    const { model } = this.#studySteps;
    if (!model) return;
    this.#hadRatio ||= hasRatio(model.design);
    if (after === 'emptied') {
      this.#steps = [designStep(model, false)];
      this.#arms = [];
      this.#redrawn = 0;
      this.#unproven = 0;
    } else this.#steps.push(...after);
    this.#note(event, model);
  }

  #note(event: PartialEvent, { design }: Model): void {
    if (isEnrolment(event)) {
      const treatment = event.sections.allocation?.treatment;
      this.#arms.push(treatment === undefined ? -1 : design.treatments.indexOf(treatment));
    }
    switch (event.type) {
      case 'StudyRegistered':
        this.#studyId = event.data.studyId;
        this.#hold(event.sections.generator?.seed);
        break;
      case 'StudyRecovered':
      case 'HistoryImported':
        this.#hold(event.sections.generator?.seed);
        break;
      case 'ParticipantImported':
        if (event.data.redrawn) this.#redrawn++;
        else this.#unproven++;
        break;
      case 'LevelsCorrected':
        this.#corrected.add(event.data.participantId);
        break;
      case 'AllocationVoided':
        this.#analysis.set(event.data.participantId, event.data.analysis);
        break;
    }
  }

  #hold(seed: string | undefined): void {
    if (seed !== undefined) this.#seeds.add(BigInt(seed));
  }

  /** Undefined before the registration. */
  result(): PastStudy | undefined {
    const { model } = this.#studySteps;
    if (!model) return undefined;
    const enrolled = [...model.participants.all()];
    return {
      studyId: this.#studyId,
      status: model.status,
      design: model.design,
      hadRatio: this.#hadRatio,
      steps: this.#steps,
      arms: Int8Array.from(this.#arms),
      seeds: [...this.#seeds],
      numbers: {
        participants: enrolled.length,
        corrected: this.#corrected.size,
        voided: enrolled.filter(({ corrected }) => corrected?.voided).length,
        forced: enrolled.filter(({ forced }) => forced).length,
        redrawn: this.#redrawn,
        unproven: this.#unproven,
        amendments: model.design.amendment,
      },
      find: (id) => this.#find(model, id),
    };
  }

  #find(model: Model, id: string): PastPerson | undefined {
    const holder = model.participants.find(id);
    if (!holder) return undefined;
    const { participantId, levels, corrected } = holder;
    const person = this.#studySteps.person(participantId);
    if (person === undefined) return undefined;
    const voided = corrected?.voided && (this.#analysis.get(participantId) ?? 'keep');
    return { person, participantId, levels, voided };
  }
}
