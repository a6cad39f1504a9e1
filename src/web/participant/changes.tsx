/** What can be done if something about a participant is wrong, and the forms of what is done, for the scopes that may. */
import type { FunctionComponent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { address } from '../parts/fragment.ts';
import { type ParticipantRecord, packsOf } from '../parts/record.ts';
import { type Scope, useSession } from '../session/session.tsx';
import { CorrectVisit } from './correct-visit.tsx';
import { type ChangeProps, CorrectId, CorrectLevel, ReinstateForm, VoidForm } from './corrections.tsx';
import { Dispense } from './dispense.tsx';
import { packsNotTheirs } from './history.tsx';
import type { PackProps } from './pack-parts.tsx';
import styles from './participant.module.css';
import type { Entry } from './queries.ts';
import { ReplacePack, ReportUnblinding } from './reports.tsx';

interface Change {
  readonly name: 'level' | 'id' | 'void' | 'reinstate' | 'dispense' | 'pack' | 'visit' | 'unblinding';
  readonly scopes: readonly Scope[];
  /** Whether it is offered here. */
  readonly isFor: (record: ParticipantRecord, entries: readonly Entry[]) => boolean;
  readonly Form: FunctionComponent<ChangeProps>;
  /** For whoever supplies packs and may not read the record. */
  readonly Unread?: FunctionComponent<PackProps>;
}

const everybody = () => true;
const isVoided = (record: ParticipantRecord) => record['urn.voided'] !== undefined;

const CHANGES: readonly Change[] = [
  { name: 'level', scopes: ['correct'], isFor: everybody, Form: CorrectLevel },
  { name: 'id', scopes: ['correct'], isFor: everybody, Form: CorrectId },
  { name: 'void', scopes: ['correct'], isFor: (record) => !isVoided(record), Form: VoidForm },
  { name: 'reinstate', scopes: ['correct'], isFor: isVoided, Form: ReinstateForm },
  {
    ...{ name: 'dispense', scopes: ['randomize', 'supply'], Form: Dispense, Unread: Dispense },
    // It is offered beside the packs.
    isFor: () => false,
  },
  {
    ...{ name: 'pack', scopes: ['randomize', 'supply'], Form: ReplacePack, Unread: ReplacePack },
    isFor: (record) => packsOf(record).length > 0,
  },
  {
    ...{ name: 'visit', scopes: ['correct', 'supply'], Form: CorrectVisit, Unread: CorrectVisit },
    isFor: (record, entries) => record['urn.packs'] !== undefined || packsNotTheirs(entries).length > 0,
  },
  { name: 'unblinding', scopes: ['unblind', 'correct'], isFor: everybody, Form: ReportUnblinding },
];

export function Changes({ study, record, entries }: Omit<ChangeProps, 'id'>) {
  const { t } = useTranslation();
  const { scopes: own } = useSession();
  const changes = CHANGES.filter(
    ({ scopes, isFor }) => scopes.some((scope) => own.includes(scope)) && isFor(record, entries),
  );
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

/** The form that the address names. */
export function ChangeForm({ name, record, ...props }: PackProps & { name: string }) {
  const { t } = useTranslation();
  // The form stays after the change has been recorded, when it may no longer be possible.
  const change = CHANGES.find((one) => one.name === name);
  const { scopes } = useSession();
  if (change?.scopes.some((scope) => scopes.includes(scope))) {
    const { Form, Unread } = change;
    if (record) return <Form {...props} record={record} />;
    if (Unread) return <Unread {...props} />;
  }
  return <p className="notice">{t('common.notPermitted')}</p>;
}
