/** Pauses, resumes, closes and reopens a study. */
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import { Choice } from '../parts/fields.tsx';
import { ApprovalFields, approvalsOf, ReasonField, useStudyAct } from './parts.tsx';

/** Which of them have a cause or approvals. */
export const STATE_ACTIONS = {
  pause: { hasCause: false, isApproved: false },
  resume: { hasCause: false, isApproved: false },
  close: { hasCause: true, isApproved: true },
  reopen: { hasCause: false, isApproved: true },
} as const;
export type StateAction = keyof typeof STATE_ACTIONS;

/** What is possible in a state. */
export const ACTIONS_IN: Readonly<Record<string, readonly StateAction[]>> = {
  open: ['pause', 'close'],
  paused: ['resume', 'close'],
  closed: ['reopen'],
};

const CLOSING = ['target', 'sponsor', 'safety', 'regulator', 'end', 'other'] as const;

interface StateFormProps {
  readonly study: string;
  readonly action: StateAction;
  readonly isLive: boolean;
}

export function StateForm({ study, action, isLive }: StateFormProps) {
  const { t } = useTranslation();
  const act = useStudyAct(study);
  const { hasCause, isApproved } = STATE_ACTIONS[action];
  return (
    <Act
      {...act}
      title={`${t(`manage.action.${action}`)}: ${study}`}
      bodyOf={(filled) => {
        const common = { study, reason: filled('reason') ?? '' };
        if (action === 'close')
          return {
            ...{ action, ...common, cause: filled('cause') as (typeof CLOSING)[number] },
            ...approvalsOf(filled),
          };
        return action === 'reopen' ? { action, ...common, ...approvalsOf(filled) } : { action, ...common };
      }}
      send={(body, key) => answer(api.POST('/study_state', { ...idempotent(key), body }))}
      tell={() => <p>{t(`manage.effect.${action}`)}</p>}
      confirm={t(`manage.action.${action}`)}
      isFinal={action === 'close'}
      doneTitle={t(`manage.done.${action}`)}
    >
      {hasCause && (
        <Choice
          name="cause"
          label={t('manage.cause')}
          options={CLOSING.map((one) => [one, t(`manage.closing.${one}`)])}
        />
      )}
      <ReasonField />
      {isApproved && <ApprovalFields isOptional={action === 'close' || !isLive} />}
    </Act>
  );
}
