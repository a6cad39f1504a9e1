import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Schemas } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { address } from '../parts/fragment.ts';
import { Scroll } from '../parts/scroll.tsx';
import { When } from '../parts/when.tsx';
import styles from './packs.module.css';

/** How many rows are added at once. */
const LENGTH = 100;

interface Props {
  readonly study: string;
  readonly packs: Schemas['Accountability'];
  readonly map: Schemas['Codes']['codes'] | undefined;
}

export function PackTable({ study, packs, map }: Props) {
  const { t } = useTranslation();
  const [length, setLength] = useState(LENGTH);
  if (packs.length === 0) return <p>{t('packs.list.none')}</p>;
  const holds = map && new Map(map.map(({ code, trt }) => [code, trt]));
  return (
    <>
      <Scroll label={t('packs.list.title')}>
        <table className={styles.packs}>
          <thead>
            <tr>
              <th scope="col">{t('participant.pack')}</th>
              <th scope="col">{t('packs.list.state')}</th>
              <th scope="col">{t('packs.visit')}</th>
              <th scope="col">{t('participant.change.participant')}</th>
              <th scope="col">{t('packs.at')}</th>
              <th scope="col">{t('participant.by')}</th>
              {holds && <th scope="col">{t('packs.list.holds')}</th>}
            </tr>
          </thead>
          <tbody>
            {packs.slice(0, length).map((pack) => (
              <tr key={pack.code}>
                <th scope="row">{pack.code}</th>
                <td>
                  <Chip tone={pack.state === 'free' ? 'ok' : undefined}>
                    {t(`packs.state.${pack.state}`)}
                  </Chip>
                  <Why {...pack} />
                </td>
                <td>
                  <VisitOf {...pack} />
                </td>
                <td>
                  {pack.id !== undefined && (
                    <Link to={address('participant', study, pack.id)}>{pack.id}</Link>
                  )}
                </td>
                <td>{pack.dispensed_at !== undefined && <When at={pack.dispensed_at} utc={false} />}</td>
                <td>
                  <ByWhom {...pack} />
                </td>
                {holds && <td>{holds.get(pack.code)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {packs.length > length && (
        <p>
          <Button className="button" onPress={() => setLength(length + LENGTH)}>
            {t('packs.list.more')}
          </Button>
        </p>
      )}
    </>
  );
}

type Pack = Schemas['Accountability'][number];

/** What took its place, and why. */
export function Why({ replaced_by: by, cause }: Pack) {
  const { t } = useTranslation();
  const reason = cause && t(`participant.cause.${cause}`);
  const place = by !== undefined && t('packs.list.by', { code: by });
  return (
    <small>
      {place && ` ${place}`}
      {place && reason && ','}
      {reason && ` ${reason}`}
    </small>
  );
}

/** Somebody got it: without a visit, at the enrolment. */
export function VisitOf({ visit, state, id }: Pack) {
  const { t } = useTranslation();
  if (visit !== undefined) return visit;
  return id !== undefined && state !== 'void' && t('packs.enrolment');
}

export function ByWhom({ user, on_behalf_of: person }: Pack) {
  const { t } = useTranslation();
  if (user === undefined) return null;
  return person === undefined ? user : t('participant.onBehalf', { user, person });
}
