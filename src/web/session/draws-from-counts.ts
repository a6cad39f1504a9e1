/** Whether the method of a study draws from the counts of participants. */
import { useQuery } from '@tanstack/react-query';
import { designQuery } from '../parts/design-query.ts';
import { useScope } from './session.tsx';

/** Whether later allocations depend on who is counted, as far as the key may know; otherwise what is said of the urn is said. */
export function useDrawsFromCounts(study: string): boolean {
  const mayRead = useScope('read', 'blinded');
  const { data } = useQuery({ ...designQuery(study), enabled: mayRead });
  const method = data?.design.method;
  return method === undefined || method === 'minimization';
}
