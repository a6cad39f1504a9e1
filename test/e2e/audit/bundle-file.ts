/** A bundle taken apart by Python's standard library, changed as anyone could, and put together again. */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rawZip } from '../../support/raw-zip.ts';
import type { Row } from './database.ts';

/** The files of a bundle by path. */
export class BundleFiles {
  readonly files: Map<string, Buffer>;

  constructor(files: ReadonlyMap<string, Buffer> = new Map()) {
    this.files = new Map(files);
  }

  static unpack(python: string, file: string): BundleFiles {
    const folder = mkdtempSync(join(tmpdir(), 'urn-test-bundle-'));
    const { status, stderr } = spawnSync(python, ['-m', 'zipfile', '-e', file, folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const files = paths.filter((path) => statSync(join(folder, path)).isFile());
    const bytes = new Map(files.map((path) => [path, readFileSync(join(folder, path))] as const));
    rmSync(folder, { recursive: true });
    return new BundleFiles(bytes);
  }

  copy(): BundleFiles {
    return new BundleFiles(this.files);
  }

  text(path: string): string {
    return this.files.get(path)?.toString('utf8') ?? '';
  }

  set(path: string, text: string): void {
    this.files.set(path, Buffer.from(text));
  }

  rows(stream: string): Row[] {
    return this.text(`records/${stream}.txt`)
      .split('\n')
      .slice(0, -1)
      .map((line, revision) => {
        const [leaf = '', record = '', sealed = ''] = line.split('\t');
        return {
          stream,
          revision,
          leaf: Buffer.from(leaf, 'hex'),
          record: Buffer.from(record),
          sealed: Buffer.from(sealed),
        };
      });
  }

  setRows(stream: string, rows: readonly Row[]): void {
    const lines = rows.map(
      ({ leaf, record, sealed }) => `${Buffer.from(leaf).toString('hex')}\t${record}\t${sealed}\n`,
    );
    this.set(`records/${stream}.txt`, lines.join(''));
  }

  /** Puts it together with a manifest that fits, as whoever tampers with a bundle would. */
  async pack(out: string): Promise<string> {
    const manifest = JSON.parse(this.text('manifest.json'));
    for (const file of manifest.files)
      file.sha256 = hash('sha256', this.files.get(file.path) ?? Buffer.alloc(0));
    this.set('manifest.json', JSON.stringify(manifest));
    // Stored, because compressing is half the work of a test that alters many bundles.
    await writeFile(out, rawZip([...this.files].map(([path, bytes]) => ({ path, bytes, method: 0 }))));
    return out;
  }
}
