/** A command that asks for an act: what cannot be derived from the act, and what it is run with. */
import type { Option } from 'commander';
import type { ActName } from '../core/acts/acts.ts';
import type { Members, StudyOutcome } from '../core/model/outcomes.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import type { LogOptions } from './options.ts';

/** Options by their names, as commander gives them. */
export type OptionValues = Readonly<Record<string, unknown>>;

/** Members that options give in other words. */
export interface MembersRead {
  readonly members?: Members;
  /** Members that could not be read, and what is wrong with their options. */
  readonly unread?: Readonly<Record<string, readonly string[]>>;
  /** Why there is nothing to do. */
  readonly nothing?: string;
}

/** What a command needs besides its act. */
export interface ActRow {
  readonly group: 'participants' | 'codes' | 'unblindings' | 'studies';
  readonly verb: string;
  readonly summary: string;
  /** Beside those that name the study and the participant. Each has the name of a member, unless `read` says otherwise. */
  readonly options: readonly Option[];
  readonly help: string;
  /** @throws ImportError */
  read?(given: OptionValues, log: OpenLog, study: Study): MembersRead;
  /** In the imperative: what a person is asked to confirm. Default: the verb, and the id in use. */
  order?(asked: Members, id: string): string;
  /** What follows. @param moves whether later allocations count otherwise */
  effect?(moves: boolean): string;
  /** Whether a live study is changed without asking: a report is not a decision. */
  readonly isReport?: boolean;
  /** For --json. */
  json?(asked: Members, options: Options, outcome: StudyOutcome, revision: number): object;
}

export interface Options extends LogOptions {
  readonly study: string;
  readonly id?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** An act that is asked for at the command line. */
export interface RequestedAct {
  readonly name: ActName;
  readonly row: ActRow;
  readonly options: Options;
  readonly log: OpenLog;
  readonly study: Study;
}
