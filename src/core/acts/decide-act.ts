/** Decides an act, in the one order that all acts have. Pure. */
import type { StudyFact } from '../../../events/catalogue.ts';
import type { EventDefinition } from '../../../events/define.ts';
import type { PartialEvent } from '../../../events/record.ts';
import type { Design } from '../model/design.ts';
import { brokenLimit, isWithin, limitNow, type Stake, stakeOf } from '../model/key-limits.ts';
import { isAmendedSince, type Model, repeated } from '../model/model.ts';
import type { Members, StudyOutcome } from '../model/outcomes.ts';
import type { Participant } from '../model/participants.ts';
import { countsMoved, currentLevels, type Enrolled } from '../model/participants.ts';
import type { Decision } from '../write/decider.ts';
import type { Form, Happening, ParticipantAct, ParticipantContext } from './act.ts';
import { type Act, actOf, stateProblem } from './acts.ts';
import { type ActCommand, askedDigest, chosenIn } from './command.ts';
import { factOf, membersOf } from './record-of.ts';

/**
 * Where the members come from that an act chooses. `choose`: from the lists of packs. `try`: nowhere, in a dry run. `recorded`:
 * these are all members of the record, and the lists are withheld.
 */
export type Source = 'choose' | 'try' | { readonly recorded: Members };

type OnParticipant = ParticipantAct<EventDefinition, Form>;
type Context = ParticipantContext<Members>;

export function decideAct(
  model: Model,
  command: ActCommand,
  source: Source,
): Decision<StudyFact, StudyOutcome> {
  const act = actOf(command.act);
  const { by, askedAt, brings = {} } = command;
  const onParticipant = act.about === 'participant' ? act : undefined;
  const participant = onParticipant && participantFor(model, command);
  if (onParticipant && !participant) return { outcome: { type: 'no-such-participant' } };
  const { participantId, revision: randomizedAt } = participant ?? {};
  const asked: Members = {
    ...(act.resolve?.(command.asked, model) ?? command.asked),
    ...(participant && { participantId, randomizedAt }),
  };
  // An act on the study looks at no participant.
  const context = { model, participant, asked, by, askedAt, brings } as Context;
  const members = { ...asked, ...act.adds?.(context), ...brings };
  const later = (chosen?: Members) =>
    after(act, context.participant, { ...members, ...chosen }, model.design);
  const outside = onParticipant && limitsProblem(onParticipant, context, later);
  // What a key did is confirmed even if its participant has left its limits since.
  const again = repeated(model, by, () => askedDigest(act, asked, model));
  if (again && !(outside && onParticipant?.isConfirmedWithin)) return { outcome: again };
  const problem =
    outside ??
    act.done?.(context) ??
    stateProblem(model, command.act) ??
    (isAmendedSince(model, command) ? ({ type: 'amended-meanwhile' } as const) : undefined) ??
    act.problem?.(context);
  if (problem) return { outcome: participant ? withinLimits(context, problem) : problem };
  const chosen = chosenBy(act, context, source);
  if ('none' in chosen) return { outcome: chosen.none };
  const fact = factOf(act.writes, { ...members, ...chosen.members }, by.idempotencyKey);
  const moves = participant !== undefined && countsMoved(participant, later(chosen.members), model.design);
  return { fact, outcome: { type: 'recorded', participantId, moves, data: fact.data } };
}

function participantFor(model: Model, { asked, randomizedAt }: ActCommand): Participant | undefined {
  const { participantId = '' } = asked as { readonly participantId?: string };
  const holder = model.participants.find(participantId);
  return holder?.revision === (randomizedAt ?? holder?.revision) ? holder : undefined;
}

function after<P extends Enrolled>(
  act: Act,
  participant: P,
  data: unknown,
  design: Pick<Design, 'factors'>,
): P {
  const event: Happening<EventDefinition> = { data, sections: {}, revision: -1, at: '' };
  return (act.about === 'participant' && act.apply?.(participant, event, design)) || participant;
}

type ChosenMembers = { readonly members: Members } | { readonly none: StudyOutcome };

function chosenBy(act: Act, context: Context, source: Source): ChosenMembers {
  const { chooses } = act;
  if (!chooses) return { members: {} };
  if (typeof source !== 'string') {
    const members = chosenIn(act, source.recorded);
    const problem = chooses.problem(context, members);
    return problem ? { none: problem } : { members };
  }
  const members = chooses.lacks(context) ? undefined : source === 'try' ? {} : chooses.choose(context);
  return members ? { members } : { none: chooses.none(context) };
}

/** A participant outside the limits of a key does not exist for it. */
function limitsProblem(
  act: OnParticipant,
  { asked, participant, by, model }: Context,
  later: () => Enrolled,
): StudyOutcome | undefined {
  const { design } = model;
  const stake = stakeOf(act.limits?.(asked), participant, later);
  const broken = brokenLimit(by.where, stake, design);
  if (!broken) return undefined;
  const now = { ...stake, of: stake.of.slice(0, 1) };
  const mayKnow = stake.need === 'all' && !brokenLimit(by.where, now, design);
  return mayKnow
    ? { type: 'outside-limits', limit: limitNow(broken, design) }
    : { type: 'no-such-participant' };
}

/** A site may record that a participant moves to it, but must not be able to find out levels by trying. */
function withinLimits({ by, model, participant }: Context, problem: StudyOutcome): StudyOutcome {
  if (problem.type !== 'stale' || isWithin(by.where, model.design, currentLevels(participant)))
    return problem;
  return { ...problem, why: 'a level is not as the request says' };
}

/** Where the limits of a key must have held for it to write the event. @param participant before the event */
export function stakeIn(
  act: OnParticipant,
  event: PartialEvent,
  participant: Enrolled,
  design: Pick<Design, 'factors'>,
): Stake {
  const stakes = act.limits?.(membersOf(act.writes, event));
  return stakeOf(stakes, participant, () => after(act, participant, event.data, design));
}
