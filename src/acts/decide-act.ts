/** Decides an act, in the one order that all acts have. Pure. */
import type { StudyFact } from '../../events/catalogue.ts';
import type { EventDefinition } from '../../events/define.ts';
import type { PartialEvent } from '../../events/record.ts';
import type { Design } from '../../projections/design.ts';
import { countsMoved, currentLevels, type Enrolled } from '../../projections/enrolled.ts';
import { brokenLimit, isWithin, limitNow, type Stake, stakeOf } from '../model/key-limits.ts';
import { isAmendedSince, type Model } from '../model/model.ts';
import type { Members, StudyOutcome } from '../model/outcomes.ts';
import type { Participant } from '../model/participants.ts';
import { repeated } from '../model/requests.ts';
import type { Decision } from '../write/decider.ts';
import type { Form, Happening, ParticipantAct, ParticipantContext, StudyAct } from './act.ts';
import { type Act, actOf, stateProblem } from './acts.ts';
import { type ActCommand, askedDigest, chosenIn } from './command.ts';
import { factOf, membersOf } from './record-of.ts';

/**
 * Where the members come from that an act chooses. `choose`: from the lists of packs. `try`: nowhere, in a dry run. `recorded`:
 * these are all members of the record, and the lists are withheld.
 */
export type Source = 'choose' | 'try' | { readonly recorded: Members };

type ActDecision = Decision<StudyFact, StudyOutcome>;
export type OnParticipant = ParticipantAct<EventDefinition, Form>;
type OnStudy = StudyAct<EventDefinition, Form>;
type Context = ParticipantContext<Members>;

export function decideAct(model: Model, command: ActCommand, source: Source): ActDecision {
  const act = actOf(command.act);
  return act.about === 'participant'
    ? decideOnParticipant(model, act, command, source)
    : decideOnStudy(model, act, command, source);
}

function decideOnStudy(model: Model, act: OnStudy, command: ActCommand, source: Source): ActDecision {
  const { by, askedAt, brings = {} } = command;
  const asked = resolved(act, command.asked, model);
  const context = { model, asked, by, askedAt, brings };
  const problem =
    repeated(model, by, () => askedDigest(act, asked, model)) ??
    act.done?.(context) ??
    stateProblem(model, command.act) ??
    act.problem?.(context) ??
    (typeof source === 'string' ? act.sealedProblem?.(context) : undefined);
  if (problem) return { outcome: problem };
  // From what is withheld, nothing can be worked out.
  const members =
    typeof source !== 'string' && isWithheld(act, asked)
      ? source.recorded
      : { ...asked, ...act.adds?.(context) };
  return {
    fact: factOf(act.writes, members, by.idempotencyKey),
    outcome: { type: 'recorded', moves: false },
  };
}

function decideOnParticipant(
  model: Model,
  act: OnParticipant,
  command: ActCommand,
  source: Source,
): ActDecision {
  const { by, askedAt, brings = {} } = command;
  const participant = participantFor(model, command);
  if (!participant) return { outcome: { type: 'no-such-participant' } };
  const { participantId, revision: randomizedAt } = participant;
  const asked: Members = { ...resolved(act, command.asked, model), participantId };
  const context: Context = { model, participant, asked, by, askedAt, brings };
  const members = { ...asked, randomizedAt, ...act.adds?.(context), ...brings };
  const later = (chosen: Members = {}) => after(act, participant, { ...members, ...chosen }, model.design);
  const outside = limitsProblem(act, context, later);
  // What a key did is confirmed even if its participant has left its limits since.
  const again = repeated(model, by, () => askedDigest(act, { ...asked, randomizedAt }, model));
  if (again && !(outside && act.isConfirmedWithin)) return { outcome: again };
  const problem =
    outside ??
    act.done?.(context) ??
    stateProblem(model, command.act) ??
    (isAmendedSince(model, command) ? ({ type: 'amended-meanwhile' } as const) : undefined) ??
    act.problem?.(context);
  if (problem) return { outcome: withinLimits(context, problem) };
  const chosen = chosenBy(act, context, source);
  if ('none' in chosen) return { outcome: chosen.none };
  const fact = factOf(act.writes, { ...members, ...chosen.members }, by.idempotencyKey);
  const moves = countsMoved(participant, later(chosen.members), model.design);
  return { fact, outcome: { type: 'recorded', participantId, moves, chosen: chosen.members } };
}

/** The request in the words in which it is recorded. */
function resolved(act: Act, asked: Members, model: Model): Members {
  return act.resolve?.(asked, model) ?? asked;
}

function isWithheld({ asks }: Act, asked: Members): boolean {
  return Object.entries(asks).some(([name, form]) => asked[name] === undefined && !form.isOptional());
}

function participantFor(model: Model, { asked, randomizedAt }: ActCommand): Participant | undefined {
  const { participantId = '' } = asked as { readonly participantId?: string };
  const holder = model.participants.find(participantId);
  return holder?.revision === (randomizedAt ?? holder?.revision) ? holder : undefined;
}

function after<P extends Enrolled>(
  act: OnParticipant,
  participant: P,
  data: unknown,
  design: Pick<Design, 'factors'>,
): P {
  const event: Happening<EventDefinition> = { data, sections: {}, revision: -1, at: '' };
  return act.apply?.(participant, event, design) ?? participant;
}

type Chosen = { readonly members: Members } | { readonly none: StudyOutcome };

function chosenBy(act: OnParticipant, context: Context, source: Source): Chosen {
  const { chooses } = act;
  if (!chooses) return { members: {} };
  if (typeof source !== 'string') {
    const members = chosenIn(act, source.recorded);
    const problem = chooses.problem(context.model, members);
    return problem ? { none: problem } : { members };
  }
  if (chooses.lacks(context)) return { none: chooses.none };
  if (source === 'try') return { members: {} };
  const members = chooses.choose(context);
  return members ? { members } : { none: chooses.none };
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
