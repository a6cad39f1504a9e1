/**
 * The program bundles data of the service; the real Python with the real numpy verifies it, and so does
 * `urn verify --bundle`, with the same verdict each time.
 */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CONTENTS, type Content } from '../../../events/record.ts';
import { hasPython, verifyBoth } from '../../support/altered-bundles.ts';
import { saidIn } from '../../support/cli-log.ts';
import { clientOf, within } from '../../support/client.ts';
import { command, commandOk, refusal } from '../../support/command.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { requiredPython } from '../../support/numpy.ts';
import { issueKeys, PROGRAM } from '../../support/service.ts';
import { serveHere } from '../../support/service-here.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';
import { runVerifier } from '../../support/verifier.ts';
import { type Row, replaceRows, rowsOf, streamOfStudy } from './database.ts';

const NAME = 'Sleep';
const TREATMENTS = ['ZZTREATA', 'ZZTREATB'];
const python = requiredPython('numpy, cryptography') ?? '';

const newFolder = temporaryFolders();
const data = join(newFolder(), 'data');
const folder = newFolder();
const zip = (content: Content) => join(folder, `${content}.zip`);
let stream: string;
let trusted: string;
let receipts: string;
const said: Record<string, string> = {};

/** A pause, and 12 participants of two keys, one of which is for this study alone. Another study has one; another key does nothing. */
async function makeHistory() {
  const site = ['site', '--study', NAME];
  const keys = await issueKeys(data, { other: ['other'], edc: ['edc'], site });
  const service = await serveHere(data, TRIALS);
  const [edc, own] = [clientOf(service.url, keys.edc), clientOf(service.url, keys.site)];
  const notes: (string | null)[] = [];
  const enrol = async (n: number) => {
    const levels = n % 3 === 1 ? { sex: 'Female', local_site: '30-Dupage County' } : COOK;
    const headers = n % 3 === 0 ? { 'Idempotency-Key': `ZZVISIT-${n}` } : {};
    const answer = await (n % 2 === 0 ? own : edc).randomize(NAME, `p-${n}`, levels, headers);
    if (answer.status === 200) notes.push(answer.headers.get('urn-receipt'));
    return answer.status === 200;
  };
  for (let n = 1; n <= 8; n++) expect(await enrol(n)).toBe(true);
  expect((await edc.randomize('Ward', 'w-1', { ward: 'a' })).status).toBe(200);
  for (const verb of ['pause', 'resume'])
    await commandOk(['studies', verb, NAME, '--reason', 'review <b>', '--data', data]);
  // The service learns of the resumption a moment later than the command line.
  await within(5000, () => enrol(9));
  for (let n = 10; n <= 12; n++) expect(await enrol(n)).toBe(true);
  receipts = join(folder, 'receipts.txt');
  writeFileSync(receipts, `${notes.join('\n')}\n`);
  return service;
}

describe.skipIf(!hasPython)('urn bundle', () => {
  beforeAll(async () => {
    const service = await makeHistory();
    // Beside the running service.
    for (const content of CONTENTS) {
      const { code, stdout, stderr } = await command(bundling(data, zip(content), '--content', content));
      expect(code, stderr).toBe(0);
      said[content] = stdout + stderr;
    }
    await service.stop();
    stream = streamOfStudy(data, NAME);
    trusted = (await commandOk(['signing-key', 'show', '--data', data])).trim();
  });

  const bundling = (from: string, out: string, ...more: string[]) => [
    ...['bundle', '--study', NAME, '--data', from, '--out', out, ...more],
  ];
  const trusting = () => ['--trust', trusted, '--checkpoint', receipts];

  describe('writes a file', () => {
    it('that only its owner can read, that names the verifier, and that overwrites no other file', async () => {
      for (const content of CONTENTS) expect(statSync(zip(content)).mode & 0o777).toBe(0o600);
      expect(said['full']).toContain('UNBLINDING MATERIAL');
      expect(said['blinded']).not.toContain('UNBLINDING');
      expect(said['blinded']).toContain(`${NAME}, 12 participants`);
      const verifier = (await bundleFiles(zip('full'))).files.get('verify_bundle.py');
      const sha256 = hash('sha256', verifier ?? '');
      expect(said['full']).toContain(sha256);
      expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(sha256);
      expect(await refusal(command(bundling(data, zip('full'))))).toContain('already exists');
    });

    it('with the same bytes from the same log', async () => {
      const out = join(newFolder(), 'again.zip');
      await commandOk(bundling(data, out));
      expect(hash('sha256', readFileSync(out))).toBe(hash('sha256', readFileSync(zip('full'))));
    });

    it('or with --out - to standard output, recorded before, but to no terminal', async () => {
      const piped = join(newFolder(), 'piped.zip');
      const words = [process.execPath, PROGRAM, ...bundling(data, '-')];
      const line = words.map((word) => `'${word}'`).join(' ');
      const { status, stderr } = spawnSync('sh', ['-c', `${line} | cat > ${piped}`], { encoding: 'utf8' });
      expect(status, stderr).toBe(0);
      expect(hash('sha256', readFileSync(piped))).toBe(hash('sha256', readFileSync(zip('full'))));
      expect(stderr).toContain('UNBLINDING MATERIAL');
      const shown = spawnSync('script', ['-qec', line, '/dev/null'], { encoding: 'utf8' });
      expect([shown.status, shown.stdout]).toEqual([
        2,
        expect.stringMatching(/terminal \(hint: .* > FILE\)\s*$/),
      ]);
      const { record } =
        storedLog(data).findLast(({ record: { type } }) => type === 'EvidenceDisclosed') ?? {};
      expect(record.data).toMatchObject({ what: 'bundle', content: 'full' });
    });

    it('but not of a study that does not exist, or with a record that was changed', async () => {
      const copy = newFolder(data);
      const row = rowsOf(copy, stream)[4] as Row;
      replaceRows(copy, [{ ...row, leaf: Buffer.alloc(32) }]);
      const out = join(newFolder(), 'x.zip');
      expect(await refusal(command(bundling(copy, out)))).toContain(`${stream}/4`);
      expect(await refusal(command(bundling(data, out, '--study', 'Slep')))).toContain('no study "Slep"');
      expect(existsSync(out)).toBe(false);
    });
  });

  describe('of a sound study', () => {
    const ofPython = [
      '12 allocations, drawn again with numpy',
      'revisions 0 to 14: as signed: by checkpoints that were kept elsewhere',
    ];
    const ofOurs = [
      'bundle, content full: its files are those',
      '15 records, 12 participants decided again; root ',
      '1 checkpoint that came with the bundle matches up to size 3: signed, but',
      'not known: 1 record of access is withheld: a key that the study used may have',
      '\nOK as far as the given checkpoints reach; beyond them the history',
    ];
    const notReplayed = [
      '15 records, 12 participants, whose draws were NOT REPLAYED; root ',
      '12 checkpoints match: the history up to size 15',
      'the draws were NOT REPLAYED: the content is ',
    ];
    const selfConsistent = 'SELF-CONSISTENT ONLY';
    const alone = [`${selfConsistent}  no checkpoint that was kept elsewhere covers`];
    const signedAlone = ['SIGNED, AND NO MORE: a trusted key signed these records, perhaps today'];

    it.each<[Content, given: number, python: readonly string[], ours: readonly string[]]>([
      ['full', 4, ofPython, ofOurs],
      ['full', 2, [...alone, 'signed, but nothing kept elsewhere'], signedAlone],
      ['full', 0, ['revisions 0 to 14: covered by no checkpoint under a trusted key'], [selfConsistent]],
      ['open', 4, ['NOT REPLAYED'], [...notReplayed, 'content is open']],
      ['blinded', 4, ['NOT REPLAYED'], [...notReplayed, 'content is blinded']],
    ])('is proven up to kept checkpoints: content %s, with %i arguments', async (content, given, ...says) => {
      const { code, stdout, own } = await verifyBoth(zip(content), trusting().slice(0, given));
      expect(code, stdout).toBe(0);
      for (const one of says[0]) expect(stdout).toContain(one);
      for (const one of says[1]) expect(own.text).toContain(one);
      expect(stdout.includes(selfConsistent)).toBe(given < 4);
      expect(/decided again|every event follows/.test(own.text)).toBe(content === 'full');
      const leaves = async (file: string) => (await bundleFiles(file)).rows(stream).map(({ leaf }) => leaf);
      expect(await leaves(zip(content))).toEqual(await leaves(zip('full')));
    });

    it.each([
      ['cryptography', 3, /revisions 0 to 14: covered by no checkpoint.*NOT CHECKED/s],
      ['numpy', 2, /nothing was verified without numpy: not here \(hint: install it for \//],
    ])('is verified without %s only as far as possible: exit code %i', (library, code, says) => {
      const PYTHONPATH = newFolder();
      writeFileSync(join(PYTHONPATH, `${library}.py`), 'raise ImportError("not here")\n');
      const ran = runVerifier(python, [zip('full'), '--trust', trusted], { PYTHONPATH });
      expect([ran.code, ran.stdout + ran.stderr]).toEqual([code, expect.stringMatching(says)]);
    });
  });

  it('is verified by urn verify --bundle, in words and as JSON, with no option for a log', async () => {
    const verifyBundle = (file: string, ...args: string[]) => command(['verify', '--bundle', file, ...args]);
    const { code, stdout } = await verifyBundle(zip('full'), ...trusting());
    expect([code, stdout]).toEqual([0, expect.stringContaining('12 participants decided again; root ')]);
    const { stdout: json } = await verifyBundle(zip('full'), '--trust', trusted, '--json');
    expect(JSON.parse(json)).toMatchObject({
      ...{ ok: true, selfConsistentOnly: true },
      bundle: { content: 'full', notKnown: [expect.stringContaining('withheld')], files: [] },
    });
    const together = await refusal(verifyBundle(zip('full'), '--study', NAME));
    expect(together).toContain('--bundle and --study cannot be combined');
    await refusal(verifyBundle(receipts));
    const bundle = await bundleFiles(zip('full'));
    bundle.set('extra.txt', 'more');
    const bad = await verifyBundle(await bundle.pack(join(newFolder(), 'bad.zip')));
    expect(saidIn(bad)).toMatch(/^1 [\s\S]*^ {2}FAILED: extra\.txt is not listed/m);
  });

  describe('reveals nothing in a blinded file', () => {
    it('from which an arm could be inferred', async () => {
      const { files } = await bundleFiles(zip('blinded'));
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
      const { files } = await bundleFiles(zip('blinded'));
      for (const [path, bytes] of files) {
        const times = TREATMENTS.map((treatment) => bytes.toString().split(treatment).length - 1);
        const isConfiguration = path === 'configuration.json' || path.startsWith('records/study-');
        expect(times, path).toEqual(isConfiguration ? [1, 1] : [0, 0]);
      }
    });

    it('but treatments, and only those, in an open one', async () => {
      const rows = (await bundleFiles(zip('open'))).rows(stream);
      for (const { sealed } of rows)
        expect(['{}', '{"allocation":']).toContain(/^({}|{"allocation":)/.exec(`${sealed}`)?.[0]);
      expect(rows.filter(({ sealed }) => `${sealed}` !== '{}')).toHaveLength(12);
    });

    it('nor, in any file, keys that this study does not know, or credentials', async () => {
      const access = (await bundleFiles(zip('full'))).rows('access');
      const shown = access.map(({ record, sealed }) => `${record.length > 0} ${sealed}`);
      expect(shown.toSorted()).toEqual(['false ', 'true {}', 'true {}']);
    });
  });
});

/** All strings and numbers within a section, as they are written. */
function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Object.values(value).flatMap(leavesOf);
}
