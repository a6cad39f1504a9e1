/** The files of a bundle, read by our own reader of archives. */
import { ZipReader } from '../../src/evidence/bundle/zip-reader.ts';
import { BundleFiles } from '../e2e/audit/bundle-file.ts';

export async function filesIn(bundle: string): Promise<{ path: string; bytes: Buffer }[]> {
  const archive = await ZipReader.open(bundle);
  const files: { path: string; bytes: Buffer }[] = [];
  for (const path of archive.paths) {
    const pieces: Buffer[] = [];
    for await (const piece of archive.read(path)) pieces.push(piece);
    files.push({ path, bytes: Buffer.concat(pieces) });
  }
  await archive.close();
  return files;
}

/** Bundles that were already taken apart; their files do not change. */
const known = new Map<string, ReadonlyMap<string, Buffer>>();

/** To be altered, and packed again. */
export async function bundleFiles(bundle: string): Promise<BundleFiles> {
  const all = known.get(bundle) ?? new Map((await filesIn(bundle)).map(({ path, bytes }) => [path, bytes]));
  known.set(bundle, all);
  return new BundleFiles(all);
}
