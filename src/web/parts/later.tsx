/** What is loaded after the page that it is part of. Its file may be out of reach, or gone after an upgrade. */
import { type ComponentType, lazy } from 'react';
import { useTranslation } from 'react-i18next';
import { TryAgain } from './try-again.tsx';

/** The rest of the page stays as it is, even if this part of it cannot be loaded. */
export function later<P extends object>(
  load: () => Promise<ComponentType<P>>,
  missing: ComponentType<P> = NotLoaded,
) {
  return lazy(async () => ({ default: await load().catch(() => missing) }));
}

function NotLoaded() {
  const { t } = useTranslation();
  return (
    <div className="notice warn" role="alert">
      <p>{t('common.partNotLoaded')}</p>
      <TryAgain />
    </div>
  );
}
