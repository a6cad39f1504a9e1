/**
 * Archives made by hand. What is not a bundle, can be read in two ways, or fills the memory, both verifiers refuse with one exit code;
 * what is wrong with the files of a bad bundle is reported.
 */
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeSigningKey } from '../../../src/core/log/signing.ts';
import { BundleFiles } from '../../../src/evidence/bundle/bundle-files.ts';
import { verifyBundle } from '../../../src/evidence/verify/verify-bundle.ts';
import { hasPython, verifyBoth } from '../../support/altered-bundles.ts';
import { filesIn } from '../../support/files-in.ts';
import { large, type RawArchive, type RawFile, rawZip } from '../../support/raw-zip.ts';
import { bundlesOfMoved, referenceLog } from '../../support/reference-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const folder = newFolder();
const log = await referenceLog(newFolder());
const BUNDLE = (await bundlesOfMoved(log, newFolder())).blinded;
/** Packed once: most archives have these bytes. */
const SOUND: RawFile[] = (await filesIn(BUNDLE)).map((file) => ({
  ...file,
  packed: deflateRawSync(file.bytes),
}));
const CONFIGURATION = 'configuration.json';
const MANIFEST = 'manifest.json';
const STREAM = SOUND.find(({ path }) => path.startsWith('records/study-'))?.path ?? '';
let made = 0;

function write(bytes: Uint8Array): string {
  const file = join(folder, `${made++}.zip`);
  writeFileSync(file, bytes);
  return file;
}
const textOf = (path: string) =>
  Buffer.from(SOUND.find((file) => file.path === path)?.bytes ?? []).toString();
/** The files with one of them as given. */
const withFile = (path: string, change: Partial<RawFile>, files = SOUND) =>
  files.map((file) => (file.path === path ? { ...file, packed: undefined, ...change } : file));
/** With other bytes, which the manifest lists. */
function withBytes(path: string, bytes: Uint8Array | string): RawFile[] {
  const listed = textOf(MANIFEST).replace(hash('sha256', textOf(path)), hash('sha256', bytes));
  const files = withFile(path, { bytes: Buffer.from(bytes) });
  return withFile(MANIFEST, { bytes: Buffer.from(listed) }, files);
}
const text = textOf(MANIFEST);
const manifest = (bytes: Uint8Array | string) => withFile(MANIFEST, { bytes: Buffer.from(bytes) });
const manifestWith = (change: (json: { files: { path: string }[] }) => object) =>
  manifest(JSON.stringify(change(JSON.parse(text))));
const file = (path: string, text: string): RawFile => ({ path, bytes: Buffer.from(text) });

/** @returns exit code of both, and what each said */
async function verdict(bytes: Uint8Array) {
  const { code, stdout, stderr, own } = await verifyBoth(write(bytes));
  expect(stderr).not.toContain('Traceback');
  return { code, python: `${stdout}${stderr}`, own: own.text };
}
/** Both end with this exit code, and say why. */
async function bothSay(why: string, bytes: Uint8Array, code = 2): Promise<void> {
  const said = expect.stringContaining(why);
  expect(await verdict(bytes)).toMatchObject({ code, python: said, own: said });
}
const verify = (bytes: Uint8Array) => verifyBundle({ file: write(bytes), trusted: [], checkpoints: [] });
const refusal = (path: string) =>
  verifyBundle({ file: path, trusted: [], checkpoints: [] }).then(
    () => 'none',
    (error: Error) => `${error.name}: ${error.message}`,
  );

describe('our own verifier reports a file', () => {
  const { path: first = '' } = SOUND[0] ?? {};
  const [log] = SOUND.filter(({ path }) => path === 'records/log.txt') as [RawFile];
  const changed = withFile('README.txt', { bytes: Buffer.from('x') });
  const differs = `is not what manifest.json lists: its SHA-256 is ${hash('sha256', 'x')}`;
  const gone = SOUND.filter(({ path }) => path !== 'report.html');
  const twice = manifestWith(({ files, ...rest }) => ({ ...rest, files: [...files, ...files.slice(0, 1)] }));
  const notRegistered = "does not say what the study's first record says";

  it.each<[what: string, readonly RawFile[], path: string, why: string]>([
    ['that differs from the manifest', changed, 'README.txt', differs],
    ['that is not listed', [...SOUND, file('a.txt', 'a')], 'a.txt', 'is not listed in manifest.json'],
    ['that is missing', gone, 'report.html', 'is listed in manifest.json, but missing'],
    ['that is listed twice', twice, first, 'is listed in manifest.json twice'],
    ['that occurs twice', [...SOUND, log], 'records/log.txt', 'is in the archive twice'],
    ['that is a manifest, twice', [...SOUND, file(MANIFEST, text)], MANIFEST, 'is in the archive twice'],
    ['of null as a configuration', withBytes(CONFIGURATION, 'null'), CONFIGURATION, notRegistered],
    ['of a broken configuration', withBytes(CONFIGURATION, '{'), CONFIGURATION, notRegistered],
  ])('%s', async (_, files, path, why) => {
    const { ok, bundle } = await verify(rawZip(files));
    expect([ok, bundle?.files]).toEqual([false, [{ path, why }]]);
  });
});

describe('our own verifier reads a line of records', () => {
  const lines = textOf(STREAM).split('\n');
  const divergence = async (how: (line: string) => string) => {
    const changed = lines.map((line, i) => (i === 1 ? how(line) : line)).join('\n');
    return (await verify(rawZip(withBytes(STREAM, changed)))).streams.at(-1)?.divergence;
  };

  it.each<[string, (line: string) => string, object]>([
    ['its leaf in upper case', (line) => line.slice(0, 64).toUpperCase() + line.slice(64), { field: 'leaf' }],
    ['one tab', (line) => line.replace(/\t[^\t]*$/, ''), {}],
    ['a carriage return', (line) => `${line}\r`, {}],
    ['nothing', () => '', {}],
    ['only its leaf', (line) => `${line.slice(0, 64)}\t\t`, {}],
  ])('that has %s, as one that diverges', async (_, how, expected) => {
    expect(await divergence(how)).toMatchObject({ revision: 1, ...expected });
  });

  it('across the chunks in which an archive is read', async () => {
    const many = textOf(STREAM) + `${lines[0]}\n`.repeat(300);
    const { streams } = await verify(rawZip(withBytes(STREAM, many)));
    const records = lines.length - 1;
    const expected = { records: records + 300, divergence: { revision: records, field: 'revision' } };
    expect(streams.at(-1)).toMatchObject(expected);
  });

  it('that comes byte by byte', async () => {
    const { read } = BundleFiles.prototype;
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    vi.spyOn(BundleFiles.prototype, 'read').mockImplementation(async function* (this: BundleFiles, path) {
      for await (const piece of read.call(this, path)) for (const byte of piece) yield Buffer.of(byte);
    });
    expect((await verify(rawZip(SOUND))).ok).toBe(true);
  });
});

describe('our own verifier refuses', () => {
  it('a file that is missing, is not an archive, or is part of one', async () => {
    expect(await refusal(join(folder, 'none.zip'))).toMatch(/^BundleError: cannot read .*none\.zip/);
    expect(await refusal(write(Buffer.from('just text')))).toMatch(
      /^BundleError: .*\.zip is not a complete zip archive: .*hint/,
    );
    const bytes = readFileSync(BUNDLE);
    const cut = write(bytes.subarray(0, bytes.length - 100));
    expect(await refusal(cut)).toContain('is not a complete zip archive');
    // The directory is at the end, so what was lost in the middle is seen when it is read.
    const lost = Buffer.concat([bytes.subarray(0, 200), Buffer.alloc(300), bytes.subarray(500)]);
    expect(await refusal(write(lost))).toMatch(
      /^BundleError: .*\.zip is not a complete zip archive \(records\//,
    );
  });

  it.each<[string, readonly RawFile[], string | RegExp]>([
    ['no manifest', [file('a.txt', 'a')], 'is not a bundle: it has no manifest.json'],
    ['a broken one', [file(MANIFEST, '{')], 'its manifest.json is not one of urn-bundle@2'],
    [
      'another format',
      manifestWith((json) => ({ ...json, format: 'urn-bundle@3' })),
      /the format "urn-bundle@3", and this version reads urn-bundle@2 \(hint/,
    ],
    ...[{ content: 'all' }, { study: { stream: 'access' } }, { files: {} }].map(
      (spoilt): [string, readonly RawFile[], string] => [
        JSON.stringify(spoilt),
        manifestWith((json) => ({ ...json, ...spoilt })),
        'is not a bundle',
      ],
    ),
    ['invalid checkpoints', withBytes('checkpoints.txt', 'size 3'), 'checkpoints.txt of the bundle:1'],
  ])('an archive with %s', async (_, files, says) => {
    expect(await refusal(write(rawZip(files)))).toMatch(says);
  });
});

describe.skipIf(!hasPython)('both verifiers', () => {
  it('accept a bundle that was packed again, stored or deflated', async () => {
    expect(await verdict(rawZip(SOUND))).toMatchObject({ code: 0 });
    expect(await verdict(rawZip(SOUND.map((file) => ({ ...file, method: 0 }))))).toMatchObject({ code: 0 });
  });

  it.each<[string, readonly RawFile[], RawArchive?]>([
    ['a size that is too small', withFile(STREAM, { size: 100 })],
    ['a size that is too large', withFile(STREAM, { size: 10_000_000 })],
    [
      'a size of stored bytes that is too small',
      withFile('README.txt', { method: 0, size: 10, packedSize: 10 }),
    ],
    ['a packed size that is too small', withFile(STREAM, { packedSize: 100 })],
    ['many bytes behind the packed ones', withFile(STREAM, { garbage: Buffer.alloc(1_000_000) })],
    ['another checksum', withFile(STREAM, { checksum: 1 })],
    ['another name before the bytes', withFile(STREAM, { header: STREAM.replace('study', 'STUDY') })],
    ['an encrypted file', withFile(STREAM, { flags: 1 })],
    ['another way of packing', withFile(STREAM, { method: 12 })],
    ['a name with a zero byte', [...SOUND, { path: 'manifest.json\0', bytes: Buffer.from('x') }]],
    ['a name with a backslash', [...SOUND, { path: 'records\\log.txt', bytes: Buffer.from('x') }]],
    ['a name that is not ASCII', [...SOUND, { path: 'manifest.jsön', bytes: Buffer.from('x') }]],
    ['bytes before the first file', SOUND, { before: Buffer.from('#!/bin/sh\n') }],
    ['another archive before it', SOUND, { before: rawZip(SOUND.slice(0, 2)), countsBefore: true }],
    ['bytes behind it', SOUND, { behind: Buffer.from('more') }],
    ['a comment', SOUND, { comment: 'trust me' }],
    ['fewer files than the directory lists', SOUND, { count: SOUND.length - 1 }],
    ['more files than the directory lists', SOUND, { count: SOUND.length + 1 }],
    ['a thousand files and more', Array<RawFile>(1001).fill(file('a', ''))],
  ])('refuse an archive with %s', async (_, files, archive) => {
    await bothSay('is not a complete zip archive', rawZip(files, archive));
  });

  it.each([
    ['with a byte-order mark', manifest(`\ufeff${text}`)],
    ['that is not UTF-8', manifest(Buffer.from(text.replace('"urn ', '"\xff '), 'latin1'))],
    ['with a member twice', manifest(text.replace('{', '{"format": "urn-bundle@2",'))],
    ['with a member twice, spelt otherwise', manifest(text.replace('{', '{"f\\u006frmat": "urn-bundle@2",'))],
    ['with a member twice in a list', manifest(text.replace(/"files": \[\s*\{/, '$&"path": "x",'))],
    [
      'that is nested without end',
      manifest(text.replace('{', `{"x": ${'['.repeat(5000)}${']'.repeat(5000)},`)),
    ],
    ['with a number that is not JSON', manifest(text.replace('{', '{"x": NaN,'))],
    ['that is a list', manifest('[]')],
    ['whose files are no list', manifest(text.replace(/"files": \[/, '"files": 1, "x": ['))],
    ['of more than a mebibyte', manifest(text.replace('{', `{${' '.repeat(2 ** 20)}`))],
  ])('refuse a manifest %s', async (_, files) => {
    await bothSay(MANIFEST, rawZip(files));
  });

  it('refuse a bundle that was written before 1.0.0, and leave it as it is', async () => {
    const path = write(rawZip(manifestWith((json) => ({ ...json, format: 'urn-bundle@1' }))));
    const before = readFileSync(path);
    const { code, stderr, own } = await verifyBoth(path);
    expect(code).toBe(2);
    for (const said of [stderr, own.text])
      expect(said).toMatch(/was written before 1\.0\.0.* the verifier inside it.* reads it/);
    expect(readFileSync(path)).toEqual(before);
  });

  it('take a manifest with members that they do not know', async () => {
    expect(await verdict(rawZip(manifest(text.replace('{', '{"x": [{"y": 1.5}],'))))).toMatchObject({
      code: 0,
    });
  });

  it.each([
    ['the manifest', MANIFEST, ' ', 2],
    ['a configuration', CONFIGURATION, ' ', 65],
    ['a configuration', CONFIGURATION, '[],', 14],
    ['records', STREAM, ' ', 65],
    ['records', STREAM, '[],', 14],
    ['checkpoints', 'checkpoints.txt', ' ', 257],
  ])('refuse too much that is unpacked: %s', async (_, path, text, mebibytes) => {
    const { file, sha256 } = large(text, mebibytes);
    const listed = Buffer.from(textOf(MANIFEST).replace(hash('sha256', textOf(path)), sha256));
    const files = withFile(path, file);
    const archive = rawZip(path === MANIFEST ? files : withFile(MANIFEST, { bytes: listed }, files));
    expect(archive.length).toBeLessThan(400_000);
    await bothSay('more than', archive);
  });

  it('refuse a configuration that is much longer than the one that was registered, unparsed', async () => {
    for (const text of [' ', '[', '{"a":'])
      expect(await verdict(rawZip(withBytes(CONFIGURATION, Buffer.alloc(2 ** 20, text))))).toMatchObject({
        code: 1,
      });
  });

  it('take a configuration that is written otherwise, and none with a member twice or a mark', async () => {
    const configuration = textOf(CONFIGURATION);
    const written = (how: string) => verdict(rawZip(withBytes(CONFIGURATION, how)));
    expect(await written(JSON.stringify(JSON.parse(configuration)))).toMatchObject({ code: 0 });
    expect(await written(configuration.replace(/("w": 2)/, '$1.0'))).toMatchObject({ code: 0 });
    expect(await written(configuration.replace('{', '{"name": "X",'))).toMatchObject({ code: 1 });
    expect(await written(`\ufeff${configuration}`)).toMatchObject({ code: 1 });
  });

  it('find a public key of another log', async () => {
    const { publicKey } = makeSigningKey('urn');
    const shown = (text: string) => rawZip(withBytes('public-key.txt', text));
    for (const text of [`${publicKey}\n`, '', textOf('public-key.txt').trim()])
      await bothSay('public-key.txt is not a key of this log', shown(text), 1);
    // Before it was replaced, this was the log's key.
    expect(await verdict(shown(`${log.trusted}\n`))).toMatchObject({ code: 0 });
  });
});
