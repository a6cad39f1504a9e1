/** Another pack for a participant, and the report that a treatment became known. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import { Choice, Selection, TextLine } from '../parts/fields.tsx';
import { instantOf, localNow } from '../parts/instant.ts';
import { packsOf } from '../parts/record.ts';
import { type ChangeProps, useChange } from './corrections.tsx';
import { PackField, PackNumber, type PackProps } from './pack-parts.tsx';
import { refusedPack } from './refused-pack.tsx';

const PACK_CAUSES = ['damaged', 'lost', 'expired', 'other'] as const;

export function ReplacePack({ study, id, record }: PackProps) {
  const { t } = useTranslation();
  const change = useChange(study, id);
  // The packs of when the form opened: afterwards the new one is among them.
  const [packs] = useState(() => (record ? packsOf(record) : []));
  const [only] = packs.length === 1 ? packs : [];
  return (
    <Act
      {...change}
      title={`${t('participant.change.pack')}: ${id}`}
      bodyOf={(filled) => ({
        ...{ study, id, code: only?.code ?? filled('code') ?? '' },
        cause: filled('cause') as (typeof PACK_CAUSES)[number],
      })}
      send={(body, key) => answer(api.POST('/code_replacements', { ...idempotent(key), body }))}
      tell={({ code }) => <p>{t('participant.effect.pack', { code })}</p>}
      refused={(problem) => refusedPack(problem)}
      confirm={t('participant.change.goPack')}
      isFinal
      doneTitle={t('participant.change.donePack')}
      done={(_, { results }) => <PackNumber>{(results as { by: string }).by}</PackNumber>}
    >
      {only ? (
        <p>
          {t('participant.pack')}: <strong>{only.code}</strong>
        </p>
      ) : (
        <PackField label={t('packs.whichReplaced')} packs={packs} />
      )}
      <Choice
        name="cause"
        label={t('participant.change.cause')}
        options={PACK_CAUSES.map((one) => [one, t(`participant.cause.${one}`)])}
      />
    </Act>
  );
}

const WAYS = ['envelope', 'label', 'clinical', 'disclosure', 'other'] as const;

export function ReportUnblinding({ study, record: { id }, entries }: ChangeProps) {
  const { t } = useTranslation();
  const change = useChange(study, id);
  const codeBreaks = entries.filter(({ type }) => type === 'AllocationRevealed');
  return (
    <Act
      {...change}
      title={`${t('participant.change.unblinding')}: ${id}`}
      bodyOf={(filled) => {
        const mistake = filled('revealed_at');
        return {
          ...{ study, id, how: filled('how') as (typeof WAYS)[number] },
          occurred_at: instantOf(filled('occurred_at') ?? ''),
          ...(filled('inadvertent') !== undefined && { inadvertent: true }),
          ...(mistake !== undefined && { revealed_at: Number(mistake) }),
          reason: filled('reason') ?? '',
        };
      }}
      send={(body, key) => answer(api.POST('/unblindings', { ...idempotent(key), body }))}
      tell={() => <p>{t('participant.effect.unblinding')}</p>}
      confirm={t('participant.change.goUnblinding')}
      isFinal
      doneTitle={t('participant.change.doneUnblinding')}
    >
      <Choice
        name="how"
        label={t('participant.change.how')}
        options={WAYS.map((one) => [one, t(`participant.how.${one}`)])}
      />
      <TextLine
        name="occurred_at"
        label={t('participant.change.occurredAt')}
        type="datetime-local"
        max={localNow()}
      />
      <label className="check">
        <input type="checkbox" name="inadvertent" />
        {t('participant.change.inadvertent')}
      </label>
      {codeBreaks.length > 0 && (
        <Selection
          name="revealed_at"
          label={t('participant.change.mistakeOf')}
          options={codeBreaks.map(({ revision }) => [
            String(revision),
            t('participant.change.codeBreakOf', { revision }),
          ])}
          isOptional
        />
      )}
      <TextLine name="reason" label={t('participant.break.reason')} isLong minLength={3} maxLength={2000} />
    </Act>
  );
}
