/** Why this arm, with a list that was made elsewhere: which entry of it was used. */
import { Trans, useTranslation } from 'react-i18next';
import { type Explanation, stratumName } from './why-parts.tsx';

type ListExplanation = Extract<Explanation, { entry: unknown }>;

export function Listed({ explanation: { entry, trt } }: { explanation: ListExplanation }) {
  const { t } = useTranslation();
  const where = stratumName(entry.stratum) ?? t('participant.why.wholeStudy');
  return (
    <p>
      <Trans
        i18nKey="participant.why.entry"
        values={{ entry: entry.entry, list: entry.list, where, arm: trt }}
        components={{ b: <strong /> }}
      />
    </p>
  );
}
