/** Checks the times that events of a study state besides their own. */
import type { PartialStudyEvent } from '../../../../events/record.ts';
import { CLOCK_TOLERANCE_MS } from '../../../base/time.ts';
import { isEnrolment } from '../../../core/model/participants.ts';
import type { Mismatch } from '../report/report.ts';
import { mismatch } from './differences.ts';

export class TimeChecks {
  /** When participants were randomized, in ms, by revision. Takes 8 to 12 bytes for each. */
  readonly #randomized: number[] = [];
  #registered = '';

  take({ type, revision, at }: PartialStudyEvent): void {
    if (type === 'StudyRegistered') this.#registered = at;
    if (type !== 'ParticipantRandomized') return;
    // Without holes, which would take more memory.
    while (this.#randomized.length < revision) this.#randomized.push(Number.NaN);
    this.#randomized.push(Date.parse(at));
  }

  /** What happened before an event cannot be dated after it. Only an emergency is shown before it is recorded. */
  future(event: PartialStudyEvent): Mismatch | undefined {
    if (event.type === 'AllocationRevealed' && event.data.shownAt && event.data.category !== 'emergency')
      return mismatch(
        'data.shownAt',
        undefined,
        event.data.shownAt,
        'only an emergency is shown before it is recorded',
      );
    const [field, time] =
      event.type === 'AllocationRevealed'
        ? ['data.shownAt', event.data.shownAt]
        : 'occurredAt' in event.data
          ? ['data.occurredAt', event.data.occurredAt]
          : ['', undefined];
    if (time === undefined || Date.parse(time) <= Date.parse(event.at) + CLOCK_TOLERANCE_MS) return undefined;
    return mismatch(field, `at most ${event.at}`, time, 'it is later than the event itself');
  }

  /**
   * Nobody is allocated before the study is registered, and no arm is shown before it is drawn. The event must name the
   * right participant.
   */
  early(event: PartialStudyEvent): Mismatch | undefined {
    if (isEnrolment(event) && 'occurredAt' in event.data)
      return this.#beforeRegistration(event.data.occurredAt);
    if (event.type !== 'AllocationRevealed' || event.data.shownAt === undefined) return undefined;
    const { shownAt, randomizedAt } = event.data;
    const randomized = this.#randomized[randomizedAt ?? -1] ?? Number.NaN;
    // An unknown time cannot be contradicted.
    if (!(Date.parse(shownAt) < randomized - CLOCK_TOLERANCE_MS)) return undefined;
    const earliest = new Date(randomized).toISOString();
    return mismatch('data.shownAt', `at least ${earliest}`, shownAt, 'it is earlier than the randomization');
  }

  #beforeRegistration(occurredAt: string): Mismatch | undefined {
    if (Date.parse(occurredAt) >= Date.parse(this.#registered)) return undefined;
    return mismatch(
      'data.occurredAt',
      `at least ${this.#registered}`,
      occurredAt,
      'it is earlier than the registration',
    );
  }
}
