/**
 * Replays the stream of a study whose draws are withheld, so that nothing can be decided again. It can still check the
 * order of the events, the ids, the levels, the actors and, where treatments are included, that they are the study's.
 */
import type { PartialEvent } from '../../../events/record.ts';
import type { StudyOutcome } from '../../study/commands.ts';
import type { Mismatch } from '../report.ts';
import { mismatch } from './differences.ts';
import { DigestSet } from './digest-set.ts';
import type { Replay } from './replay.ts';
import { type PartialStudyEvent, type StudyChecks, undecided } from './study-checks.ts';

export class EnrolmentReplay implements Replay<PartialEvent> {
  readonly #checks: StudyChecks;
  readonly #ids = new DigestSet();
  #status: 'unregistered' | 'open' | 'paused' = 'unregistered';
  #treatments: readonly string[] = [];
  #recovery = 0;
  participants = 0;

  constructor(checks: StudyChecks) {
    this.#checks = checks;
  }

  take(given: PartialEvent): readonly Mismatch[] {
    const event = given as PartialStudyEvent;
    const outcome = this.#refusal(event);
    const found =
      this.#checks.mismatch(event) ??
      (outcome && undecided(event.type, outcome)) ??
      this.#treatmentMismatch(event) ??
      this.#checks.actorMismatch(event);
    if (found) return [found];
    this.#checks.take(event, (id) => this.#ids.has(id));
    this.#evolve(event);
    return [];
  }

  passed({ type }: PartialEvent): void {
    if (type === 'ParticipantRandomized') this.participants++;
  }

  /** The outcome with which the decider would have refused this event, as far as withheld sections do not matter. */
  #refusal(event: PartialStudyEvent): StudyOutcome['type'] | undefined {
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

  #treatmentMismatch(event: PartialStudyEvent): Mismatch | undefined {
    if (event.type !== 'ParticipantRandomized' || !event.sections.allocation) return undefined;
    const { treatment } = event.sections.allocation;
    if (this.#treatments.includes(treatment)) return undefined;
    return mismatch('allocation.treatment', this.#treatments, treatment, 'no treatment of this study');
  }

  #evolve(event: PartialStudyEvent): void {
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
