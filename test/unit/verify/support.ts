/** A small log in memory, made by the deciders, and ways to change it. */

import { v5 } from 'uuid';
import type { Fact } from '../../../events/catalogue.ts';
import type { Content } from '../../../events/record.ts';
import { type Actor, encodeRecord, type LogEvent } from '../../../events/record.ts';
import { access } from '../../../projections/access.ts';
import { type AccessCommand, accessDecider } from '../../../src/core/access/keys.ts';
import { type KeptCheckpoint, parseCheckpointFile } from '../../../src/core/log/formats.ts';
import { MerkleTree } from '../../../src/core/log/merkle-tree.ts';
import {
  checkpointOrigin,
  makeSigningKey,
  parseVerifierKey,
  type SigningKey,
  signCheckpoint,
} from '../../../src/core/log/signing.ts';
import type { Members } from '../../../src/core/model/outcomes.ts';
import { otherLine, parseLine, studyLine, withheldLine } from '../../../src/evidence/bundle/bundle-files.ts';
import type { Divergence, Report, StreamReport } from '../../../src/evidence/verify/report/report.ts';
import type { RecordSource, SourceRecord } from '../../../src/evidence/verify/source.ts';
import { type Verification, verifyLog } from '../../../src/evidence/verify/verify.ts';
import { type FlatAct, type Written, writtenDecider } from '../../support/acts.ts';
import { altered, type Change } from '../../support/altered-record.ts';
import { CONFIGURATION, OPERATOR, REGISTER, randomize } from '../../support/facts.ts';
import { fixedTools, idAt, LOG_ID } from '../../support/fixed-tools.ts';

export const LOG_NAME = 'trial-log';
export const KEY: SigningKey = makeSigningKey(LOG_NAME);
export const STUDY_ID = v5(CONFIGURATION.name, LOG_ID);
export const STUDY = `study-${STUDY_ID}`;
export const nurse = (accessRevision = 0): Actor => ({ keyId: 'k0011', user: 'nurse', accessRevision });

/** What happens in a study: a command, and who gives it. */
export interface Step {
  readonly command: Written;
  readonly actor: Actor;
  readonly at?: string;
}

export const step = (command: Written, actor: Actor = nurse(), at?: string): Step => ({
  command,
  actor,
  ...(at !== undefined && { at }),
});
export const REGISTERED = step({ ...REGISTER, studyId: STUDY_ID }, OPERATOR);
export const PAUSED = step({ act: 'StudyPaused', user: 'operator', reason: 'data review' }, OPERATOR);
export const RESUMED = step({ act: 'StudyResumed', user: 'operator', reason: 'review done' }, OPERATOR);
const kinds = CONFIGURATION.factors.reduce<string[][]>(
  (all, { levels }) => all.flatMap((given) => levels.map((level) => [...given, level])),
  [[]],
);
/** The n-th participant; every second one under an idempotency key. */
export function enrol(n: number, actor: Actor = nurse()): Step {
  const more = n % 2 === 0 ? { idempotencyKey: `visit-${n}` } : {};
  return step(randomize(`00${n}`, { levels: kinds[n % kinds.length] ?? [], ...more }), actor);
}

export const KEYS: readonly AccessCommand[] = [
  { type: 'issue', keyId: 'k0011', sha256: '1'.repeat(64), grant: { user: 'nurse', scopes: ['randomize'] } },
  {
    type: 'issue',
    keyId: 'k0022',
    sha256: '2'.repeat(64),
    grant: {
      user: 'site',
      scopes: ['read', 'randomize'],
      studies: [CONFIGURATION.name],
      where: [{ factor: '10', levels: ['Male'] }],
      expiresAt: '2026-03-01T12:00:00.000Z',
    },
  },
  { type: 'revoke', keyId: 'k0022', reason: 'left' },
];

export class Log implements RecordSource {
  readonly byStream = new Map<string, SourceRecord[]>();
  readonly #tools = fixedTools();
  #events = 0;

  async streams(): Promise<string[]> {
    return [...this.byStream.keys()];
  }

  async *read(stream: string): AsyncIterable<readonly SourceRecord[]> {
    const records = this.byStream.get(stream) ?? [];
    for (let at = 0; at < records.length; at += 3) yield records.slice(at, at + 3);
  }

  of(stream: string): SourceRecord[] {
    const records = this.byStream.get(stream) ?? [];
    this.byStream.set(stream, records);
    return records;
  }

  /** Puts a fact after the last one, whatever it says. */
  append(stream: string, fact: Fact, actor: Actor, at = this.#tools.now().toISOString()): LogEvent {
    const records = this.of(stream);
    const revision = records.length;
    const header = { id: idAt(at, ++this.#events), log: LOG_ID, stream, revision, at, actor };
    records.push({ stream, revision, ...encodeRecord(header, fact, this.#tools.newSalt) });
    return { ...header, ...fact } as LogEvent;
  }

  /** The checkpoint of a stream's first records. @param recovery number of the log's last one */
  checkpoint(
    stream: string,
    size: number,
    { key = KEY, logName = LOG_NAME, recovery = 0 } = {},
  ): KeptCheckpoint {
    const tree = new MerkleTree();
    for (const { leaf } of this.of(stream)) tree.append(leaf);
    const note = signCheckpoint(checkpointOrigin(logName, stream, recovery), size, tree.root(size), key);
    const [kept] = parseCheckpointFile(Buffer.from(note), `${stream}-${size}`);
    if (!kept) throw new Error('no checkpoint');
    return kept;
  }
}

/** A log with these keys and only this study. */
export function logOf(steps: readonly Step[], keys: readonly AccessCommand[] = KEYS): Log {
  const log = new Log();
  const data = { format: 'urn-log@1' as const, logId: LOG_ID, logName: LOG_NAME, publicKey: KEY.publicKey };
  log.append('log', { type: 'LogCreated', data, sections: {} }, OPERATOR);
  let state = access.initial();
  for (const command of keys) {
    const { fact } = accessDecider.decide(state, command);
    if (fact) state = accessDecider.evolve(state, log.append('access', fact, OPERATOR));
  }
  let study = writtenDecider.fork({ status: 'unregistered' });
  for (const { command, actor, at } of steps) {
    const { fact, outcome } = writtenDecider.decide(study, command);
    if (!fact) throw new Error(outcome.type);
    study = writtenDecider.evolve(study, log.append(STUDY, fact, actor, at));
  }
  return log;
}

/** Registered, two participants, a pause, four participants more. */
export const HISTORY: readonly Step[] = [
  REGISTERED,
  enrol(1),
  enrol(2),
  PAUSED,
  RESUMED,
  enrol(3),
  enrol(4),
  enrol(5),
  enrol(6),
];

/** Keys that may do more than randomize, in `access` after `KEYS`. */
export const LIFE_KEYS: readonly AccessCommand[] = [
  { type: 'issue', keyId: 'k0033', sha256: '3'.repeat(64), grant: { user: 'manager', scopes: ['manage'] } },
  {
    ...{ type: 'issue', keyId: 'k0044', sha256: '4'.repeat(64) },
    grant: { user: 'desk', scopes: ['unblind'], where: [{ factor: '10', levels: ['Male'] }] },
  },
  { type: 'issue', keyId: 'k0055', sha256: '5'.repeat(64), grant: { user: 'clerk', scopes: ['correct'] } },
];
const manager: Actor = { keyId: 'k0033', user: 'manager', accessRevision: KEYS.length };
const desk: Actor = { keyId: 'k0044', user: 'desk', accessRevision: KEYS.length + 1 };
export const clerk: Actor = { keyId: 'k0055', user: 'clerk', accessRevision: KEYS.length + 2 };
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-27', reference: 'Minutes 3' }];
const GROUNDS = { reason: 'anaphylaxis, ICU', requestedBy: 'Dr. K.' };

const act = (name: FlatAct['act'], actor: Actor, members: Members) =>
  step({ act: name, user: actor.user, ...members }, actor);
const reveal = (n: number) => `2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c3${n}`;

/** What may follow `HISTORY`, whose participant `004` is at revision 6 and one whom `desk` may unblind. */
export const LATER_LIFE: readonly Step[] = [
  act('StudyPaused', manager, { reason: 'drug supply', idempotencyKey: 'p' }),
  act('AllocationRevealed', desk, {
    ...{ participantId: '004', category: 'planned', grounds: GROUNDS },
    ...{ reveal: reveal(1), idempotencyKey: 'er' },
  }),
  act('StudyClosed', manager, { cause: 'target', reason: '6 randomized', approvals: APPROVALS }),
  act('UnblindingReported', OPERATOR, {
    ...{ participantId: '004', how: 'disclosure', inadvertent: true, revealedAt: 10, grounds: GROUNDS },
    occurredAt: '2026-03-01T08:00:00.000Z',
  }),
  act('StudyReopened', manager, {
    ...{ reason: 'target raised', approvals: APPROVALS, idempotencyKey: 'o' },
    protocol: { version: '3.1', date: '2026-02-27' },
  }),
  act('AllocationRevealed', OPERATOR, {
    ...{ participantId: '002', category: 'emergency', grounds: GROUNDS },
    ...{ reveal: reveal(2), shownAt: '2026-03-01T09:00:15.000Z' },
  }),
];

const changes = CONFIGURATION.factors.map(({ name: factor, levels: [to, from] }) => ({ factor, from, to }));

/** What may follow `LATER_LIFE`. */
export const CORRECTIONS: readonly Step[] = [
  act('LevelsCorrected', clerk, {
    ...{ participantId: '003', cause: 'source', changes, note: 'source document', idempotencyKey: 'c' },
  }),
  act('AllocationVoided', OPERATOR, {
    ...{ participantId: '005', cause: 'duplicate', duplicateOf: '001' },
    ...{ analysis: 'exclude', note: 'query 118' },
  }),
  act('AllocationReinstated', clerk, { participantId: '005', note: 'query 119' }),
  act('ParticipantIdCorrected', clerk, { participantId: '001', to: '010', cause: 'entry' }),
  act('ParticipantIdCorrected', clerk, { participantId: '010', to: '020', cause: 'other' }),
];

export function verify(source: RecordSource, more: Partial<Verification> = {}): Promise<Report> {
  return verifyLog({ source, trusted: [TRUSTED], checkpoints: [], ...more });
}

export const trust = (key: SigningKey) => parseVerifierKey(key.publicKey, 'key');
const TRUSTED = trust(KEY);

export function streamOf(report: Report, name = STUDY): StreamReport {
  const found = report.streams.find(({ stream }) => stream === name);
  if (!found) throw new Error(`no report of ${name}`);
  return found;
}

export const divergenceOf = async (source: RecordSource, stream = STUDY): Promise<Divergence | undefined> =>
  streamOf(await verify(source), stream).divergence;

/** Changes a record of the log in that way. */
export function change(log: Log, revision: number, how: Change, stream = STUDY): Log {
  const records = log.of(stream);
  const stored = records[revision];
  if (!stored) throw new Error(`there is no ${stream}/${revision}`);
  records[revision] = altered(stored, how);
  return log;
}

/** The log as a bundle with that content has it, without the records of `access` at these revisions. */
export function bundled(log: Log, content: Content, withheld: readonly number[] = []): RecordSource {
  const lineOf = (stored: SourceRecord): Buffer => {
    if (stored.stream === STUDY) return studyLine(stored, content);
    const isWithheld = stored.stream === 'access' && withheld.includes(stored.revision);
    return isWithheld ? withheldLine(stored) : otherLine(stored);
  };
  return {
    content,
    streams: () => log.streams(),
    async *read(stream) {
      for await (const page of log.read(stream))
        yield page.map((stored) => {
          const { revision } = stored;
          return { stream, revision, ...parseLine(lineOf(stored).subarray(0, -1), stream === 'access') };
        });
    },
  };
}
