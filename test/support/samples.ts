/** The frozen samples in events/samples: records of each event version as they exist in real logs. */
import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const folder = new URL('../../events/samples/', import.meta.url);
const Sample = z.strictObject({
  record: z.string(),
  sealed: z.string(),
  leaf: z.string().regex(/^[0-9a-f]{64}$/),
});
const Record = z.looseObject({ type: z.string(), stream: z.string(), revision: z.int() });

export function frozenSamples() {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { record, sealed, leaf } = Sample.parse(JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
      const { stream, revision } = Record.parse(JSON.parse(record));
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
