/** All acts, by the event that each one writes. */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { EventDefinition } from '../../../events/define.ts';
import type { Model } from '../model/model.ts';
import type { StudyOutcome } from '../model/outcomes.ts';
import { SETTLED, STATUSES } from '../model/status.ts';
import type { Form, FormValues, ParticipantAct, Permit, StudyAct } from './act.ts';
import { breakCode } from './break-code.ts';
import { close } from './close.ts';
import { correctDispensation } from './correct-dispensation.ts';
import { correctId } from './correct-id.ts';
import { correctLevels } from './correct-levels.ts';
import { dispensePack } from './dispense-pack.ts';
import { pause } from './pause.ts';
import { reinstate } from './reinstate.ts';
import { reopen } from './reopen.ts';
import { replacePack } from './replace-pack.ts';
import { reportUnblinding } from './report-unblinding.ts';
import { resume } from './resume.ts';
import { voidAllocation } from './void-allocation.ts';
import { withdrawPacks } from './withdraw-packs.ts';

/** In the order in which documents show them. */
const LIST = [
  pause,
  resume,
  close,
  reopen,
  correctLevels,
  voidAllocation,
  reinstate,
  correctId,
  breakCode,
  reportUnblinding,
  replacePack,
  dispensePack,
  correctDispensation,
  withdrawPacks,
] as const;

type ListedAct = (typeof LIST)[number];
/** The name of an act: the type of its event. */
export type ActName = ListedAct['writes']['type'];
type ActNamed<N extends ActName> = Extract<ListedAct, { readonly writes: { readonly type: N } }>;
/** What is asked for by an act. */
export type ActValues<N extends ActName = ActName> = N extends ActName
  ? FormValues<ActNamed<N>['asks']>
  : never;

/** An act of which only the name is known. Its functions take what its own form and event have. */
export type Act = ParticipantAct<EventDefinition, Form> | StudyAct<EventDefinition, Form>;

// The types of its members are lost: the functions of an act are only called with what its own form and event have.
const byName = new Map(LIST.map((act) => [act.writes.type as string, act as unknown as Act]));

export const ACT_NAMES = LIST.map(({ writes }): ActName => writes.type);

type OnParticipant = Extract<ListedAct, { readonly about: 'participant' }>;
/** The acts on a participant. */
export const PARTICIPANT_ACTS = LIST.filter((act) => act.about === 'participant').map(
  ({ writes }): OnParticipant['writes']['type'] => writes.type,
);

/** The act that writes events of this type; undefined for those that are written otherwise. */
export function actOf(type: ActName): Act;
export function actOf(type: string): Act | undefined;
export function actOf(type: string): Act | undefined {
  return byName.get(type);
}

/** Of the events that are not described as acts. */
const OTHERS: Readonly<Record<Exclude<StudyFact['type'], ActName>, Permit>> = {
  StudyRegistered: { commandLine: true, scopes: [], in: [] },
  ParticipantRandomized: { commandLine: false, scopes: ['randomize'], in: ['open'] },
  // In a closed study, it has no effect until the study is reopened.
  StudyAmended: { commandLine: true, scopes: ['manage'], in: SETTLED },
  // An outage is a reason to pause. A closed study takes only what was allocated before it was closed.
  AllocationForced: { commandLine: true, scopes: ['force'], in: SETTLED },
  // A pack is ordered before the study opens.
  CodesRegistered: { commandLine: true, scopes: [], in: SETTLED },
  ListRegistered: { commandLine: true, scopes: [], in: SETTLED },
  EntriesSkipped: { commandLine: true, scopes: [], in: SETTLED },
  HistoryImported: { commandLine: true, scopes: [], in: ['open', 'paused'] },
  ParticipantImported: { commandLine: true, scopes: [], in: ['importing'] },
  HistoryImportEnded: { commandLine: true, scopes: [], in: ['importing'] },
  // The log decides when. See src/core/log/recovery.ts.
  StudyRecovered: { commandLine: true, scopes: [], in: STATUSES },
};

/** Who may write an event, and in which state of the study. */
export function mayOf(type: StudyFact['type']): Permit {
  // A type that no act has is one of the others.
  return byName.get(type)?.may ?? OTHERS[type as keyof typeof OTHERS];
}

/** Why the state of the study forbids an event; undefined if it allows it. */
export function stateProblem(
  { status }: Pick<Model, 'status'>,
  type: StudyFact['type'],
): StudyOutcome | undefined {
  return mayOf(type).in.includes(status) ? undefined : { type: 'refused', because: status };
}

/** Whether an event of this type says that something recorded of a participant was wrong. */
export function isCorrection(type: string): boolean {
  const act = byName.get(type);
  return act?.about === 'participant' && act.isCorrection === true;
}
