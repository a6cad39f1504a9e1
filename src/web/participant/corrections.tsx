/** What turned out to be wrong after a randomization: forms for levels, the id, and who was randomized in error. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import { designQuery } from '../parts/design-query.ts';
import { Choice, Selection, TextLine } from '../parts/fields.tsx';
import { address } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { ProblemNotice, RefusalNotice } from '../parts/problem.tsx';
import { factorName, levelsOf, type ParticipantRecord } from '../parts/record.ts';
import { useDrawsFromCounts } from '../session/draws-from-counts.ts';
import { useSession } from '../session/session.tsx';
import { studiesQuery } from '../session/studies-query.ts';
import { StudyChips } from '../session/study-chips.tsx';
import type { Entry } from './queries.ts';

export interface ChangeProps {
  readonly study: string;
  readonly id: string;
  readonly record: ParticipantRecord;
  readonly entries: readonly Entry[];
}

/** What all forms about a participant have in common. */
export function useChange(study: string, id: string) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  return {
    chips: <StudyChips study={study} />,
    back: { to: address('participant', study, id), text: t('participant.change.back') },
    onDone: () => void queries.invalidateQueries({ queryKey: ['study', study] }),
  };
}

export function NoteField() {
  const { t } = useTranslation();
  return (
    <TextLine
      name="note"
      label={t('participant.change.note')}
      hint={t('participant.change.noteHint')}
      isLong
      maxLength={2000}
    />
  );
}

/** What to say of the counts where allocations depend on them. */
function effectOf<Key extends string>(drawsFromCounts: boolean, key: Key): Key | 'apart' {
  return drawsFromCounts ? key : 'apart';
}

const LEVEL_CAUSES = ['entry', 'source', 'definition', 'transfer', 'other'] as const;

export function CorrectLevel({ study, record }: ChangeProps) {
  const { t } = useTranslation();
  const { id } = record;
  const change = useChange(study, id);
  const { data, error } = useQuery(designQuery(study));
  const drawsFromCounts = useDrawsFromCounts(study);
  const levels = levelsOf(record);
  const [factor, setFactor] = useState(levels[0]?.[0] ?? '');
  if (!data) return error ? <ProblemNotice error={error} /> : <Loading />;
  const from = levels.find(([name]) => name === factor)?.[1] ?? '';
  const known = data.design.factors.find(({ name }) => name === factor)?.levels ?? [];
  return (
    <Act
      {...change}
      title={`${t('participant.change.level')}: ${id}`}
      bodyOf={(filled) => ({
        ...{ study, id, changes: [{ factor, from, to: filled('to') ?? '' }] },
        cause: filled('cause') as (typeof LEVEL_CAUSES)[number],
        note: filled('note') ?? '',
      })}
      send={(body, key) => answer(api.POST('/level_corrections', { ...idempotent(key), body }))}
      tell={({ changes, cause }, { counts }) =>
        changes.map(({ factor: name, from: was, to }) => (
          <Fragment key={name}>
            <p>{t('participant.effect.level', { factor: factorName(name), from: was, to })}</p>
            <p>
              {t('participant.effect.treatmentStays')}{' '}
              {cause === 'transfer'
                ? t('participant.effect.transfer')
                : t(
                    `participant.effect.${effectOf(drawsFromCounts, counts === 'moves' ? 'moves' : 'stays')}`,
                    { to },
                  )}
            </p>
          </Fragment>
        ))
      }
      confirm={t('participant.change.goLevel')}
      doneTitle={t('participant.change.doneLevel')}
    >
      <Selection
        name="factor"
        label={t('participant.change.factor')}
        options={levels.map(([name, level]) => [name, `${factorName(name)}: ${level}`])}
        defaultValue={factor}
        onChange={setFactor}
      />
      <Selection
        key={factor}
        name="to"
        label={t('participant.change.rightLevel', { factor: factorName(factor) })}
        options={known.filter(({ name }) => name !== from).map(({ name }) => [name, name])}
      />
      <Choice
        name="cause"
        label={t('participant.change.cause')}
        options={LEVEL_CAUSES.map((one) => [one, t(`participant.cause.${one}`)])}
      />
      <NoteField />
    </Act>
  );
}

const ID_CAUSES = ['entry', 'pattern', 'other'] as const;

export function CorrectId({ study, record: { id } }: ChangeProps) {
  const { t } = useTranslation();
  const change = useChange(study, id);
  return (
    <Act
      {...change}
      title={`${t('participant.change.id')}: ${id}`}
      bodyOf={(filled) => ({
        ...{ study, id, to: filled('to') ?? '' },
        cause: filled('cause') as (typeof ID_CAUSES)[number],
      })}
      send={(body, key) => answer(api.POST('/id_corrections', { ...idempotent(key), body }))}
      tell={({ to }) => <p>{t('participant.effect.id', { from: id, to })}</p>}
      confirm={t('participant.change.goId')}
      doneTitle={t('participant.change.doneId')}
    >
      <TextLine
        name="to"
        label={t('participant.change.rightId')}
        hint={t('participant.change.oldIdStays')}
        autoComplete="off"
      />
      <Choice
        name="cause"
        label={t('participant.change.cause')}
        options={ID_CAUSES.map((one) => [one, t(`participant.cause.${one}`)])}
      />
    </Act>
  );
}

const VOID_CAUSES = ['ineligible', 'duplicate', 'never-enrolled', 'entry', 'other'] as const;
type VoidCause = (typeof VOID_CAUSES)[number];
const ANALYSES = ['keep', 'exclude'] as const;

/** Whether the user of this session randomized a participant of a live study. The service knows a user by other spellings, too. */
function useIsOwn(study: string, entries: readonly Entry[]): boolean {
  const { user } = useSession();
  const { data: studies } = useQuery(studiesQuery);
  const isLive = studies?.some((one) => one.study === study && one.mode === 'live') ?? false;
  return isLive && entries.some((entry) => entry.type === 'ParticipantRandomized' && entry.user === user);
}

export function VoidForm({ study, record, entries }: ChangeProps) {
  const { id } = record;
  const { t } = useTranslation();
  const change = useChange(study, id);
  const [cause, setCause] = useState('');
  const isOwn = useIsOwn(study, entries);
  const drawsFromCounts = useDrawsFromCounts(study);
  // The cause `entry` is for allocations that were entered by hand.
  const isForced = record['urn.occurred_at'] !== undefined;
  const causes = VOID_CAUSES.filter((one) => isForced || one !== 'entry');
  return (
    <Act
      {...change}
      title={`${t('participant.change.void')}: ${id}`}
      bodyOf={(filled) => {
        const other = filled('duplicate_of');
        return {
          ...{ study, id, cause: filled('cause') as VoidCause },
          analysis: filled('analysis') as (typeof ANALYSES)[number],
          ...(other !== undefined && { duplicate_of: other }),
          note: filled('note') ?? '',
        };
      }}
      send={(body, key) => answer(api.POST('/voids', { ...idempotent(key), body }))}
      tell={(_, { counts }) => (
        <>
          <p>{t('participant.effect.void')}</p>
          <p>
            {t(
              `participant.effect.${effectOf(drawsFromCounts, counts === 'moves' ? 'voidMoves' : 'voidStays')}`,
            )}
          </p>
        </>
      )}
      confirm={t('participant.change.goVoid')}
      doneTitle={t('participant.change.doneVoid')}
    >
      {isOwn && <RefusalNotice word="own-allocation" />}
      <Choice
        name="cause"
        label={t('participant.change.cause')}
        options={causes.map((one) => [one, t(`participant.cause.${one}`)])}
        onChange={setCause}
      />
      {cause === 'duplicate' && (
        <TextLine
          name="duplicate_of"
          label={t('participant.change.duplicateOf')}
          hint={t('participant.change.duplicateHint')}
          autoComplete="off"
          isOptional
        />
      )}
      <Choice
        name="analysis"
        label={t('participant.change.analysis')}
        options={ANALYSES.map((one) => [one, t(`participant.analysis.${one}`)])}
      />
      <NoteField />
    </Act>
  );
}

export function ReinstateForm({ study, record: { id }, entries }: ChangeProps) {
  const { t } = useTranslation();
  const change = useChange(study, id);
  const isOwn = useIsOwn(study, entries);
  const drawsFromCounts = useDrawsFromCounts(study);
  return (
    <Act
      {...change}
      title={`${t('participant.change.reinstate')}: ${id}`}
      bodyOf={(filled) => ({ study, id, note: filled('note') ?? '' })}
      send={(body, key) => answer(api.POST('/reinstatements', { ...idempotent(key), body }))}
      tell={(_, { counts }) => (
        <>
          <p>{t('participant.effect.reinstate')}</p>
          <p>
            {t(
              `participant.effect.${effectOf(drawsFromCounts, counts === 'moves' ? 'reinstateMoves' : 'reinstateStays')}`,
            )}
          </p>
        </>
      )}
      confirm={t('participant.change.goReinstate')}
      doneTitle={t('participant.change.doneReinstate')}
    >
      {isOwn && <RefusalNotice word="own-allocation" />}
      <NoteField />
    </Act>
  );
}
