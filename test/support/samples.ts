/** The frozen samples in events/samples: records of each event version as they exist in real logs. */
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../events/samples/', import.meta.url);
type Sample = Readonly<Record<'record' | 'sealed' | 'leaf', string>>;
type Place = { readonly stream: string; readonly revision: number };

export function frozenSamples() {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { record, sealed, leaf }: Sample = JSON.parse(readFileSync(new URL(file, folder), 'utf8'));
      const { stream, revision }: Place = JSON.parse(record);
      return {
        // "Type@version"
        name: file.slice(0, -'.json'.length),
        stream,
        revision,
        record: Buffer.from(record),
        sealed: Buffer.from(sealed),
        leaf: Buffer.from(leaf, 'hex'),
      };
    });
}

export function frozenSample(name: string) {
  const sample = frozenSamples().find((candidate) => candidate.name === name);
  if (!sample) throw new Error(`events/samples has no ${name}.json`);
  return sample;
}
