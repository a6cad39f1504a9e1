/**
 * The import of a history from another system, row by row: decides each command of it, and folds what was decided into the
 * model. Pure, as `decide` is. The rules that need nothing sealed (`beginProblem`, `rowProblem`, `endProblem`) are checked in
 * a blinded bundle, too.
 */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { PartialEventOf } from '../../../events/record.ts';
import { microsecondsOf } from '../../base/time.ts';
import { counted } from '../../base/wording.ts';
import { stateProblem } from '../acts/acts.ts';
import { Counts } from '../methods/memory.ts';
import { Balance } from '../model/balance.ts';
import { hasRatio } from '../model/design.ts';
import { isSame, proofOf, stepsAfter } from '../model/import-proof.ts';
import { filledBy } from '../model/limits.ts';
import { approvalProblems } from '../model/members.ts';
import { urnDesignOf } from '../model/method-of.ts';
import { isAmendedSince, levelIndexes, type Model, type RowPlace } from '../model/model.ts';
import { impossible, type StudyOutcome } from '../model/outcomes.ts';
import { namedLevels, type Participant } from '../model/participants.ts';
import { Pcg64 } from '../random/pcg64.ts';
import type { Decision } from '../write/decider.ts';
import type { BeginImport, EndImport, ImportCommand, ImportParticipant } from './commands.ts';
import { forcedAllocation, slotsOf } from './force.ts';

type ImportFact = Extract<
  StudyFact,
  { type: 'HistoryImported' | 'ParticipantImported' | 'HistoryImportEnded' }
>;
type ImportDecision = Decision<ImportFact, StudyOutcome>;

export function decideImport(state: Model, command: ImportCommand, at: string): ImportDecision {
  switch (command.type) {
    case 'begin-import':
      return decideBegin(state, command, at);
    case 'import-participant':
      return decideRow(state, command);
    case 'end-import':
      return decideEnd(state, command);
  }
}

function decideBegin(state: Model, command: BeginImport, at: string): ImportDecision {
  const { source, sha256, treatmentMap, generator, bgState, seed, seedKnown, proof, approvals } = command;
  const data = {
    ...{ approvals: [...approvals], generator, import: command.import, proof },
    ...(seedKnown && { seedKnown: true as const }),
    source,
  };
  const sections = {
    source: { sha256, ...(treatmentMap && { treatmentMap: [...treatmentMap] }) },
    generator: { bgState, ...(seed !== undefined && { seed: String(seed) }) },
  };
  const problem =
    importProblem(state, 'HistoryImported') ??
    (isAmendedSince(state, command) ? ({ type: 'amended-meanwhile' } as const) : undefined) ??
    beginProblem(state, data, at) ??
    generatorProblem(state, command);
  if (problem) return { outcome: problem };
  return { fact: { type: 'HistoryImported', data, sections }, outcome: { type: 'import-begun' } };
}

function importProblem(state: Model, type: ImportFact['type']): StudyOutcome | undefined {
  const problem = stateProblem(state, type);
  return problem && state.status !== 'importing' && type !== 'HistoryImported'
    ? { type: 'not-importing' }
    : problem;
}

type DataOf<T extends StudyFact['type']> = Extract<StudyFact, { type: T }>['data'];

/** Why a study with another method takes over no history that could be drawn again. */
export const ONLY_CSV =
  'the reference knows the urn alone: this study can take over only a csv, with a fresh generator';

export function beginProblem(
  { design, participants }: Model,
  { approvals, generator, proof, seedKnown, source }: DataOf<'HistoryImported'>,
  at: string,
): StudyOutcome | undefined {
  if (!participants.isEmpty()) return { type: 'not-empty' };
  const [problem] = approvalProblems(
    approvals,
    at,
    design.mode,
    'a history can be imported into a live study only with an approval',
  );
  if (problem) return impossible(problem.field, problem.why);
  if (proof.redrawn + proof.unproven !== source.rows)
    return impossible('proof', 'it is not of all rows of the source');
  if (design.method.name !== 'urn' && (source.format !== 'csv' || generator !== 'fresh' || seedKnown))
    return impossible('source.format', ONLY_CSV);
  if (generator === 'continued' && hasRatio(design))
    return impossible(
      'generator',
      'the other system knows no ratio, so the generator cannot go on from there',
    );
  return undefined;
}

function generatorProblem(
  { design }: Model,
  { generator, bgState, seed, treatmentMap = [] }: BeginImport,
): StudyOutcome | undefined {
  if (
    treatmentMap.some(
      ({ to, slot }) => slot !== undefined && (!hasRatio(design) || design.slots[slot] !== to),
    )
  )
    return impossible('source', 'a treatment has no such slot');
  if (generator === 'fresh')
    return seed !== undefined && isSame(Pcg64.fromSeed(seed).snapshot(), bgState)
      ? undefined
      : impossible('generator', 'a fresh generator has a seed, and begins with it');
  Pcg64.restore(bgState);
  return seed === undefined
    ? undefined
    : impossible('generator', 'a continued generator has no seed of its own');
}

function decideRow(state: Model, command: ImportParticipant): ImportDecision {
  const { participantId, levels, original, row, treatment, bgState } = command;
  const { design, methodDesign, imported } = state;
  const named = namedLevels(design, levels);
  const common = { import: command.import, levels: named, original, participantId, row };
  const early =
    importProblem(state, 'ParticipantImported') ??
    outOfPlace(state, command) ??
    rowProblem(state, { ...common, redrawn: false });
  if (early) return { outcome: early };
  if (!imported) return { outcome: { type: 'not-importing' } };
  if (state.participants.find(participantId))
    return { outcome: { type: 'duplicate', participantId, differingFactors: [] } };
  if (!design.treatments.includes(treatment))
    return { outcome: impossible('treatment', 'the study has no such treatment') };
  const slots = slotsOfRow(state, command);
  if (slots.length === 0)
    return { outcome: impossible('slot', 'the file names no such slot of the treatment') };
  const isOwn = imported.format === 'reference';
  const proof = !isOwn
    ? ({ cause: 'other-system' } as const)
    : proofOf(urnDesignOf(methodDesign), imported.steps, {
        levelIndexes: levelIndexes(state, levels),
        slots,
        after: bgState,
      });
  const isRedrawn = 'draw' in proof;
  return {
    fact: {
      type: 'ParticipantImported',
      data: { ...(!isRedrawn && { cause: proof.cause }), ...common, redrawn: isRedrawn },
      sections: {
        allocation: isRedrawn ? { treatment } : allocationOfRow(state, treatment, slots),
        ...(isRedrawn ? { draw: proof.draw } : isOwn && bgState && { state: { bgState } }),
      },
    },
    outcome: { type: 'imported', participantId },
  };
}

/** A row that is already in was written by another process that imports the same file. */
function outOfPlace(
  { importing }: Model,
  { import: id, place, participantId }: ImportParticipant,
): StudyOutcome | undefined {
  if (place === undefined || importing?.import !== id || place === importing.taken) return undefined;
  if (place < importing.taken) return { type: 'imported', participantId };
  return { type: 'stale', why: 'a row before it was not written (hint: run the command again)' };
}

export function rowProblem(
  { importing }: Model,
  { import: id, original, row }: DataOf<'ParticipantImported'>,
): StudyOutcome | undefined {
  if (!importing) return { type: 'not-importing' };
  if (importing.import !== id) return impossible('import', 'another import is under way');
  if (importing.taken >= importing.rows || row > importing.rows)
    return impossible('row', `the source has ${counted(importing.rows, 'row')}`);
  const instant = microsecondsOf(original.datetime);
  if (instant === undefined) return impossible('original.datetime', 'it is not an instant');
  return isInOrder({ instant, row }, importing.last)
    ? undefined
    : impossible('row', 'rows come in the order of their instants, then of their numbers');
}

function isInOrder({ instant, row }: RowPlace, last: RowPlace | undefined): boolean {
  return !last || instant > last.instant || (instant === last.instant && row > last.row);
}

/** The slot that the file names, or else all slots of the row's arm. Empty if the file names others. */
function slotsOfRow({ design, imported }: Model, { treatment, slot }: ImportParticipant): readonly number[] {
  const named = (imported?.treatmentMap ?? []).filter(
    ({ to, slot: own }) => to === treatment && own !== undefined,
  );
  if (named.length === 0) return slotsOf(design, treatment);
  return named.some((one) => one.slot === slot) && slot !== undefined ? [slot] : [];
}

/** The allocation of a row that was not drawn again. */
function allocationOfRow(state: Model, treatment: string, [slot, ...others]: readonly number[]) {
  const isNamed = slot !== undefined && others.length === 0;
  return isNamed && hasRatio(state.design) ? { treatment, slot } : forcedAllocation(state, treatment);
}

function decideEnd(state: Model, { import: id, abortedBecause }: EndImport): ImportDecision {
  const { importing, imported } = state;
  const data =
    abortedBecause === undefined
      ? { import: id, rows: importing?.rows ?? 0 }
      : { aborted: true as const, import: id, reason: abortedBecause };
  const problem = importProblem(state, 'HistoryImportEnded') ?? endProblem(state, data);
  if (problem) return { outcome: problem };
  if (abortedBecause === undefined && imported && !imported.isFresh) {
    const last = imported.latest?.bgState;
    if (!last || !isSame(last, imported.generator))
      return { outcome: impossible('generator', 'it is not the state of the row with the largest instant') };
  }
  const outcome = { type: abortedBecause === undefined ? 'import-ended' : 'import-aborted' } as const;
  return { fact: { type: 'HistoryImportEnded', data, sections: {} }, outcome };
}

export function endProblem(
  { importing }: Model,
  data: DataOf<'HistoryImportEnded'>,
): StudyOutcome | undefined {
  if (!importing) return { type: 'not-importing' };
  if (importing.import !== data.import) return impossible('import', 'another import is under way');
  if ('aborted' in data) return undefined;
  if (data.rows !== importing.rows)
    return impossible('rows', `the source has ${counted(importing.rows, 'row')}`);
  if (importing.taken !== importing.rows)
    return impossible('rows', `${importing.taken} of ${counted(importing.rows, 'row')} are in`);
  if (importing.redrawn !== importing.toRedraw)
    return impossible('rows', `${importing.redrawn} rows were drawn again, not ${importing.toRedraw}`);
  return undefined;
}

/** Folds the beginning of an import: until it ends, the study takes only the rows of the source. */
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

/** Folds a row, and keeps what the next one may have been drawn from. @param bgStateAfter of the row's participant */
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
 * Folds the end of an import. The first new draw starts from the state that the import says, unless the generator has begun
 * anew since. Nothing is left of an import that was given up, except its records.
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
    if (shown) {
      shown.balance = new Balance(design);
      shown.events.byEnrolment.clear();
    }
    return;
  }
  // The other system may have used entries of the list.
  model.entries.isSkipOwed = true;
  if (imported && !importing?.isRecovered) model.bgState = imported.generator;
}
