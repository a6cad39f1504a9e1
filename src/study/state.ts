/** The state that a study's decisions depend on, folded from its events. */

import type { StudyFact } from '../../events/catalogue.ts';
import type { SourceFormat } from '../../events/import.ts';
import type { Actor, LogEvent } from '../../events/record.ts';
import type { BgState } from '../../events/study.ts';
import type { Design } from '../../projections/design.ts';
import {
  countedLevels,
  isCorrection,
  levelsByFactor,
  NONE,
  type WholeCorrection,
} from '../../projections/enrolled.ts';
import type { Projection } from '../../projections/projection.ts';
import { microsecondsOf } from '../base/instant.ts';
import { Counts, NO_LEVEL } from '../urn/counts.ts';
import type { UrnDesign } from '../urn/kernel.ts';
import { ForkableMap } from './forkable-map.ts';
import { FreePacks } from './free-packs.ts';
import { type Steps, stepsAfter } from './import-proof.ts';
import { type Allocated, forkOfLife, type Life, lifeAfter, newLife, slotOf } from './life.ts';
import { isFree, type Packs } from './packs.ts';
import { urnDesignOf } from './urn-design.ts';

export interface RegisteredState extends Life {
  /** The index of each level, per factor. */
  readonly levelIndexes: readonly ReadonlyMap<string, number>[];
  /** What an allocation sees of the design. */
  readonly urnDesign: UrnDesign;
  readonly counts: Counts;
  readonly packs: Packs['packs'];
  readonly withdrawn: Packs['withdrawn'];
  readonly free: Packs['free'];
  /** The state at the registration. */
  readonly seedState: BgState;
  /** State of the generator after the last allocation. Changed in place: a copy for each allocation would cost more. */
  bgState: BgState;
  /** Set while a history is imported. */
  imported?: Imported | undefined;
}

/** The sealed part of an import. */
interface Imported {
  /** The digest of the file. */
  readonly sha256: string;
  readonly format: SourceFormat;
  readonly isFresh: boolean;
  readonly isSeedKnown: boolean;
  readonly treatmentMap: readonly {
    readonly from: string;
    readonly to: string;
    readonly slot?: number | undefined;
  }[];
  /** The state of the first new draw. */
  readonly generator: BgState;
  readonly steps: Steps;
  /** The first row of the largest instant. */
  readonly latest?: { readonly instant: number; readonly bgState: BgState | undefined };
}

export type StudyState = { readonly status: 'unregistered' } | RegisteredState;

export function evolve(state: StudyState, event: LogEvent): StudyState {
  if (event.type === 'StudyRegistered') {
    if (state.status !== 'unregistered') throw new Error('a study was registered twice');
    const life = newLife(event.data.configuration);
    return {
      ...life,
      levelIndexes: indexesOf(life.design),
      urnDesign: urnDesignOf(life.design),
      counts: new Counts(life.design),
      packs: new ForkableMap(),
      withdrawn: new ForkableMap(),
      free: new FreePacks(),
      seedState: event.sections.generator.bgState,
      bgState: event.sections.generator.bgState,
    };
  }
  if (state.status === 'unregistered') throw new Error(`${event.type} comes before StudyRegistered`);
  if (isCorrection(event)) return correct(state, event);
  const after = lifeAfter(state, event);
  switch (event.type) {
    case 'ParticipantRandomized': {
      const levels = levelIndexes(state, levelsByFactor(event.data.levels, after.design.factors));
      after.counts.add(levels, slotOf(event, after.design));
      after.bgState = event.sections.draw.bgStateAfter;
      takePack(after, event.data.code);
      return after;
    }
    case 'AllocationForced':
      return forced(after, event);
    case 'HistoryImported':
      return { ...after, imported: importedBy(after, event) };
    case 'ParticipantImported':
      return { ...after, imported: withImported(after, event) };
    case 'HistoryImportEnded':
      return importEnded(state, after, event);
    case 'StudyAmended':
      return recounted({
        ...after,
        levelIndexes: indexesOf(after.design),
        urnDesign: urnDesignOf(after.design),
      });
    case 'CodesRegistered':
      return withList(after, event);
    case 'CodesWithdrawn':
      for (const code of event.sections.withdrawn.codes) {
        after.withdrawn.set(code, true);
        takePack(after, code);
      }
      return after;
    case 'CodeReplaced':
      takePack(after, event.data.by);
      return after;
    case 'StudyRecovered':
      return { ...after, bgState: event.sections.generator.bgState };
    default:
      return after;
  }
}

type Of<T extends LogEvent['type']> = Extract<LogEvent, { type: T }>;

function importedBy(
  { design, seedState }: RegisteredState,
  { data, sections }: Of<'HistoryImported'>,
): Imported {
  const beginning = { bgState: data.seedKnown ? seedState : undefined, counts: new Counts(design) };
  return {
    sha256: sections.source.sha256,
    format: data.source.format,
    isFresh: data.generator === 'fresh',
    isSeedKnown: data.seedKnown === true,
    treatmentMap: sections.source.treatmentMap ?? [],
    generator: sections.generator.bgState,
    steps: [beginning],
  };
}

function withList(after: RegisteredState, { data, sections }: Of<'CodesRegistered'>): RegisteredState {
  const { key, entries } = sections.codes;
  const { where } = data;
  const keyBytes = Buffer.from(key, 'hex');
  const packs = entries.map(({ code, treatment }) => {
    return { code, treatment, where, keyBytes, codeBytes: Buffer.from(code) };
  });
  for (const pack of packs) after.packs.set(pack.code, pack);
  after.free.add(
    packs.filter(({ code }) => isFree(after, code)),
    where,
    after.design,
  );
  return after;
}

/** No pack is ever free again. */
function takePack({ packs, free, design }: RegisteredState, code: string | undefined): void {
  const pack = code === undefined ? undefined : packs.get(code);
  if (pack) free.take(pack, design);
}

/** Counts the row, and keeps what the next one may have been drawn from. */
function withImported(state: RegisteredState, event: Of<'ParticipantImported'>): Imported | undefined {
  const { data, sections } = event;
  const { design, counts, imported } = state;
  if (!imported) return undefined;
  const levels = levelIndexes(state, levelsByFactor(data.levels, design.factors));
  counts.add(levels, slotOf(event, design));
  const bgState = sections.draw?.bgStateAfter ?? sections.state?.bgState;
  const instant = microsecondsOf(data.original.datetime) ?? 0;
  const isLatest = !imported.latest || instant > imported.latest.instant;
  return {
    ...imported,
    steps: stepsAfter(imported.steps, { bgState, counts: counts.fork() }),
    ...(isLatest && { latest: { instant, bgState } }),
  };
}

/** The first new draw starts from the state that the import says, unless the generator has begun anew since. */
function importEnded(
  { importing, imported }: RegisteredState,
  after: RegisteredState,
  { data }: Of<'HistoryImportEnded'>,
): RegisteredState {
  if ('aborted' in data) return { ...after, imported: undefined, counts: new Counts(after.design) };
  const bgState = importing?.isRecovered ? after.bgState : (imported?.generator ?? after.bgState);
  return { ...after, imported: undefined, bgState };
}

/** The urns of the design in force, with everybody they count. */
function recounted(state: RegisteredState): RegisteredState {
  const after = { ...state, counts: new Counts(state.design) };
  for (const participant of after.enrolled.all()) count(after, participant, 1);
  return after;
}

function indexesOf({ factors }: Design): readonly ReadonlyMap<string, number>[] {
  return factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
}

/** A wrong entry that is replaced is voided, so the urns do not count it. */
function forced(after: RegisteredState, { data }: Of<'AllocationForced'>): RegisteredState {
  const participant = after.enrolled.get(data.participantId);
  if (participant) count(after, participant, 1);
  takePack(after, data.code);
  return after;
}

/** Moves the participant in the urns, if the correction does. */
function correct(state: RegisteredState, event: WholeCorrection): RegisteredState {
  const { participantId } = event.data;
  const before = state.enrolled.get(participantId);
  const after = lifeAfter(state, event);
  if (before) count(after, before, -1);
  const corrected = after.enrolled.get(participantId);
  if (corrected) count(after, corrected, 1);
  return after;
}

function count(state: RegisteredState, participant: Allocated, by: 1 | -1): void {
  const levels = countedLevels(participant, state.design);
  if (levels) state.counts.add(levelIndexes(state, levels), participant.slot, by);
}

/** @throws RangeError when a level is not in the design */
export function levelIndexes(state: RegisteredState, levels: readonly string[]): number[] {
  return levels.map((level, factor) => {
    if (level === NONE) return NO_LEVEL;
    const index = state.levelIndexes[factor]?.get(level);
    if (index === undefined) throw new RangeError(`level of factor ${factor} is not in the design`);
    return index;
  });
}

/** A state to decide a batch against. It may be dropped. The original must not change while the fork is in use. */
export function fork(state: StudyState): StudyState {
  if (state.status === 'unregistered') return state;
  const { counts, packs, withdrawn, free } = state;
  return {
    ...{ ...forkOfLife(state), counts: counts.fork() },
    ...{ packs: packs.fork(), withdrawn: withdrawn.fork(), free: free.fork() },
  };
}

/** Folds a record that is not written. @param state may be changed, so pass a fork */
export function afterUnwritten(state: RegisteredState, fact: StudyFact, revision: number): RegisteredState {
  const actor: Actor = { cli: true, user: '' };
  return evolve(state, { ...fact, revision, actor, at: '' } as LogEvent) as RegisteredState;
}

/** The decider's state. The runner folds it like every read model. */
export const studyState: Projection<StudyState> = {
  name: 'study-state',
  stream: 'study',
  initial: () => ({ status: 'unregistered' }),
  apply: evolve,
};
