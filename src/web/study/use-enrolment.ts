import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { designQuery } from '../parts/design-query.ts';
import { enrolmentQuery } from '../parts/enrolment-query.ts';
import { armsOf, type Enrolment, type StudyArm } from './queries.ts';

export function useEnrolment(study: string) {
  return useQuery(enrolmentQuery(study));
}

/** Undefined for readers who see no arms. */
export function useArms(study: string): readonly StudyArm[] | undefined {
  const { data: enrolment } = useEnrolment(study);
  const seesArms = enrolment?.treatments !== undefined;
  // The design names all arms, so nobody else asks for it.
  const { data: design } = useQuery({ ...designQuery(study), enabled: seesArms });
  return useMemo(() => (seesArms && design ? armsOf(design) : undefined), [seesArms, design]);
}

export interface FactorCounts {
  readonly factor: string;
  readonly levels: Enrolment['levels'];
}

/** In the order of the configuration, like the levels of each; without levels that the key may not know of. */
export function useFactors(study: string): readonly FactorCounts[] {
  const { data: enrolment } = useEnrolment(study);
  return useMemo(() => {
    // The service counts only for levels that the key may know of.
    const known = enrolment?.levels.filter(({ filled }) => filled !== undefined) ?? [];
    return [...new Set(known.map(({ factor }) => factor))].map((factor) => ({
      factor,
      levels: known.filter((one) => one.factor === factor),
    }));
  }, [enrolment]);
}
