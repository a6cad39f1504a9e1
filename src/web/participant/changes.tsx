/** What can be done if something about a participant is wrong, for the scopes that may. */
import type { FunctionComponent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { address } from '../parts/place.ts';
import type { ParticipantRecord } from '../parts/record.ts';
import { type Scope, useSession } from '../session/session.tsx';
import { type ChangeProps, CorrectId, CorrectLevel, ReinstateForm, VoidForm } from './corrections.tsx';
import styles from './participant.module.css';
import { ReplacePack, ReportUnblinding } from './reports.tsx';

interface Change {
  readonly name: 'level' | 'id' | 'void' | 'reinstate' | 'pack' | 'unblinding';
  readonly scopes: readonly Scope[];
  readonly isFor: (record: ParticipantRecord) => boolean;
  readonly Form: FunctionComponent<ChangeProps>;
}

const everybody = () => true;
const isVoided = (record: ParticipantRecord) => record['urn.voided'] !== undefined;

const CHANGES: readonly Change[] = [
  { name: 'level', scopes: ['correct'], isFor: everybody, Form: CorrectLevel },
  { name: 'id', scopes: ['correct'], isFor: everybody, Form: CorrectId },
  { name: 'void', scopes: ['correct'], isFor: (record) => !isVoided(record), Form: VoidForm },
  { name: 'reinstate', scopes: ['correct'], isFor: isVoided, Form: ReinstateForm },
  {
    name: 'pack',
    scopes: ['randomize', 'supply'],
    isFor: (record) => record['urn.code'] !== undefined,
    Form: ReplacePack,
  },
  { name: 'unblinding', scopes: ['unblind', 'correct'], isFor: everybody, Form: ReportUnblinding },
];

/** The changes that this key may make to this participant. */
function useChanges(record: ParticipantRecord): readonly Change[] {
  const { scopes: own } = useSession();
  return CHANGES.filter(({ scopes, isFor }) => scopes.some((scope) => own.includes(scope)) && isFor(record));
}

export function Changes({ study, record }: Pick<ChangeProps, 'study' | 'record'>) {
  const { t } = useTranslation();
  const changes = useChanges(record);
  if (changes.length === 0) return null;
  return (
    <section className="card across no-print">
      <h2>{t('participant.change.title')}</h2>
      <p className="soft">{t('participant.change.hint')}</p>
      <div className={styles['changes']}>
        {changes.map(({ name }) => (
          <Link key={name} className="button" to={address('participant', study, record.id, name)}>
            {t(`participant.change.${name}`)}
          </Link>
        ))}
      </div>
    </section>
  );
}

/** The form of the change that the address names. */
export function ChangeForm({ name, ...props }: ChangeProps & { name: string }) {
  const { t } = useTranslation();
  // The form stays after the change has been recorded, when it may no longer be possible.
  const change = CHANGES.find((one) => one.name === name);
  const { scopes } = useSession();
  if (!change?.scopes.some((scope) => scopes.includes(scope)))
    return <p className="notice">{t('common.notPermitted')}</p>;
  const { Form } = change;
  return <Form {...props} />;
}
