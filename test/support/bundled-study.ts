/** A study in a log in memory, as bundles of each content. */
import { join } from 'node:path';
import type { Scope } from '../../events/access.ts';
import type { Actor } from '../../events/record.ts';
import { CONTENTS, type Content } from '../../events/record.ts';
import type { MethodParameters, StudyConfiguration } from '../../events/study.ts';
import type { Model } from '../../src/core/model/model.ts';
import { studyState } from '../../src/core/study/fold.ts';
import { writeBundle } from '../../src/evidence/bundle/bundle.ts';
import type { OpenLog } from '../../src/service/open/open-log.ts';
import { asCommand, type Written } from './acts.ts';
import { actorWith, withOpenLog } from './cli-log.ts';
import { CONFIGURATION, OPERATOR } from './facts.ts';

export interface BundledStudy<User extends string> {
  readonly stream: string;
  /** Bundles, by content, of those that were asked for. */
  readonly files: Readonly<Record<Content, string>>;
  /** By user, and `operator`, who has no key. In `access`, the keys are in this order. */
  readonly actors: Readonly<Record<User | 'operator', Actor>>;
}

interface Log {
  readonly issue: (user: string, scopes: readonly Scope[], sites?: readonly string[]) => Promise<Actor>;
  /** Throws if the command wrote no event. */
  readonly submit: (actor: Actor, command: Written) => Promise<void>;
  /** The study as it is now. */
  readonly model: () => Model;
  /** Gives the study a new generator, as after a loss of nothing that is known. */
  readonly recover: () => Promise<void>;
}

/** @param live gives keys, which are in `access` in that order, and writes events after the registration */
export async function bundledStudy<User extends string>(
  folder: string,
  study: { configuration: StudyConfiguration; seed?: bigint; parameters?: MethodParameters },
  live: (log: Log) => Promise<Readonly<Record<User, Actor>>>,
  contents: readonly Content[] = CONTENTS,
): Promise<BundledStudy<User>> {
  const make = async (log: OpenLog) => {
    const { studies, store, identity, gate } = log;
    const { configuration, seed, parameters } = study;
    await studies.register(configuration, seed, OPERATOR, parameters);
    const stream = studies.streamOf(configuration.name);
    const issue: Log['issue'] = (user, scopes, sites) => {
      const where = sites && [{ factor: CONFIGURATION.factors[1]?.name ?? '', levels: [...sites] }];
      return actorWith(log, user, scopes, where);
    };
    const submit: Log['submit'] = async (actor, written) => {
      const command = asCommand(written);
      const before = log.runner.revision(stream);
      const { outcome } = await studies.submit(stream, command, actor);
      const name = command.type === 'act' ? command.act : command.type;
      if (log.runner.revision(stream) === before) throw new Error(`${name}: ${outcome.type}`);
    };
    const model = () => log.runner.state(studyState, stream) as Model;
    const recover = async () => {
      await log.recover(log.findLoss([]), 'the disk was lost', OPERATOR);
    };
    const actors = await live({ issue, submit, model, recover });
    const files = {} as Record<Content, string>;
    for (const content of contents) {
      files[content] = join(folder, `${content}.zip`);
      await writeBundle({
        ...{ store, identity, gate, stream, content, out: files[content] },
        ...{ lastCheckpoints: undefined, checkpoints: [], version: 'test' },
      });
    }
    return { stream, files, actors: { ...actors, operator: OPERATOR } as BundledStudy<User>['actors'] };
  };
  return withOpenLog(folder, make, 'memory:');
}
