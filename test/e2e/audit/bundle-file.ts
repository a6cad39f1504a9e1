/** The files of a bundle, changed as anyone could, and put together again. */
import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { rawZip } from '../../support/raw-zip.ts';
import type { Row } from './database.ts';

/** The files of a bundle by path. */
export class BundleFiles {
  readonly files: Map<string, Buffer>;

  constructor(files: ReadonlyMap<string, Buffer>) {
    this.files = new Map(files);
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
