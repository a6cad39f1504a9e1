/** A study's life written as data: its keys, and who does what in order. A log in memory and bundles are made of it. */
import { randomUUID } from 'node:crypto';
import type { Scope } from '../../events/access.ts';
import type { LevelChange } from '../../events/corrections.ts';
import type { Actor, Content } from '../../events/record.ts';
import type { DesignChange, MethodParameters, StudyConfiguration } from '../../events/study.ts';
import type { Model } from '../../src/core/model/model.ts';
import { presentPacks } from '../../src/core/model/participants.ts';
import type { Written } from './acts.ts';
import { type BundledStudy, bundledStudy } from './bundled-study.ts';
import { CONFIGURATION, OPERATOR, SEED } from './facts.ts';

export const [SEX, SITE] = CONFIGURATION.factors.map(({ name }) => name) as [string, string];
export const [[MALE, FEMALE], [COOK, DUPAGE]] = CONFIGURATION.factors.map(({ levels }) => levels) as [
  [string, string],
  [string, string],
];
export const [A, B, C] = CONFIGURATION.treatments as [string, string, string];
export const APPROVAL = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28' };

interface Key {
  readonly scopes: readonly Scope[];
  /** Of the study's site, to which the key is limited. */
  readonly sites?: readonly string[];
}

interface Asked {
  /** Whom a client names as the one who uses its key. */
  readonly onBehalfOf?: string;
}
/** The life while it is lived. */
export interface Living {
  /** After the registration, and before anything else. */
  readonly begun: string;
  /** The study as it is now. */
  readonly model: () => Model;
  /** The revision of each step. */
  readonly at: Readonly<Record<string, number>>;
  /** Somebody asks for something: a key's user, or `operator` at the command line. Throws if that writes no event. */
  readonly ask: (user: string, command: Asked) => Promise<void>;
  /** Gives the study a new generator, as after a loss of nothing that is known. */
  readonly recover: () => Promise<void>;
}

/** Writes one event. The name is that of the step. */
export type Step = (living: Living, name: string) => Promise<void>;
type From<T> = T | ((living: Living, name: string) => T);
const resolved = <T>(from: From<T>, living: Living, name: string): T =>
  from instanceof Function ? from(living, name) : from;

export interface Life<User extends string = string, Name extends string = string> {
  /** Where each event is. */
  readonly at: Readonly<Record<Name | 'registered', number>>;
  readonly keys: Readonly<Record<User, Key>>;
  /** @param contents of the bundles; by default all */
  readonly make: (folder: string, contents?: readonly Content[]) => Promise<BundledStudy<User>>;
}

const SUPPLIED = ['PackDispensed', 'DispensationCorrected', 'CodeReplaced'];
/** Acts of which the command says that the key, or whoever is at the command line, may supply. */
const isSupply = (command: object) => 'act' in command && SUPPLIED.includes(`${command.act}`);

interface LifeStudy<User extends string, Name extends string> {
  readonly configuration: StudyConfiguration;
  /** Default: that of `facts.ts`. Nobody chooses the seed of a study with lists. */
  readonly seed?: bigint | 'drawn';
  readonly parameters?: MethodParameters;
  /** By user, in the order in which `access` has them. The first one enrols. */
  readonly keys: Readonly<Record<User, Key>>;
  /** In order, after the registration. */
  readonly steps: Readonly<Record<Name, Step>>;
}

export function lifeOf<User extends string, Name extends string>({
  configuration,
  seed = SEED,
  parameters,
  keys,
  steps,
}: LifeStudy<User, Name>): Life<User, Name> {
  const names = ['registered', ...Object.keys(steps)];
  const at = Object.fromEntries(names.map((name, revision) => [name, revision])) as Life<User, Name>['at'];
  const study = { configuration, ...(seed !== 'drawn' && { seed }), ...(parameters && { parameters }) };
  const make = (folder: string, contents?: readonly Content[]) => {
    const live: Parameters<typeof bundledStudy<User>>[2] = async ({ issue, submit, model, recover }) => {
      const begun = new Date().toISOString();
      // What happens from here on is later than that, by the clock.
      await new Promise((resolve) => setTimeout(resolve, 2));
      const actors: Record<string, Actor> = { operator: OPERATOR };
      for (const [user, { scopes, sites }] of Object.entries<Key>(keys))
        actors[user] = await issue(user, scopes, sites);
      const ask = (user: string, { onBehalfOf, ...command }: Asked) => {
        const actor = { ...actors[user], ...(onBehalfOf !== undefined && { onBehalfOf }) } as Actor;
        const supplies = user === 'operator' || keys[user as User].scopes.includes('supply');
        return submit(actor, {
          ...{ user, ...(isSupply(command) && { isSupply: supplies }), ...command },
        } as Written);
      };
      const living: Living = { begun, model, at, ask, recover };
      for (const [name, step] of Object.entries<Step>(steps))
        await step(living, name).catch((error: Error) => {
          throw new Error(`${name}: ${error.message}`);
        });
      return actors as BundledStudy<User>['actors'];
    };
    return bundledStudy<User>(folder, study, live, contents);
  };
  return { at, keys, make };
}

export const asks =
  (user: string, command: From<object>): Step =>
  (living, name) =>
    living.ask(user, resolved(command, living, name));

/** Steps of several names, each asked for by the operator. */
export const byOperator = <N extends string>(commands: Readonly<Record<N, object>>) =>
  Object.fromEntries(
    Object.entries<object>(commands).map(([name, command]) => [name, asks('operator', command)]),
  ) as Record<N, Step>;

/** Whose id is the name of the step. */
export const enrols = (levels: readonly string[], more: object = {}, user = 'nurse'): Step =>
  asks(user, (_, participantId) => ({ type: 'randomize', participantId, levels, ...more }));

export const recovers: Step = ({ recover }) => recover();

type Whom = From<string>;
/** An act about a participant. */
export const acts = (user: string, act: string, whom: Whom, members: From<object> = {}): Step =>
  asks(user, (living, name) => ({
    ...{ act, participantId: resolved(whom, living, name) },
    ...resolved(members, living, name),
  }));

export const change = (factor: string, from: string, to: string): LevelChange => ({ factor, from, to });
const note = 'source document';
export const corrects = (
  user: string,
  whom: Whom,
  cause: string,
  changes: readonly LevelChange[],
  more: object = {},
): Step => acts(user, 'LevelsCorrected', whom, { cause, changes, note, ...more });
export const voids = (user: string, whom: Whom, cause: string, more: object = {}): Step =>
  acts(user, 'AllocationVoided', whom, { cause, analysis: 'exclude', note, ...more });
export const reinstates = (user: string, whom: Whom, why = note): Step =>
  acts(user, 'AllocationReinstated', whom, { note: why });
export const renames = (user: string, whom: string, to: string, more: object = {}): Step =>
  acts(user, 'ParticipantIdCorrected', whom, { to, cause: 'entry', ...more });

const grounds = { reason: 'anaphylaxis, ICU', requestedBy: 'Dr. K.' };
/** @param whom by `participantId`, or by the `code` of a pack */
export const reveals = (user: string, whom: From<object>, more: From<object> = {}): Step =>
  asks(user, (living, name) => ({
    ...{ act: 'AllocationRevealed', category: 'emergency', reveal: randomUUID(), grounds },
    ...{ ...resolved(whom, living, name), ...resolved(more, living, name) },
  }));
export const reports = (user: string, whom: string, members: From<object>): Step =>
  acts(user, 'UnblindingReported', whom, (living, name) => ({ grounds, ...resolved(members, living, name) }));
export const closes = (user = 'operator', more: object = {}): Step =>
  asks(user, { act: 'StudyClosed', cause: 'other', reason: 'protocol 4', ...more });
export const reopens = (more: object = {}): Step =>
  asks('operator', { act: 'StudyReopened', reason: 'one more', approvals: [APPROVAL], ...more });

export const amends = (changes: readonly DesignChange[], more: object = {}, user = 'operator'): Step =>
  asks(user, ({ model }) => ({
    ...{ type: 'amend', amendment: model().design.amendment + 1, changes, reason: 'protocol 3' },
    ...{ approvals: [APPROVAL], ...more },
  }));

/** Whose id is the name of the step, unless another one is given. It happened when the study began, by default. */
export const enters = (
  user: string,
  treatment: string,
  levels: readonly string[],
  more: From<object> = {},
): Step =>
  asks(user, (living, participantId) => ({
    ...{ type: 'force', participantId, treatment, levels, cause: 'outage', occurredAt: living.begun },
    ...{ note: 'envelope', ...resolved(more, living, participantId) },
  }));
export const now = () => new Date().toISOString();

interface Pack {
  readonly code: string;
  readonly treatment: string;
}
export const KEYS = ['0f1e2d3c4b5a69788796a5b4c3d2e1f0', 'ffeeddccbbaa99887766554433221100'] as const;
export const registersPacks = (entries: readonly Pack[], where?: object): Step =>
  asks('operator', ({ model }) => {
    const list = model().lists + 1;
    return { type: 'register-packs', list, key: KEYS[list % 2], entries, ...(where && { where }) };
  });

const someone = ({ model }: Living, id: string) => model().participants.find(id);
/** The pack that a participant has at a visit, or from the enrolment. */
export const packOf = (living: Living, id: string, visit?: string): string => {
  const person = someone(living, id);
  if (visit === undefined) return person?.pack?.code ?? '';
  return (person ? presentPacks(person) : []).find((pack) => pack.visit === visit)?.code ?? '';
};
/** Codes of the free packs of an arm for participants of these levels. */
export const freePacks = ({ model }: Living, arm: string, levels: readonly string[]): string[] =>
  model()
    .free.for([...levels], model().design)
    .flatMap(({ code, treatment }) => (treatment === arm ? [code] : []));

/** The pack of a visit, or of the enrolment. */
export const replacesPack = (user: string, whom: Whom, visit?: string, cause = 'damaged'): Step =>
  acts(user, 'CodeReplaced', whom, (living, name) => ({
    ...{ code: packOf(living, resolved(whom, living, name), visit), cause },
  }));
export const dispenses = (user: string, whom: Whom, visit: string): Step =>
  acts(user, 'PackDispensed', whom, { visit });
export const withdraws = (
  user: string,
  codes: From<readonly string[]>,
  reason = 'the cold chain broke',
): Step =>
  asks(user, (living, name) => ({
    ...{ act: 'CodesWithdrawn', codes: resolved(codes, living, name), reason },
  }));

/** Changes of a design. */
export const arm = {
  closed: (treatment: string): DesignChange => ({ kind: 'arm-closed', treatment }),
  reopened: (treatment: string): DesignChange => ({ kind: 'arm-reopened', treatment }),
  stopped: (treatment: string): DesignChange => ({ kind: 'arm-stopped', treatment }),
  added: (treatment: string, more = {}): DesignChange => ({ kind: 'arm-added', treatment, ...more }),
};
export const levelsOf = (factor: string) => ({
  added: (level: string): DesignChange => ({ kind: 'level-added', factor, level }),
  closed: (level: string): DesignChange => ({ kind: 'level-closed', factor, level }),
  reopened: (level: string): DesignChange => ({ kind: 'level-reopened', factor, level }),
});
export const site = levelsOf(SITE);
export const renamedLevel = (factor: string, level: string, to: string, more = {}): DesignChange => ({
  ...{ kind: 'level-renamed', factor, level, to },
  ...more,
});
export const ratio = (...value: number[]): DesignChange => ({ kind: 'ratio', value });
export const urn = (members: object): DesignChange => ({ kind: 'urn', ...members });
export const retired = (factor: string): DesignChange => ({ kind: 'factor-retired', factor });
export const visits = (...value: string[]): DesignChange => ({ kind: 'visits', value });
