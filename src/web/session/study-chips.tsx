import { useQuery } from '@tanstack/react-query';
import { Chip } from '../parts/chip.tsx';
import { TestChip } from '../parts/study-chips.tsx';
import { studiesQuery } from './studies-query.ts';

/** Which study it is, and whether it is a test, where the heading does not say. */
export function StudyChips({ study }: { study: string }) {
  const { data: studies } = useQuery(studiesQuery);
  return (
    <>
      <Chip>{study}</Chip>
      <TestChip mode={studies?.find((one) => one.study === study)?.mode} />
    </>
  );
}
