/**
 * What is told of a study's sealed sections to whoever reads outside the service: in a bundle, in the feed. `full`: all,
 * from which every allocation can be drawn again; `open`: the treatments; `blinded`: none. It is a list of what may go
 * out, so what a later version seals stays in. The streams `log` and `access` tell of no section at all: a credential
 * is nobody's business.
 */
export const CONTENTS = ['full', 'open', 'blinded'] as const;
export type Content = (typeof CONTENTS)[number];

/** Canonical JSON of no section. */
export const NO_SECTIONS = Buffer.from('{}');

/**
 * The sections of a study's record that the content discloses, as canonical JSON.
 * @param sealed all of them, as they are stored
 */
export function includedSections(sealed: Uint8Array, content: Content): Uint8Array {
  if (content === 'full') return sealed;
  if (content === 'blinded') return NO_SECTIONS;
  const { allocation } = JSON.parse(Buffer.from(sealed).toString('utf8')) as { allocation?: unknown };
  // JSON.stringify gives the canonical bytes back: they were parsed from sorted keys, none of them a number.
  return allocation === undefined ? NO_SECTIONS : Buffer.from(JSON.stringify({ allocation }));
}
