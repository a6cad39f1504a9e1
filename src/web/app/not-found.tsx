import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { Page } from '../parts/page.tsx';
import { address } from '../parts/place.ts';

export function NotFound() {
  const { t } = useTranslation();
  return (
    <Page title={t('common.noSuchPage')}>
      <p>
        <Link to={address('studies')}>{t('common.toStudies')}</Link>
      </p>
    </Page>
  );
}
