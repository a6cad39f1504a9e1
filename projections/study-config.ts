/** A study's configuration as registered, and whether it takes participants. */
import type { MethodParameters, StudyConfiguration } from '../events/study.ts';
import { counted, plural } from '../src/base/wording.ts';

export interface StudyRecovery {
  readonly recovery: number;
  readonly at: string;
  /** Number of the study's records at the time. */
  readonly kept: number;
  /** Number of records known to have been there before; undefined if nothing is known. */
  readonly signed: number | undefined;
}

/** A short description for people. */
export function describeRecovery({ recovery, at, kept, signed }: StudyRecovery): string {
  const lost =
    signed !== undefined && signed > kept
      ? `at least ${counted(signed - kept, 'record')} after the first ${kept} ${plural(signed - kept, 'was', 'were')} lost`
      : 'no record of this study is known to be lost';
  return `recovery ${recovery} of the log, ${at}: ${lost}; the generator began anew`;
}

export interface RegisteredStudy {
  readonly studyId: string;
  readonly configuration: StudyConfiguration;
  /** What of the method nobody at a site may know: it is only for `audit`. */
  readonly parameters: MethodParameters;
  /** Decimal. Anyone who knows it can compute every assignment, so it is only for `audit`. */
  readonly seed: string;
  readonly seedSource: 'configured' | 'drawn';
  readonly seedWeak: boolean;
  readonly registeredAt: string;
  /** Recoveries of the log from a backup. Each one restarted the generator with fresh entropy. */
  readonly recoveries: readonly StudyRecovery[];
  /** Why the study takes no participants, and since when; undefined if it is open. */
  readonly halt: Halt | undefined;
  /** The same before the import that is under way. */
  readonly before?: Halt | undefined;
  /** How many participants of a history have arrived or will, and how many of them were drawn again. */
  readonly imported?:
    | { readonly redrawn: number; readonly unproven: number; readonly at: string }
    | undefined;
}

export interface Halt {
  readonly state: 'paused' | 'closed' | 'importing';
  readonly reason: string;
  readonly at: string;
}
