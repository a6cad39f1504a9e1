/** Archives made by hand: what is not a bundle is refused, and what is wrong with a bad one is reported. */
import { hash } from 'node:crypto';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { writeBundle } from '../../src/evidence/bundle/bundle.ts';
import { ZipReader } from '../../src/evidence/bundle/zip-reader.ts';
import { verifyBundle } from '../../src/evidence/verify/verify-bundle.ts';
import { openLog } from '../../src/service/open/open-log.ts';
import { CONFIGURATION, LEVELS, OPERATOR, SEED } from '../support/facts.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

type Files = [path: string, text: string][];

const folder = temporaryFolders()();
let sound: Files;
let stream: string;
let made = 0;

/** Each file as it is given, also twice. */
async function zip(files: Files): Promise<string> {
  const archive = new ZipFile();
  for (const [path, text] of files) archive.addBuffer(Buffer.from(text), path);
  archive.end();
  const out = join(folder, `${made++}.zip`);
  await pipeline(archive.outputStream as Readable, createWriteStream(out));
  return out;
}
const verify = (file: string) => verifyBundle({ file, trusted: [], checkpoints: [] });
const refusal = (file: string) =>
  verify(file).then(
    () => 'none',
    (error: Error) => `${error.name}: ${error.message}`,
  );
const problemsOf = async (files: Files) => {
  const { ok, bundle } = await verify(await zip(files));
  expect(ok).toBe((bundle?.files ?? []).length === 0);
  return bundle?.files.map(({ path, why }) => `${path} ${why}`);
};
/** The files with one of them changed, and a manifest that fits or does not. */
function changed(path: string, how: (text: string) => string, { fits = true } = {}): Files {
  return sound.map(([name, text]): [string, string] => {
    if (name === path) return [name, how(text)];
    if (name !== 'manifest.json' || !fits) return [name, text];
    const before = sound.find(([one]) => one === path)?.[1] ?? '';
    return [name, text.replace(hash('sha256', before), hash('sha256', how(before)))];
  });
}
const manifest = (how: (manifest: Record<string, unknown>) => void) =>
  changed('manifest.json', (text) => {
    const json = JSON.parse(text);
    how(json);
    return JSON.stringify(json);
  });

beforeAll(async () => {
  const log = await openLog({ data: folder, store: 'memory:' }, OPERATOR);
  await log.rebuild();
  const issued = await log.keys.issue({ user: 'site', scopes: ['randomize'] }, OPERATOR);
  if ('refused' in issued) throw new Error(issued.refused);
  const { studies, store, identity, gate } = log;
  await studies.register(CONFIGURATION, SEED, OPERATOR);
  stream = studies.streamOf(CONFIGURATION.name);
  const actor = { keyId: issued.keyId, user: 'site', accessRevision: 0 };
  for (const participantId of ['1', '2']) {
    const command = { type: 'randomize', participantId, levels: LEVELS, user: 'site' } as const;
    await studies.submit(stream, { ...command, suspended: false, idempotencyKey: undefined }, actor);
  }
  const out = join(folder, 'sound.zip');
  await writeBundle({
    ...{ store, identity, gate, stream, out, content: 'full', lastCheckpoints: undefined },
    ...{ checkpoints: [], version: 'test' },
  });
  await log.close();
  const archive = await ZipReader.open(out);
  sound = [];
  for (const path of archive.paths) {
    const pieces: Buffer[] = [];
    for await (const piece of archive.read(path)) pieces.push(piece);
    sound.push([path, Buffer.concat(pieces).toString()]);
  }
  await archive.close();
});

it('a bundle that was repacked is the same bundle', async () => {
  expect(await problemsOf(sound)).toEqual([]);
});

describe('a file is reported', () => {
  it('that differs from the manifest', async () => {
    expect(await problemsOf(changed('README.txt', () => 'Trust me.', { fits: false }))).toEqual([
      `README.txt is not what manifest.json lists: its SHA-256 is ${hash('sha256', 'Trust me.')}`,
    ]);
    const [line] = sound.find(([path]) => path === 'records/access.txt')?.[1].split('\n') ?? [];
    const cut = changed('records/access.txt', () => `${line}\n\n`, { fits: false });
    expect(await problemsOf(cut)).toHaveLength(1);
  });

  it('that is not listed, is listed twice, or is missing', async () => {
    expect(await problemsOf([...sound, ['notes/a.txt', 'a']])).toEqual([
      'notes/a.txt is not listed in manifest.json',
    ]);
    expect(await problemsOf(sound.filter(([path]) => path !== 'report.html'))).toEqual([
      'report.html is listed in manifest.json, but missing',
    ]);
    const twice = manifest(({ files }) => (files as unknown[]).push((files as unknown[])[0]));
    expect(await problemsOf(twice)).toEqual([`records/${stream}.txt is listed in manifest.json twice`]);
  });

  it('that occurs twice in the archive, whatever its contents', async () => {
    const [log] = sound.filter(([path]) => path === 'records/log.txt');
    expect(await problemsOf([...sound, log as Files[number]])).toEqual([
      'records/log.txt is in the archive twice',
    ]);
    const again: Files = [...sound, ['manifest.json', sound.at(-1)?.[1] ?? '']];
    expect(await problemsOf(again)).toEqual(['manifest.json is in the archive twice']);
  });

  it.each(['records/access.txt', 'checkpoints.txt', 'configuration.json'])(
    '%s that is in neither the manifest nor the archive',
    async (path) => {
      const files = manifest((json) => {
        json['files'] = (json['files'] as { path: string }[]).filter((file) => file.path !== path);
      }).filter(([name]) => name !== path);
      const { ok, bundle } = await verify(await zip(files));
      expect(ok).toBe(false);
      expect(bundle?.files).toContainEqual({ path, why: 'is missing' });
    },
  );

  it('of records whose last line is incomplete', async () => {
    const path = `records/${stream}.txt`;
    expect(await problemsOf(changed(path, (text) => text.slice(0, -1)))).toEqual([
      `${path} does not end with a line feed`,
    ]);
  });

  it('of a configuration that was not registered', async () => {
    for (const other of ['null', '{', '{"name":"X"}'])
      expect(await problemsOf(changed('configuration.json', () => other))).toEqual([
        "configuration.json does not say what the study's first record says",
      ]);
  });
});

describe('a line of records', () => {
  const divergence = async (how: (line: string) => string, at = 1) => {
    const path = `records/${stream}.txt`;
    const files = changed(path, (text) =>
      text
        .split('\n')
        .map((line, i) => (i === at ? how(line) : line))
        .join('\n'),
    );
    return (await verify(await zip(files))).streams.at(-1)?.divergence;
  };

  it('has three fields, with its leaf in lower case', async () => {
    const found = {
      leaf: await divergence((line) => line.slice(0, 64).toUpperCase() + line.slice(64)),
      noTab: await divergence((line) => line.replaceAll('\t', '')),
      oneTab: await divergence((line) => line.replace(/\t[^\t]*$/, '')),
      threeTabs: await divergence((line) => `${line}\t`),
      carriageReturn: await divergence((line) => `${line}\r`),
      empty: await divergence(() => ''),
      withheld: await divergence((line) => `${line.slice(0, 64)}\t\t`),
    };
    for (const [what, diverges] of Object.entries(found))
      expect(diverges, what).toMatchObject({ revision: 1 });
    expect(found.leaf?.field).toBe('leaf');
  });

  it('is reassembled across the chunks in which an archive is read', async () => {
    const path = `records/${stream}.txt`;
    const [registered = ''] = sound.find(([name]) => name === path)?.[1].split('\n') ?? [];
    const many = changed(path, (text) => text + `${registered}\n`.repeat(300));
    const { streams } = await verify(await zip(many));
    expect(streams.at(-1)).toMatchObject({ records: 303, divergence: { revision: 3, field: 'revision' } });
  });
});

describe('an invalid bundle', () => {
  it('is a file that is missing, is not an archive, or is part of one', async () => {
    const none = join(folder, 'none.zip');
    expect(await refusal(none)).toMatch(/^BundleError: cannot read .*none\.zip/);
    writeFileSync(none, 'just text');
    expect(await refusal(none)).toMatch(/^BundleError: .*none\.zip is not a complete zip archive: .*hint/);
    const bytes = readFileSync(join(folder, 'sound.zip'));
    writeFileSync(none, bytes.subarray(0, bytes.length - 100));
    expect(await refusal(none)).toContain('is not a complete zip archive');
    // The directory is at the end, so what was lost in the middle is seen when it is read.
    writeFileSync(none, Buffer.concat([bytes.subarray(0, 200), Buffer.alloc(300), bytes.subarray(500)]));
    expect(await refusal(none)).toMatch(
      /^BundleError: .*none\.zip is not a complete zip archive \(records\//,
    );
  });

  it('is an archive containing a file with the wrong checksum', async () => {
    const damaged = join(folder, 'checksum.zip');
    const bytes = readFileSync(join(folder, 'sound.zip'));
    // In the directory at the end, which both verifiers go by: signature, then the checksum at 16.
    const entry = bytes.indexOf('504b0102', 0, 'hex');
    bytes.writeUInt32LE((bytes.readUInt32LE(entry + 16) ^ 1) >>> 0, entry + 16);
    writeFileSync(damaged, bytes);
    expect(await refusal(damaged)).toMatch(/is not a complete zip archive \(records\/.*checksum/);
  });

  it('is an archive without a manifest, or with another format', async () => {
    expect(await refusal(await zip([['a.txt', 'a']]))).toContain('is not a bundle: it has no manifest.json');
    expect(await refusal(await zip([['manifest.json', '{']]))).toContain(
      'its manifest.json is not one of urn-bundle@1',
    );
    const newer = manifest((json) => {
      json['format'] = 'urn-bundle@2';
    });
    expect(await refusal(await zip(newer))).toMatch(
      /the format "urn-bundle@2", and this version reads urn-bundle@1 \(hint/,
    );
    for (const spoil of [{ content: 'all' }, { study: { stream: 'access' } }, { files: {} }])
      expect(await refusal(await zip(manifest((json) => Object.assign(json, spoil))))).toContain(
        'is not a bundle',
      );
  });

  it('is one whose checkpoints are invalid', async () => {
    expect(await refusal(await zip(changed('checkpoints.txt', () => 'size 3')))).toContain(
      'checkpoints.txt of the bundle:1',
    );
  });
});
