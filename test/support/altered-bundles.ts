/**
 * Bundles of a study that somebody altered, with seals, leaves, references and manifest corrected, and where that is found. Our own
 * verifier reads every one of them in memory; of each study, the one in Python reads a sample, which FC_SEED repeats.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS, type Content, includedSections } from '../../events/record.ts';
import type { BundleFiles as OpenBundle } from '../../src/evidence/bundle/bundle-files.ts';
import type { Report } from '../../src/evidence/verify/report/report.ts';
import { verifyLog } from '../../src/evidence/verify/verify.ts';
import { BundleSource } from '../../src/evidence/verify/verify-bundle.ts';
import type { BundleFiles } from '../e2e/audit/bundle-file.ts';
import type { Row } from '../e2e/audit/database.ts';
import { altered, type Json } from './altered-record.ts';
import type { BundledStudy } from './bundled-study.ts';
import { CONFIGURATION } from './facts.ts';
import { bundleFiles } from './files-in.ts';
import type { Life } from './life.ts';
import { requiredPython } from './numpy.ts';
import { sample } from './property.ts';
import { temporaryFolders } from './temporary-folder.ts';
import { bothVerifiers, pythonVerifier } from './verifier.ts';

export type { Json };

/** A record of the study, wherever it is now. */
interface Placed {
  /** That of the step, or of the step and `, again`. */
  readonly name: string;
  /** Where it was before anything was altered; nothing of what was added. */
  readonly before: number | undefined;
  readonly row: Row;
}

/** Of records that say where another one is. */
const REFERENCES = ['randomizedAt', 'voidedAt', 'revealedAt', 'replaces'];

/** A bundle while somebody alters it: with all sections of the study, whatever it will include. */
export class Altering {
  placed: Placed[];
  readonly access: Row[];
  readonly actors: BundledStudy<string>['actors'];
  readonly at: Readonly<Record<string, number>>;
  readonly #files: BundleFiles;
  #isMoved = false;

  constructor({ full, rows, actors }: Made, { at }: Life) {
    this.at = at;
    this.actors = actors;
    const names = Object.keys(at);
    this.placed = rows.map((row, before) => ({
      ...{ name: names[before] ?? `revision ${before}`, before, row },
    }));
    this.#files = full.copy();
    this.#files.set('checkpoints.txt', '');
    this.access = this.#files.rows('access');
  }

  find(name: string): number {
    const place = this.placed.findIndex((one) => one.name === name);
    if (place < 0) throw new Error(`there is no ${name}`);
    return place;
  }

  record(name: string): Json {
    return JSON.parse(`${this.placed[this.find(name)]?.row.record}`);
  }

  sections(name: string): Json {
    return JSON.parse(`${this.placed[this.find(name)]?.row.sealed}`);
  }

  change(name: string, change: (record: Json, sealed: Json) => void): void {
    const place = this.find(name);
    const { row, ...rest } = this.placed[place] as Placed;
    this.placed[place] = { ...rest, row: altered(row, change) };
  }

  /** Changes the order of the records. What they say of one another's places follows. */
  move(to: (placed: readonly Placed[]) => Placed[]): void {
    this.placed = to(this.placed);
    this.#isMoved = true;
  }

  configure(members: object): void {
    const configuration = JSON.parse(this.#files.text('configuration.json'));
    this.#files.set('configuration.json', JSON.stringify({ ...configuration, ...members }));
  }

  /** The files, with only what the content includes. Keys that did nothing are withheld, as in every bundle. */
  finished(stream: string, content: Content): BundleFiles {
    const rows = this.placed.map(({ row }, revision) =>
      this.#isMoved
        ? altered({ ...row, revision }, (record) => {
            record.revision = revision;
            this.#refer(record.data);
          })
        : row,
    );
    show(this.#files, stream, rows, content);
    this.#files.setRows('access', this.access);
    withholdIdleKeys(this.#files, stream);
    return this.#files;
  }

  #refer(members: Json): void {
    for (const name of REFERENCES) {
      const place = this.placed.findIndex(({ before }) => before !== undefined && before === members[name]);
      if (place >= 0) members[name] = place;
    }
  }
}

/** Makes of a bundle with all sections one with these records of the study, and only what the content includes. */
export function show(bundle: BundleFiles, stream: string, rows: readonly Row[], content: Content): void {
  bundle.set('manifest.json', JSON.stringify({ ...JSON.parse(bundle.text('manifest.json')), content }));
  const shown = rows.map((row) => ({
    ...{ ...row, sealed: Buffer.from(includedSections(row.sealed, content)) },
  }));
  bundle.setRows(stream, shown);
}

/** Keys that did nothing in the study, as it is now, are withheld. */
export function withholdIdleKeys(bundle: BundleFiles, stream: string): void {
  const acting = new Set(bundle.rows(stream).map(({ record }) => JSON.parse(`${record}`).actor.keyId));
  const nothing = Buffer.alloc(0);
  const shown = bundle.rows('access').map((row) => {
    const { keyId } = row.record.length > 0 ? JSON.parse(`${row.record}`).data : {};
    return keyId === undefined || acting.has(keyId) ? row : { ...row, record: nothing, sealed: nothing };
  });
  bundle.setRows('access', shown);
}

/** What somebody does to a bundle. @param name of the record that the table is about */
export type Change = (bundle: Altering, name: string) => void;

export const changed =
  (change: (record: Json, sealed: Json, bundle: Altering) => void): Change =>
  (bundle, name) =>
    bundle.change(name, (record, sealed) => change(record, sealed, bundle));
export const sealed = (change: (sections: Json) => void): Change => changed((_, all) => change(all));
export const data = (members: object | ((bundle: Altering) => object)): Change =>
  changed((record, _, bundle) =>
    Object.assign(record.data, members instanceof Function ? members(bundle) : members),
  );
export const without = (...members: string[]): Change =>
  changed((record) => {
    for (const member of members) delete record.data[member];
  });
/** About somebody else, who was enrolled in the step of that name. */
export const about = (participantId: string, enrolled = participantId): Change =>
  data(({ at }) => ({ participantId, randomizedAt: at[enrolled] }));
export const algorithm = (members: object) =>
  changed((record) => Object.assign(record.data.algorithm, members));
export const version = (to: number): Change => changed((record) => Object.assign(record, { version: to }));
/** By the key of a user, or by somebody at the command line. */
export const by = (user: string): Change =>
  changed((record, _, { actors }) =>
    Object.assign(record, { actor: user === 'somebody' ? { cli: true, user } : actors[user] }),
  );
/** Of another record than the one that the table is about. */
export const at =
  (name: string, change: Change): Change =>
  (bundle) =>
    change(bundle, name);
export const both =
  (...changes: readonly Change[]): Change =>
  (bundle, name) => {
    for (const change of changes) change(bundle, name);
  };
export const gone: Change = (bundle, name) => bundle.move((all) => all.filter((one) => one.name !== name));
/** Behind the next one. */
export const moved: Change = (bundle, name) =>
  bundle.move((all) => {
    const place = bundle.find(name);
    const one = all[place] as Placed;
    return all.toSpliced(place, 1).toSpliced(place + 1, 0, one);
  });
/** Again behind itself, with an id and salts of its own and without its Idempotency-Key. */
export const doubled: Change = (bundle, name) =>
  bundle.move((all) => {
    const place = bundle.find(name);
    const row = altered((all[place] as Placed).row, (record, sections) => {
      record.id = record.id.replace(/.{12}$/, randomBytes(6).toString('hex'));
      for (const section of Object.values<Json>(sections)) section.salt = salt();
      delete record.seals.request;
      delete sections.request;
    });
    return all.toSpliced(place + 1, 0, { name: `${name}, again`, before: undefined, row });
  });
const salt = () => randomBytes(16).toString('hex');
export const drop = (section: string): Change =>
  changed((record, sections) => {
    delete record.seals[section];
    delete sections[section];
  });
export const put = (section: string, members: object): Change =>
  changed((record, sections) => {
    record.seals[section] = '';
    sections[section] = { ...members, salt: salt() };
  });
/** With an Idempotency-Key, which it did not have. */
export const asked = (idempotencyKey: string) => put('request', { idempotencyKey });
export const noted = (text: string) => sealed(({ note }) => Object.assign(note, { text }));
export const onArm = (treatment: string) =>
  sealed(({ allocation }) => Object.assign(allocation, { treatment }));
export const onAnotherArm = sealed(({ allocation }) => {
  const others = CONFIGURATION.treatments.filter((treatment) => treatment !== allocation.treatment);
  Object.assign(allocation, { treatment: others[0] });
});
/** With these changes of an amendment. */
export const changes = (...list: readonly object[]) => data({ changes: list });
/** Changes what a key was issued with, which no signature covers in these bundles. @param place of the key, from 0 */
export const issuedWith =
  (place: number, members: object): Change =>
  ({ access }) => {
    const row = access[place];
    if (row?.record.length) access[place] = altered(row, ({ data: all }) => Object.assign(all, members));
  };
/** Members of the configuration in the registration, and in `configuration.json`. */
export const configured =
  (members: object): Change =>
  (bundle) => {
    bundle.change('registered', (record) => Object.assign(record.data.configuration, members));
    bundle.configure(members);
  };

/** Where an alteration is found: the name of a record in all contents, or by content. `ok`: only a checkpoint can show it. */
type Found = string | Partial<Readonly<Record<Content, string>>>;
/** The record that the table is about. */
const ITSELF = 'itself';
/** Only the bundle that includes all sections shows it: whoever sees less than the arms is not asked. */
export const inFull = (name = ITSELF): Found => ({ full: name, open: 'ok' });
/** Only where arms are shown. */
export const withArms = (name = ITSELF): Found => ({ full: name, open: name, blinded: 'ok' });
/** At once where the draws are included, and later or not at all in the clear. */
export const sooner = (full: string, clear: string) => ({ full, open: clear, blinded: clear });
/** Asked only of who sees nothing else: what the clear shows, every content shows. */
export const inClear = (name = ITSELF): Found => ({ blinded: name });

/** Name, change, and where it is found: default, at the record itself in the clear. */
type Alteration = readonly [name: string, change: Change, found?: Found];
/** By the name of the record that they are about. */
type Alterations<N extends string> = Partial<Readonly<Record<N, readonly Alteration[]>>>;

interface Made extends BundledStudy<string> {
  /** The bundle with all sections, and the records of the study in it. */
  readonly full: BundleFiles;
  readonly rows: readonly Row[];
}

async function make(life: Life, folder: string, contents: readonly Content[]): Promise<Made> {
  const made = await life.make(folder, contents);
  const full = await bundleFiles(made.files.full);
  return { ...made, full, rows: full.rows(made.stream) };
}

/** What our own verifier says of files, as if they were in an archive. */
export async function verifyFiles({ files }: BundleFiles, stream: string, content: Content) {
  const bundle = {
    manifest: { content, study: { stream } },
    has: (path: string) => files.has(path),
    sizeOf: (path: string) => files.get(path)?.length ?? 0,
    async *read(path: string) {
      yield files.get(path) ?? Buffer.alloc(0);
    },
    readWhole: async (path: string) => files.get(path) ?? Buffer.alloc(0),
    problems: async () => [],
  };
  const source = new BundleSource(bundle as unknown as OpenBundle);
  const report = await verifyLog({ source, trusted: [], checkpoints: [] });
  const keys = report.log && [report.log.publicKey, ...report.log.laterKeys];
  return { report, problems: await source.problems(keys) };
}

const python = requiredPython('numpy, cryptography');
export const hasPython = python !== undefined;
export const verifyBoth = bothVerifiers(python ?? '');
export const verifyInPython = pythonVerifier(python ?? '');
/** Of so many alterations of a study, in each content of which it is asked, one is shown to Python. `SAMPLED=1` shows all of them. */
const SAMPLED = Number(process.env['SAMPLED'] ?? 25);

/**
 * The bundles of a life, once for a test file, and what verifiers find in them when somebody alters them.
 * @param contents of the bundles that the service makes; what is altered is always made of the one with all sections
 * @param newFolder needed within a test, which cannot say what is done at the end of its file
 */
export function bundlesOf<N extends string>(
  life: Life<string, N>,
  contents: readonly Content[] = ['full'],
  newFolder = temporaryFolders(),
) {
  let making: Promise<Made> | undefined;
  const made = () => {
    making ??= make(life, newFolder(), contents);
    return making;
  };

  /**
   * @param isShown to the verifier in Python too, as a file
   * @returns `found`, the name of the first record that diverges, with its stream if that is not the study, or `ok`; its place
   * in the altered study, infinity of none; and what the verifier in Python printed, if it was asked
   */
  async function judge(content: Content, change: Change, { name = 'registered', isShown = false } = {}) {
    const study = await made();
    const altering = new Altering(study, life);
    change(altering, name);
    const { placed } = altering;
    const files = altering.finished(study.stream, content);
    const { report, problems } = await verifyFiles(files, study.stream, content);
    expect(problems).toEqual([]);
    const one = report.streams.find(({ divergence }) => divergence);
    expect(report.ok).toBe(one === undefined);
    const where = (stream: string, revision: number) =>
      stream === study.stream ? (placed[revision]?.name ?? `revision ${revision}`) : `${stream}/${revision}`;
    const revision = one?.divergence?.revision ?? Number.POSITIVE_INFINITY;
    const found = one ? where(one.stream, revision) : 'ok';
    if (!isShown) return { report, found, revision, stdout: undefined };
    const { code, first, stdout } = await verifyInPython(await files.pack(join(newFolder(), 'altered.zip')));
    expect(first ? where(first.stream, first.revision) : 'ok', 'in Python').toBe(found);
    expect(code, stdout).toBe(one ? 1 : 0);
    return { report, found, revision, stdout };
  }

  /**
   * Declares a test of each alteration. Whoever sees more finds no less, and no later (any-life.test.ts): what is found at
   * one place that has a name is asked of those who see all and nothing.
   */
  function alterations(subject: string, all: Alterations<N | 'registered'>): void {
    const cases = Object.entries<readonly Alteration[] | undefined>(all).flatMap(([name, list = []]) =>
      list.map((alteration) => [`${name}, ${alteration[0]}`, name, alteration] as const),
    );
    const shown = shownOf(cases.length);
    describe.skipIf(!hasPython)(subject, () => {
      beforeAll(made);
      it.each(cases.map((one, place) => [...one, place] as const))(
        'find %s',
        async (_, name, [, change, expected = inClear()], place) => {
          const wanted = typeof expected === 'object' ? expected : { full: expected, blinded: expected };
          const found: Partial<Record<Content, string>> = {};
          for (const content of CONTENTS.filter((one) => wanted[one] !== undefined)) {
            const judged = await judge(content, change, { name, isShown: shown[content].has(place) });
            found[content] = judged.found;
          }
          const named = Object.entries(wanted).map(([of, where]) => [of, where.replace(/^itself/, name)]);
          expect(found).toEqual(Object.fromEntries(named));
        },
      );
    });
  }

  return { made, judge, alterations };
}

/** The lines in which the verifier in Python gives the warnings that the program gives of the last stream. */
export function warningLines(report: Report | undefined): string[] {
  const { stream, warnings } = report?.streams.at(-1) ?? { stream: '', warnings: [] };
  return warnings.map(({ count, revision, text }) => {
    const more = count > 1 ? ` (and ${count - 1} times more)` : '';
    return `WARNING  ${stream}, revision ${revision}: ${text}${more}`;
  });
}

/** Which of so many alterations the verifier in Python is shown, by content: at least one. */
function shownOf(count: number): Readonly<Record<Content, ReadonlySet<number>>> {
  const some = Math.min(count, Math.max(1, Math.ceil(count / SAMPLED)));
  const places = fc.uniqueArray(fc.nat(Math.max(0, count - 1)), { minLength: some, maxLength: some });
  const [full, open, blinded] = sample(places, 3).map((some) => new Set(some));
  return { full, open, blinded } as Record<Content, ReadonlySet<number>>;
}
