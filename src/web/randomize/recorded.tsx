/** What is recorded about a participant, as far as the reader may see it. */
import { useQuery } from '@tanstack/react-query';
import { Trans, useTranslation } from 'react-i18next';
import { factorName, levelsOf, type ParticipantRecord, randomizedAt } from '../parts/record.ts';
import { ExactTime } from '../parts/when.tsx';
import { studiesQuery } from '../session/studies-query.ts';
import styles from './page.module.css';

/** The arm; for those who do not see it, the pack; for those who see neither, that there is a record. */
export function Arm({ record }: { record: ParticipantRecord | undefined }) {
  const { t } = useTranslation();
  const { trt, 'urn.code': code } = record ?? {};
  const pack =
    code === undefined ? undefined : (
      <Trans
        i18nKey="randomize.pack"
        values={{ code }}
        // A number is read out in one piece.
        components={{ code: <span className={styles.code} /> }}
      />
    );
  const [first = t('randomize.recorded'), second] = [trt, pack].filter((text) => text !== undefined);
  return (
    <>
      <strong>{first}</strong>
      {second !== undefined && <span>{second}</span>}
    </>
  );
}

/** TEST or live, in words. */
export function useMode(study: string): string | undefined {
  const { t } = useTranslation();
  const { data: studies } = useQuery(studiesQuery);
  const mode = studies?.find((one) => one.study === study)?.mode;
  return mode === undefined ? undefined : t(`randomize.mode.${mode}`);
}

interface RecordedProps {
  readonly study: string;
  readonly record: ParticipantRecord;
  readonly acting?: string | undefined;
  /** Left out where it is shown already. */
  readonly isTimeShown?: boolean;
}

export function Recorded({ study, record, acting, isTimeShown = false }: RecordedProps) {
  const { t } = useTranslation();
  const mode = useMode(study);
  const { id, user } = record;
  return (
    <dl className="terms">
      <Term name={t('randomize.study')} value={study} />
      {mode !== undefined && <Term name={t('randomize.modeLabel')} value={mode} />}
      <Term name={t('randomize.id')} value={id} />
      {levelsOf(record).map(([factor, level]) => (
        <Term key={factor} name={factorName(factor)} value={level} />
      ))}
      {isTimeShown && (
        <>
          <dt>{t('randomize.at')}</dt>
          <dd>
            <ExactTime at={randomizedAt(record)} />
          </dd>
        </>
      )}
      <Term
        name={t('randomize.by')}
        value={acting === undefined ? user : t('randomize.onBehalf', { user, acting })}
      />
    </dl>
  );
}

export function Term({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
