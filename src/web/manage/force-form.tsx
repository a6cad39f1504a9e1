/** Enters an allocation that was made outside the service. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import type { StudyDesign } from '../parts/design-query.ts';
import { Choice, type FieldValues, Selection, TextLine } from '../parts/fields.tsx';
import { instantOf, localNow } from '../parts/instant.ts';
import { factorName } from '../parts/record.ts';
import { useDrawsFromCounts } from '../session/draws-from-counts.ts';
import { useStudyAct } from './parts.tsx';

const CAUSES = ['outage', 'elsewhere', 'protocol', 'other'] as const;

export function ForceForm({ study, design }: { study: string; design: StudyDesign['design'] }) {
  const { t } = useTranslation();
  const act = useStudyAct(study);
  const factors = design.factors.filter(({ retired }) => !retired);
  const drawsFromCounts = useDrawsFromCounts(study);
  const [hasPack, setHasPack] = useState(false);
  return (
    <Act
      {...act}
      title={`${t('manage.force')}: ${study}`}
      bodyOf={(filled) => bodyOf(filled, study, factors)}
      send={(body, key) => answer(api.POST('/forced_allocations', { ...idempotent(key), body }))}
      tell={({ id, treatment }, { counts }) => (
        <>
          <p>{t('manage.effect.force', { id, treatment })}</p>
          <p>
            {t(
              `manage.effect.${drawsFromCounts ? (counts === 'moves' ? 'forceMoves' : 'forceStays') : 'forceApart'}`,
            )}
          </p>
        </>
      )}
      confirm={t('manage.goForce')}
      isFinal
      doneTitle={t('manage.done.force')}
    >
      <p className="soft">{t('manage.forceHint')}</p>
      <TextLine name="id" label={t('manage.id')} autoComplete="off" maxLength={128} />
      {factors.map(({ name, levels }) => (
        <Selection
          key={name}
          name={`f_${name}`}
          label={factorName(name)}
          options={levels.filter(({ closed }) => !closed).map((level) => [level.name, level.name])}
        />
      ))}
      <Selection
        name="treatment"
        label={t('manage.treatment')}
        options={design.treatments.map((arm) => [arm, arm])}
      />
      <TextLine name="occurred_at" label={t('manage.occurredAt')} type="datetime-local" max={localNow()} />
      <Choice
        name="cause"
        label={t('manage.cause')}
        options={CAUSES.map((one) => [one, t(`participant.cause.${one}`)])}
      />
      <Choice
        name="pack"
        label={t('manage.packGiven')}
        options={[
          ['one', t('manage.packOne')],
          ['none', t('manage.packNone')],
        ]}
        onChange={(given) => setHasPack(given === 'one')}
      />
      {hasPack && <TextLine name="code" label={t('manage.pack')} autoComplete="off" maxLength={64} />}
      <TextLine
        name="replaces"
        label={t('manage.replaces')}
        hint={t('manage.replacesHint')}
        type="number"
        min={0}
        isOptional
      />
      <TextLine name="note" label={t('manage.note')} hint={t('manage.noteHint')} isLong maxLength={2000} />
    </Act>
  );
}

function bodyOf(filled: FieldValues, study: string, factors: StudyDesign['design']['factors']) {
  const replaces = filled('replaces');
  return {
    ...{ study, id: filled('id') ?? '', treatment: filled('treatment') ?? '' },
    levels: Object.fromEntries(factors.map(({ name }) => [name, filled(`f_${name}`) ?? ''])),
    occurred_at: instantOf(filled('occurred_at') ?? ''),
    cause: filled('cause') as (typeof CAUSES)[number],
    // None is said, too: in a study with packs, silence is refused.
    code: filled('code') ?? null,
    ...(replaces !== undefined && { replaces: Number(replaces) }),
    note: filled('note') ?? '',
  };
}
