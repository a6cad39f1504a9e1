/**
 * The stream of a study whose draws are withheld. Nothing can be decided again then; but the order of the events can be
 * checked, each id, its levels, the actors, and where it is told, that a treatment is one of the study's.
 */
import type { DisclosedEvent } from '../../../events/record.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import type { Problem } from '../report.ts';
import { problem } from './differences.ts';
import { DigestSet } from './digest-set.ts';
import type { Replay } from './replay.ts';
import { type DisclosedStudyEvent, type StudyForm, undecided } from './study-form.ts';

export class EnrolmentReplay implements Replay<DisclosedEvent> {
  readonly #form: StudyForm;
  readonly #ids = new DigestSet();
  #status: 'unregistered' | 'open' | 'paused' = 'unregistered';
  #treatments: readonly string[] = [];
  #recovery = 0;
  participants = 0;

  constructor(form: StudyForm) {
    this.#form = form;
  }

  take(given: DisclosedEvent): readonly Problem[] {
    const event = given as DisclosedStudyEvent;
    const outcome = this.#refusal(event);
    const found =
      this.#form.problem(event) ??
      (outcome && undecided(event.type, outcome)) ??
      this.#treatmentProblem(event) ??
      this.#form.actorProblem(event);
    if (found) return [found];
    this.#form.take(event, (id) => this.#ids.has(id));
    this.#evolve(event);
    return [];
  }

  passed({ type }: DisclosedEvent): void {
    if (type === 'ParticipantRandomized') this.participants++;
  }

  /** What the decider answers instead of this event, as far as it does not depend on what is withheld. */
  #refusal(event: DisclosedStudyEvent): StudyOutcome['type'] | undefined {
    const status = this.#status;
    if (event.type === 'StudyRegistered') return status === 'unregistered' ? undefined : 'already-registered';
    if (status === 'unregistered') return 'not-registered';
    switch (event.type) {
      case 'ParticipantRandomized':
        if (this.#ids.has(event.data.participantId)) return 'duplicate';
        return status === 'paused' ? 'refused' : undefined;
      case 'StudyPaused':
        return status === 'paused' ? 'already-paused' : undefined;
      case 'StudyResumed':
        return status === 'open' ? 'not-paused' : undefined;
      case 'StudyRecovered':
        return this.#recovery >= event.data.recovery ? 'already-recovered' : undefined;
    }
  }

  #treatmentProblem(event: DisclosedStudyEvent): Problem | undefined {
    if (event.type !== 'ParticipantRandomized' || !event.sections.allocation) return undefined;
    const { treatment } = event.sections.allocation;
    if (this.#treatments.includes(treatment)) return undefined;
    return problem('allocation.treatment', this.#treatments, treatment, 'no treatment of this study');
  }

  #evolve(event: DisclosedStudyEvent): void {
    switch (event.type) {
      case 'StudyRegistered':
        this.#status = 'open';
        this.#treatments = event.data.configuration.treatments;
        break;
      case 'ParticipantRandomized':
        this.#ids.add(event.data.participantId);
        break;
      case 'StudyPaused':
        this.#status = 'paused';
        break;
      case 'StudyResumed':
        this.#status = 'open';
        break;
      case 'StudyRecovered':
        this.#recovery = event.data.recovery;
    }
  }
}
