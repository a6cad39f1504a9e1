/**
 * How a log's key names the one that signs after it: a signed note (C2SP signed-note) with the text
 *
 *   <log name>/signing-key
 *   <log id>
 *   <verifier key of the new one>
 *
 * Its second line is no tree size, so that it can never be taken for a checkpoint.
 */
import { checkNote, signNote } from './signed-note.ts';
import type { SigningKey } from './signing-key.ts';
import { parseVerifierKey, type VerifierKey } from './verifier-key.ts';

export interface Successor {
  readonly logName: string;
  readonly logId: string;
  /** Its verifier key. */
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

/** The verifier key in a text of the log; undefined when it is none, or bears another name than the log. */
export function keyOfLog(publicKey: string, logName: string): VerifierKey | undefined {
  try {
    const key = parseVerifierKey(publicKey, 'publicKey');
    return key.name === logName ? key : undefined;
  } catch {
    return undefined;
  }
}
