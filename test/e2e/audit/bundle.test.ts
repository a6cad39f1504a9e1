/**
 * The program bundles data of the service; the real Python with the real numpy verifies it, and so does
 * `urn verify --bundle`, with the same verdict each time.
 */
import { hash } from 'node:crypto';
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, decodeRecord, encodeRecord, leafHash } from '../../../events/record.ts';
import { systemTools } from '../../../src/base/tools.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import { type BothVerdicts, bothVerifiers } from '../../support/both-verifiers.ts';
import { command, commandOk } from '../../support/command.ts';
import { requiredPython } from '../../support/numpy.ts';
import { firstDivergence, verifyOurselves } from '../../support/own-verifier.ts';
import { urn } from '../../support/service.ts';
import { makeSleepHistory, NAME, RECORDS } from '../../support/sleep-history.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { runVerifier, type Verified } from '../../support/verifier.ts';
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
      const { code, stdout, stderr } = await run([
        ...['bundle', '--study', NAME, '--data', data, '--content', content, '--out', out],
      ]);
      expect(code, stderr).toBe(0);
      said[content] = stdout + stderr;
    }
    await service.stop();
    stream = streamOfStudy(data, NAME);
    trusted = publicKey(data);
  });

  const verifyBoth = bothVerifiers(python);
  const verify = (bundle: string, ...args: string[]): Verified => runVerifier(python, [bundle, ...args]);
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
  const replaced = (revision: number, change: (row: Row) => Row) => (bundle: BundleFiles) =>
    bundle.setRows(
      stream,
      bundle.rows(stream).map((row) => (row.revision === revision ? change(row) : row)),
    );
  /** Without the checkpoints in the bundle, which only the log's key can make. */
  const unsigned = (bundle: BundleFiles) => bundle.set('checkpoints.txt', '');

  describe('writes a file', () => {
    it('that only its owner can read, that names the verifier, and that overwrites no other file', async () => {
      for (const out of Object.values(bundles)) expect(statSync(out).mode & 0o777).toBe(0o600);
      expect(said['full']).toContain('UNBLINDING MATERIAL');
      expect(said['blinded']).not.toContain('UNBLINDING');
      const sha256 = hash(
        'sha256',
        BundleFiles.unpack(python, bundles.full).files.get('verify_bundle.py') ?? '',
      );
      expect(said['full']).toContain(sha256);
      expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(sha256);
      const again = await command(['bundle', '--study', NAME, '--data', data, '--out', bundles.full]);
      expect(again.code).toBe(2);
      expect(again.stderr).toContain('already exists');
    });

    it('with the same bytes from the same log', async () => {
      const out = join(newFolder(), 'again.zip');
      await commandOk(['bundle', '--study', NAME, '--data', data, '--out', out]);
      expect(hash('sha256', readFileSync(out))).toBe(hash('sha256', readFileSync(bundles.full)));
    });

    it('but not of a study that does not exist', async () => {
      const { code, stderr } = await command([
        'bundle',
        '--study',
        'Slep',
        '--data',
        data,
        '--out',
        join(folder, 'x'),
      ]);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('no study "Slep"') });
    });

    it('but not if a record was changed', async () => {
      const copy = join(newFolder(), 'data');
      cpSync(data, copy, { recursive: true });
      const row = rowsOf(copy, stream)[4] as Row;
      replaceRows(copy, [{ ...row, leaf: Buffer.alloc(32) }]);
      const out = join(newFolder(), 'x.zip');
      const { code, stderr } = await command(['bundle', '--study', NAME, '--data', copy, '--out', out]);
      expect(code).not.toBe(0);
      expect(stderr).toContain(`${stream}/4`);
      expect(() => statSync(out)).toThrow();
    });
  });

  describe('of a sound study', () => {
    it('is proven up to checkpoints that were kept elsewhere', () => {
      const { code, stdout } = verify(bundles.full, '--trust', trusted, '--checkpoint', receipts);
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('12 allocations, drawn again with numpy');
      expect(stdout).toContain(
        `revisions 0 to ${RECORDS - 1}: as signed: by checkpoints that were kept elsewhere`,
      );
      expect(stdout).not.toContain('SELF-CONSISTENT ONLY');
    });

    it('is only self-consistent without a trusted key', () => {
      const { code, stdout } = verify(bundles.full);
      expect(code).toBe(0);
      expect(stdout).toContain('SELF-CONSISTENT ONLY');
      expect(stdout).toContain(`revisions 0 to ${RECORDS - 1}: covered by no checkpoint under a trusted key`);
    });

    it.each(['open', 'blinded'] as const)(
      'proves the same records if it is %s, without a replay',
      (content) => {
        const { code, stdout } = verify(bundles[content], '--trust', trusted, '--checkpoint', receipts);
        expect(code, stdout).toBe(0);
        expect(stdout).toContain('NOT REPLAYED');
        expect(stdout).toContain(`revisions 0 to ${RECORDS - 1}: as signed`);
        const leaves = (file: string) =>
          BundleFiles.unpack(python, file)
            .rows(stream)
            .map(({ leaf }) => leaf.toString('hex'));
        expect(leaves(bundles[content])).toEqual(leaves(bundles.full));
      },
    );

    it('says NOT CHECKED, and exits with 3, if no library can check signatures', () => {
      const broken = newFolder();
      writeFileSync(join(broken, 'cryptography.py'), 'raise ImportError("not here")\n');
      const { code, stdout } = runVerifier(python, [bundles.full, '--trust', trusted], {
        PYTHONPATH: broken,
      });
      expect(code, stdout).toBe(3);
      expect(stdout).toContain('NOT CHECKED');
      expect(stdout).toContain(`revisions 0 to ${RECORDS - 1}: covered by no checkpoint`);
    });

    it('reads a witness’s file, and recognizes another log’s checkpoint', async () => {
      const witness = join(newFolder(), 'witness.txt');
      const ward = streamOfStudy(data, 'Ward');
      writeFileSync(witness, [checkpoint(data, ward, 1), checkpoint(data, stream, 9)].join('\n'));
      expect(verify(bundles.full, '--trust', trusted, '--checkpoint', witness).code).toBe(0);
      const text = readFileSync(witness, 'utf8').replaceAll('urn/study', 'nru/study');
      writeFileSync(witness, text);
      const { code, stdout } = verify(bundles.full, '--trust', trusted, '--checkpoint', witness);
      expect(code).toBe(1);
      expect(stdout).toContain('NOT OF THIS LOG');
    });

    it('is refused as a bundle if it is not one', () => {
      expect(verify(receipts).code).toBe(2);
      expect(verify(bundles.full, '--checkpoint', bundles.full).code).toBe(2);
    });

    it('is not verified without numpy, and the message says which python lacks it', () => {
      const broken = newFolder();
      writeFileSync(join(broken, 'numpy.py'), 'raise ImportError("not here")\n');
      const { code, stderr } = runVerifier(python, [bundles.full], { PYTHONPATH: broken });
      expect(code).toBe(2);
      expect(stderr).toContain('nothing was verified without numpy: not here (hint: install it for /');
    });
  });

  describe('is verified by urn verify --bundle', () => {
    const trusting = () => ['--trust', trusted, '--checkpoint', receipts];
    const verifyBundle = (file: string, ...args: string[]) => command(['verify', '--bundle', file, ...args]);

    it('like a log if the content is full', async () => {
      const { code, stdout } = await verifyBundle(bundles.full, ...trusting());
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining('bundle, content full: its files are those'),
      ]);
      expect(stdout).toContain('15 records, 12 participants decided again; root ');
      expect(stdout).toContain('1 checkpoint that came with the bundle matches up to size 3: signed, but');
      expect(stdout).toContain(
        'not known: 1 record of access is withheld: a key that the study used may have',
      );
      expect(stdout).toMatch(/^OK as far as the given checkpoints reach; beyond them the history/m);
    });

    it('with the checkpoints in the bundle distinguished from kept ones', async () => {
      const { code, stdout } = await verifyBundle(bundles.full, '--trust', trusted, '--json');
      expect(code).toBe(0);
      const report: Report = JSON.parse(stdout);
      expect(report).toMatchObject({
        ...{ ok: true, selfConsistentOnly: true },
        bundle: { content: 'full', notKnown: [expect.stringContaining('withheld')], files: [] },
      });
      expect(report.bundle).not.toHaveProperty('notReplayed');
      expect(report.streams.find((one) => one.stream === stream)?.evidence).toMatchObject({
        ...{ matching: 0, matchingSize: 0, uncovered: { from: 0, to: RECORDS - 1 } },
        cameAlong: { matching: 1, matchingSize: RECORDS },
      });
      expect((await verifyOurselves(bundles.full, [])).text).toContain('SELF-CONSISTENT ONLY');
      const own = await verifyOurselves(bundles.full, ['--trust', trusted]);
      expect(own.text).toContain('SELF-CONSISTENT ONLY: every event follows from those before it');
      expect(own.text).toContain('SIGNED, AND NO MORE: a trusted key signed these records, perhaps today');
      expect(own.text).not.toMatch(/proven unchanged|^OK/m);
    });

    it('as far as possible if draws are withheld', async () => {
      const { code, stdout } = await verifyBundle(bundles.blinded, ...trusting());
      expect(code).toBe(0);
      expect(stdout).toContain('the draws were NOT REPLAYED: the content is blinded');
      expect(stdout).toContain('15 records, 12 participants, whose draws were NOT REPLAYED; root ');
      const open = await verifyOurselves(bundles.open, trusting());
      expect(open).toMatchObject({ code: 0, report: { bundle: { content: 'open' } } });
      for (const text of [stdout, open.text]) {
        expect(text).toContain('12 checkpoints match: the history up to size 15');
        expect(text).not.toMatch(/decided again|every event follows/);
      }
    });

    it('and refused with options for a log, or if it is not a bundle', async () => {
      const both = await verifyBundle(bundles.full, '--study', NAME);
      expect([both.code, both.stderr]).toEqual([
        2,
        expect.stringContaining('--bundle and --study cannot be combined'),
      ]);
      const none = await verifyBundle(receipts);
      expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('is not a complete zip archive')]);
    });

    it('and fails, naming the file and the event that are wrong', async () => {
      const bundle = BundleFiles.unpack(python, bundles.full);
      replaced(6, (row) => altered(row, (_, sealed) => Object.assign(sealed.draw, { uniform53: 1 })))(bundle);
      bundle.set('extra.txt', 'more');
      const { code, stdout } = await verifyBundle(
        await bundle.pack(join(newFolder(), 'bad.zip')),
        ...trusting(),
      );
      expect(code).toBe(1);
      expect(stdout).toContain('FAILED: extra.txt is not listed in manifest.json');
      expect(stdout).toContain(`FIRST DIVERGENCE at ${stream}/6: ParticipantRandomized, participant "p-6"`);
      expect(stdout).toContain('field    draw.uniform53');
      expect(stdout).toContain('CHANGED SINCE IT WAS SIGNED: the history up to size 6 is proven unchanged');
      expect(stdout).toMatch(/^FAILED$/m);
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

    it('a byte of a record', async () => {
      const change = (row: Row) => ({ ...row, record: Buffer.from(`${row.record}`.replace('p-4', 'p-5')) });
      const { code, stdout, own } = await tampered(replaced(4, change));
      expect(code).toBe(1);
      expect(stdout).toContain(`${at(4)} Divergence in field leaf`);
      expect(firstDivergence(own)?.field).toBe('leaf');
      expect(stdout).toContain(leafHash(rowsOf(data, stream)[4]?.record ?? Buffer.alloc(0)).toString('hex'));
    });

    it('a byte of each sealed section', async () => {
      for (const section of ['allocation', 'draw', 'request'] as const) {
        const change = (row: Row) => {
          const sealed = JSON.parse(`${row.sealed}`);
          sealed[section].salt = 'f'.repeat(32);
          return { ...row, sealed: Buffer.from(canonicalJson(sealed)) };
        };
        const { code, stdout, own } = await tampered(replaced(3, change));
        expect(code).toBe(1);
        expect(stdout).toContain(`${at(3)} Divergence in field seals.${section}`);
        expect(firstDivergence(own)?.field).toBe(`seals.${section}`);
      }
    });

    it('an event deleted, two swapped, one inserted', async () => {
      const changes: [number, (rows: Row[]) => Row[]][] = [
        [5, (rows) => rows.toSpliced(5, 1)],
        [6, (rows) => rows.with(6, rows[7] as Row).with(7, rows[6] as Row)],
        [8, (rows) => rows.toSpliced(8, 0, rows[7] as Row)],
      ];
      for (const [revision, change] of changes) {
        const { code, stdout } = await tampered((bundle) =>
          bundle.setRows(stream, change(bundle.rows(stream))),
        );
        expect(code).toBe(1);
        expect(stdout).toContain(`${at(revision)} Divergence in field revision`);
        expect(stdout).toContain(`expected  ${revision}\n`);
      }
    });

    it('a wrong treatment with a matching seal and leaf', async () => {
      const { treatment } = randomizedAt(rowsOf(data, stream), 6).sections.allocation;
      const other = TREATMENTS.find((name) => name !== treatment);
      const change = replaced(6, (row) =>
        altered(row, (_, sealed) => Object.assign(sealed.allocation, { treatment: other })),
      );
      const { code, stdout } = await tampered((bundle) => {
        change(bundle);
        unsigned(bundle);
      });
      expect(code).toBe(1);
      expect(stdout).toContain(
        `${at(6)} Divergence in field allocation.treatment\n    expected  "${treatment}"\n    found     "${other}"`,
      );
      expect(stdout).toContain('5 allocations, drawn again');
    });

    it('every field of the draw with a matching seal and leaf', async () => {
      // biome-ignore lint/suspicious/noExplicitAny: a section before anything is known of it
      const spoil: Record<string, (draw: any) => unknown> = {
        bgStateBefore: (draw) => Object.assign(draw.bgStateBefore, { uinteger: 7, has_uint32: 1 }),
        candidates: (draw) => draw.candidates.push('zzz'),
        selectedFactor: (draw) => Object.assign(draw, { selectedFactor: 'zzz' }),
        counts: (draw) => draw.counts.reverse().push(1),
        balls: (draw) => draw.balls.push(1),
        uniform53: (draw) => Object.assign(draw, { uniform53: draw.uniform53 + 1 }),
        bgStateAfter: (draw) => Object.assign(draw.bgStateAfter.state, { inc: '1' }),
      };
      for (const [field, change] of Object.entries(spoil)) {
        const { stdout, own } = await tampered(
          replaced(12, (row) => altered(row, (_, sealed) => change(sealed.draw))),
        );
        expect(stdout).toContain(`${at(12)} Divergence in field draw.${field}\n`);
        expect(firstDivergence(own)?.field).toMatch(`draw.${field}`);
      }
    });

    it('the seed, the first state, and an actor who was not allowed to act', async () => {
      const changes: [number, string, Parameters<typeof altered>[1]][] = [
        [0, 'generator.bgState', (_, sealed) => Object.assign(sealed.generator, { seed: '1' })],
        [
          2,
          'actor.keyId: issued, as far as access shows',
          (record) => Object.assign(record.actor, { keyId: 'k000000' }),
        ],
        [2, 'actor.user', (record) => Object.assign(record.actor, { user: 'somebody' })],
        [
          2,
          'actor.keyId: valid then, and may randomize',
          (record) => Object.assign(record.actor, { accessRevision: 0 }),
        ],
        [
          0,
          "stream, which follows from the study's name",
          (record) => Object.assign(record.data.configuration, { name: 'X' }),
        ],
      ];
      for (const [revision, field, change] of changes) {
        const { code, stdout } = await tampered(replaced(revision, (row) => altered(row, change)));
        expect(code).toBe(1);
        expect(stdout).toContain(`${at(revision)} Divergence in field ${field}\n`);
      }
    });

    it('a study without a record, and a name that would control a terminal', async () => {
      const empty = await tampered((bundle) => {
        bundle.setRows(stream, []);
        bundle.set('configuration.json', 'null');
        unsigned(bundle);
      });
      expect(empty.code).toBe(1);
      const verdict = 'X\nRESULT  nothing wrong was found\n\u001b[8m\u009b8m';
      const speaking = await tampered(
        replaced(0, (row) =>
          altered(row, (record) => Object.assign(record.data.configuration, { name: verdict })),
        ),
      );
      expect(speaking.code).toBe(1);
      expect(speaking.stdout).not.toMatch(/^RESULT {2}nothing/m);
      for (const control of ['\u001b', '\u009b']) expect(speaking.stdout).not.toContain(control);
    });

    it('the tail removed', async () => {
      const cut = (bundle: BundleFiles) => bundle.setRows(stream, bundle.rows(stream).slice(0, 9));
      expect((await tampered(cut)).stdout).toContain('15 records were signed, but here are only 9 records');
      const without = (bundle: BundleFiles) => {
        cut(bundle);
        unsigned(bundle);
      };
      // Nothing that is left shows it, so nothing may be claimed to be proven.
      const alone = await tampered(without, ['--trust', trusted]);
      expect(alone.code).toBe(0);
      expect(alone.stdout).toContain('revisions 0 to 8: covered by no checkpoint under a trusted key');
      const kept = await tampered(without, ['--trust', trusted, '--checkpoint', receipts]);
      expect(kept.code).toBe(1);
      expect(kept.stdout).toContain('but here are only 9 records');
      expect(kept.stdout).toContain('revisions 0 to 8: as signed: by checkpoints that were kept elsewhere');
    });

    it('the configuration rewritten', async () => {
      const change = replaced(0, (row) =>
        altered(row, (record) => Object.assign(record.data.configuration, { alpha: 3 })),
      );
      const { code, stdout } = await tampered(change);
      expect(code).toBe(1);
      expect(stdout).toMatch(new RegExp(`${stream}, revision \\d+: Divergence in field draw\\.`));
      expect(stdout).toContain('configuration.json does not say');
      const shown = await tampered((bundle) =>
        bundle.set(
          'configuration.json',
          bundle.text('configuration.json').replace('"alpha": 0', '"alpha": 1'),
        ),
      );
      expect(shown.stdout).toContain('configuration.json does not say');
    });

    it('in a blinded or an open bundle, by its leaf, its seal or its checkpoints', async () => {
      const levels = replaced(4, (row) => {
        const record = Buffer.from(`${row.record}`.replace('"Female"', '"Male"'));
        return { ...row, record, leaf: leafHash(record) };
      });
      for (const content of ['open', 'blinded'] as const) {
        const { code, stdout } = await tampered(
          levels,
          ['--trust', trusted, '--checkpoint', receipts],
          content,
        );
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

    it('a file that is not in the manifest, or differs from it', async () => {
      const bundle = BundleFiles.unpack(python, bundles.full);
      bundle.set('extra.txt', 'more');
      const { code, stdout } = verify(await bundle.pack(join(newFolder(), 'extra.zip')));
      expect(code).toBe(1);
      expect(stdout).toContain('extra.txt is not what manifest.json lists');
    });
  });

  describe('whose history was rewritten consistently', () => {
    /** Participant 3 has other levels, and everything after follows from that: new seals, new leaves, new draws. */
    const rewrite = (bundle: BundleFiles) => {
      const rows = rewritten(bundle.rows(stream), (event) =>
        event.type === 'ParticipantRandomized' && event.revision === 3
          ? {
              ...event,
              data: {
                ...event.data,
                levels: event.data.levels.map((one, i) => (i === 0 ? { ...one, level: 'Female' } : one)),
              },
            }
          : event,
      );
      bundle.setRows(stream, rows);
    };

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
      const refused = await command(['bundle', '--study', NAME, '--data', copy, '--out', unsignedOut]);
      expect(refused).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('the log is not the one that it was'),
      });
      expect(verify(unsignedOut, '--trust', trusted).stdout).toContain(
        'revisions 0 to 14: covered by no checkpoint',
      );
      rmSync(join(copy, 'last-checkpoints'));
      const out = join(newFolder(), 'rewritten.zip');
      await commandOk(['bundle', '--study', NAME, '--data', copy, '--out', out]);
      const signed = verify(out, '--trust', trusted);
      expect(signed.code).toBe(0);
      expect(signed.stdout).toContain('revisions 0 to 14: signed, but nothing kept elsewhere shows');
      const kept = verify(out, '--trust', trusted, '--checkpoint', receipts);
      expect(kept.code).toBe(1);
      expect(kept.stdout).toContain('the two histories part between revisions 3 and 3');
      expect(kept.stdout).toContain('revisions 0 to 2: as signed: by checkpoints that were kept elsewhere');
    });

    it('is exposed by the trusted key if the whole log has another one', async () => {
      const { newSalt } = systemTools();
      const key = makeSigningKey('urn');
      const change = (bundle: BundleFiles) => {
        rewrite(bundle);
        unsigned(bundle);
        const [created] = bundle.rows('log');
        const event = decodeRecord({ ...(created as Row), position: '0' } as Row);
        if (event.type !== 'LogCreated') throw new Error(event.type);
        const data = { ...event.data, publicKey: key.publicKey };
        bundle.setRows('log', [
          {
            stream: 'log',
            revision: 0,
            ...encodeRecord(event, { type: 'LogCreated', data, sections: {} }, newSalt),
          } as Row,
        ]);
      };
      expect((await tampered(change)).stdout).toContain('SELF-CONSISTENT ONLY');
      const { code, stdout } = await tampered(change, ['--trust', trusted]);
      expect(code).toBe(1);
      expect(stdout).toContain(`the log's key is not trusted: ${key.publicKey}`);
    });

    it('cannot be concealed by a forged checkpoint', async () => {
      const forged = await tampered(
        (bundle) => {
          rewrite(bundle);
          bundle.set(
            'checkpoints.txt',
            bundle.text('checkpoints.txt').replace(/(study-[^\n]+\n)15\n[^\n]+/, `$115\n${'A'.repeat(43)}=`),
          );
        },
        ['--trust', trusted],
      );
      expect(forged.code).toBe(1);
      expect(forged.stdout).toContain('FORGED');
    });
  });
});

/** All strings and numbers within a section, as they are written. */
function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.values(value).flatMap(leavesOf);
}
