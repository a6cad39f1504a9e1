/** Registers lists of packs, whose treatments are sealed. Pure, like decide.ts. */
import type { StudyFact } from '../../../events/catalogue.ts';
import { stateProblem } from '../acts/acts.ts';
import { revealsArm } from '../model/design.ts';
import { MAX_ENTRY_BYTES } from '../model/list-size.ts';
import type { Model } from '../model/model.ts';
import { impossible, type StudyOutcome } from '../model/outcomes.ts';
import { listProblem } from '../model/packs.ts';
import type { Decision } from '../write/decider.ts';
import type { RegisterPacks } from './commands.ts';

type Registration = Extract<StudyFact, { type: 'CodesRegistered' }>;
type RegistrationDecision = Decision<Registration, StudyOutcome>;

export function registerPacks(
  state: Model,
  { list, where, key, entries }: RegisterPacks,
): RegistrationDecision {
  const { closedTreatments } = state.design;
  const hasClosedArm = entries.some(({ treatment }) => closedTreatments.includes(treatment));
  const fact: Registration = {
    type: 'CodesRegistered',
    data: { count: entries.length, list, ...(where && { where }) },
    sections: { codes: { key, entries: [...entries], ...(hasClosedArm && { closedArms: true as const }) } },
  };
  const problem =
    stateProblem(state, fact.type) ?? listProblem(state, fact.data) ?? entriesProblem(state, entries);
  return problem ? { outcome: problem } : { fact, outcome: { type: 'codes-registered' } };
}

function entriesProblem(
  { design, packs }: Model,
  entries: RegisterPacks['entries'],
): StudyOutcome | undefined {
  if (Buffer.byteLength(JSON.stringify(entries)) > MAX_ENTRY_BYTES)
    return impossible('count', `a list takes at most ${MAX_ENTRY_BYTES} bytes`);
  const { treatments, stoppedTreatments } = design;
  const own = new Set<string>();
  for (const { code, treatment } of entries) {
    if (!treatments.includes(treatment))
      return impossible('entries', `${code}: ${treatment} is no arm of the study`);
    // Those on a closed arm may get more packs, until it is stopped.
    if (stoppedTreatments.includes(treatment))
      return impossible('entries', `${code}: the arm ${treatment} is stopped`);
    if (own.has(code) || packs.get(code))
      return impossible('entries', `the code ${code} is registered already`);
    if (revealsArm(code, treatments))
      return impossible('entries', `the code ${code} is, or contains, the name of an arm`);
    own.add(code);
  }
  return undefined;
}
