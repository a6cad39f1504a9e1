/**
 * How the records of a source are read, given what it withholds. A database withholds nothing; docs/bundle.md says what a
 * bundle of each content withholds. No other part of the verification knows which sections a bundle includes.
 */

import type { Content, LogEvent, PartialEvent } from '../../../events/record.ts';
import { type Decode, type Decoded, decode, decodePartial } from './decoding.ts';

/** How the records of a source are read. */
export interface SourceReading {
  /** For all streams that are not studies. */
  readonly others: Decode;
  /** For studies whose draws are withheld and cannot be decided again. Undefined if all sections are included. */
  readonly undrawn: Decode<PartialEvent> | undefined;
  /** Whether the parts of LogRecovered that are about studies are withheld. */
  readonly hidesRecoveredStudies: boolean;
}

const includesNone = () => false;

const STUDY: Readonly<Record<Content, Decode<PartialEvent> | undefined>> = {
  full: undefined,
  open: (stored) => decodePartial(stored, (section) => section === 'allocation'),
  blinded: (stored) => decodePartial(stored, includesNone),
};

/** @param content of a bundle; undefined if the source holds everything that the log holds */
export function readingOf(content: Content | undefined): SourceReading {
  if (content === undefined) return { others: decode, undrawn: undefined, hidesRecoveredStudies: false };
  return { others: decodeOther, undrawn: STUDY[content], hidesRecoveredStudies: true };
}

/** For `log` and `access`: every bundle withholds all their sections. */
const decodeOther: Decode = (stored): Decoded => {
  const decoded = decodePartial(stored, includesNone);
  return 'event' in decoded ? { ...decoded, event: withStandIns(decoded.event) } : decoded;
};

/** The replay does not depend on the withheld sections, so placeholders can take their place. */
function withStandIns(event: PartialEvent): LogEvent {
  switch (event.type) {
    case 'ApiKeyIssued':
      // No credential is issued twice, but a bundle cannot show that. The event's id is just as unique.
      return { ...event, sections: { credential: { sha256: event.id } } };
    case 'LogRecovered':
      // This source names no studies here. StudyRecovered says the same and is used instead (log-identity.ts).
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
