/**
 * Who gets which pack at a visit, as the specification says it and with nothing of the program: it is told the records of a study
 * of one factor in plain objects, says what comes of a request, and chooses each pack again.
 */
import { createHash } from 'node:crypto';

interface Pack {
  readonly code: string;
  readonly arm: string;
  readonly key: string;
  level?: string | undefined;
}

/** A pack that was given out to somebody, and is neither replaced nor somebody else's. */
interface Had {
  code: string;
  /** `null`: void. Undefined: of the enrolment. */
  visit: string | null | undefined;
}

interface Person {
  /** As randomized. */
  readonly id: string;
  readonly revision: number;
  readonly arm: string;
  level: string;
  had: Had[];
  replacements: number;
  cause?: string | undefined;
}

export interface Asks {
  /** With the scope `supply`, or at the command line. */
  readonly isSupply: boolean;
  /** The level to which the key is limited, as it was called first. */
  readonly level?: string | undefined;
  readonly isDry?: boolean;
}

/** What comes of a request: a refusal, or what is recorded. */
export type Comes = string | { readonly code?: string; readonly visit?: string | null };

// biome-ignore lint/suspicious/noExplicitAny: a record, read without the program's types
export type Recorded = Record<'data' | 'sections', any> & { readonly type: string };

/** A to Z as a to z, nothing else. */
const folded = (visit: string) => visit.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

export class PackOracle {
  readonly people = new Map<string, Person>();
  readonly #packs: Pack[] = [];
  readonly #given = new Set<string>();
  readonly #withdrawn = new Set<string>();
  /** Whom an id means that somebody has or had. */
  readonly #ids = new Map<string, string>();
  readonly #levels = new Map<string, string>();
  #arms: string[] = [];
  #stopped: string[] = [];
  visits: string[] = [];
  lists = 0;

  find(id: string): Person | undefined {
    return this.people.get(this.#ids.get(id) ?? '');
  }

  /** What a level is called that was first called so. */
  level(first: string): string {
    return this.#levels.get(first) ?? first;
  }

  free(arm: string, level?: string): Pack[] {
    return this.#packs.filter(
      (pack) =>
        pack.arm === arm &&
        !this.#given.has(pack.code) &&
        !this.#withdrawn.has(pack.code) &&
        (level === undefined || pack.level === undefined || pack.level === level),
    );
  }

  /** @returns the pack that the person gets, or that there is none; undefined in a dry run, which chooses none */
  choose({ id, arm, level }: Person, { isSupply, isDry }: Asks): string | undefined {
    const short = this.#arms.filter(
      (one) => !this.#stopped.includes(one) && this.free(one, level).length < 3,
    );
    if (this.lists === 0 || (!isSupply && short.length > 0)) return 'no-code';
    if (isDry && !isSupply) return undefined;
    if (this.#stopped.includes(arm) || this.free(arm, level).length === 0) return 'no-code';
    return isDry ? undefined : this.least(id, arm, level);
  }

  /** SHA-256(key ‖ 00 ‖ id ‖ 00 ‖ code), smallest first. */
  least(id: string, arm: string, level: string): string | undefined {
    const [first] = this.free(arm, level)
      .map(({ key, code }) => {
        const hash = createHash('sha256').update(key, 'hex').update(`\0${id}\0${code}`);
        return { code, order: hash.digest('hex') };
      })
      .sort((a, b) => (a.order < b.order ? -1 : 1));
    return first?.code;
  }

  dispense(id: string, visit: string, asks: Asks): Comes {
    const person = this.#within(id, asks);
    if (!person) return 'no-such-participant';
    if (this.#present(person, visit)) return 'dispensed-already';
    if (!this.#mayBe(visit, asks)) return 'unfit';
    if (!lives(person)) return 'stale';
    if (!asks.isSupply && further(person) > 3) return 'impossible';
    const code = this.choose(person, asks);
    if (code === 'no-code') return code;
    return { ...(code !== undefined && { code }), visit: this.#spelt(visit) };
  }

  replace(id: string, code: string, asks: Asks): Comes {
    const person = this.#within(id, asks);
    if (!person) return 'no-such-participant';
    if (!person.had.some((one) => one.code === code && one.visit !== null)) return 'stale';
    if (!lives(person)) return 'stale';
    if (!asks.isSupply && further(person) > 2) return 'impossible';
    const by = this.choose(person, asks);
    return by === 'no-code' ? by : by === undefined ? {} : { code: by };
  }

  correct(id: string, code: string, to: string | null, asks: Asks): Comes {
    const person = this.#within(id, asks);
    if (!person) return 'no-such-participant';
    const pack = person.had.find((one) => one.code === code && one.visit !== undefined);
    if (!pack) return 'stale';
    if (to === null) return pack.visit === null ? 'stale' : { code, visit: null };
    if (typeof pack.visit === 'string' && folded(pack.visit) === folded(to)) return 'stale';
    if (this.#present(person, to)) return 'impossible';
    return this.#mayBe(to, asks) ? { code, visit: this.#spelt(to) } : 'unfit';
  }

  /** Whether the visits of the study can become these. */
  mayBecome(value: readonly string[]): boolean {
    const inUse = [...this.people.values()].flatMap(({ had }) => had.flatMap(({ visit }) => visit ?? []));
    const among = (visits: readonly string[], visit: string) =>
      visits.find((one) => folded(one) === folded(visit));
    return (
      value.join() !== this.visits.join() &&
      new Set(value.map(folded)).size === value.length &&
      inUse.every((visit) => {
        const later = among(value, visit);
        return later === undefined ? among(this.visits, visit) === undefined : later === visit;
      })
    );
  }

  take({ type, data, sections }: Recorded, revision: number): void {
    const person = this.people.get(data.participantId) as Person;
    const pack = person?.had.find(({ code }) => code === data.code);
    const enrols = () => this.#enrol(data, sections.allocation.treatment, revision);
    // Treatment goes on while a study is paused.
    const nothing = () => undefined;
    const takes: Readonly<Record<string, () => void>> = {
      StudyRegistered: () => {
        this.#arms = data.configuration.treatments;
        this.visits = data.configuration.visits;
      },
      CodesRegistered: () => {
        this.lists++;
        const { key, entries } = sections.codes;
        for (const { code, treatment } of entries)
          this.#packs.push({ code, arm: treatment, key, level: data.where?.level });
      },
      CodesWithdrawn: () => {
        for (const code of sections.withdrawn.codes) this.#withdrawn.add(code);
      },
      StudyAmended: () => {
        for (const change of data.changes) this.#amend(change);
      },
      ...{ ParticipantRandomized: enrols, AllocationForced: enrols },
      ...{ StudyPaused: nothing, StudyResumed: nothing },
      LevelsCorrected: () => Object.assign(person, { level: data.changes[0].to }),
      ParticipantIdCorrected: () => this.#ids.set(data.to, data.participantId),
      AllocationVoided: () => Object.assign(person, { cause: data.cause }),
      AllocationReinstated: () => Object.assign(person, { cause: undefined }),
      PackDispensed: () => {
        person.had.push({ code: data.code, visit: data.visit });
        this.#given.add(data.code);
      },
      CodeReplaced: () => {
        Object.assign(pack ?? {}, { code: data.by });
        person.replacements++;
        this.#given.add(data.by);
      },
      DispensationCorrected: () => Object.assign(pack ?? {}, { visit: data.to ?? null }),
    };
    const take = takes[type];
    if (!take) throw new Error(`the oracle does not know ${type}`);
    take();
  }

  /** An entry that replaces a wrong one begins with none but the pack that it names. */
  #enrol({ participantId: id, levels, code }: Recorded['data'], arm: string, revision: number): void {
    const had = code === undefined ? [] : [{ code, visit: undefined }];
    this.people.set(id, { id, revision, arm, level: levels[0].level, had, replacements: 0 });
    this.#ids.set(id, id);
    if (code !== undefined) this.#given.add(code);
  }

  #amend({ kind, treatment, value, level, to }: Recorded['data']): void {
    if (kind === 'visits') this.visits = value;
    if (kind === 'arm-stopped') this.#stopped = [...this.#stopped, treatment];
    if (kind === 'arm-reopened') this.#stopped = this.#stopped.filter((arm) => arm !== treatment);
    if (kind !== 'level-renamed') return;
    for (const one of [...this.#packs, ...this.people.values()]) if (one.level === level) one.level = to;
    const [first = level] = [...this.#levels].find(([, now]) => now === level) ?? [];
    this.#levels.set(first, to);
  }

  /** By the current levels. */
  #within(id: string, { level }: Asks): Person | undefined {
    const person = this.find(id);
    return level === undefined || person?.level === this.level(level) ? person : undefined;
  }

  #present({ had }: Person, visit: string): boolean {
    return had.some((one) => typeof one.visit === 'string' && folded(one.visit) === folded(visit));
  }

  #declared(visit: string): string | undefined {
    return this.visits.find((one) => folded(one) === folded(visit));
  }

  /** Recorded as declared; undeclared, as sent. */
  #spelt(visit: string): string {
    return this.#declared(visit) ?? visit;
  }

  #mayBe(visit: string, { isSupply }: Asks): boolean {
    if (this.#declared(visit) !== undefined) return true;
    return isSupply && !this.#arms.some((arm) => folded(arm) === folded(visit));
  }
}

const lives = ({ cause }: Person): boolean =>
  cause !== 'duplicate' && cause !== 'never-enrolled' && cause !== 'entry';

/** Their replacements and their void packs. */
const further = ({ replacements, had }: Person): number =>
  replacements + had.filter(({ visit }) => visit === null).length;
