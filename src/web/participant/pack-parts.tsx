/** What the forms about packs have in common: which pack, which visit, and a number in large letters. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type FieldValues, type Option, Selection, TextLine } from '../parts/fields.tsx';
import type { HeldPack, ParticipantRecord } from '../parts/record.ts';
import { useScope } from '../session/session.tsx';
import styles from './participant.module.css';
import type { Entry } from './queries.ts';
import { unusedVisits, useVisitsInDesign } from './visits.ts';

export interface PackProps {
  readonly study: string;
  readonly id: string;
  /** Absent if the key may not read it: whoever supplies packs types what they know. */
  readonly record?: ParticipantRecord;
  readonly entries: readonly Entry[];
}

/** It is read across a room, and compared with what is printed on a box. */
export function PackNumber({ children }: { children: string }) {
  return <p className={styles['pack']}>{children}</p>;
}

interface PackFieldProps {
  readonly label: string;
  readonly packs: readonly HeldPack[];
  /** Further packs, and what is said of them. */
  readonly others?: readonly Option[];
  readonly onChange?: (code: string) => void;
}

/** Named `code`. It is typed if no packs are known. */
export function PackField({ label, packs, others = [], onChange }: PackFieldProps) {
  const { t } = useTranslation();
  const options = packs.map(({ visit, code }): Option => [code, `${visit ?? t('packs.enrolment')}: ${code}`]);
  if (options.length + others.length === 0)
    return <TextLine name="code" label={label} autoComplete="off" maxLength={64} />;
  return (
    <Selection
      name="code"
      label={label}
      options={[...options, ...others]}
      {...(onChange !== undefined && { onChange })}
    />
  );
}

/** In place of a visit. No visit begins like this. */
const OTHER = '*';

interface VisitFieldProps extends Pick<PackProps, 'study' | 'record'> {
  readonly label: string;
  /** What can be chosen besides a visit. */
  readonly others?: readonly Option[];
}

/** Named `visit`: one of the study without a pack; with the scope supply, any other. */
export function VisitField({ study, record, label, others = [] }: VisitFieldProps) {
  const { t } = useTranslation();
  const maySupply = useScope('supply');
  const [chosen, setChosen] = useState('');
  const unused = unusedVisits(useVisitsInDesign(study), record);
  const options = [
    ...unused.map((visit): Option => [visit, visit]),
    ...(maySupply ? [[OTHER, t('packs.otherVisit')] as const] : []),
    ...others,
  ];
  const isTyped = options.length === 1 && maySupply;
  return (
    <>
      {!isTyped && <Selection name="visit" label={label} options={options} onChange={setChosen} />}
      {(isTyped || chosen === OTHER) && (
        <TextLine
          name="other_visit"
          label={isTyped ? label : t('packs.otherVisitName')}
          hint={t('packs.otherVisitHint')}
          maxLength={20}
          autoComplete="off"
        />
      )}
    </>
  );
}

export function visitIn(filled: FieldValues): string {
  const visit = filled('visit');
  return (visit === undefined || visit === OTHER ? filled('other_visit') : visit) ?? '';
}
