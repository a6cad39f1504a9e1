import { useQuery } from '@tanstack/react-query';
import { armsQuery, type Enrolment, enrolmentQuery, type StudyArm } from './queries.ts';

export function useEnrolment(study: string) {
  return useQuery(enrolmentQuery(study));
}

/** Undefined for whoever sees no arms. */
export function useArms(study: string): readonly StudyArm[] | undefined {
  const { data: enrolment } = useEnrolment(study);
  const seesArms = enrolment?.treatments !== undefined;
  const { data: arms } = useQuery({ ...armsQuery(study), enabled: seesArms });
  return seesArms ? arms : undefined;
}

export interface FactorCounts {
  readonly factor: string;
  readonly levels: Enrolment['levels'];
}

/** In the order of the configuration, like the levels of each. */
export function byFactor({ levels }: Pick<Enrolment, 'levels'>): FactorCounts[] {
  return [...new Set(levels.map(({ factor }) => factor))].map((factor) => ({
    factor,
    levels: levels.filter((one) => one.factor === factor),
  }));
}
