/** Options of urn import as they are read and shown. */
import type { SourceFormat } from '../../events/from-outside.ts';
import { quote } from '../base/text.ts';
import type { BeginImport } from '../core/study/commands.ts';
import { UsageError } from './options.ts';

/** A name may contain a comma: then each pair has an option of its own. */
export function pairsIn(value: string): string[] {
  const parts = value.split(',');
  return parts.every((part) => part.includes('=')) ? parts : [value];
}

/** @param pairs `THEIRS=OURS`. @throws UsageError */
export function treatmentPairs(pairs: readonly string[]): Map<string, string> {
  const map = new Map<string, string>();
  for (const pair of pairs) {
    const [from = '', to, ...more] = pair.split('=');
    if (from === '' || to === undefined || to === '' || more.length > 0)
      throw new UsageError(`--treatment-map ${pair} (write THEIRS=OURS, such as ndard=standard)`);
    if (map.has(from))
      throw new UsageError(`--treatment-map: ${quote(from)} is mapped to several treatments`);
    map.set(from, to);
  }
  return map;
}

/** The options of the command that the rows and their proofs depend on, besides the file. */
export function optionsIn({
  source: { format },
  generator,
  seedKnown,
  treatmentMap = [],
}: Pick<BeginImport, 'generator' | 'seedKnown' | 'treatmentMap'> & {
  readonly source: { readonly format: SourceFormat };
}): string {
  return [
    `--format ${format} --generator ${generator}`,
    ...(seedKnown ? ['--seed-known'] : []),
    ...treatmentMap.map(({ from, to }) => `--treatment-map ${quote(`${from}=${to}`)}`),
  ].join(' ');
}
