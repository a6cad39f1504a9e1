import { audit } from '../words/en/audit.ts';

/** The members of every record that the page shows. */
export interface RecordHead {
  readonly type: string;
  readonly at: string;
  readonly actor: { readonly user: string };
  readonly data: { readonly participantId?: string };
}

/** Whether there are words for this kind of record. */
export function isKnownType(type: string): type is keyof typeof audit.recorded {
  return Object.hasOwn(audit.recorded, type);
}
