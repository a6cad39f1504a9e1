/** The visits at which participants get packs. */
import { useQuery } from '@tanstack/react-query';
import { designQuery } from '../parts/design-query.ts';
import { formQuery } from '../parts/form-query.ts';
import type { ParticipantRecord } from '../parts/record.ts';
import { useScope } from '../session/session.tsx';

interface Visits {
  /** None as long as they are not known. */
  readonly declared: readonly string[];
  readonly isPending: boolean;
}

/** From what names no arm: only keys with the scope randomize may read that. */
export function useVisits(study: string): Visits {
  const isAsked = useScope('randomize');
  const { data, isPending } = useQuery({ ...formQuery(study), enabled: isAsked });
  return { declared: data?.visits ?? [], isPending: isAsked && isPending };
}

/** For a form that may ask for the design, in which arms have their names. */
export function useVisitsInDesign(study: string): readonly string[] {
  const { declared } = useVisits(study);
  const isReader = useScope('read', 'blinded');
  const isKnown = useScope('randomize');
  const { data } = useQuery({ ...designQuery(study), enabled: isReader && !isKnown });
  return isKnown ? declared : (data?.design.visits ?? []);
}

/** Those for which they have no pack. A pack has its visit in the spelling of the study. */
export function unusedVisits(declared: readonly string[], record: ParticipantRecord | undefined): string[] {
  const used = new Set((record?.['urn.packs'] ?? []).map(({ visit }) => visit));
  return declared.filter((visit) => !used.has(visit));
}
