/** Decides the commands of an import. Pure, like decide.ts. */
import type { StudyFact } from '../../../events/catalogue.ts';
import { stateProblem } from '../acts/acts.ts';
import { hasRatio } from '../model/design.ts';
import { isSame, proofOf } from '../model/import-proof.ts';
import { namedLevels } from '../model/levels.ts';
import { urnDesignOf } from '../model/method-of.ts';
import { isAmendedSince, levelIndexes, type Model } from '../model/model.ts';
import { impossible, type StudyOutcome } from '../model/outcomes.ts';
import { Pcg64 } from '../random/pcg64.ts';
import type { Decision } from '../write/decider.ts';
import type { BeginImport, EndImport, ImportCommand, ImportParticipant } from './commands.ts';
import { forcedAllocation, slotsOf } from './force.ts';
import { beginProblem, endProblem, rowProblem } from './imports.ts';

type ImportFact = Extract<
  StudyFact,
  { type: 'HistoryImported' | 'ParticipantImported' | 'HistoryImportEnded' }
>;
type ImportDecision = Decision<ImportFact, StudyOutcome>;

export function decideImport(state: Model, command: ImportCommand): ImportDecision {
  switch (command.type) {
    case 'begin-import':
      return begin(state, command);
    case 'import-participant':
      return take(state, command);
    case 'end-import':
      return end(state, command);
  }
}

function begin(state: Model, command: BeginImport): ImportDecision {
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
    beginProblem(state, data, command.askedAt) ??
    generatorProblem(state, command);
  if (problem) return { outcome: problem };
  return { fact: { type: 'HistoryImported', data, sections }, outcome: { type: 'import-begun' } };
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

function take(state: Model, command: ImportParticipant): ImportDecision {
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
        allocation: isRedrawn ? { treatment } : allocated(state, treatment, slots),
        ...(isRedrawn ? { draw: proof.draw } : isOwn && bgState && { state: { bgState } }),
      },
    },
    outcome: { type: 'imported', participantId },
  };
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
function allocated(state: Model, treatment: string, [slot, ...others]: readonly number[]) {
  const isNamed = slot !== undefined && others.length === 0;
  return isNamed && hasRatio(state.design) ? { treatment, slot } : forcedAllocation(state, treatment);
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

function end(state: Model, { import: id, abortedBecause }: EndImport): ImportDecision {
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

function importProblem(state: Model, type: ImportFact['type']): StudyOutcome | undefined {
  const problem = stateProblem(state, type);
  return problem && state.status !== 'importing' && type !== 'HistoryImported'
    ? { type: 'not-importing' }
    : problem;
}
