import { useTranslation } from 'react-i18next';
import styles from './page.module.css';

const STEPS = ['participant', 'review', 'result'] as const;
export type Step = (typeof STEPS)[number];

/** Shows which step the reader has reached. */
export function Steps({ now }: { now: Step }) {
  const { t } = useTranslation();
  return (
    <ol className={styles.steps} aria-label={t('randomize.steps')}>
      {STEPS.map((step) => (
        <li key={step} aria-current={step === now ? 'step' : undefined}>
          {t(`randomize.step.${step}`)}
        </li>
      ))}
    </ol>
  );
}
