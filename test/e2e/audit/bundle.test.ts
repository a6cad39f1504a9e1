/**
 * The program bundles data of the service; the real Python with the real numpy verifies it, and so does
 * `urn verify --bundle`, with the same verdict each time.
 */
import { hash } from 'node:crypto';
import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { leafHash } from '../../../events/record.ts';
import { makeSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { hasPython, type Json, verifyBoth } from '../../support/altered-bundles.ts';
import { command, commandOk } from '../../support/command.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { requiredPython } from '../../support/numpy.ts';
import { urn } from '../../support/service.ts';
import { makeSleepHistory, NAME, RECORDS } from '../../support/sleep-history.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { firstDivergence, runVerifier } from '../../support/verifier.ts';
import type { BundleFiles } from './bundle-file.ts';
import {
  altered,
  checkpoint,
  publicKey,
  type Row,
  replaceRows,
  rewritten,
  rowsOf,
  streamOfStudy,
} from './database.ts';

const SALT = 'f'.repeat(32);
const TREATMENTS = ['ZZTREATA', 'ZZTREATB'];
const python = requiredPython('numpy, cryptography') ?? '';

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

describe.skipIf(!hasPython)('urn bundle', () => {
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
  const trusting = () => ['--trust', trusted, '--checkpoint', receipts];
  /** A copy of the full bundle, changed in some way, and verified. */
  async function tampered(change: (bundle: BundleFiles) => void, args: readonly string[] = []) {
    const bundle = await bundleFiles(bundles.full);
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
      const verifier = (await bundleFiles(bundles.full)).files.get('verify_bundle.py');
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
    it('is proven up to checkpoints that were kept elsewhere, and otherwise only self-consistent', async () => {
      const { code, stdout, own } = await verifyBoth(bundles.full, trusting());
      expect(code, stdout).toBe(0);
      expect(stdout).toContain('12 allocations, drawn again with numpy');
      expect(stdout).toContain(
        `revisions 0 to ${RECORDS - 1}: as signed: by checkpoints that were kept elsewhere`,
      );
      expect(stdout).not.toContain('SELF-CONSISTENT ONLY');
      for (const says of [
        'bundle, content full: its files are those',
        '15 records, 12 participants decided again; root ',
        '1 checkpoint that came with the bundle matches up to size 3: signed, but',
        'not known: 1 record of access is withheld: a key that the study used may have',
      ])
        expect(own.text).toContain(says);
      expect(own.text).toMatch(/^OK as far as the given checkpoints reach; beyond them the history/m);
      const alone = await verifyBoth(bundles.full, ['--trust', trusted]);
      expect(alone.stdout).toContain(
        'SELF-CONSISTENT ONLY  no checkpoint that was kept elsewhere covers anything',
      );
      expect(alone.stdout).toContain('signed, but nothing kept elsewhere shows that they always were so');
      expect(alone.own.text).toContain(
        'SIGNED, AND NO MORE: a trusted key signed these records, perhaps today',
      );
      const untrusted = await verifyBoth(bundles.full);
      expect(untrusted.stdout).toContain(
        `revisions 0 to ${RECORDS - 1}: covered by no checkpoint under a trusted key`,
      );
    });

    it.each(['open', 'blinded'] as const)(
      'proves the same records if it is %s, without a replay',
      async (content) => {
        const { code, stdout, own } = await verifyBoth(bundles[content], trusting());
        expect(code, stdout).toBe(0);
        expect(stdout).toContain('NOT REPLAYED');
        expect(stdout).toContain(`revisions 0 to ${RECORDS - 1}: as signed`);
        expect(own.text).toContain('15 records, 12 participants, whose draws were NOT REPLAYED; root ');
        expect(own.text).toContain(`the draws were NOT REPLAYED: the content is ${content}`);
        expect(own.text).toContain('12 checkpoints match: the history up to size 15');
        expect(own.text).not.toMatch(/decided again|every event follows/);
        const leaves = async (file: string) => (await bundleFiles(file)).rows(stream).map(({ leaf }) => leaf);
        expect(await leaves(bundles[content])).toEqual(await leaves(bundles.full));
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
  });

  it('is verified by urn verify --bundle, in words and as JSON, with no option for a log', async () => {
    const verifyBundle = (file: string, ...args: string[]) => command(['verify', '--bundle', file, ...args]);
    const { code, stdout } = await verifyBundle(bundles.full, ...trusting());
    expect([code, stdout]).toEqual([0, expect.stringContaining('12 participants decided again; root ')]);
    const { stdout: json } = await verifyBundle(bundles.full, '--trust', trusted, '--json');
    expect(JSON.parse(json)).toMatchObject({
      ...{ ok: true, selfConsistentOnly: true },
      bundle: { content: 'full', notKnown: [expect.stringContaining('withheld')], files: [] },
    });
    const together = '--bundle and --study cannot be combined';
    expect(await verifyBundle(bundles.full, '--study', NAME)).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining(together) },
    });
    expect((await verifyBundle(receipts)).code).toBe(2);
    const bundle = await bundleFiles(bundles.full);
    bundle.set('extra.txt', 'more');
    const bad = await verifyBundle(await bundle.pack(join(newFolder(), 'bad.zip')));
    expect([bad.code, bad.stdout]).toEqual([
      1,
      expect.stringMatching(/^ {2}FAILED: extra\.txt is not listed/m),
    ]);
  });

  describe('reveals nothing in a blinded file', () => {
    it('from which an arm could be inferred', async () => {
      const { files } = await bundleFiles(bundles.blinded);
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

    it('but the treatments, once, in the registered configuration', async () => {
      const { files } = await bundleFiles(bundles.blinded);
      for (const [path, bytes] of files) {
        const times = TREATMENTS.map((treatment) => bytes.toString().split(treatment).length - 1);
        const isConfiguration = path === 'configuration.json' || path.startsWith('records/study-');
        expect(times, path).toEqual(isConfiguration ? [1, 1] : [0, 0]);
      }
    });

    it('but treatments, and only those, in an open one', async () => {
      const rows = (await bundleFiles(bundles.open)).rows(stream);
      for (const { sealed } of rows)
        expect(['{}', '{"allocation":']).toContain(/^({}|{"allocation":)/.exec(`${sealed}`)?.[0]);
      expect(rows.filter(({ sealed }) => `${sealed}` !== '{}')).toHaveLength(12);
    });

    it('nor, in any file, keys that this study does not know, or credentials', async () => {
      const access = (await bundleFiles(bundles.full)).rows('access');
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

  describe('that was tampered with is reported exactly by both:', () => {
    const at = (revision: number) => `${stream}, revision ${revision}:`;
    type Case = [what: string, revision: number, field: string, change: (bundle: BundleFiles) => void];
    /** With matching seals and leaf. */
    const resealed = (
      what: string,
      revision: number,
      field: string,
      change: Parameters<typeof altered>[1],
    ): Case => [...([what, revision, field, replaced(revision, (row) => altered(row, change))] as const)];
    const drawn = (field: string, change: (draw: Json) => unknown) =>
      resealed(`${field} of a draw`, 12, `draw.${field}`, (_, sealed) => change(sealed.draw));

    it.each<Case>([
      ['an event deleted', 5, 'revision', changed((rows) => rows.toSpliced(5, 1))],
      ['an event inserted', 8, 'revision', changed((rows) => rows.toSpliced(8, 0, rows[7] as Row))],
      [
        ...(['the salt of a section', 3, 'seals.draw'] as const),
        replaced(3, (row) => ({
          ...row,
          sealed: Buffer.from(`${row.sealed}`.replace(/(?<="salt":")\w{32}(?=","selectedFactor)/, SALT)),
        })),
      ],
      drawn('bgStateBefore', (draw) => Object.assign(draw.bgStateBefore, { uinteger: 7, has_uint32: 1 })),
      drawn('candidates', ({ candidates }) => candidates.push('zzz')),
      drawn('selectedFactor', (draw) => Object.assign(draw, { selectedFactor: 'zzz' })),
      drawn('counts', ({ counts }) => counts.reverse().push(1)),
      drawn('balls', ({ balls }) => balls.push(1)),
      drawn('uniform53', (draw) => Object.assign(draw, { uniform53: draw.uniform53 + 1 })),
      drawn('bgStateAfter', (draw) => Object.assign(draw.bgStateAfter.state, { inc: '1' })),
      resealed('another arm', 6, 'allocation.treatment', (_, { allocation }) =>
        Object.assign(allocation, { treatment: TREATMENTS.find((name) => name !== allocation.treatment) }),
      ),
      resealed('the seed', 0, 'generator.bgState', (_, { generator }) =>
        Object.assign(generator, { seed: '1' }),
      ),
      resealed('an unknown key', 2, 'actor.keyId: issued, as far as access shows', ({ actor }) =>
        Object.assign(actor, { keyId: 'k000000' }),
      ),
      resealed("another's key", 2, 'actor.user', ({ actor }) => Object.assign(actor, { user: 'somebody' })),
      resealed('a key before it was issued', 2, 'actor.keyId: valid then, and may randomize', ({ actor }) =>
        Object.assign(actor, { accessRevision: 0 }),
      ),
      resealed('the name of the study', 0, "stream, which follows from the study's name", ({ data }) =>
        Object.assign(data.configuration, { name: 'X' }),
      ),
    ])('%s', async (_, revision, field, change) => {
      const { code, stdout, own } = await tampered(change);
      expect(code).toBe(1);
      expect(stdout).toContain(`${at(revision)} Divergence in field ${field}\n`);
      if (field === 'revision') expect(stdout).toContain(`expected  ${revision}\n`);
      if (/^(seals|draw|allocation)\./.test(field)) expect(firstDivergence(own)?.field).toMatch(field);
    });

    it('a byte of a record, and a study without any', async () => {
      const change = (row: Row) => ({ ...row, record: Buffer.from(`${row.record}`.replace('p-4', 'p-5')) });
      const { stdout, own } = await tampered(replaced(4, change));
      expect(stdout).toContain(`${at(4)} Divergence in field leaf`);
      expect(firstDivergence(own)?.field).toBe('leaf');
      expect(stdout).toContain(leafHash(rowsOf(data, stream)[4]?.record ?? Buffer.alloc(0)).toString('hex'));
      const empty = await tampered((bundle) => {
        bundle.setRows(stream, []);
        bundle.set('configuration.json', 'null');
        unsigned(bundle);
      });
      expect(empty.code).toBe(1);
    });

    it('a name that would control a terminal', async () => {
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

    it('is exposed by a checkpoint that the log’s key signed, in the bundle or kept, and by nothing else', async () => {
      const found = await tampered(rewrite, ['--trust', trusted]);
      expect(found.code).toBe(1);
      expect(found.stdout).toContain('12 allocations, drawn again');
      expect(found.stdout).toContain('15 records were signed, but here are other records');
      const alone = (bundle: BundleFiles) => {
        rewrite(bundle);
        unsigned(bundle);
      };
      expect(await tampered(alone)).toMatchObject({
        ...{ code: 0, stdout: expect.stringContaining('SELF-CONSISTENT ONLY') },
      });
      const { code, stdout } = await tampered(alone, trusting());
      expect(code).toBe(1);
      expect(stdout).toContain('the two histories part between revisions 3 and 3');
      expect(stdout).toContain('revisions 0 to 2: as signed: by checkpoints that were kept elsewhere');
    });

    it('is exposed by the trusted key if the log has another one, and by a forged checkpoint', async () => {
      const { publicKey: other } = makeSigningKey('urn');
      const change = (bundle: BundleFiles) => {
        rewrite(bundle);
        unsigned(bundle);
        const [created] = bundle.rows('log') as [Row];
        bundle.setRows('log', [
          altered(created, (record) => Object.assign(record.data, { publicKey: other })),
        ]);
      };
      expect((await tampered(change)).stdout).toContain('SELF-CONSISTENT ONLY');
      const { code, stdout } = await tampered(change, ['--trust', trusted]);
      expect([code, stdout]).toEqual([1, expect.stringContaining(`the log's key is not trusted: ${other}`)]);
      const forge = (bundle: BundleFiles) => {
        rewrite(bundle);
        const root = `$115\n${'A'.repeat(43)}=`;
        const text = bundle.text('checkpoints.txt').replace(/(study-[^\n]+\n)15\n[^\n]+/, root);
        bundle.set('checkpoints.txt', text);
      };
      const forged = await tampered(forge, ['--trust', trusted]);
      expect([forged.code, forged.stdout]).toEqual([1, expect.stringContaining('FORGED')]);
    });
  });
});

/** All strings and numbers within a section, as they are written. */
function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.values(value).flatMap(leavesOf);
}
