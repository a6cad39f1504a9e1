/**
 * Replays the stream of a study: decides each event again, with the decider that the service uses, from the configuration,
 * the earlier participants and the generator state after the previous event.
 */
import type { StudyFact } from '../../../../events/catalogue.ts';
import type { EventOf, LogEvent, PartialEventOf } from '../../../../events/record.ts';
import { actOf, commandIn } from '../../../core/acts/acts.ts';
import type { Design } from '../../../core/model/design.ts';
import { parametersIn } from '../../../core/model/method-of.ts';
import type { Model } from '../../../core/model/model.ts';
import type { Pack } from '../../../core/model/packs.ts';
import { levelsByFactor } from '../../../core/model/participants.ts';
import type { Amend, StudyCommand } from '../../../core/study/commands.ts';
import { decide } from '../../../core/study/decide.ts';
import { evolve, fork, type StudyState } from '../../../core/study/fold.ts';
import type { Mismatch } from '../report/report.ts';
import {
  asMismatches,
  type FieldDifference,
  factDifferences,
  inReportingOrder,
  type Replay,
} from './replay.ts';
import { enrolments, type StudyChecks, undecided } from './study-checks.ts';

type StudyEvent = EventOf<StudyFact['type']>;
type Factors = Design['factors'];

/** The order in which differing fields are reported: what came before the draw, the draw, its result. */
const REPORTING_ORDER = [
  'data.',
  'draw.bgStateBefore',
  'pick.bgStateBefore',
  'draw.candidates',
  'draw.selectedFactor',
  'draw.counts',
  'draw.balls',
  'draw.uniform53',
  'draw.slot',
  'pick.block',
  'pick.counts',
  'pick.scores',
  'pick.weights',
  'pick.uniform53',
  'pick.slot',
  'entry.',
  'allocation.',
];

export class StudyReplay implements Replay {
  readonly #checks: StudyChecks;
  #state: StudyState = { status: 'unregistered' };
  participants = 0;

  constructor(checks: StudyChecks) {
    this.#checks = checks;
  }

  take(given: LogEvent): readonly Mismatch[] {
    const event = given as StudyEvent;
    const sections = Object.keys(event.sections);
    const mismatches = this.#mismatches(event, sections);
    if (mismatches.length > 0) return mismatches;
    this.#checks.take(event, this.model, sections);
    const next = evolve(this.#state, event);
    // A replay shows no lists.
    this.#state = event.type === 'StudyRegistered' ? fork(next) : next;
    return [];
  }

  passed(event: LogEvent): void {
    const { type, data } = event;
    this.participants += enrolments(event);
    // An import begins without participants: those of one that was given up were all there were.
    if (type === 'HistoryImportEnded' && 'aborted' in data) this.participants = 0;
  }

  /** Undefined before the registration. */
  get model(): Model | undefined {
    return this.#state.status === 'unregistered' ? undefined : this.#state;
  }

  #mismatches(event: StudyEvent, sections: readonly string[]): readonly Mismatch[] {
    const invalid = this.#checks.mismatch(event, sections, this.model);
    if (invalid) return [invalid];
    const command = commandOf(event, this.#state, this.#checks.isSupply(event));
    const { fact, outcome } = decide(this.#state, command, { at: event.at, mode: 'replay' });
    if (!fact) return [undecided(event.type, outcome)];
    const differences = factDifferences(fact, event);
    if (differences.length > 0) return differenceMismatches(differences);
    const packs = packsOf(event, this.#state);
    const mismatch = this.#checks.mismatchOfDecided(event, this.model, packs);
    return mismatch ? [mismatch] : [];
  }
}

/** The packs that an event is about and that nobody has. */
function packsOf(event: StudyEvent, state: StudyState): Pack[] {
  if (state.status === 'unregistered') return [];
  const { packs } = state;
  const known = (codes: readonly string[]) => codes.flatMap((code) => packs.get(code) ?? []);
  if (event.type === 'CodesWithdrawn') return known(event.sections.withdrawn.codes);
  if (event.type !== 'AllocationRevealed' || event.data.participantId !== undefined) return [];
  return known([event.data.code ?? '']);
}

/** @param isSupply whether the author of the event may know which treatment packs hold */
function commandOf(event: StudyEvent, state: StudyState, isSupply: boolean): StudyCommand {
  const factors = state.status === 'unregistered' ? [] : state.design.factors;
  switch (event.type) {
    case 'StudyRegistered': {
      const { studyId, configuration, seedSource } = event.data;
      const seed = BigInt(event.sections.generator.seed);
      const parameters = parametersIn(event.sections);
      return { type: 'register', studyId, configuration, parameters, seed, seedSource };
    }
    case 'ParticipantRandomized':
      return randomizeCommandOf(event, factors);
    case 'AllocationForced':
      return forceCommandOf(event, factors);
    case 'CodesRegistered': {
      const { list, where } = event.data;
      const { key, entries } = event.sections.codes;
      return { type: 'register-packs', list, where, key, entries };
    }
    case 'ListRegistered':
      return { type: 'register-list', ...event.data, ...event.sections.list };
    case 'EntriesSkipped':
      return { type: 'skip-entries', ...event.data };
    case 'HistoryImported':
    case 'ParticipantImported':
    case 'HistoryImportEnded':
      return importCommandOf(event, factors);
    case 'StudyRecovered':
      return { type: 'recover', ...event.data, seed: BigInt(event.sections.generator.seed) };
    case 'StudyAmended':
      return amendCommandOf(event);
    default:
      return commandIn(actOf(event.type), event, { isSupply });
  }
}

export function amendCommandOf({ data, sections, actor }: PartialEventOf<'StudyAmended'>): Amend {
  const idempotencyKey = sections.request?.idempotencyKey;
  return { type: 'amend', ...data, user: actor.user, idempotencyKey };
}

function randomizeCommandOf(event: EventOf<'ParticipantRandomized'>, factors: Factors): StudyCommand {
  return {
    type: 'randomize',
    participantId: event.data.participantId,
    levels: levelsByFactor(event.data.levels, factors),
    user: event.actor.user,
    idempotencyKey: event.sections.request?.idempotencyKey,
  };
}

function forceCommandOf(
  { data, sections, actor }: EventOf<'AllocationForced'>,
  factors: Factors,
): StudyCommand {
  const { cause, code = null, occurredAt, participantId, replaces } = data;
  const levels = levelsByFactor(data.levels, factors);
  const idempotencyKey = sections.request?.idempotencyKey;
  return {
    ...{ type: 'force', cause, code, levels, occurredAt, participantId, replaces, idempotencyKey },
    ...{ treatment: sections.allocation.treatment, note: sections.note.text, user: actor.user },
  };
}

type ImportEvent = EventOf<'HistoryImported' | 'ParticipantImported' | 'HistoryImportEnded'>;

function importCommandOf(event: ImportEvent, factors: Factors): StudyCommand {
  switch (event.type) {
    case 'HistoryImported': {
      const { data, sections } = event;
      const { sha256, treatmentMap } = sections.source;
      const { bgState, seed } = sections.generator;
      const drawn = seed === undefined ? {} : { seed: BigInt(seed) };
      return { type: 'begin-import', ...data, sha256, treatmentMap, bgState, ...drawn };
    }
    case 'ParticipantImported': {
      const { data, sections } = event;
      const { import: id, row, participantId, original } = data;
      const bgState = sections.draw?.bgStateAfter ?? sections.state?.bgState;
      const levels = levelsByFactor(data.levels, factors);
      const { treatment } = sections.allocation;
      const slot = sections.draw?.slot ?? sections.allocation.slot;
      return {
        ...{ type: 'import-participant', import: id, row, participantId, original },
        ...{ levels, treatment, slot, bgState },
      };
    }
    case 'HistoryImportEnded': {
      const { data } = event;
      const abortedBecause = 'aborted' in data ? data.reason : undefined;
      return { type: 'end-import', import: data.import, abortedBecause };
    }
  }
}

function differenceMismatches(differences: readonly FieldDifference[]): Mismatch[] {
  const sorted = inReportingOrder(differences, REPORTING_ORDER);
  const first = sorted[0]?.field ?? '';
  return asMismatches(
    sorted,
    /^(?:draw|pick)\.bgStateBefore/.test(first)
      ? 'it does not begin with the state after the previous event: this event or an earlier one was changed, removed or inserted'
      : 'deciding it again from the configuration and the earlier participants gives something else',
  );
}
