/**
 * Reads a log directly from its SQLite file and replays it: this must hold for every log, whatever happened to the
 * processes that wrote it.
 */
import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { decodeRecord, type LogEvent, type RecordBytes } from '../../events/record.ts';
import type { BgState, StudyConfiguration } from '../../events/study.ts';
import { Counts } from '../../src/core/methods/memory.ts';
import { allocate } from '../../src/core/methods/urn.ts';
import { Pcg64 } from '../../src/core/random/pcg64.ts';
import type { StoredRecord } from '../../src/store/event-store.ts';
import { storedRecords } from './stored-log.ts';
import { drawIn, urnOf } from './urn-study.ts';

type Randomized = Extract<LogEvent, { type: 'ParticipantRandomized' }>;
type Begun = Extract<LogEvent, { type: 'StudyRegistered' | 'StudyRecovered' }>;

export class LogCheck {
  readonly #data: string;
  readonly #streams = new Map<string, LogEvent[]>();
  readonly #replays = new Map<string, Replay>();
  readonly #eventIds = new Set<string>();
  #records = 0;
  #leaves = digest([]);

  constructor(data: string) {
    this.#data = data;
  }

  /**
   * Continues where the last check ended. What was read before must be unchanged, each stream must continue without a gap,
   * and each allocation must be the one that the replay gives.
   * @throws AssertionError, RecordError
   */
  check(): this {
    const rows = storedRecords(this.#data);
    assert.ok(rows.length >= this.#records, `${this.#records - rows.length} records are gone`);
    const before = digest(rows.slice(0, this.#records));
    assert.equal(before, this.#leaves, 'records that were read before have changed');
    for (const row of rows.slice(this.#records)) this.#take(row);
    this.#records = rows.length;
    this.#leaves = digest(rows);
    return this;
  }

  get records(): number {
    return this.#records;
  }

  /** Events of a stream, in order. */
  events(stream: string): readonly LogEvent[] {
    return this.#streams.get(stream) ?? [];
  }

  /** Streams of studies by the study's name. @throws AssertionError if two have the same name */
  studies(): Map<string, string> {
    const byName = new Map(
      [...this.#replays].map(([stream, { configuration }]) => [configuration.name, stream]),
    );
    assert.equal(byName.size, this.#replays.size, 'a study was registered twice');
    return byName;
  }

  /** Participants of a study by id. */
  participants(study: string): ReadonlyMap<string, Randomized> {
    return this.#replays.get(this.studies().get(study) ?? '')?.participants ?? new Map();
  }

  #take(row: StoredRecord): void {
    const events = this.#streams.get(row.stream) ?? [];
    this.#streams.set(row.stream, events);
    assert.equal(row.revision, events.length, `${row.stream} has a gap`);
    const event = decodeRecord(row);
    assert.ok(!this.#eventIds.has(event.id), `event ${event.id} stands twice`);
    this.#eventIds.add(event.id);
    events.push(event);
    if (event.type === 'StudyRegistered') this.#replays.set(row.stream, new Replay(event));
    if (event.type === 'StudyRecovered') this.#replays.get(row.stream)?.beginAnew(event);
    if (event.type === 'ParticipantRandomized') this.#replays.get(row.stream)?.draw(event);
  }
}

/** A study drawn again, event by event. */
class Replay {
  readonly configuration: StudyConfiguration;
  readonly participants = new Map<string, Randomized>();
  readonly #counts: Counts;
  #bgState: BgState;

  constructor(event: Extract<LogEvent, { type: 'StudyRegistered' }>) {
    const { configuration } = event.data;
    this.configuration = configuration;
    this.#counts = new Counts(urnOf(configuration));
    this.#bgState = firstState(event);
  }

  beginAnew(event: Begun): void {
    this.#bgState = firstState(event);
  }

  draw(event: Randomized): void {
    const { participantId, levels } = event.data;
    const where = `${event.stream}/${event.revision}`;
    assert.ok(!this.participants.has(participantId), `${where}: ${participantId} was randomized twice`);
    this.participants.set(participantId, event);
    const { allocation } = event.sections;
    const draw = drawIn(event.sections);
    assert.deepEqual(draw.bgStateBefore, this.#bgState, `${where} does not begin where the one before ended`);
    const indexes = this.configuration.factors.map((factor, i) =>
      factor.levels.indexOf(levels[i]?.level ?? ''),
    );
    const drawn = allocate(urnOf(this.configuration), this.#counts, indexes, this.#bgState);
    // Stored sections also have a salt.
    const again = [
      { ...allocation, treatment: drawn.treatment },
      { ...draw, ...drawn.draw },
    ];
    assert.deepEqual([allocation, draw], again, `${where} cannot be drawn again`);
    this.#counts.add(indexes, drawn.slot);
    this.#bgState = draw.bgStateAfter;
  }
}

function firstState({ sections: { generator } }: Begun): BgState {
  assert.deepEqual(generator.bgState, Pcg64.fromSeed(BigInt(generator.seed)).snapshot());
  return generator.bgState;
}

function digest(rows: readonly RecordBytes[]): string {
  const sha256 = createHash('sha256');
  for (const { leaf, sealed } of rows) sha256.update(leaf).update(sealed);
  return sha256.digest('hex');
}
