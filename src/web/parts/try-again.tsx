/**
 * Parts of a page that are loaded later, and how to try again what could not be loaded: such a part, or the page. Without a
 * connection a page stays as it is, because the browser's own page would take its place, and nothing would lead back.
 */
import { type ComponentType, lazy, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';

/** A button that loads the page again as soon as the service answers. */
export function TryAgain() {
  const { t } = useTranslation();
  const [state, setState] = useState<'ready' | 'asking' | 'unanswered'>('ready');
  const again = async () => {
    setState('asking');
    if (!(await reloadIfServed())) setState('unanswered');
  };
  return (
    <>
      <Button className="button go" isPending={state === 'asking'} onPress={() => void again()}>
        {t('common.tryAgain')}
      </Button>
      {state === 'unanswered' && <p role="status">{t('common.stillUnreachable')}</p>}
    </>
  );
}

/**
 * Loads the page again, with whatever it lacks.
 * @param isWanted whether it still is, when the service has answered
 * @returns false if the service does not answer
 */
export async function reloadIfServed(isWanted: () => boolean = () => true): Promise<boolean> {
  if (!(await isServed())) return false;
  if (isWanted()) window.location.reload();
  return true;
}

const ANSWER_WITHIN_MS = 5_000;

/** Whether the service gives out this page now. */
async function isServed(): Promise<boolean> {
  const { pathname } = window.location;
  const asked = fetch(pathname, {
    method: 'HEAD',
    cache: 'no-store',
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  return asked.then(
    ({ ok }) => ok,
    () => false,
  );
}

/**
 * What is loaded after the page that it is part of. Its file may be out of reach, or gone after an upgrade. The rest of the
 * page stays as it is, even then.
 */
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
