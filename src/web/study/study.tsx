import { useTranslation } from 'react-i18next';
import { Page } from '../parts/page.tsx';
import { usePlace } from '../parts/place.ts';

export function Study() {
  const { t } = useTranslation();
  const { study = '' } = usePlace();
  return (
    <Page title={t('common.nav.study')}>
      <p>{study}</p>
    </Page>
  );
}
