import { useTranslation } from 'react-i18next';
import { Page } from '../parts/page.tsx';
import { usePlace } from '../parts/place.ts';

export function Randomize() {
  const { t } = useTranslation();
  const { study = '' } = usePlace();
  return (
    <Page title={t('common.nav.randomize')}>
      <p>{study}</p>
    </Page>
  );
}
