/**
 * What a source withholds, and how its records are read for it: of a database nothing, of a bundle what docs/bundle.md
 * says of its content. Nothing else in the verification knows which sections a bundle discloses.
 */

import type { Content } from '../../events/content.ts';
import type { LogEvent, PartialEvent } from '../../events/record.ts';
import { type Decode, type Decoded, decode, decodePartial } from './decoding.ts';

/** How the records of a source are read. */
export interface Reading {
  /** Those of all streams but the studies'. */
  readonly others: Decode;
  /** Those of studies whose draws are withheld, so that they cannot be decided again; undefined: with all sections. */
  readonly undrawn: Decode<PartialEvent> | undefined;
  /** Whether what the log's recoveries say of studies is withheld. */
  readonly hidesRecoveredStudies: boolean;
}

const includesNone = () => false;

const STUDY: Readonly<Record<Content, Decode<PartialEvent> | undefined>> = {
  full: undefined,
  open: (stored) => decodePartial(stored, (section) => section === 'allocation'),
  blinded: (stored) => decodePartial(stored, includesNone),
};

/** @param content of a bundle; undefined: the source has all that the log has */
export function readingOf(content: Content | undefined): Reading {
  if (content === undefined) return { others: decode, undrawn: undefined, hidesRecoveredStudies: false };
  return { others: decodeOther, undrawn: STUDY[content], hidesRecoveredStudies: true };
}

/** Of `log` and `access`, of whose sections every bundle withholds all. */
const decodeOther: Decode = (stored): Decoded => {
  const decoded = decodePartial(stored, includesNone);
  return 'event' in decoded ? { ...decoded, event: withStandIns(decoded.event) } : decoded;
};

/** What is replayed does not depend on what is withheld, so that something else can stand in its place. */
function withStandIns(event: PartialEvent): LogEvent {
  switch (event.type) {
    case 'ApiKeyIssued':
      // No credential is issued twice. Whether this one was cannot be told; the id of the event is as unique.
      return { ...event, sections: { credential: { sha256: event.id } } };
    case 'LogRecovered':
      // As far as this source tells, none. What StudyRecovered says of the same is taken for it (log-identity.ts).
      return { ...event, sections: { studies: { streams: [] } } };
    case 'LogCreated':
    case 'SigningKeyRotated':
    case 'LogMoved':
    case 'LogReopened':
    case 'LogArrived':
    case 'CopyAborted':
    case 'ApiKeyRevoked':
      return { ...event, sections: {} };
    default:
      throw new Error(`${event.type} is in no bundle`);
  }
}
