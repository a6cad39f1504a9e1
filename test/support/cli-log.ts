/** Command lines as they are typed, and logs for them, which are made in this process without a service. */
import type { LevelLimit, Scope } from '../../events/access.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { type OpenLog, openLog } from '../../src/service/open/open-log.ts';
import { command, commandOk } from './command.ts';
import { CONFIGURATION, OPERATOR } from './facts.ts';
import type { Finished } from './service.ts';
import { type StoredText, storedLog } from './stored-log.ts';

/** No other text has them in it. */
export const ARMS = ['ZZARM-A', 'ZZARM-B'];
/** A live study. The name of one factor begins like the other's, with a character that also precedes the level. */
export const SLEEP: StudyConfiguration = {
  ...CONFIGURATION,
  name: 'Sleep',
  treatments: ARMS,
  factors: [
    { name: 'sex', levels: ['Male', 'Female'] },
    { name: 'sex=2', levels: ['North', 'South'] },
  ],
};

/** Two men and two women. */
const [MAN, WOMAN] = [
  ['Male', 'North'],
  ['Female', 'North'],
] as const;
export const FOUR = { '001': MAN, '002': WOMAN, '003': MAN, '004': WOMAN } as const;

type Typed = (texts: TemplateStringsArray, ...values: readonly (string | readonly string[])[]) => string[];

/** The words of a command line. Single quotes keep words together; what is put in is (part of) one word, a list is several. */
export const typed: Typed = (texts, ...values) => {
  const words: string[] = [];
  let word: string | undefined;
  let isQuoted = false;
  const endWord = () => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  for (const [i, text] of texts.entries()) {
    for (const character of text)
      if (character === "'") {
        isQuoted = !isQuoted;
        word ??= '';
      } else if (/\s/.test(character) && !isQuoted) endWord();
      else word = `${word ?? ''}${character}`;
    const value = values[i];
    if (typeof value === 'object') {
      endWord();
      words.push(...value);
    } else if (value !== undefined) word = `${word ?? ''}${value}`;
  }
  endWord();
  return words;
};

/** What a command says: exit code and text. */
export const saidIn = ({ code, stdout, stderr }: Finished) => `${code} ${stdout}${stderr}`.trimEnd();

/** Commands on a log, typed without --data; the word NOW is the present instant. @param more options that all of them have */
export function commandsOn(data: string | (() => string), ...more: readonly string[]) {
  type Run<T> = (...line: Parameters<Typed>) => Promise<T>;
  const now = (word: string) => (word === 'NOW' ? new Date().toISOString() : word);
  const folder = () => (typeof data === 'string' ? data : data());
  const words = (...line: Parameters<Typed>) => [...typed(...line).map(now), '--data', folder(), ...more];
  const run: Run<Finished> = (...line) => command(words(...line));
  const said: Run<string> = async (...line) => saidIn(await run(...line));
  /** @throws Error with all its output if it does not exit with 0 */
  const ok: Run<string> = (...line) => commandOk(words(...line));
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what it is.
  const json: Run<any> = async (...line) => JSON.parse((await run(...line)).stdout);
  return { run, said, ok, json };
}

/** @param store default: the file in the folder */
export async function withOpenLog<T>(data: string, use: (log: OpenLog) => Promise<T>, store?: string) {
  const log = await openLog({ data, store }, OPERATOR);
  try {
    await log.rebuild();
    return await use(log);
  } finally {
    await log.close();
  }
}

/** A new log with these studies. @returns its data folder */
export async function registered(
  data: string,
  studies: readonly StudyConfiguration[],
  seed?: bigint,
): Promise<string> {
  await withOpenLog(data, async (log) => {
    for (const configuration of studies) await log.studies.register(configuration, seed, OPERATOR);
  });
  return data;
}

/** A new key of `user`, as the actor of what is done with it. */
export async function actorWith(log: OpenLog, user: string, scopes: readonly Scope[], where?: LevelLimit[]) {
  const issued = await log.keys.issue({ user, scopes, where }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  return { keyId: issued.keyId, user, accessRevision: log.runner.revision('access') };
}

/** Randomizes people by their ids. @returns the outcomes */
export function enrol(
  data: string,
  study: string,
  people: Readonly<Record<string, readonly string[]>>,
  onBehalfOf?: string,
): Promise<string[]> {
  return withOpenLog(data, async (log) => {
    const actor = await actorWith(log, 'site', ['randomize', 'read']);
    const stream = log.studies.streamOf(study);
    const outcomes: string[] = [];
    for (const [participantId, levels] of Object.entries(people)) {
      const asked = { type: 'randomize', participantId, levels, user: 'site' } as const;
      const by = { ...actor, ...(onBehalfOf !== undefined && { onBehalfOf }) };
      outcomes.push((await log.studies.submit(stream, asked, by)).outcome.type);
    }
    return outcomes;
  });
}

export const studyRecords = (data: string): StoredText[] =>
  storedLog(data).filter(({ stream }) => stream.startsWith('study-'));

/** What records of one type hold, in the clear and under seal. */
export const recordsOf = (data: string, type: string) =>
  storedLog(data).flatMap(({ record, sealed }) =>
    record.type === type ? [{ data: record.data, sections: JSON.parse(sealed || '{}') }] : [],
  );
