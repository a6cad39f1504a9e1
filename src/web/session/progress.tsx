/** How far a study is, as far as the key may know: the service counts, and says what it is measured against. */
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../api/client.ts';
import { useSession } from './session.tsx';

interface Counted {
  readonly filled: number;
  readonly goal?: Schemas['Enrolment']['goal'] | undefined;
}

/** The number, what it is measured against, and whom it covers. */
export function useProgress() {
  const { t } = useTranslation();
  const { limits } = useSession();
  const levels = limits.flatMap((limit) => limit.levels).join(', ');
  return {
    of: ({ goal }: Pick<Counted, 'goal'>) => goal && t(`common.of.${goal.kind}`, { places: goal.places }),
    who: levels === '' ? t('common.enrolled') : t('common.enrolledAt', { levels }),
  };
}

/** In one line. */
export function useProgressText(): (counted: Counted) => string {
  const { of, who } = useProgress();
  return (counted) => [counted.filled, of(counted), who].filter((part) => part !== undefined).join(' ');
}
