/** Bundles of a study whose records somebody altered, with seals and leaves recomputed, and where both verifiers find that. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CONTENTS, type Content, includedSections } from '../../events/content.ts';
import { BundleFiles } from '../e2e/audit/bundle-file.ts';
import { altered, type Row } from '../e2e/audit/database.ts';
import { bothVerifiers } from './both-verifiers.ts';
import { firstDivergence, type OwnVerdict } from './own-verifier.ts';

// biome-ignore lint/suspicious/noExplicitAny: a record before anything is known of it
export type Json = any;
export type Change = (rows: readonly Row[]) => readonly Row[];
/** The revision at which it is found, in all contents or by content. `ok`: only a checkpoint can show it. */
export type Finding = number | 'ok';
export type Findings = Finding | Readonly<Record<Content, Finding>>;

export const PERSON = { cli: true, user: 'somebody' };

/** Only the bundle that includes all sections shows it. */
export const inFull = (revision: number): Findings => ({ full: revision, open: 'ok', blinded: 'ok' });
export const inEach = (expected: Findings) =>
  CONTENTS.map((content) => (typeof expected === 'object' ? expected[content] : expected));

export const changed =
  (revision: number, change: (record: Json, sealed: Json) => void): Change =>
  (rows) =>
    rows.map((row) => (row.revision === revision ? altered(row, change) : row));
export const data = (revision: number, members: object) =>
  changed(revision, (record) => Object.assign(record.data, members));
export const without = (revision: number, member: string) =>
  changed(revision, (record) => delete record.data[member]);
export const version = (revision: number, to: number) =>
  changed(revision, (record) => Object.assign(record, { version: to }));
export const by = (revision: number, actor: object) =>
  changed(revision, (record) => Object.assign(record, { actor }));
export const removed =
  (revision: number): Change =>
  (rows) =>
    rows.filter((row) => row.revision !== revision);
/** Swapped with the next one. */
export const movedOn =
  (revision: number): Change =>
  (rows) =>
    rows.map((row, i) => rows[i === revision ? i + 1 : i === revision + 1 ? i - 1 : i] ?? row);
export const unrequested = (record: Json, sealed: Json) => {
  delete record.seals.request;
  delete sealed.request;
};
/** Again after itself, with an id and salts of its own and without its Idempotency-Key. */
export const twice =
  (revision: number, change: (record: Json, sealed: Json) => void = () => undefined): Change =>
  (rows) =>
    rows.flatMap((row) =>
      row.revision === revision
        ? [
            row,
            altered(row, (record, sealed) => {
              record.id = record.id.replace(/.{12}$/, randomBytes(6).toString('hex'));
              for (const section of Object.values<Json>(sealed))
                section.salt = randomBytes(16).toString('hex');
              unrequested(record, sealed);
              change(record, sealed);
            }),
          ]
        : [row],
    );
/** With an Idempotency-Key, which it did not have. */
export const asked = (revision: number, idempotencyKey: string) =>
  changed(revision, (record, sealed) => {
    record.seals.request = '';
    sealed.request = { idempotencyKey, salt: randomBytes(16).toString('hex') };
  });
export const noted = (revision: number, text: string) =>
  changed(revision, (_, sealed) => Object.assign(sealed.note, { text }));
export const unnoted = (record: Json, sealed: Json) => {
  delete record.seals.note;
  delete sealed.note;
};
export const both =
  (...changes: readonly Change[]): Change =>
  (rows) =>
    changes.reduce((changedRows, change) => change(changedRows), rows);

const REFERENCES = ['randomizedAt', 'voidedAt', 'revealedAt', 'replaces'];

/** A change of the order, after which the records refer to the new revisions. */
export const renumbered =
  (change: Change): Change =>
  (rows) => {
    const inOrder = change(rows);
    const places = inOrder.map(({ revision }) => revision);
    return inOrder.map((row) =>
      altered(row, ({ data: members }) => {
        for (const name of REFERENCES)
          if (places.includes(members[name])) members[name] = places.indexOf(members[name]);
      }),
    );
  };

export const gone = (revision: number) => renumbered(removed(revision));
export const moved = (revision: number) => renumbered(movedOn(revision));
export const doubled = (revision: number) => renumbered(twice(revision));

/** Changes what a key was issued with, which no signature covers in these bundles. */
export const issuedWith = (revision: number, members: object) => (bundle: BundleFiles) =>
  bundle.setRows(
    'access',
    bundle
      .rows('access')
      .map((row) =>
        row.revision === revision ? altered(row, (record) => Object.assign(record.data, members)) : row,
      ),
  );

/** Keys that did nothing in the study, as it is now, are withheld, as they are in every bundle. */
export function withholdIdleKeys(bundle: BundleFiles, stream: string): void {
  const acting = new Set(bundle.rows(stream).map(({ record }) => JSON.parse(`${record}`).actor.keyId));
  const nothing = Buffer.alloc(0);
  const shown = bundle.rows('access').map((row) => {
    const { keyId } = row.record.length > 0 ? JSON.parse(`${row.record}`).data : {};
    return keyId === undefined || acting.has(keyId) ? row : { ...row, record: nothing, sealed: nothing };
  });
  bundle.setRows('access', shown);
}

interface Bundled {
  readonly stream: string;
  readonly files: Readonly<Record<Content, string>>;
}

/** The lines in which the verifier in Python gives the warnings that the program gives of the last stream. */
export function warningLines({ report }: OwnVerdict): string[] {
  const { stream, warnings } = report?.streams.at(-1) ?? { stream: '', warnings: [] };
  return warnings.map(({ count, revision, text }) => {
    const more = count > 1 ? ` (and ${count - 1} times more)` : '';
    return `WARNING  ${stream}, revision ${revision}: ${text}${more}`;
  });
}

/** @returns functions that alter the bundles of a study and verify them with both verifiers */
export function alteredBundles(python: string, newFolder: () => string) {
  const verifyBoth = bothVerifiers(python);

  /** @param prepare changes the bundle besides the study's records */
  async function make(
    { stream, files }: Bundled,
    content: Content,
    change: Change,
    prepare: (bundle: BundleFiles) => void = () => undefined,
  ): Promise<string> {
    const whole = BundleFiles.unpack(python, files.full);
    const bundle = BundleFiles.unpack(python, files[content]);
    bundle.set('checkpoints.txt', '');
    const rows = change(whole.rows(stream)).map((row, revision) =>
      altered({ ...row, revision }, (record) => Object.assign(record, { revision })),
    );
    bundle.setRows(
      stream,
      rows.map((row) => ({ ...row, sealed: Buffer.from(includedSections(row.sealed, content)) })),
    );
    prepare(bundle);
    withholdIdleKeys(bundle, stream);
    return bundle.pack(join(newFolder(), 'changed.zip'));
  }

  async function verified(...altering: Parameters<typeof make>) {
    return verifyBoth(await make(...altering));
  }

  /** What each content shows, in the order of `CONTENTS`. */
  async function findings(
    log: Bundled,
    change: Change,
    prepare?: (bundle: BundleFiles) => void,
  ): Promise<Finding[]> {
    const all: Finding[] = [];
    for (const content of CONTENTS) {
      const { code, own } = await verified(log, content, change, prepare);
      const divergence = firstDivergence(own);
      expect(divergence?.stream ?? log.stream).toBe(log.stream);
      all.push(code === 0 ? 'ok' : (divergence?.revision ?? Number.NaN));
    }
    return all;
  }

  return { verifyBoth, make, verified, findings };
}

/** Changes members of the configuration in the registration, and `configuration.json` with it. */
export function configured(members: object): readonly [Change, (bundle: BundleFiles) => void] {
  return [
    changed(0, (record) => Object.assign(record.data.configuration, members)),
    (bundle) => {
      const configuration = JSON.parse(bundle.text('configuration.json'));
      bundle.set('configuration.json', JSON.stringify({ ...configuration, ...members }));
    },
  ];
}
