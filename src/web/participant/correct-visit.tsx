/** A pack was recorded for the wrong visit, or was never handed out; or it was theirs after all. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import { Choice } from '../parts/fields.tsx';
import { packsOf } from '../parts/record.ts';
import { NoteField, useChange } from './corrections.tsx';
import { packsNotTheirs } from './history.tsx';
import { PackField, type PackProps, VisitField, visitIn } from './pack-parts.tsx';

const CAUSES = ['entry', 'not-handed-out', 'other'] as const;

/** In place of a visit. No visit begins like this. */
const NEVER = '-';

export function CorrectVisit({ study, id, record, entries }: PackProps) {
  const { t } = useTranslation();
  const change = useChange(study, id);
  const [code, setCode] = useState('');
  // As they were when the form opened.
  const [packs] = useState(() => (record ? packsOf(record).filter(({ visit }) => visit !== undefined) : []));
  const [notTheirs] = useState(() => packsNotTheirs(entries));
  const isTheirs = !notTheirs.includes(code);
  return (
    <Act
      {...change}
      title={`${t('participant.change.visit')}: ${id}`}
      bodyOf={(filled) => {
        const to = visitIn(filled);
        return {
          ...{ study, id, code: filled('code') ?? '', to: to === NEVER ? null : to },
          ...{ cause: filled('cause') as (typeof CAUSES)[number], note: filled('note') ?? '' },
        };
      }}
      send={(body, key) => answer(api.POST('/dispensation_corrections', { ...idempotent(key), body }))}
      tell={({ code: pack, to }) =>
        to === null ? (
          <p>{t('packs.effect.taken', { id, code: pack })}</p>
        ) : (
          <p>{t('packs.effect.moved', { code: pack, to })}</p>
        )
      }
      confirm={t('participant.change.goLevel')}
      doneTitle={t('participant.change.doneLevel')}
    >
      <PackField
        label={t('packs.whichCorrected')}
        packs={packs}
        others={notTheirs.map((pack) => [pack, t('packs.notTheirs', { code: pack })])}
        onChange={setCode}
      />
      <VisitField
        key={String(isTheirs)}
        study={study}
        label={t('packs.rightVisit')}
        others={isTheirs ? [[NEVER, t('packs.never')]] : []}
        {...(record && { record })}
      />
      <Choice
        name="cause"
        label={t('participant.change.cause')}
        options={CAUSES.map((one) => [one, t(`participant.cause.${one}`)])}
      />
      <NoteField />
    </Act>
  );
}
