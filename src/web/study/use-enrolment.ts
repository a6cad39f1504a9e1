import { useQuery } from '@tanstack/react-query';
import { armsQuery, enrolmentQuery, type StudyArm } from './queries.ts';

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
