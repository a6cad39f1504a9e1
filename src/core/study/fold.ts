/**
 * The one fold of a study: what each event changes in its model, in place, and what readers select from the model.
 * A section that is withheld leaves what it holds unknown. The decider, lists, reports, replays and replicates all read
 * this model; the runner keeps it up to date as the projection `studyState`.
 */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { EventDefinition } from '../../../events/define.ts';
import type { Actor, LogEvent, PartialEvent, PartialEventOf } from '../../../events/record.ts';
import type { DesignChange, MethodParameters } from '../../../events/study.ts';
import type { Projection, View } from '../../../projections/runner.ts';
import { microsecondsOf } from '../../base/time.ts';
import type { Form, ParticipantAct } from '../acts/act.ts';
import { type Act, actOf, digestIn, isCorrection } from '../acts/acts.ts';
import { Counts, ListEntries, OpenBlocks } from '../methods/memory.ts';
import type { Evidence } from '../methods/method.ts';
import { Balance } from '../model/balance.ts';
import { amendedDesign, type Design, registeredDesign, renamingsOf } from '../model/design.ts';
import { ForkableMap } from '../model/forkable-map.ts';
import { live, NO_LIFE } from '../model/life.ts';
import { filledAfter, filledBy } from '../model/limits.ts';
import { methodDesignOf, methodOf, parametersIn } from '../model/method-of.ts';
import {
  type Closing,
  digestOf,
  forkOf,
  levelIndexes,
  type Model,
  type RegisteredStudy,
  requestKey,
} from '../model/model.ts';
import { addPacks, FreePacks, NOBODY, takePack } from '../model/packs.ts';
import {
  countedLevels,
  type EnrolmentEvent,
  heldCodes,
  isEnrolment,
  isForced,
  levelsByFactor,
  type Participant,
  type ParticipantEvent,
  type ParticipantEvents,
  Participants,
  WITHHELD,
} from '../model/participants.ts';
import { forcedDigest } from './force.ts';
import { beginImport, endImport, takeRow } from './import.ts';
import { addEntries, useSkippedEntries } from './lists.ts';

/** What decisions depend on: the model of the study, once it is registered. */
export type StudyState = { readonly status: 'unregistered' } | Model;

/** The one projection of a study. Whatever shows a study selects from it, with the views at the end of this file. */
export const studyState: Projection<StudyState> = {
  name: 'study-state',
  stream: 'study',
  initial: () => ({ status: 'unregistered' }),
  apply: evolve,
};

/** Changes the given state in place, once there is a study. */
export function evolve(state: StudyState, event: PartialEvent): StudyState {
  if (event.type === 'StudyRegistered') {
    if (state.status !== 'unregistered') throw new Error('a study was registered twice');
    return modelOf(event);
  }
  if (state.status === 'unregistered') throw new Error(`${event.type} comes before StudyRegistered`);
  fold(state, event);
  return state;
}

export function fork(state: StudyState): StudyState {
  return state.status === 'unregistered' ? state : forkOf(state);
}

/** The study that the event registers. */
export function modelOf({ at, data, sections, revision }: PartialEventOf<'StudyRegistered'>): Model {
  const { configuration, studyId, seedSource, seedWeak } = data;
  const design = registeredDesign(configuration);
  const { generator } = sections;
  const parameters = parametersIn(sections);
  const bgState = generator?.bgState;
  const isPaused = configuration.start === 'paused';
  const halt = isPaused ? ({ state: 'paused', reason: 'registered as paused', at } as const) : undefined;
  const seed = generator?.seed ?? WITHHELD;
  return {
    status: isPaused ? 'paused' : 'open',
    registered: {
      ...{ studyId, configuration, parameters, seed, seedSource, seedWeak },
      ...{ registeredAt: at, recoveries: [], halt },
    },
    ...inForce(design, parameters),
    designs: [design],
    ...{ latestAt: at, lastStudyWide: revision, closings: [], recovery: 0, lists: 0, reveals: [] },
    hasVisits: design.visits.length > 0,
    ...{ participants: new Participants(), filled: filledBy(design), counts: new Counts(design) },
    ...{ blocks: new OpenBlocks(), entries: new ListEntries() },
    ...{ requests: new ForkableMap(), given: new ForkableMap(), packs: new ForkableMap() },
    ...{ withdrawn: new ForkableMap(), free: new FreePacks(), seedState: bgState, bgState },
    life: NO_LIFE,
    voidings: new ForkableMap(),
    shown: { events: { inOrder: [], byEnrolment: new Map() }, balance: new Balance(design) },
  };
}

function inForce(design: Design, parameters: MethodParameters) {
  const indexes = design.factors.map(({ levels }) => new Map(levels.map((level, i) => [level, i])));
  return { design, methodDesign: methodDesignOf(design, parameters), levelIndexes: indexes };
}

/** Folds an event of a registered study. */
export function fold(model: Model, event: PartialEvent): void {
  if (event.at > model.latestAt) model.latestAt = event.at;
  // Before anything that may throw: an event that contradicts earlier ones happened, too.
  if (event.type !== 'ParticipantRandomized') live(model, event, isCorrection(event.type));
  const act = actOf(event.type);
  const isAboutOne = act?.about === 'participant' || isEnrolment(event);
  if (!isAboutOne) model.lastStudyWide = event.revision;
  noteRequest(model, event, act);
  if (act?.about === 'study') Object.assign(model, act.apply?.(model, event));
  else if (act) changeParticipant(model, act, event);
  else if (isEnrolment(event)) enrol(model, event);
  else foldOther(model, event);
}

function foldOther(model: Model, event: Exclude<PartialEvent, EnrolmentEvent>): void {
  switch (event.type) {
    case 'StudyAmended':
      amend(model, event);
      break;
    case 'CodesRegistered':
      model.lists = event.data.list;
      if (event.sections.codes) addPacks(model, event.data.where, event.sections.codes);
      break;
    case 'ListRegistered':
      addEntries(model, event);
      break;
    case 'EntriesSkipped':
      useSkippedEntries(model, event);
      break;
    case 'HistoryImported':
      beginImport(model, event);
      break;
    case 'HistoryImportEnded':
      endImport(model, event);
      break;
    case 'StudyRecovered':
      recover(model, event);
      break;
    default:
      throw new Error(`${event.type} does not belong in a study's stream`);
  }
}

function noteRequest(model: Model, event: PartialEvent, act: Act | undefined): void {
  const key = keyOf(event);
  if (key === undefined) return;
  const { revision } = event;
  if (act) {
    const content = digestIn(act, event, model);
    model.requests.set(key, { revision, content, data: event.data });
  } else if (event.type === 'StudyAmended')
    model.requests.set(key, { revision, content: digestOf(event.type, event.data) });
  else if (isForced(event)) model.requests.set(key, { revision, content: forcedDigest(event, model.design) });
}

/** Of the request that the event answered, if it had one. */
function keyOf({ actor, sections }: PartialEvent): string | undefined {
  const { request } = sections as { readonly request?: { readonly idempotencyKey: string } };
  return request && requestKey(actor.user, request.idempotencyKey);
}

function enrol(model: Model, event: EnrolmentEvent): void {
  const isListed = model.methodDesign.method === 'list';
  if (event.type === 'ParticipantRandomized' && !isListed) model.bgState = evidenceIn(event)?.bgStateAfter;
  const { design, given, participants } = model;
  const replaced = participants.get(event.data.participantId);
  const participant = enrolledIn(event, model, replaced);
  const { participantId, pack } = participant;
  if (replaced && !('replaces' in event.data)) throw new Error('a participant was randomized twice');
  participants.add(participant);
  if (replaced?.pack || replaced?.dispensed) forgetPacks(model, participantId);
  if (pack) {
    given.set(pack.code, participantId);
    takePack(model, pack.code);
  }
  if (model.filled.length > 0) model.filled = filledAfter(model.filled, design, replaced, participant);
  // A wrong entry that is replaced is voided, so the urns do not count it.
  countInUrns(model, participant, 1);
  if (event.type === 'ParticipantRandomized') useUp(model, event, participant);
  if (replaced) model.shown?.balance.remove(replaced);
  model.shown?.balance.add(participant);
  const key = event.type === 'ParticipantRandomized' ? keyOf(event) : undefined;
  if (key !== undefined) model.requests.set(key, { revision: event.revision, enrolled: participant });
  if (event.type === 'ParticipantImported') takeRow(model, event, participant);
}

/** The participant that an event enrols. @param replaced as a wrong entry had them */
function enrolledIn(
  event: EnrolmentEvent,
  { design, participants, bgState }: Pick<Model, 'design' | 'participants' | 'bgState'>,
  replaced: Participant | undefined,
): Participant {
  const { at, actor, data, revision, sections } = event;
  const treatment = sections.allocation?.treatment;
  const participant = {
    participantId: data.participantId,
    levels: levelsByFactor(data.levels, design.factors),
    revision,
    sequence: participants.next,
    treatment: treatment ?? WITHHELD,
    slot: slotOf(event, design),
    at,
    user: actor.user,
    onBehalfOf: 'keyId' in actor ? actor.onBehalfOf : undefined,
    bgStateAfter: bgState,
  };
  // Most participants have no more than this, and a spread costs more than all the rest.
  if (event.type === 'ParticipantRandomized' && event.data.code === undefined) return participant;
  const code = event.type === 'ParticipantImported' ? undefined : event.data.code;
  return {
    ...participant,
    ...(replaced?.unblinded && { unblinded: replaced.unblinded }),
    ...(code !== undefined && { pack: { code, treatment, replacements: 0 } }),
    ...(isForced(event) && {
      forced: { isCounted: event.data.counted, cause: event.data.cause },
      occurredAt: event.data.occurredAt,
    }),
    ...(event.type === 'ParticipantImported' && asImported(event)),
  };
}

/** By whom and when, as the other system has it. */
function asImported({ at, data, sections }: Extract<EnrolmentEvent, { type: 'ParticipantImported' }>) {
  const { original, row } = data;
  const instant = microsecondsOf(original.datetime);
  return {
    at: instant === undefined ? at : new Date(Math.floor(instant / 1000)).toISOString(),
    user: original.user,
    onBehalfOf: undefined,
    bgStateAfter: sections.draw?.bgStateAfter ?? sections.state?.bgState,
    original: { datetime: original.datetime, row },
  };
}

/**
 * Index of the participant's slot; -1 if it is withheld. It is recorded only if the treatment has several.
 * @throws RangeError when the treatment is not in the design
 */
function slotOf({ type, sections }: EnrolmentEvent, { slots }: Pick<Design, 'slots'>): number {
  const recorded = evidenceIn({ sections })?.slot;
  if (recorded !== undefined) return recorded;
  const { allocation } = sections;
  if (type !== 'ParticipantRandomized' && sections.allocation?.slot !== undefined)
    return sections.allocation.slot;
  if (!allocation) return -1;
  const slot = slots.indexOf(allocation.treatment);
  if (slot < 0) throw new RangeError('the treatment is not in the design');
  return slot;
}

type DrawEvidence = NonNullable<Evidence['draw'] | Evidence['pick']>;

/** What the draw left behind, by whichever method; undefined without a draw, or if it is withheld. */
function evidenceIn({ sections }: Pick<EnrolmentEvent, 'sections'>): DrawEvidence | undefined {
  if ('pick' in sections && sections.pick) return sections.pick;
  return 'draw' in sections ? sections.draw : undefined;
}

/** The packs of a wrong entry stay used, but nobody knows who has them. */
function forgetPacks({ given }: Model, participantId: string): void {
  const codes = [...given.entries()].filter(([, id]) => id === participantId).map(([code]) => code);
  for (const code of codes) given.set(code, NOBODY);
}

/** Without the slot, which may be withheld, nothing is counted. */
function countInUrns(model: Model, participant: Participant, by: 1 | -1): void {
  const levels = participant.slot < 0 ? undefined : countedLevels(participant, model.design);
  if (levels) model.counts.add(levelIndexes(model, levels), participant.slot, by);
}

/** What the allocation used up, as far as it is not withheld. */
function useUp(
  model: Model,
  { sections }: PartialEventOf<'ParticipantRandomized'>,
  participant: Participant,
): void {
  const { levels, slot } = participant;
  const isKnown = model.methodDesign.method === 'list' || (sections.pick && slot >= 0);
  if (!isKnown) return;
  const perSlot = sections.pick?.block?.perSlot;
  methodOf(model.methodDesign).use?.(model, levelIndexes(model, levels), slot, perSlot);
}

/** All that changes follows from the participant before and after. */
function changeParticipant(
  model: Model,
  act: ParticipantAct<EventDefinition, Form>,
  event: PartialEvent,
): void {
  noteEvent(model, event as ParticipantEvent);
  const { design, participants } = model;
  // An event of an act on a participant names one, except for a pack that nobody had.
  const { participantId = '' } = event.data as { readonly participantId?: string };
  if (!act.apply) return;
  const before = participants.get(participantId);
  if (!before) throw new Error(`${event.type} is about somebody who was never randomized`);
  const after = act.apply(before, event, design);
  participants.replace(after);
  if (after.dispensed) model.hasVisits = true;
  handOver(model, before, after);
  model.filled = filledAfter(model.filled, design, before, after);
  countInUrns(model, before, -1);
  countInUrns(model, after, 1);
  model.shown?.balance.replace(before, after);
}

function noteEvent(model: Model, event: ParticipantEvent): void {
  if (event.type === 'AllocationRevealed') {
    const { reveal, participantId } = event.data;
    model.reveals = [...model.reveals, { reveal, revision: event.revision, participantId }];
  }
  if (!model.shown) return;
  const { inOrder, byEnrolment } = model.shown.events;
  const { randomizedAt } = event.data;
  inOrder.push(event);
  if (randomizedAt === undefined) return;
  const earlier = byEnrolment.get(randomizedAt);
  if (earlier) earlier.push(event);
  else byEnrolment.set(randomizedAt, [event]);
}

/** A pack that was never the participant's is nobody's, and stays used. */
function handOver(model: Model, before: Participant, after: Participant): void {
  const held = heldCodes(before);
  for (const code of heldCodes(after)) {
    if (held.includes(code)) continue;
    model.given.set(code, after.participantId);
    takePack(model, code);
  }
  for (const { code, visit } of after.dispensed ?? [])
    if (visit === undefined && held.includes(code)) model.given.set(code, NOBODY);
}

/** Limits, urns and figures are counted anew, because different ones may apply. */
function amend(model: Model, { data, revision }: PartialEventOf<'StudyAmended'>): void {
  const { participants } = model;
  const renamings = renamingsOf(data, model.design);
  const design = amendedDesign(model.design, data, revision);
  if (design.epoch > model.design.epoch) {
    model.blocks.drop();
    model.entries.drop();
  }
  Object.assign(model, inForce(design, model.registered.parameters));
  model.designs = [...model.designs, design];
  if (design.visits.length > 0) model.hasVisits = true;
  participants.rename(renamings);
  model.closings = data.changes.reduce(closingsAfter(model.latestAt), model.closings);
  model.filled = filledBy(design, participants.all());
  recount(model);
}

/** When treatments took nobody, after a change at an instant. */
function closingsAfter(at: string) {
  return (closings: readonly Closing[], change: DesignChange): readonly Closing[] => {
    switch (change.kind) {
      case 'arm-closed':
        return [...closings, { treatment: change.treatment, from: at, to: undefined }];
      case 'arm-added':
        return [...closings, { treatment: change.treatment, from: '', to: at }];
      case 'arm-reopened': {
        const { treatment } = change;
        return closings.map((one) =>
          one.treatment === treatment && one.to === undefined ? { ...one, to: at } : one,
        );
      }
      default:
        return closings;
    }
  };
}

/** The urns of the design in force, with everybody they count. */
function recount(model: Model): void {
  const { design, participants, shown } = model;
  model.counts = new Counts(design);
  if (shown) shown.balance = new Balance(design);
  for (const participant of participants.all()) {
    countInUrns(model, participant, 1);
    shown?.balance.add(participant);
  }
}

function recover(model: Model, { at, data, sections }: PartialEventOf<'StudyRecovered'>): void {
  const { recovery, kept, signed } = data;
  const { registered } = model;
  const recovered = { recovery, at, kept, signed: signed?.size };
  model.recovery = recovery;
  model.registered = { ...registered, recoveries: [...registered.recoveries, recovered] };
  model.bgState = sections.generator?.bgState;
  // Sites may know of participants whom the log lost.
  model.entries.isSkipOwed = true;
  if (model.importing) model.importing = { ...model.importing, isRecovered: true };
}

/** Folds a record that is not written. @param model is changed, so pass a fork */
export function afterUnwritten(model: Model, fact: StudyFact, revision: number): Model {
  const actor: Actor = { cli: true, user: '' };
  // A fact has all that a fold reads of an event but for these members.
  fold(model, { ...fact, revision, actor, at: '' } as LogEvent);
  return model;
}

/** What readers select from the model of a study, and what they get of a study that is not registered. */
function view<T>(select: (model: Model) => T, ofNone: T): View<StudyState, T> {
  return { of: studyState, select: (state) => (state.status === 'unregistered' ? ofNone : select(state)) };
}

export const participants = view((model) => model.participants, new Participants());

/** In force. */
export const design = view<Design | undefined>((model) => model.design, undefined);

/** Every design that the study has had, in order. The last one is in force. */
export const designs = view<readonly Design[]>((model) => model.designs, []);

export const studyConfig = view<RegisteredStudy | undefined>((model) => model.registered, undefined);

/** Whether it ever declared a visit, or gave out a pack at one. */
export const hasVisits = view((model) => model.hasVisits, false);

const NO_EVENTS: ParticipantEvents = { inOrder: [], byEnrolment: new Map() };

/** What happened to the participants after their enrolment. */
export const participantEvents = view((model) => model.shown?.events ?? NO_EVENTS, NO_EVENTS);

/** How many are on each treatment; undefined before the registration. */
export const balance = view((model) => model.shown?.balance, undefined);

/** Revision of the last event that is about the study as a whole; -1 before the first. */
export const lastStudyWide = view((model) => model.lastStudyWide, -1);
