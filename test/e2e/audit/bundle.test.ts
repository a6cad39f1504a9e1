/**
 * The program bundles data of the service; the real Python with the real numpy verifies it, and so does
 * `urn verify --bundle`, with the same verdict each time.
 */
import { hash } from 'node:crypto';
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, leafHash } from '../../../events/record.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { type BothVerdicts, bothVerifiers } from '../../support/both-verifiers.ts';
import { command, commandOk } from '../../support/command.ts';
import { requiredPython } from '../../support/numpy.ts';
import { firstDivergence, verifyOurselves } from '../../support/own-verifier.ts';
import { urn } from '../../support/service.ts';
import { makeSleepHistory, NAME, RECORDS } from '../../support/sleep-history.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { runVerifier } from '../../support/verifier.ts';
import { BundleFiles } from './bundle-file.ts';
import {
  altered,
  checkpoint,
  publicKey,
  type Row,
  randomizedAt,
  replaceRows,
  rewritten,
  rowsOf,
  streamOfStudy,
} from './database.ts';

// biome-ignore lint/suspicious/noExplicitAny: a section before anything is known of it
type Json = any;
const TREATMENTS = ['ZZTREATA', 'ZZTREATB'];

const found = requiredPython('numpy, cryptography');
const python = found ?? '';

const newFolder = temporaryFolders();
const data = join(newFolder(), 'data');
const folder = newFolder();
const bundles = {
  full: join(folder, 'full.zip'),
  open: join(folder, 'open.zip'),
  blinded: join(folder, 'blinded.zip'),
};
let stream: string;
let trusted: string;
let receipts: string;
const said: Record<string, string> = {};

describe.skipIf(found === undefined)('urn bundle', () => {
  beforeAll(async () => {
    const { service, receipts: notes } = await makeSleepHistory(data);
    receipts = join(folder, 'receipts.txt');
    writeFileSync(receipts, `${notes.join('\n')}\n`);
    // Beside the running service.
    for (const [content, out] of Object.entries(bundles)) {
      const run = content === 'full' ? urn : command;
      const { code, stdout, stderr } = await run(bundling(data, out, '--content', content));
      expect(code, stderr).toBe(0);
      said[content] = stdout + stderr;
    }
    await service.stop();
    stream = streamOfStudy(data, NAME);
    trusted = publicKey(data);
  });

  const bundling = (from: string, out: string, ...more: string[]) => [
    ...['bundle', '--study', NAME, '--data', from, '--out', out, ...more],
  ];
  const verifyBoth = bothVerifiers(python);
  const trusting = () => ['--trust', trusted, '--checkpoint', receipts];
  /** A copy of a bundle, changed in some way, and verified with all that a regulator could have. */
  async function tampered(
    change: (bundle: BundleFiles) => void,
    args: readonly string[] = [],
    content: keyof typeof bundles = 'full',
  ): Promise<BothVerdicts> {
    const bundle = BundleFiles.unpack(python, bundles[content]);
    change(bundle);
    return verifyBoth(await bundle.pack(join(newFolder(), 'tampered.zip')), args);
  }
  const changed = (change: (rows: Row[]) => Row[]) => (bundle: BundleFiles) =>
    bundle.setRows(stream, change(bundle.rows(stream)));
  const replaced = (revision: number, change: (row: Row) => Row) =>
    changed((rows) => rows.with(revision, change(rows[revision] as Row)));
  /** Without the checkpoints in the bundle, which only the log's key can make. */
  const unsigned = (bundle: BundleFiles) => bundle.set('checkpoints.txt', '');

  describe('writes a file', () => {
    it('that only its owner can read, that names the verifier, and that overwrites no other file', async () => {
      for (const out of Object.values(bundles)) expect(statSync(out).mode & 0o777).toBe(0o600);
      expect(said['full']).toContain('UNBLINDING MATERIAL');
      expect(said['blinded']).not.toContain('UNBLINDING');
      const verifier = BundleFiles.unpack(python, bundles.full).files.get('verify_bundle.py');
      const sha256 = hash('sha256', verifier ?? '');
      expect(said['full']).toContain(sha256);
      expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(sha256);
      const { code, stderr } = await command(bundling(data, bundles.full));
      expect([code, stderr]).toEqual([2, expect.stringContaining('already exists')]);
    });

    it('with the same bytes from the same log', async () => {
      const out = join(newFolder(), 'again.zip');
      await commandOk(bundling(data, out));
      expect(hash('sha256', readFileSync(out))).toBe(hash('sha256', readFileSync(bundles.full)));
    });

    it('but not of a study that does not exist', async () => {
      const args = ['bundle', '--study', 'Slep', '--data', data, '--out', join(folder, 'x')];
      const { code, stderr } = await command(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining('no study "Slep"')]);
    });

    it('but not if a record was changed', async () => {
      const copy = join(newFolder(), 'data');
      cpSync(data, copy, { recursive: true });
      const row = rowsOf(copy, stream)[4] as Row;
      replaceRows(copy, [{ ...row, leaf: Buffer.alloc(32) }]);
      const out = join(newFolder(), 'x.zip');
      const { code, stderr } = await command(bundling(copy, out));
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${stream}/4`)]);
      expect(() => statSync(out)).toThrow();
    });
  });

  describe('of a sound study', () => {
    it('is proven up to checkpoints that were kept elsewhere', async () => {
      const { code, stdout } = await verifyBoth(bundles.full, trusting());
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('12 allocations, drawn again with numpy');
      expect(stdout).toContain(
        `revisions 0 to ${RECORDS - 1}: as signed: by checkpoints that were kept elsewhere`,
      );
      expect(stdout).not.toContain('SELF-CONSISTENT ONLY');
    });

    it('is only self-consistent without a trusted key', async () => {
      const { code, stdout, own } = await verifyBoth(bundles.full);
      expect(code).toBe(0);
      for (const text of [stdout, own.text]) expect(text).toContain('SELF-CONSISTENT ONLY');
      expect(stdout).toContain(`revisions 0 to ${RECORDS - 1}: covered by no checkpoint under a trusted key`);
    });

    it.each(['open', 'blinded'] as const)(
      'proves the same records if it is %s, without a replay',
      async (content) => {
        const { code, stdout, own } = await verifyBoth(bundles[content], trusting());
        expect(code, stdout).toBe(0);
        expect(stdout).toContain('NOT REPLAYED');
        expect(stdout).toContain(`revisions 0 to ${RECORDS - 1}: as signed`);
        expect(own.report?.bundle).toMatchObject({ content });
        expect(own.text).toContain(`the draws were NOT REPLAYED: the content is ${content}`);
        expect(own.text).toContain('12 checkpoints match: the history up to size 15');
        expect(own.text).not.toMatch(/decided again|every event follows/);
        const leaves = (file: string) =>
          BundleFiles.unpack(python, file)
            .rows(stream)
            .map(({ leaf }) => leaf.toString('hex'));
        expect(leaves(bundles[content])).toEqual(leaves(bundles.full));
      },
    );

    it.each([
      ['cryptography', 3, /revisions 0 to 14: covered by no checkpoint.*NOT CHECKED/s],
      ['numpy', 2, /nothing was verified without numpy: not here \(hint: install it for \//],
    ])('is verified without %s only as far as possible: exit code %i', (library, code, says) => {
      const PYTHONPATH = newFolder();
      writeFileSync(join(PYTHONPATH, `${library}.py`), 'raise ImportError("not here")\n');
      const ran = runVerifier(python, [bundles.full, '--trust', trusted], { PYTHONPATH });
      expect([ran.code, ran.stdout + ran.stderr]).toEqual([code, expect.stringMatching(says)]);
    });

    it('reads a witness’s file, and recognizes another log’s checkpoint', async () => {
      const witness = join(newFolder(), 'witness.txt');
      const ward = streamOfStudy(data, 'Ward');
      const text = [checkpoint(data, ward, 1), checkpoint(data, stream, 9)].join('\n');
      writeFileSync(witness, text);
      const args = ['--trust', trusted, '--checkpoint', witness];
      expect((await verifyBoth(bundles.full, args)).code).toBe(0);
      writeFileSync(witness, text.replaceAll('urn/study', 'nru/study'));
      const { code, stdout } = await verifyBoth(bundles.full, args);
      expect([code, stdout]).toEqual([1, expect.stringContaining('NOT OF THIS LOG')]);
    });

    it('is refused as a bundle if it is not one', async () => {
      expect((await verifyBoth(receipts)).code).toBe(2);
      expect((await verifyBoth(bundles.full, ['--checkpoint', bundles.full])).code).toBe(2);
    });
  });

  describe('is verified by urn verify --bundle', () => {
    const verifyBundle = (file: string, ...args: string[]) => command(['verify', '--bundle', file, ...args]);

    it('like a log if the content is full, otherwise as far as possible', async () => {
      const { code, stdout } = await verifyBundle(bundles.full, ...trusting());
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('bundle, content full: its files are those');
      expect(stdout).toContain('15 records, 12 participants decided again; root ');
      expect(stdout).toContain('1 checkpoint that came with the bundle matches up to size 3: signed, but');
      expect(stdout).toContain(
        'not known: 1 record of access is withheld: a key that the study used may have',
      );
      expect(stdout).toMatch(/^OK as far as the given checkpoints reach; beyond them the history/m);
      const blinded = await verifyBundle(bundles.blinded, ...trusting());
      expect(blinded.code).toBe(0);
      expect(blinded.stdout).toContain('15 records, 12 participants, whose draws were NOT REPLAYED; root ');
    });

    it('with the checkpoints in the bundle distinguished from kept ones', async () => {
      const { code, stdout } = await verifyBundle(bundles.full, '--trust', trusted, '--json');
      expect(code).toBe(0);
      const report = JSON.parse(stdout);
      expect(report).toMatchObject({
        ...{ ok: true, selfConsistentOnly: true },
        bundle: { content: 'full', notKnown: [expect.stringContaining('withheld')], files: [] },
      });
      expect(report.bundle).not.toHaveProperty('notReplayed');
      const { text } = await verifyOurselves(bundles.full, ['--trust', trusted]);
      expect(text).toContain('SELF-CONSISTENT ONLY: every event follows from those before it');
      expect(text).toContain('SIGNED, AND NO MORE: a trusted key signed these records, perhaps today');
      expect(text).not.toMatch(/proven unchanged|^OK/m);
    });

    it('and refused with options for a log, or if it is not a bundle', async () => {
      const both = await verifyBundle(bundles.full, '--study', NAME);
      const together = '--bundle and --study cannot be combined';
      expect([both.code, both.stderr]).toEqual([2, expect.stringContaining(together)]);
      const none = await verifyBundle(receipts);
      expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('is not a complete zip archive')]);
    });

    it('and fails, naming the file and the event that are wrong', async () => {
      const bundle = BundleFiles.unpack(python, bundles.full);
      replaced(6, (row) => altered(row, (_, { draw }) => Object.assign(draw, { uniform53: 1 })))(bundle);
      bundle.set('extra.txt', 'more');
      const bad = await bundle.pack(join(newFolder(), 'bad.zip'));
      const { code, stdout } = await verifyBundle(bad, ...trusting());
      expect(code).toBe(1);
      expect(stdout).toContain('FAILED: extra.txt is not listed in manifest.json');
      expect(stdout).toContain(`FIRST DIVERGENCE at ${stream}/6: ParticipantRandomized, participant "p-6"`);
      expect(stdout).toContain('field    draw.uniform53');
      expect(stdout).toContain('CHANGED SINCE IT WAS SIGNED: the history up to size 6 is proven unchanged');
      expect(stdout).toMatch(/^FAILED$/m);
      expect((await verifyBoth(bad)).stdout).toContain('extra.txt is not what manifest.json lists');
    });
  });

  describe('reveals nothing in a blinded file', () => {
    it('from which an arm could be inferred', () => {
      const { files } = BundleFiles.unpack(python, bundles.blinded);
      const secrets = new Set<string>();
      for (const row of [...rowsOf(data, stream), ...rowsOf(data, 'access')])
        for (const section of Object.values<object>(JSON.parse(row.sealed.toString())))
          for (const value of leavesOf(section)) if (value.length > 5) secrets.add(value);
      expect(secrets.size).toBeGreaterThan(50);
      for (const [path, bytes] of files)
        for (const secret of secrets) {
          // Names from the configuration; the next test is about the treatments.
          if ([...TREATMENTS, 'local_site'].includes(secret)) continue;
          expect(bytes.includes(secret), `${path} holds ${secret}`).toBe(false);
        }
    });

    it('but the treatments, once, in the registered configuration', () => {
      const { files } = BundleFiles.unpack(python, bundles.blinded);
      for (const [path, bytes] of files) {
        const times = TREATMENTS.map((treatment) => bytes.toString().split(treatment).length - 1);
        const isConfiguration = path === 'configuration.json' || path.startsWith('records/study-');
        expect(times, path).toEqual(isConfiguration ? [1, 1] : [0, 0]);
      }
    });

    it('but treatments, and only those, in an open one', () => {
      const rows = BundleFiles.unpack(python, bundles.open).rows(stream);
      for (const { sealed } of rows)
        expect(['{}', '{"allocation":']).toContain(/^({}|{"allocation":)/.exec(`${sealed}`)?.[0]);
      expect(rows.filter(({ sealed }) => `${sealed}` !== '{}')).toHaveLength(12);
    });

    it('nor, in any file, keys that this study does not know, or credentials', () => {
      const access = BundleFiles.unpack(python, bundles.full).rows('access');
      expect(access.map(({ record, sealed }) => [record.length > 0, `${sealed}`])).toContainEqual([
        false,
        '',
      ]);
      expect(access.filter(({ record }) => record.length > 0).map(({ sealed }) => `${sealed}`)).toEqual([
        '{}',
        '{}',
      ]);
    });
  });

  describe('that was tampered with is reported exactly:', () => {
    const at = (revision: number) => `${stream}, revision ${revision}:`;
    type Change = Parameters<typeof altered>[1];
    type Case = [what: string, revision: number, field: string, change: (bundle: BundleFiles) => void];
    /** With matching seals and leaf. */
    const resealed = (what: string, revision: number, field: string, change: Change): Case => [
      ...([what, revision, field, replaced(revision, (row) => altered(row, change))] as const),
    ];
    const actor =
      (members: object): Change =>
      (record) =>
        Object.assign(record.actor, members);
    const drawn = (field: string, change: (draw: Json) => unknown) =>
      resealed(`${field} of a draw`, 12, `draw.${field}`, (_, sealed) => change(sealed.draw));
    const resalted = (section: string): Case => [
      ...([`the salt of ${section}`, 3, `seals.${section}`] as const),
      replaced(3, (row) => {
        const sealed = JSON.parse(`${row.sealed}`);
        sealed[section].salt = 'f'.repeat(32);
        return { ...row, sealed: Buffer.from(canonicalJson(sealed)) };
      }),
    ];

    it.each<Case>([
      ['an event deleted', 5, 'revision', changed((rows) => rows.toSpliced(5, 1))],
      [
        'two events swapped',
        6,
        'revision',
        changed((rows) => rows.with(6, rows[7] as Row).with(7, rows[6] as Row)),
      ],
      ['an event inserted', 8, 'revision', changed((rows) => rows.toSpliced(8, 0, rows[7] as Row))],
      ...['allocation', 'draw', 'request'].map(resalted),
      drawn('bgStateBefore', (draw) => Object.assign(draw.bgStateBefore, { uinteger: 7, has_uint32: 1 })),
      drawn('candidates', ({ candidates }) => candidates.push('zzz')),
      drawn('selectedFactor', (draw) => Object.assign(draw, { selectedFactor: 'zzz' })),
      drawn('counts', ({ counts }) => counts.reverse().push(1)),
      drawn('balls', ({ balls }) => balls.push(1)),
      drawn('uniform53', (draw) => Object.assign(draw, { uniform53: draw.uniform53 + 1 })),
      drawn('bgStateAfter', (draw) => Object.assign(draw.bgStateAfter.state, { inc: '1' })),
      resealed('the seed', 0, 'generator.bgState', (_, { generator }) =>
        Object.assign(generator, { seed: '1' }),
      ),
      resealed(
        'a key that does not exist',
        2,
        'actor.keyId: issued, as far as access shows',
        actor({ keyId: 'k000000' }),
      ),
      resealed("another's key", 2, 'actor.user', actor({ user: 'somebody' })),
      resealed(
        'a key before it was issued',
        2,
        'actor.keyId: valid then, and may randomize',
        actor({ accessRevision: 0 }),
      ),
      resealed('the name of the study', 0, "stream, which follows from the study's name", (record) =>
        Object.assign(record.data.configuration, { name: 'X' }),
      ),
    ])('%s', async (_, revision, field, change) => {
      const { code, stdout, own } = await tampered(change);
      expect(code).toBe(1);
      expect(stdout).toContain(`${at(revision)} Divergence in field ${field}\n`);
      if (field === 'revision') expect(stdout).toContain(`expected  ${revision}\n`);
      if (/^(seals|draw)\./.test(field)) expect(firstDivergence(own)?.field).toMatch(field);
    });

    it('a byte of a record', async () => {
      const change = (row: Row) => ({ ...row, record: Buffer.from(`${row.record}`.replace('p-4', 'p-5')) });
      const { stdout, own } = await tampered(replaced(4, change));
      expect(stdout).toContain(`${at(4)} Divergence in field leaf`);
      expect(firstDivergence(own)?.field).toBe('leaf');
      expect(stdout).toContain(leafHash(rowsOf(data, stream)[4]?.record ?? Buffer.alloc(0)).toString('hex'));
    });

    it('a wrong treatment', async () => {
      const { treatment } = randomizedAt(rowsOf(data, stream), 6).sections.allocation;
      const other = TREATMENTS.find((name) => name !== treatment);
      const { code, stdout } = await tampered((bundle) => {
        replaced(6, (row) =>
          altered(row, (_, { allocation }) => Object.assign(allocation, { treatment: other })),
        )(bundle);
        unsigned(bundle);
      });
      expect(code).toBe(1);
      expect(stdout).toContain(
        `${at(6)} Divergence in field allocation.treatment\n    expected  "${treatment}"\n    found     "${other}"`,
      );
      expect(stdout).toContain('5 allocations, drawn again');
    });

    it('a study without a record, and a name that would control a terminal', async () => {
      const empty = await tampered((bundle) => {
        bundle.setRows(stream, []);
        bundle.set('configuration.json', 'null');
        unsigned(bundle);
      });
      expect(empty.code).toBe(1);
      const name = 'X\nRESULT  nothing wrong was found\n\u001b[8m\u009b8m';
      const named = (row: Row) =>
        altered(row, (record) => Object.assign(record.data.configuration, { name }));
      const speaking = await tampered(replaced(0, named));
      expect(speaking.code).toBe(1);
      expect(speaking.stdout).not.toMatch(/^RESULT {2}nothing/m);
      for (const control of ['\u001b', '\u009b']) expect(speaking.stdout).not.toContain(control);
    });

    it('the tail removed', async () => {
      const cut = changed((rows) => rows.slice(0, 9));
      expect((await tampered(cut)).stdout).toContain('15 records were signed, but here are only 9 records');
      const without = (bundle: BundleFiles) => {
        cut(bundle);
        unsigned(bundle);
      };
      // Nothing that is left shows it, so nothing may be claimed to be proven.
      const alone = await tampered(without, ['--trust', trusted]);
      expect(alone.code).toBe(0);
      expect(alone.stdout).toContain('revisions 0 to 8: covered by no checkpoint under a trusted key');
      const kept = await tampered(without, trusting());
      expect(kept.code).toBe(1);
      expect(kept.stdout).toContain('but here are only 9 records');
      expect(kept.stdout).toContain('revisions 0 to 8: as signed: by checkpoints that were kept elsewhere');
    });

    it('the configuration rewritten, or shown otherwise', async () => {
      const rewritten = (row: Row) =>
        altered(row, (record) => Object.assign(record.data.configuration, { alpha: 3 }));
      const { code, stdout } = await tampered(replaced(0, rewritten));
      expect(code).toBe(1);
      expect(stdout).toMatch(new RegExp(`${stream}, revision \\d+: Divergence in field draw\\.`));
      const shown = await tampered((bundle) => {
        const text = bundle.text('configuration.json');
        bundle.set('configuration.json', text.replace('"alpha": 0', '"alpha": 1'));
      });
      for (const said of [stdout, shown.stdout]) expect(said).toContain('configuration.json does not say');
    });

    it('in a blinded or an open bundle, by its leaf, its seal or its checkpoints', async () => {
      const levels = replaced(4, (row) => {
        const record = Buffer.from(`${row.record}`.replace('"Female"', '"Male"'));
        return { ...row, record, leaf: leafHash(record) };
      });
      for (const content of ['open', 'blinded'] as const) {
        const { code, stdout } = await tampered(levels, trusting(), content);
        expect(code).toBe(1);
        expect(stdout).toContain('the two histories part between revisions 4 and 4');
      }
      const arm = replaced(4, (row) => ({
        ...row,
        sealed: Buffer.from(`${row.sealed}`.replace(/ZZTREAT./, 'ZZTREATC')),
      }));
      expect((await tampered(arm, [], 'open')).stdout).toContain(
        `${at(4)} Divergence in field seals.allocation`,
      );
    });
  });

  describe('whose history was rewritten consistently', () => {
    /** Participant 3 has other levels, and everything after follows from that: new seals, new leaves, new draws. */
    const rewrite = changed((rows) =>
      rewritten(rows, (event) => {
        if (event.type !== 'ParticipantRandomized' || event.revision !== 3) return event;
        const levels = event.data.levels.map((one, i) => (i === 0 ? { ...one, level: 'Female' } : one));
        return { ...event, data: { ...event.data, levels } };
      }),
    );

    it('is exposed by the checkpoint that the log’s key signed, and by nothing else', async () => {
      const found = await tampered(rewrite, ['--trust', trusted]);
      expect(found.code).toBe(1);
      expect(found.stdout).toContain('12 allocations, drawn again');
      expect(found.stdout).toContain('15 records were signed, but here are other records');
      const alone = await tampered((bundle) => {
        rewrite(bundle);
        unsigned(bundle);
      });
      expect(alone.code).toBe(0);
      expect(alone.stdout).toContain('SELF-CONSISTENT ONLY');
    });

    it('is exposed only by kept checkpoints if the operator signs it again', async () => {
      const copy = join(newFolder(), 'data');
      cpSync(data, copy, { recursive: true });
      const bundle = BundleFiles.unpack(python, bundles.full);
      rewrite(bundle);
      replaceRows(copy, bundle.rows(stream));
      // This machine knows what it signed last, as long as nobody removes that note as well.
      const unsignedOut = join(newFolder(), 'unsigned.zip');
      const refused = await command(bundling(copy, unsignedOut));
      expect(refused).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('the log is not the one that it was'),
      });
      expect((await verifyBoth(unsignedOut, ['--trust', trusted])).stdout).toContain(
        'revisions 0 to 14: covered by no checkpoint',
      );
      rmSync(join(copy, 'last-checkpoints'));
      const out = join(newFolder(), 'rewritten.zip');
      await commandOk(bundling(copy, out));
      const signed = await verifyBoth(out, ['--trust', trusted]);
      expect(signed.code).toBe(0);
      expect(signed.stdout).toContain('revisions 0 to 14: signed, but nothing kept elsewhere shows');
      const kept = await verifyBoth(out, trusting());
      expect(kept.code).toBe(1);
      expect(kept.stdout).toContain('the two histories part between revisions 3 and 3');
      expect(kept.stdout).toContain('revisions 0 to 2: as signed: by checkpoints that were kept elsewhere');
    });

    it('is exposed by the trusted key if the whole log has another one', async () => {
      const key = makeSigningKey('urn');
      const change = (bundle: BundleFiles) => {
        rewrite(bundle);
        unsigned(bundle);
        const [created] = bundle.rows('log') as [Row];
        const named = altered(created, ({ data }) => Object.assign(data, { publicKey: key.publicKey }));
        bundle.setRows('log', [named]);
      };
      expect((await tampered(change)).stdout).toContain('SELF-CONSISTENT ONLY');
      const { code, stdout } = await tampered(change, ['--trust', trusted]);
      expect(code).toBe(1);
      expect(stdout).toContain(`the log's key is not trusted: ${key.publicKey}`);
    });

    it('cannot be concealed by a forged checkpoint', async () => {
      const forge = (bundle: BundleFiles) => {
        rewrite(bundle);
        const root = `$115\n${'A'.repeat(43)}=`;
        const text = bundle.text('checkpoints.txt').replace(/(study-[^\n]+\n)15\n[^\n]+/, root);
        bundle.set('checkpoints.txt', text);
      };
      const { code, stdout } = await tampered(forge, ['--trust', trusted]);
      expect([code, stdout]).toEqual([1, expect.stringContaining('FORGED')]);
    });
  });
});

/** All strings and numbers within a section, as they are written. */
function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.values(value).flatMap(leavesOf);
}
