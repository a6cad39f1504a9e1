/**
 * Which sealed sections of a study are included in what leaves the service: a bundle or the feed. `full`: all sections, so
 * that every allocation can be drawn again. `open`: the treatments. `blinded`: none. Sections not listed here, such as
 * those added in a later version, stay inside. No sections of `log` and `access` are ever included, because they hold
 * credentials.
 */
export const CONTENTS = ['full', 'open', 'blinded'] as const;
export type Content = (typeof CONTENTS)[number];

/** Canonical JSON for no sections. */
export const NO_SECTIONS = Buffer.from('{}');

/** Whether a section of a study is included in the content. */
export function isIncluded(section: string, content: Content): boolean {
  return content === 'full' || (content === 'open' && section === 'allocation');
}

/**
 * The sections of a study's record that are included in the content, as canonical JSON.
 * @param sealed all sections, as stored
 */
export function includedSections(sealed: Uint8Array, content: Content): Uint8Array {
  if (content === 'full') return sealed;
  if (content === 'blinded') return NO_SECTIONS;
  const { allocation } = JSON.parse(Buffer.from(sealed).toString('utf8')) as { allocation?: unknown };
  // JSON.stringify gives back the canonical bytes, because the parsed keys were sorted and none is a number.
  return allocation === undefined ? NO_SECTIONS : Buffer.from(JSON.stringify({ allocation }));
}
