/** Counts what happened in a study after its allocations, for the report. */
import type { PartialEvent } from '../../../events/record.ts';
import type { Status } from '../../study/acts.ts';
import type { LifeReport } from '../report.ts';
import type { Warnings } from '../warnings.ts';
import type { PartialStudyEvent } from './study-checks.ts';

type Of<T extends PartialEvent['type']> = Extract<PartialEvent, { type: T }>;

export class LifeTally {
  readonly #warnings: Warnings;
  readonly #revealed: Record<string, number> = {};

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  take(event: PartialStudyEvent): void {
    switch (event.type) {
      case 'StudyClosed':
      case 'StudyReopened':
        if (event.data.approvals && event.data.approvals.length > 0) this.#warnOfApproval(event.revision);
        break;
      case 'AllocationRevealed':
        this.#count(event.data.category);
        this.#warnOfReveal(event);
        break;
      case 'UnblindingReported':
        this.#count(event.type);
        this.#warnings.add(
          'unblinding-reported',
          'an unblinding outside the service was reported afterwards',
          event.revision,
        );
    }
  }

  /** @param state of the study after its last event; undefined before its registration */
  report(state: Status | undefined): LifeReport | undefined {
    if (state === undefined) return undefined;
    const { UnblindingReported: reported, ...revealed } = this.#revealed;
    return {
      state,
      ...(Object.keys(revealed).length > 0 && { revealed }),
      ...(reported !== undefined && { unblindingReported: reported }),
    };
  }

  #count(what: string): void {
    this.#revealed[what] = (this.#revealed[what] ?? 0) + 1;
  }

  #warnOfApproval(revision: number): void {
    this.#warnings.add(
      'approval-asserted',
      'the approval is only asserted by the writer; ask for the document',
      revision,
    );
  }

  #warnOfReveal({ data, revision }: Of<'AllocationRevealed'>): void {
    const isEmergency = data.category === 'emergency';
    this.#warnings.add(
      isEmergency ? 'revealed-in-emergency' : 'revealed',
      isEmergency
        ? "a participant's code was broken in an emergency"
        : "a participant's code was broken, not in an emergency",
      revision,
    );
    if (data.shownAt !== undefined)
      this.#warnings.add(
        'recorded-late',
        `the arm was shown at ${data.shownAt} and recorded later, because the log could not be written then`,
        revision,
      );
  }
}
