/** The metadata of a stream as the server reads it: the last event of `$$<stream>`, if that is JSON (StreamMetadata). */
import type { ServerEvent } from './log.ts';

type Roles = string | readonly string[];

/** Who may read, write and delete a stream, and read and write its metadata. */
export interface Acl {
  readonly $r?: Roles;
  readonly $w?: Roles;
  readonly $d?: Roles;
  readonly $mr?: Roles;
  readonly $mw?: Roles;
}

export interface StreamMetadata {
  readonly $tb?: number;
  readonly $maxCount?: number;
  /** In seconds. */
  readonly $maxAge?: number;
  readonly $acl?: Acl;
  readonly [other: string]: unknown;
}

type Stored = Pick<ServerEvent, 'data' | 'contentType'>;

export function metadataOf(event: Stored | undefined): StreamMetadata {
  const { $tb, $maxCount, $maxAge, ...others } = parsed(event) ?? {};
  return {
    ...others,
    ...(typeof $tb === 'number' && $tb >= 0 ? { $tb } : {}),
    ...(typeof $maxCount === 'number' && $maxCount > 0 ? { $maxCount } : {}),
    ...(typeof $maxAge === 'number' && $maxAge > 0 ? { $maxAge } : {}),
  };
}

/** The same metadata with another `$tb`; undefined if it is not JSON. */
export function withTruncation(event: Stored, before: number): string | undefined {
  const metadata = parsed(event);
  return metadata && JSON.stringify({ ...metadata, $tb: before });
}

function parsed(event: Stored | undefined): Record<string, unknown> | undefined {
  if (event?.contentType !== 'application/json') return undefined;
  try {
    return JSON.parse(Buffer.from(event.data).toString()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
