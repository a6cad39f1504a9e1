/** Archives that can be read in two ways, or that fill the memory: both verifiers refuse them, with one exit code. */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ZipReader } from '../../src/evidence/bundle/zip-reader.ts';
import { bothVerifiers } from '../support/both-verifiers.ts';
import { requiredPython } from '../support/numpy.ts';
import { OldLog } from '../support/old-log.ts';
import { type RawArchive, type RawFile, rawZip } from '../support/raw-zip.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const python = requiredPython('numpy, cryptography');
const verify = bothVerifiers(python ?? '');
const folder = temporaryFolders()();
const SOUND = await filesIn(new OldLog('0.2.0/every-act').file('full.zip'));
const CONFIGURATION = 'configuration.json';
const MANIFEST = 'manifest.json';
let made = 0;

async function filesIn(bundle: string): Promise<RawFile[]> {
  const archive = await ZipReader.open(bundle);
  const files: RawFile[] = [];
  for (const path of archive.paths) {
    const pieces: Buffer[] = [];
    for await (const piece of archive.read(path)) pieces.push(piece);
    files.push({ path, bytes: Buffer.concat(pieces) });
  }
  await archive.close();
  return files;
}

/** @returns exit code of both, and what each said */
async function verdict(bytes: Uint8Array) {
  const file = join(folder, `${made++}.zip`);
  writeFileSync(file, bytes);
  const { code, stdout, stderr, own } = await verify(file);
  expect(stderr).not.toContain('Traceback');
  return { code, python: `${stdout}${stderr}`, own: own.text };
}
const textOf = (path: string) =>
  Buffer.from(SOUND.find((file) => file.path === path)?.bytes ?? []).toString();
/** The files with one of them as given. */
const withFile = (path: string, change: Partial<RawFile>) =>
  SOUND.map((file) => (file.path === path ? { ...file, ...change } : file));
/** With other bytes, which the manifest lists. */
function withBytes(path: string, bytes: Uint8Array): RawFile[] {
  const manifest = textOf(MANIFEST).replace(hash('sha256', textOf(path)), hash('sha256', bytes));
  return withFile(path, { bytes }).map((file) =>
    file.path === MANIFEST ? { ...file, bytes: Buffer.from(manifest) } : file,
  );
}
const manifest = (bytes: Uint8Array | string) => withFile(MANIFEST, { bytes: Buffer.from(bytes) });
const STREAM = SOUND.find(({ path }) => path.startsWith('records/study-'))?.path ?? '';

describe.skipIf(python === undefined)('both verifiers', () => {
  it('accept a bundle that was packed again, stored or deflated', async () => {
    expect(await verdict(rawZip(SOUND))).toMatchObject({ code: 0 });
    expect(await verdict(rawZip(SOUND.map((file) => ({ ...file, method: 0 }))))).toMatchObject({ code: 0 });
  });

  it.each<[string, readonly RawFile[], RawArchive?]>([
    ['a size that is too small', withFile(STREAM, { size: 100 })],
    ['a size that is too large', withFile(STREAM, { size: 10_000_000 })],
    ['a size of nothing', withFile(STREAM, { size: 0 })],
    [
      'a size of stored bytes that is too small',
      withFile('README.txt', { method: 0, size: 10, packedSize: 10 }),
    ],
    ['a packed size that is too small', withFile(STREAM, { packedSize: 100 })],
    ['bytes behind the packed ones', withFile(STREAM, { garbage: Buffer.from('more') })],
    ['many bytes behind the packed ones', withFile(STREAM, { garbage: Buffer.alloc(1_000_000) })],
    ['another checksum', withFile(STREAM, { checksum: 1 })],
    ['another name before the bytes', withFile(STREAM, { header: STREAM.replace('study', 'STUDY') })],
    ['an encrypted file', withFile(STREAM, { flags: 1 })],
    ['another way of packing', withFile(STREAM, { method: 12 })],
    ['a name with a zero byte', [...SOUND, { path: 'manifest.json\0', bytes: Buffer.from('x') }]],
    ['a name with a backslash', [...SOUND, { path: 'records\\log.txt', bytes: Buffer.from('x') }]],
    ['a name that is not ASCII', [...SOUND, { path: 'manifest.jsön', bytes: Buffer.from('x') }]],
    ['bytes before the first file', SOUND, { before: Buffer.from('#!/bin/sh\n') }],
    [
      'bytes before, which the offsets count',
      SOUND,
      { before: Buffer.from('#!/bin/sh\n'), countsBefore: true },
    ],
    ['another archive before it', SOUND, { before: rawZip(SOUND.slice(0, 2)), countsBefore: true }],
    ['bytes behind it', SOUND, { behind: Buffer.from('more') }],
    ['a comment', SOUND, { comment: 'trust me' }],
    ['fewer files than the directory lists', SOUND, { count: SOUND.length - 1 }],
    ['more files than the directory lists', SOUND, { count: SOUND.length + 1 }],
    [
      'a thousand files and more',
      Array.from({ length: 1001 }, () => ({ path: 'a', bytes: Buffer.from('') })),
    ],
  ])('refuse an archive with %s', async (_, files, archive) => {
    expect(await verdict(rawZip(files, archive))).toMatchObject({
      code: 2,
      python: expect.stringContaining('is not a complete zip archive'),
      own: expect.stringContaining('is not a complete zip archive'),
    });
  });

  const text = textOf(MANIFEST);
  it.each([
    ['with a byte-order mark', manifest(`\ufeff${text}`)],
    ['in UTF-16', manifest(Buffer.from(`\ufeff${text}`, 'utf16le'))],
    ['that is not UTF-8', manifest(Buffer.from(text.replace('"urn ', '"\xff '), 'latin1'))],
    ['with a member twice', manifest(text.replace('{', '{"format": "urn-bundle@1",'))],
    ['with a member twice, spelt otherwise', manifest(text.replace('{', '{"f\\u006frmat": "urn-bundle@1",'))],
    ['with a member twice inside', manifest(text.replace(/"study": \{/, '$&"name": "X",'))],
    ['with a member twice in a list', manifest(text.replace(/"files": \[\s*\{/, '$&"path": "x",'))],
    ['with a member twice where nobody looks', manifest(text.replace('{', '{"x": [[{"y": 1, "y": 1}]],'))],
    [
      'that is nested without end',
      manifest(text.replace('{', `{"x": ${'['.repeat(5000)}${']'.repeat(5000)},`)),
    ],
    ['with a number that is not JSON', manifest(text.replace('{', '{"x": NaN,'))],
    ['that is a list', manifest('[]')],
    ['whose files are no list', manifest(text.replace(/"files": \[/, '"files": 1, "x": ['))],
    ['of more than a mebibyte', manifest(text.replace('{', `{${' '.repeat(2 ** 20)}`))],
  ])('refuse a manifest %s', async (_, files) => {
    const { code, own, python } = await verdict(rawZip(files));
    expect([code, own, python]).toEqual([
      2,
      expect.stringContaining(MANIFEST),
      expect.stringContaining(MANIFEST),
    ]);
  });

  it('take a manifest with members that they do not know', async () => {
    expect(await verdict(rawZip(manifest(text.replace('{', '{"x": [{"y": 1.5}],'))))).toMatchObject({
      code: 0,
    });
  });

  const spaces = (mebibytes: number) => Buffer.alloc(mebibytes * 2 ** 20, ' ');
  const many = (what: string, mebibytes: number) => Buffer.alloc(mebibytes * 2 ** 20, what);
  it.each([
    [MANIFEST, spaces(200)],
    [CONFIGURATION, spaces(65)],
    [CONFIGURATION, many('[],', 30)],
    [STREAM, spaces(65)],
    [STREAM, many('[],', 30)],
    ['checkpoints.txt', spaces(257)],
    ['checkpoints.txt', spaces(65)],
    ['checkpoints.txt', many('\n', 12)],
    ['public-key.txt', spaces(65)],
  ])('refuse %s that unpacks to too much', async (path, bytes) => {
    const archive = rawZip(path === MANIFEST ? manifest(bytes) : withBytes(path, bytes));
    expect(archive.length).toBeLessThan(400_000);
    expect(await verdict(archive)).toMatchObject({
      code: 2,
      own: expect.stringContaining('more than'),
      python: expect.stringContaining('more than'),
    });
  });

  it('refuse a configuration that is much longer than the one that was registered, unparsed', async () => {
    for (const bytes of [spaces(1), many('[', 1), many('{"a":', 1)])
      expect(await verdict(rawZip(withBytes(CONFIGURATION, bytes)))).toMatchObject({ code: 1 });
  });

  it('take a configuration that is written otherwise, and none with a member twice or a mark', async () => {
    const configuration = textOf(CONFIGURATION);
    const written = (how: string) => verdict(rawZip(withBytes(CONFIGURATION, Buffer.from(how))));
    expect(await written(JSON.stringify(JSON.parse(configuration)))).toMatchObject({ code: 0 });
    expect(await written(configuration.replace(/("w": 1)/, '$1.0'))).toMatchObject({ code: 0 });
    expect(await written(configuration.replace('{', '{"name": "X",'))).toMatchObject({ code: 1 });
    expect(await written(`\ufeff${configuration}`)).toMatchObject({ code: 1 });
  });

  it('find a public key of another log', async () => {
    const [key = ''] = new OldLog('0.1.0/ordinary').keys;
    const shown = (text: string) => verdict(rawZip(withBytes('public-key.txt', Buffer.from(text))));
    for (const text of [`${key}\n`, '', textOf('public-key.txt').trim()])
      expect(await shown(text)).toMatchObject({
        code: 1,
        own: expect.stringContaining('public-key.txt is not a key of this log'),
        python: expect.stringContaining('public-key.txt is not a key of this log'),
      });
    // Before it was replaced, this was the log's key.
    const [first = ''] = new OldLog('0.2.0/every-act').keys;
    expect(await shown(`${first}\n`)).toMatchObject({ code: 0 });
  });
});
