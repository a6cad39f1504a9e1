/** What the forms about a study have in common. */
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { type FieldValues, TextLine } from '../parts/fields.tsx';
import { address } from '../parts/fragment.ts';
import { StudyChips } from '../session/study-chips.tsx';
import styles from './manage.module.css';

export function useStudyAct(study: string) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  return {
    chips: <StudyChips study={study} />,
    back: { to: address('manage', study), text: t('manage.back') },
    onDone: () => void queries.invalidateQueries(),
  };
}

export function ReasonField() {
  const { t } = useTranslation();
  return (
    <TextLine
      name="reason"
      label={t('manage.reason')}
      hint={t('manage.reasonHint')}
      isLong
      maxLength={2000}
    />
  );
}

/** Who decided it outside the system. */
export function ApprovalFields({ isOptional }: { isOptional: boolean }) {
  const { t } = useTranslation();
  const common = { isOptional, maxLength: 128, autoComplete: 'off' };
  return (
    <fieldset className={styles['group']}>
      <legend>{t('manage.approval')}</legend>
      <p className="soft">{t('manage.approvalHint')}</p>
      <div className={styles['fields']}>
        <TextLine name="approval_name" label={t('manage.approvalName')} {...common} />
        <TextLine name="approval_role" label={t('manage.approvalRole')} {...common} />
        <TextLine name="approval_on" label={t('manage.approvalOn')} type="date" isOptional={isOptional} />
        <TextLine name="approval_reference" label={t('manage.approvalReference')} {...common} isOptional />
      </div>
    </fieldset>
  );
}

/** Absent if none of it was filled in. If only some of it was, the service says what is missing. */
export function approvalsOf(filled: FieldValues) {
  const [name, role, on, reference] = ['name', 'role', 'on', 'reference'].map((part) =>
    filled(`approval_${part}`),
  );
  if ([name, role, on, reference].every((part) => part === undefined)) return {};
  const approval = { name: name ?? '', role: role ?? '', on: on ?? '' };
  return { approvals: [{ ...approval, ...(reference !== undefined && { reference }) }] };
}
