/** Counts what happened in a study after its allocations, for the report. */
import type { PartialEventOf, PartialStudyEvent } from '../../../../events/record.ts';
import type { Method } from '../../../../events/study.ts';
import { type ActName, actOf, isCorrection } from '../../../core/acts/acts.ts';
import { declaredVisit } from '../../../core/model/design.ts';
import { methodOf } from '../../../core/model/method-of.ts';
import type { Model } from '../../../core/model/model.ts';
import { SteeringTally } from '../../../core/study/steering.ts';
import type { LifeReport, Warnings } from '../report/report.ts';

/** Of a participant, to whom it always belongs. */
type Correction = Extract<PartialEventOf<ActName>, { readonly data: { readonly participantId: string } }>;

/** An allocation that is entered later than this is pointed out. */
const LATE_MS = 7 * 24 * 3600 * 1000;

export class LifeTally {
  readonly #warnings: Warnings;
  readonly #revealed: Record<string, number> = {};
  /** Participants whose arm somebody learned, by the id as randomized. */
  readonly #unblinded = new Set<string>();
  /** Of those who are voided now, by cause. */
  readonly #voided: Record<string, number> = {};
  #amendments = 0;
  readonly #packs = { registered: 0, replaced: 0, withdrawn: 0 };
  readonly #atVisits = { dispensed: 0, corrected: 0 };
  #levelsCorrected = 0;
  #idsCorrected = 0;
  readonly #forced: Record<string, number> = {};
  readonly #imported = { redrawn: 0, unproven: 0 };
  readonly #afterClosing: Record<string, number> = {};
  readonly #steering = new SteeringTally();
  #isClosed = false;
  /** Undefined for the urn. */
  #method: Method['name'] | undefined;
  /** Undefined until a draw by such a method was seen. */
  #certain: number | undefined;

  constructor(warnings: Warnings) {
    this.#warnings = warnings;
  }

  /** @param model of the study before the event */
  take(event: PartialStudyEvent, model: Model | undefined): void {
    this.#steering.take(event);
    if (isCorrection(event.type)) {
      if (model) this.#takeCorrection(event as Correction, model);
      return;
    }
    this.#takeMethod(event, model);
    switch (event.type) {
      case 'StudyClosed':
      case 'StudyReopened':
        this.#isClosed = event.type === 'StudyClosed';
        if (event.data.approvals && event.data.approvals.length > 0) this.#warnOfApproval(event.revision);
        break;
      case 'StudyAmended':
        this.#amendments++;
        if (event.data.approvals.length > 0) this.#warnOfApproval(event.revision);
        break;
      case 'ListRegistered':
        this.#takeList(event);
        break;
      case 'CodesRegistered':
        this.#packs.registered += event.data.count;
        break;
      case 'CodesWithdrawn':
        this.#packs.withdrawn += event.data.count;
        break;
      case 'CodeReplaced':
        this.#packs.replaced++;
        break;
      case 'PackDispensed':
        this.#takeDispensed(event, model);
        break;
      case 'HistoryImported':
        this.#takeImport(event);
        break;
      case 'ParticipantImported':
        this.#imported[event.data.redrawn ? 'redrawn' : 'unproven']++;
        if (!event.data.redrawn)
          this.#warnings.add(
            'imported-unproven',
            `an imported participant could not be drawn again (${event.data.cause})`,
            event.revision,
          );
        break;
      case 'HistoryImportEnded':
        if ('aborted' in event.data) {
          Object.assign(this.#imported, { redrawn: 0, unproven: 0 });
          this.#unblinded.clear();
        }
        break;
      case 'AllocationForced':
        this.#takeForced(event);
        break;
      case 'AllocationRevealed':
        this.#countUnblinded(event.data.category, event.data.participantId);
        this.#warnOfReveal(event);
        break;
      case 'UnblindingReported':
        this.#countUnblinded(event.type, event.data.participantId);
        this.#warnings.add(
          'unblinding-reported',
          'an unblinding outside the service was reported afterwards',
          event.revision,
        );
    }
  }

  /** @param model of the study after its last event; undefined before its registration */
  report(model: Model | undefined): LifeReport | undefined {
    if (model === undefined) return undefined;
    const { UnblindingReported: reported, ...revealed } = this.#revealed;
    const secondDraws = this.#steering.secondDraws(model);
    const undoneAmendments = this.#steering.undone(model);
    return {
      state: model.status,
      ...(this.#method !== undefined && { method: this.#method }),
      ...(this.#certain !== undefined && { certain: this.#certain }),
      ...(this.#imported.redrawn + this.#imported.unproven > 0 && { imported: { ...this.#imported } }),
      ...(this.#amendments > 0 && { amendments: this.#amendments }),
      ...(this.#packs.registered > 0 && { packs: this.#packsReport() }),
      ...(Object.keys(this.#forced).length > 0 && { forced: { ...this.#forced } }),
      ...(this.#levelsCorrected > 0 && { corrected: this.#levelsCorrected }),
      ...(this.#idsCorrected > 0 && { idsCorrected: this.#idsCorrected }),
      ...(Object.keys(this.#voided).length > 0 && { voided: { ...this.#voided } }),
      ...(Object.keys(this.#afterClosing).length > 0 && { changedAfterClosing: { ...this.#afterClosing } }),
      ...(Object.keys(revealed).length > 0 && { revealed }),
      ...(reported !== undefined && { unblindingReported: reported }),
      ...(secondDraws.length > 0 && { secondDraws }),
      ...(undoneAmendments.length > 0 && { undoneAmendments }),
    };
  }

  #takeMethod(event: PartialStudyEvent, model: Model | undefined): void {
    if (event.type === 'StudyRegistered' && 'method' in event.data.configuration)
      this.#method = event.data.configuration.method.name;
    if (event.type !== 'ParticipantRandomized' || !event.sections.pick || !model) return;
    const { weights } = event.sections.pick;
    const possible = new Set(model.methodDesign.slots.filter((_, slot) => (weights[slot] ?? 0) > 0));
    this.#certain = (this.#certain ?? 0) + Number(possible.size === 1);
  }

  #takeList({ data, revision }: PartialEventOf<'ListRegistered'>): void {
    this.#warnings.add(
      'list-origin-unknown',
      'nothing in the log shows how the list was made: only that it was followed',
      revision,
    );
    if (data.approvals.length > 0) this.#warnOfApproval(revision);
  }

  #packsReport() {
    return { ...this.#packs, ...(this.#atVisits.dispensed > 0 && this.#atVisits) };
  }

  #takeDispensed({ data, revision }: PartialEventOf<'PackDispensed'>, model: Model | undefined): void {
    this.#atVisits.dispensed++;
    if (this.#unblinded.has(data.participantId))
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

  #takeImport({ data, revision }: PartialEventOf<'HistoryImported'>): void {
    if (data.approvals.length > 0) this.#warnOfApproval(revision);
    if (data.generator === 'continued')
      this.#warnings.add(
        'generator-known-elsewhere',
        'the generator goes on where another system stopped: whoever has a copy of that system can compute every later arm',
        revision,
      );
  }

  #takeForced({ data, revision, at }: PartialEventOf<'AllocationForced'>): void {
    const { cause, occurredAt, replaces } = data;
    add(this.#forced, cause, 1);
    if (replaces !== undefined) add(this.#voided, 'entry', -1);
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

  #takeCorrection(event: Correction, { design, methodDesign, participants }: Model): void {
    const { data, revision, type } = event;
    if (type === 'LevelsCorrected') this.#levelsCorrected++;
    if (type === 'ParticipantIdCorrected') this.#idsCorrected++;
    if (type === 'DispensationCorrected') this.#atVisits.corrected++;
    const act = actOf(type);
    const before = participants.get(data.participantId);
    const after = before && act?.about === 'participant' ? act.apply?.(before, event, design) : before;
    const [was, voided] = [before?.corrected?.voided, after?.corrected?.voided];
    if (was && !voided) add(this.#voided, was.cause, -1);
    if (voided && !was) {
      add(this.#voided, voided.cause, 1);
      this.#warnings.add('voided', `an allocation was voided: ${voided.cause}`, revision);
      if (voided.isRemoved && methodOf(methodDesign).drawsFromCounts)
        this.#warnings.add(
          'counts-removed',
          'the urns no longer count a participant who was voided, so a voiding steers the allocations after it',
          revision,
        );
    }
    if (this.#unblinded.has(event.data.participantId))
      this.#warnings.add(
        'corrected-after-reveal',
        'a participant was corrected or voided after somebody had learned the arm',
        revision,
      );
    if (!this.#isClosed) return;
    add(this.#afterClosing, event.type, 1);
    this.#warnings.add(
      'changed-after-closing',
      'a participant was corrected or voided while the study was closed',
      revision,
    );
  }

  #countUnblinded(how: string, participantId: string | undefined): void {
    add(this.#revealed, how, 1);
    if (participantId !== undefined) this.#unblinded.add(participantId);
  }

  #warnOfApproval(revision: number): void {
    this.#warnings.add(
      'approval-asserted',
      'the approval is only asserted by the writer; ask for the document',
      revision,
    );
  }

  #warnOfReveal({ data, revision }: PartialEventOf<'AllocationRevealed'>): void {
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

/** A count that comes to nothing is left out. */
function add(counts: Record<string, number>, what: string, by: number): void {
  const count = (counts[what] ?? 0) + by;
  if (count === 0) delete counts[what];
  else counts[what] = count;
}
