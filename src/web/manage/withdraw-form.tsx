/** Withdraws packs that nobody has. */
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import { TextLine } from '../parts/fields.tsx';
import { address } from '../parts/place.ts';
import { useStudyAct } from './parts.tsx';

export function WithdrawForm({ study }: { study: string }) {
  const { t } = useTranslation();
  const act = useStudyAct(study);
  return (
    <Act
      {...act}
      back={{ to: address('packs', study), text: t('packs.back') }}
      title={`${t('manage.withdraw')}: ${study}`}
      bodyOf={(filled) => ({
        study,
        codes: (filled('codes') ?? '').split(/\s+/).filter((code) => code !== ''),
        reason: filled('reason') ?? '',
      })}
      send={(body, key) => answer(api.POST('/code_withdrawals', { ...idempotent(key), body }))}
      tell={({ codes }) => (
        <>
          <p>{t('manage.effect.withdraw', { count: codes.length })}</p>
          <p>{t('manage.effect.withdrawSeen')}</p>
        </>
      )}
      confirm={t('manage.goWithdraw')}
      isFinal
      doneTitle={t('manage.done.withdraw')}
    >
      <TextLine name="codes" label={t('manage.codes')} hint={t('manage.codesHint')} isLong />
      <TextLine
        name="reason"
        label={t('manage.reason')}
        hint={t('manage.noteHint')}
        isLong
        minLength={3}
        maxLength={2000}
      />
    </Act>
  );
}
