/** The packs that a participant has, in a study where they get more than one. */
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { getsPacks } from '../../core/model/participants.ts';
import { address } from '../parts/fragment.ts';
import { type ParticipantRecord, packsOf } from '../parts/record.ts';
import { ExactTime } from '../parts/when.tsx';
import { useScope } from '../session/session.tsx';
import styles from './participant.module.css';
import { unusedVisits, useVisits } from './visits.ts';

/** Where there are no visits, the page is as it would be without them. */
export function usePacksShown(
  study: string,
  record: ParticipantRecord | undefined,
): 'asking' | 'shown' | 'none' {
  const isReader = useScope('read', 'blinded');
  const maySupply = useScope('supply');
  const { declared, isPending } = useVisits(study);
  if (isReader && !record) return 'none';
  if (maySupply || record?.['urn.packs'] !== undefined) return 'shown';
  if (isPending) return 'asking';
  return declared.length > 0 ? 'shown' : 'none';
}

interface Props {
  readonly study: string;
  readonly id: string;
  /** Absent if the key may not read it. */
  readonly record?: ParticipantRecord;
}

export function Packs({ study, id, record }: Props) {
  const { t } = useTranslation();
  const maySupply = useScope('supply');
  const mayDispense = useScope('randomize', 'supply') && getsPacks(record?.['urn.voided']);
  const { declared } = useVisits(study);
  const unused = unusedVisits(declared, record);
  return (
    <section className="card">
      <h2>{t('packs.title')}</h2>
      {record && <HeldPacks record={record} />}
      {mayDispense && !maySupply && declared.length > 0 && unused.length === 0 && (
        <p className="soft">{t('packs.allVisits')}</p>
      )}
      <div className={`${styles['changes']} no-print`}>
        {mayDispense && (maySupply || unused.length > 0) && (
          <Link className="button go" to={address('participant', study, id, 'dispense')}>
            {t('participant.change.dispense')}
          </Link>
        )}
        {/* With a record, they are among the changes. */}
        {!record &&
          (maySupply ? (['pack', 'visit'] as const) : (['pack'] as const)).map((name) => (
            <Link key={name} className="button" to={address('participant', study, id, name)}>
              {t(`participant.change.${name}`)}
            </Link>
          ))}
      </div>
    </section>
  );
}

function HeldPacks({ record }: { record: ParticipantRecord }) {
  const { t } = useTranslation();
  const packs = packsOf(record);
  if (packs.length === 0) return <p className="soft">{t('packs.none')}</p>;
  return (
    <dl className={`terms ${styles['held']}`}>
      {packs.map(({ visit, code, at }) => (
        <div key={code}>
          <dt>{visit ?? t('packs.enrolment')}</dt>
          <dd>
            <strong>{code}</strong>
            <small>
              <ExactTime at={at} />
            </small>
          </dd>
        </div>
      ))}
    </dl>
  );
}
