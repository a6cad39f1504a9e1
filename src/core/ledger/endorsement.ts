/**
 * How a log's key names its successor: a signed note (C2SP signed-note) with the text
 *
 *   <log name>/signing-key
 *   <log id>
 *   <new verifier key>
 *
 * The second line is not a tree size, so this can never be mistaken for a checkpoint.
 */
import { checkNote, signNote } from './signed-note.ts';
import type { SigningKey } from './signing-key.ts';
import { parseVerifierKey, type VerifierKey } from './verifier-key.ts';

export interface Successor {
  readonly logName: string;
  readonly logId: string;
  /** The successor's verifier key. */
  readonly publicKey: string;
}

/** @returns the signed note */
export function endorse(successor: Successor, by: SigningKey): string {
  return signNote(text(successor), by);
}

export function isEndorsed(endorsement: string, successor: Successor, by: VerifierKey): boolean {
  const checked = checkNote(endorsement, [by]);
  return checked.type === 'signed' && checked.text === text(successor);
}

function text({ logName, logId, publicKey }: Successor): string {
  return `${logName}/signing-key\n${logId}\n${publicKey}\n`;
}

/** Parses a verifier key from the log; undefined when it is not one, or its name is not the log's. */
export function keyOfLog(publicKey: string, logName: string): VerifierKey | undefined {
  try {
    const key = parseVerifierKey(publicKey, 'publicKey');
    return key.name === logName ? key : undefined;
  } catch {
    return undefined;
  }
}
