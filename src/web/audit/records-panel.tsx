/** The records of a study exactly as they are stored. Seeing them is recorded, so they are loaded only on request. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { api, results, type Schemas } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import { ExactTime } from '../parts/when.tsx';
import { audit } from '../words/en/audit.ts';
import styles from './audit.module.css';

type StoredRecord = Schemas['Records'][number];

export function RecordsPanel({ study }: { study: string }) {
  const { t } = useTranslation();
  /** Newest first. */
  const [records, setRecords] = useState<readonly StoredRecord[]>([]);
  const oldest = records.at(-1)?.revision;
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => recordsBefore(study, oldest),
    onSuccess: (page) => setRecords((before) => [...before, ...page]),
  });
  return (
    <section>
      <p className="notice warn">{t('audit.records.about')}</p>
      <ProblemNotice error={error} />
      {records.length > 0 && (
        <ol className={`card ${styles['list']}`} aria-label={t('audit.tab.records')}>
          {records.map((record) => (
            <li key={record.revision} className={styles['entry']}>
              <RecordAsStored {...record} />
            </li>
          ))}
        </ol>
      )}
      {oldest !== 0 && (
        <div className={styles['pages']}>
          <Button className="button" isPending={isPending} onPress={() => mutate()}>
            {t(oldest === undefined ? 'audit.records.show' : 'audit.records.showOlder')}
          </Button>
        </div>
      )}
    </section>
  );
}

/** The service sends pages of this size. */
const PAGE_LENGTH = 250;

/** A page of records, newest first. @param before undefined: the newest page */
async function recordsBefore(study: string, before: number | undefined): Promise<StoredRecord[]> {
  // The number of records is no secret, and asking for it shows none of them.
  const end = before ?? (await results(api.GET('/checkpoint', { params: { query: { study } } }))).size;
  const from = Math.max(0, end - PAGE_LENGTH);
  const page = await results(api.GET('/records', { params: { query: { study, from } } }));
  return page.filter(({ revision }) => revision < end).toReversed();
}

function RecordAsStored({ revision, record, sealed, leaf }: StoredRecord) {
  const { t } = useTranslation();
  const { type, at, actor, data } = JSON.parse(record) as RecordHead;
  return (
    <>
      <ExactTime at={at} />
      <span>{actor.user}</span>
      <span>
        {isKnownType(type) ? t(`audit.recorded.${type}`) : type}
        {data.participantId !== undefined && <strong> {data.participantId}</strong>}{' '}
        <small>{t('audit.revision', { revision })}</small>
      </span>
      <details>
        <summary>{t('audit.records.raw')}</summary>
        <pre className={styles['raw']}>
          {JSON.stringify(JSON.parse(record), null, 2)}
          {`\n\n${t('audit.records.sealed')}\n`}
          {JSON.stringify(JSON.parse(sealed), null, 2)}
          {`\n\n${t('audit.records.leaf')}\n${leaf}`}
        </pre>
      </details>
    </>
  );
}

/** The members of every record that the page shows. */
interface RecordHead {
  readonly type: string;
  readonly at: string;
  readonly actor: { readonly user: string };
  readonly data: { readonly participantId?: string };
}

/** Whether there are words for this kind of record. */
function isKnownType(type: string): type is keyof typeof audit.recorded {
  return Object.hasOwn(audit.recorded, type);
}
