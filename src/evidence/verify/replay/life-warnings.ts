/** Warns of what happened in a study besides its allocations, and that somebody should look at. */
import type { PartialEventOf, PartialStudyEvent } from '../../../../events/record.ts';
import { type ActName, actOf, isCorrection } from '../../../core/acts/acts.ts';
import { declaredVisit } from '../../../core/model/design.ts';
import { methodOf } from '../../../core/model/method-of.ts';
import type { Model } from '../../../core/model/model.ts';
import type { Warnings } from '../report/report.ts';

/** Of a participant, to whom it always belongs. */
type Correction = Extract<PartialEventOf<ActName>, { readonly data: { readonly participantId: string } }>;

type Approved = PartialEventOf<
  'StudyClosed' | 'StudyReopened' | 'StudyAmended' | 'ListRegistered' | 'HistoryImported'
>;

/** An allocation that is entered later than this is pointed out. */
const LATE_MS = 7 * 24 * 3600 * 1000;

export class LifeWarnings {
  readonly #warnings: Warnings;

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /** @param model of the study before the event */
  take(event: PartialStudyEvent, model: Model | undefined): void {
    if (isCorrection(event.type)) {
      if (model) this.#takeCorrection(event as Correction, model);
      return;
    }
    switch (event.type) {
      case 'StudyClosed':
      case 'StudyReopened':
      case 'StudyAmended':
        this.#takeApprovals(event);
        break;
      case 'ListRegistered':
        this.#takeList(event);
        break;
      case 'PackDispensed':
        this.#takeDispensed(event, model);
        break;
      case 'HistoryImported':
        this.#takeImport(event);
        break;
      case 'ParticipantImported':
        if (!event.data.redrawn)
          this.#warnings.add(
            'imported-unproven',
            `an imported participant could not be drawn again (${event.data.cause})`,
            event.revision,
          );
        break;
      case 'AllocationForced':
        this.#takeForced(event);
        break;
      case 'AllocationRevealed':
        this.#takeReveal(event);
        break;
      case 'UnblindingReported':
        this.#warnings.add(
          'unblinding-reported',
          'an unblinding outside the service was reported afterwards',
          event.revision,
        );
    }
  }

  #takeApprovals({ data, revision }: Approved): void {
    if (data.approvals && data.approvals.length > 0)
      this.#warnings.add(
        'approval-asserted',
        'the approval is only asserted by the writer; ask for the document',
        revision,
      );
  }

  #takeList(event: PartialEventOf<'ListRegistered'>): void {
    this.#warnings.add(
      'list-origin-unknown',
      'nothing in the log shows how the list was made: only that it was followed',
      event.revision,
    );
    this.#takeApprovals(event);
  }

  #takeDispensed({ data, revision }: PartialEventOf<'PackDispensed'>, model: Model | undefined): void {
    if (model?.participants.get(data.participantId)?.unblinded)
      this.#warnings.add(
        'dispensed-after-reveal',
        'a participant got a pack after somebody had learned the arm',
        revision,
      );
    if (model && declaredVisit(model.design, data.visit) === undefined)
      this.#warnings.add(
        'undeclared-visit',
        'a pack was given out at a visit that the study does not have',
        revision,
      );
  }

  #takeImport(event: PartialEventOf<'HistoryImported'>): void {
    this.#takeApprovals(event);
    if (event.data.generator === 'continued')
      this.#warnings.add(
        'generator-known-elsewhere',
        'the generator goes on where another system stopped: whoever has a copy of that system can compute every later arm',
        event.revision,
      );
  }

  #takeForced({ data, revision, at }: PartialEventOf<'AllocationForced'>): void {
    const { cause, occurredAt } = data;
    this.#warnings.add(
      'forced',
      `an allocation made outside the service was entered by hand: ${cause}`,
      revision,
    );
    if (Date.parse(at) - Date.parse(occurredAt) > LATE_MS)
      this.#warnings.add(
        'entered-late',
        'an allocation was entered more than seven days after it was made',
        revision,
      );
  }

  #takeCorrection(event: Correction, model: Model): void {
    const { data, revision, type } = event;
    const { design, methodDesign, participants, status } = model;
    const act = actOf(type);
    const before = participants.get(data.participantId);
    const after = before && act?.about === 'participant' ? act.apply?.(before, event, design) : before;
    const voided = before?.corrected?.voided ? undefined : after?.corrected?.voided;
    if (voided) {
      this.#warnings.add('voided', `an allocation was voided: ${voided.cause}`, revision);
      if (voided.isRemoved && methodOf(methodDesign).drawsFromCounts)
        this.#warnings.add(
          'counts-removed',
          'the urns no longer count a participant who was voided, so a voiding steers the allocations after it',
          revision,
        );
    }
    if (before?.unblinded)
      this.#warnings.add(
        'corrected-after-reveal',
        'a participant was corrected or voided after somebody had learned the arm',
        revision,
      );
    if (status === 'closed')
      this.#warnings.add(
        'changed-after-closing',
        'a participant was corrected or voided while the study was closed',
        revision,
      );
  }

  #takeReveal({ data, revision }: PartialEventOf<'AllocationRevealed'>): void {
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
