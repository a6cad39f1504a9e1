/** What the events of an import change in the model. */
import type { PartialEventOf } from '../../../events/record.ts';
import { microsecondsOf } from '../../base/time.ts';
import { counted } from '../../base/wording.ts';
import { Counts } from '../methods/counts.ts';
import { Balance } from '../model/balance.ts';
import { stepsAfter } from '../model/import-proof.ts';
import { filledBy } from '../model/limits.ts';
import type { Model } from '../model/model.ts';
import type { Participant } from '../model/participants.ts';

export function beginImport(model: Model, { at, data, sections }: PartialEventOf<'HistoryImported'>): void {
  const { registered, status } = model;
  const { import: id, proof, source } = data;
  model.status = 'importing';
  model.importing = {
    ...{ import: id, rows: source.rows, toRedraw: proof.redrawn, taken: 0, redrawn: 0 },
    ...{ last: undefined, statusBefore: status, isRecovered: false },
  };
  const reason = `a history of ${counted(source.rows, 'participant')} is being imported`;
  model.registered = {
    ...registered,
    halt: { state: 'importing', reason, at },
    before: registered.halt,
    imported: { ...proof, at },
  };
  if (!sections.source || !sections.generator) return;
  const beginning = {
    bgState: data.seedKnown ? model.seedState : undefined,
    counts: new Counts(model.design),
  };
  model.imported = {
    sha256: sections.source.sha256,
    format: source.format,
    isFresh: data.generator === 'fresh',
    isSeedKnown: data.seedKnown === true,
    treatmentMap: sections.source.treatmentMap ?? [],
    generator: sections.generator.bgState,
    steps: [beginning],
  };
}

/** Keeps what the next row may have been drawn from. @param bgStateAfter of the row's participant */
export function takeRow(
  model: Model,
  { data }: PartialEventOf<'ParticipantImported'>,
  { bgStateAfter: bgState }: Participant,
): void {
  const { importing, imported, counts } = model;
  const { original, redrawn, row } = data;
  const instant = microsecondsOf(original.datetime) ?? 0;
  if (importing)
    model.importing = {
      ...importing,
      taken: importing.taken + 1,
      redrawn: importing.redrawn + Number(redrawn),
      last: { instant, row },
    };
  if (!imported) return;
  const isLatest = !imported.latest || instant > imported.latest.instant;
  model.imported = {
    ...imported,
    steps: stepsAfter(imported.steps, { bgState, counts: counts.fork() }),
    ...(isLatest && { latest: { instant, bgState } }),
  };
}

/**
 * The first new draw starts from the state that the import says, unless the generator has begun anew since. Nothing is left of
 * an import that was given up, except its records.
 */
export function endImport(model: Model, { data }: PartialEventOf<'HistoryImportEnded'>): void {
  const { design, importing, imported, participants, registered, shown, status } = model;
  const isAborted = 'aborted' in data;
  model.status = importing?.statusBefore ?? status;
  model.registered = {
    ...{ ...registered, halt: registered.before, before: undefined },
    imported: isAborted ? undefined : registered.imported,
  };
  model.importing = undefined;
  model.imported = undefined;
  if (isAborted) {
    participants.clear();
    model.filled = filledBy(design);
    model.counts = new Counts(design);
    if (shown) shown.balance = new Balance(design);
    return;
  }
  // The other system may have used entries of the list.
  model.entries.isSkipOwed = true;
  if (imported && !importing?.isRecovered) model.bgState = imported.generator;
}
