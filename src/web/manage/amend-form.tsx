/** The common amendments. All others are made with the studies file. */
import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { paths } from '../../../dist/api-types/openapi.d.ts';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import type { StudyDesign } from '../parts/design-query.ts';
import { type FieldValues, Selection, TextLine } from '../parts/fields.tsx';
import { factorName } from '../parts/record.ts';
import { useFilled } from './design.tsx';
import styles from './manage.module.css';
import { ApprovalFields, approvalsOf, ReasonField, useStudyAct } from './parts.tsx';

export const AMENDMENTS = [
  'add-level',
  'close-level',
  'reopen-level',
  'close-arm',
  'reopen-arm',
  'stop-arm',
  'limits',
  'visits',
] as const;
export type AmendmentName = (typeof AMENDMENTS)[number];

/** Whether there is anything in the design that it could change. */
export function isPossible(name: AmendmentName, { design }: StudyDesign): boolean {
  const { treatments, closed_treatments, stopped_treatments = [], factors } = design;
  const levels = factors.flatMap((factor) => (factor.retired ? [] : factor.levels));
  switch (name) {
    case 'reopen-level':
      return levels.some(({ closed }) => closed);
    case 'close-arm':
      // Two stay open.
      return treatments.length - closed_treatments.length > 2;
    case 'reopen-arm':
      return closed_treatments.length > 0;
    case 'stop-arm':
      return closed_treatments.length > stopped_treatments.length;
    default:
      return true;
  }
}

type Body = NonNullable<paths['/amendments']['post']['requestBody']>['content']['application/json'];
type Change = Body['changes'][number];

interface AmendProps {
  readonly study: string;
  readonly name: AmendmentName;
  readonly isLive: boolean;
  readonly inForce: StudyDesign;
}

export function AmendForm({ study, name, isLive, inForce }: AmendProps) {
  const { t } = useTranslation();
  const act = useStudyAct(study);
  // Fixed when the form opens: if somebody else is faster, this amendment is refused.
  const [amendment] = useState(inForce.design.amendment + 1);
  const changeText = useChangeText(study, inForce);
  return (
    <Act
      {...act}
      title={`${t(`manage.amend.${name}`)}: ${study}`}
      bodyOf={(filled): Body => ({
        ...{ study, amendment, changes: changesOf(name, filled, inForce) },
        reason: filled('reason') ?? '',
        ...approvalsOf(filled),
      })}
      send={(body, key) => answer(api.POST('/amendments', { ...idempotent(key), body }))}
      tell={({ changes }, { counts }) => (
        <>
          {changes.map(changeText)}
          <p>{t(`manage.effect.${historyKey(inForce, counts)}`)}</p>
          <p>{t('manage.effect.amendment', { number: amendment })}</p>
        </>
      )}
      confirm={t('manage.goAmend')}
      isFinal={name === 'add-level'}
      doneTitle={t('manage.done.amend')}
    >
      <OwnFields name={name} inForce={inForce} />
      <ReasonField />
      <ApprovalFields isOptional={!isLive} />
    </Act>
  );
}

/** What becomes of the counts. */
function historyKey({ design: { method } }: StudyDesign, counts: string | undefined) {
  if (method === undefined) return counts === 'zero' ? 'beginAnew' : 'keep';
  if (counts !== 'zero') return 'methodKeeps';
  return method === 'blocks' ? 'blocksAnew' : method === 'list' ? 'listAnew' : 'methodAnew';
}

function reopenedKey(method: StudyDesign['design']['method']) {
  if (method === undefined) return 'armReopened';
  return method === 'list' ? 'armReopenedInList' : 'armReopenedAnew';
}

/** Whether the method keeps arms in balance. */
function balances(method: StudyDesign['design']['method']): boolean {
  return method === undefined || method === 'blocks' || method === 'minimization';
}

function OwnFields({ name, inForce }: Pick<AmendProps, 'name' | 'inForce'>) {
  const { t } = useTranslation();
  const { factors, visits = [] } = inForce.design;
  const present = factors.filter(({ retired }) => !retired);
  switch (name) {
    case 'add-level':
      return (
        <>
          <Selection
            name="factor"
            label={t('manage.factor')}
            options={present.map((factor) => [factor.name, factorName(factor.name)])}
          />
          <TextLine name="level" label={t('manage.newLevel')} autoComplete="off" />
        </>
      );
    case 'close-level':
    case 'reopen-level':
      return (
        <Selection
          name="which"
          label={t('manage.whichLevel')}
          options={present.flatMap((factor) =>
            factor.levels
              .filter(({ closed }) => closed === (name === 'reopen-level'))
              .map((level) => [
                placeOf(factor.name, level.name),
                `${factorName(factor.name)}: ${level.name}`,
              ]),
          )}
        />
      );
    case 'close-arm':
    case 'reopen-arm':
    case 'stop-arm':
      return (
        <Selection
          name="which"
          label={t('manage.whichArm')}
          options={armsFor(name, inForce).map((arm) => [arm, arm])}
        />
      );
    case 'visits':
      return (
        <TextLine
          name="visits"
          label={t('manage.visits')}
          hint={t('manage.visitsHint')}
          defaultValue={visits.join('\n')}
          isLong
          isOptional
        />
      );
    case 'limits':
      return <LimitFields inForce={inForce} />;
  }
}

function armsFor(name: AmendmentName, { design }: StudyDesign): string[] {
  const { treatments, closed_treatments: closed, stopped_treatments: stopped = [] } = design;
  if (name === 'close-arm') return treatments.filter((arm) => !closed.includes(arm));
  return treatments.filter((arm) => closed.includes(arm) && !(name === 'stop-arm' && stopped.includes(arm)));
}

function LimitFields({ inForce: { limits, design } }: { inForce: StudyDesign }) {
  const { t } = useTranslation();
  const maxOf = (factor?: string, level?: string) =>
    limits.find((one) => one.factor === factor && one.level === level)?.max;
  const field = (name: string, label: string, value: number | undefined, min: number) => (
    <TextLine
      key={name}
      name={name}
      label={label}
      type="number"
      min={min}
      {...(value !== undefined && { defaultValue: String(value) })}
      isOptional
    />
  );
  return (
    <>
      <p className="soft">{t('manage.emptyNoLimit')}</p>
      <div className={styles['fields']}>
        {field('target', t('manage.targetField'), design.target, 0)}
        {field('total', t('manage.totalMax'), maxOf(), 1)}
        {design.factors.flatMap(({ name: factor, levels }) =>
          levels.map(({ name: level }) =>
            field(
              placeOf(factor, level),
              t('manage.levelMax', { factor: factorName(factor), level }),
              maxOf(factor, level),
              1,
            ),
          ),
        )}
      </div>
    </>
  );
}

/** A level of a factor as one value of a form. */
const placeOf = (factor: string, level: string) => JSON.stringify([factor, level]);
const levelAt = (place: string | undefined) => {
  const [factor = '', level = ''] = JSON.parse(place ?? '[]') as string[];
  return { factor, level };
};

function changesOf(name: AmendmentName, filled: FieldValues, inForce: StudyDesign): Change[] {
  const which = filled('which');
  switch (name) {
    case 'add-level':
      return [{ kind: 'level-added', factor: filled('factor') ?? '', level: filled('level') ?? '' }];
    case 'close-level':
      return [{ kind: 'level-closed', ...levelAt(which) }];
    case 'reopen-level':
      return [{ kind: 'level-reopened', ...levelAt(which) }];
    case 'close-arm':
      return [{ kind: 'arm-closed', treatment: which ?? '' }];
    case 'reopen-arm':
      return [{ kind: 'arm-reopened', treatment: which ?? '' }];
    case 'stop-arm':
      return [{ kind: 'arm-stopped', treatment: which ?? '' }];
    case 'visits':
      return [{ kind: 'visits', value: linesIn(filled('visits')) }];
    case 'limits':
      return limitChanges(filled, inForce);
  }
}

function linesIn(text = ''): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '');
}

/** Only what differs from what is in force. */
function limitChanges(filled: FieldValues, { limits, design }: StudyDesign): Change[] {
  const number = (name: string) => (filled(name) === undefined ? undefined : Number(filled(name)));
  const total = number('total');
  const target = number('target');
  const levels = design.factors.flatMap(({ name: factor, levels: all }) =>
    all.flatMap(({ name: level }) => {
      const max = number(placeOf(factor, level));
      return max === undefined ? [] : [{ factor, level, max }];
    }),
  );
  const wanted = [...(total === undefined ? [] : [{ max: total }]), ...levels];
  const before = limits.map(({ enrolled: _, ...limit }) => limit);
  const value = { ...(total !== undefined && { total }), ...(levels.length > 0 && { levels }) };
  return [
    ...(same(wanted, before)
      ? []
      : [wanted.length === 0 ? { kind: 'limits' as const } : { kind: 'limits' as const, value }]),
    ...(target === design.target
      ? []
      : [target === undefined ? { kind: 'target' as const } : { kind: 'target' as const, value: target }]),
  ];
}

type Limit = { factor?: string; level?: string; max: number };

function same(one: readonly Limit[], other: readonly Limit[]): boolean {
  const text = (limits: readonly Limit[]) =>
    limits
      .map(({ factor, level, max }) => JSON.stringify([factor, level, max]))
      .toSorted()
      .join();
  return text(one) === text(other);
}

/** What a change means, with the numbers that this key may know. */
function useChangeText(study: string, { filled: all, design: { method, by = [] } }: StudyDesign) {
  const { t } = useTranslation();
  const enrolledWith = useFilled(study);
  return (change: Change) => {
    switch (change.kind) {
      case 'level-added':
        return (
          <p key={change.kind}>
            {t(
              method === 'list' && by.includes(change.factor)
                ? 'manage.effect.levelAddedToList'
                : 'manage.effect.levelAdded',
              { factor: factorName(change.factor), level: change.level },
            )}
          </p>
        );
      case 'level-closed': {
        const { factor, level } = change;
        return (
          <p key={change.kind}>
            {t('manage.effect.levelClosed', { level, count: enrolledWith(factor, level) ?? 0 })}
          </p>
        );
      }
      case 'level-reopened':
        return <p key={change.kind}>{t('manage.effect.levelReopened', { level: change.level })}</p>;
      case 'arm-closed':
        return (
          <p key={change.kind}>
            {t('manage.effect.armClosed', { arm: change.treatment })}
            {balances(method) && ` ${t('manage.effect.othersBalanced')}`}
          </p>
        );
      case 'arm-reopened':
        return (
          <p key={change.kind}>{t(`manage.effect.${reopenedKey(method)}`, { arm: change.treatment })}</p>
        );
      case 'arm-stopped':
        return <p key={change.kind}>{t('manage.effect.armStopped', { arm: change.treatment })}</p>;
      case 'visits':
        return (
          <p key={change.kind}>
            {change.value.length > 0
              ? t('manage.effect.visits', { visits: change.value.join(', ') })
              : t('manage.effect.noVisits')}
          </p>
        );
      case 'limits': {
        const { total, levels = [] } = change.value ?? {};
        return (
          <ul key={change.kind}>
            <li>{totalText(t, total, all)}</li>
            {levels.map(({ factor, level, max }) => (
              <li key={placeOf(factor, level)}>
                {t('manage.effect.levelMax', {
                  ...{ factor: factorName(factor), level, max },
                  enrolled: enrolledWith(factor, level) ?? 0,
                })}
              </li>
            ))}
          </ul>
        );
      }
      case 'target':
        return (
          <p key={change.kind}>
            {change.value === undefined
              ? t('manage.effect.noTarget')
              : t('manage.effect.target', { target: change.value })}
          </p>
        );
      default:
        throw new Error(`no form makes the change ${change.kind}`);
    }
  };
}

function totalText(t: TFunction, max: number | undefined, enrolled: number | undefined): string {
  if (enrolled === undefined)
    return max === undefined
      ? t('manage.effect.noTotalUnknown')
      : t('manage.effect.totalUnknown', { count: max });
  return max === undefined
    ? t('manage.effect.noTotal', { count: enrolled })
    : t('manage.effect.total', { count: max, enrolled });
}
