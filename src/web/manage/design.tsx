/** The design in force: factors with their levels, treatments, limits. */
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Chip } from '../parts/chip.tsx';
import type { StudyDesign } from '../parts/design-query.ts';
import { enrolmentQuery } from '../parts/enrolment-query.ts';
import { factorName } from '../parts/record.ts';
import { Scroll } from '../parts/scroll.tsx';
import styles from './manage.module.css';

export function Design({ study, inForce }: { study: string; inForce: StudyDesign }) {
  const { t } = useTranslation();
  const { limits, design, enrolled = 0, voided = 0, filled } = inForce;
  const { closed_treatments, stopped_treatments = [], visits = [] } = design;
  const total = limits.find(({ factor }) => factor === undefined);
  return (
    <>
      <div className="head">
        <h2>{t('manage.design')}</h2>
        <small>
          {design.amendment === 0
            ? t('manage.noAmendment')
            : t('manage.amendment', { count: design.amendment })}
        </small>
      </div>
      <dl className="terms">
        <dt>{t('manage.method')}</dt>
        <dd>
          {t(`manage.methods.${methodKey(design)}`, { by: design.by?.map(factorName).join(', ') ?? '' })}
        </dd>
        <dt>{t('manage.treatments')}</dt>
        <dd className={styles['arms']}>
          {design.treatments.map((arm) => (
            <Chip key={arm} tone={closed_treatments.includes(arm) ? 'warn' : undefined}>
              {arm}
              {closed_treatments.includes(arm) &&
                ` · ${t(stopped_treatments.includes(arm) ? 'manage.stopped' : 'manage.closedLevel')}`}
            </Chip>
          ))}
        </dd>
        {total && (
          <>
            <dt>{t('manage.total')}</dt>
            <dd>
              {total.enrolled !== undefined && `${total.enrolled} / `}
              {total.max}
            </dd>
          </>
        )}
        {design.target !== undefined && (
          <>
            <dt>{t('manage.target')}</dt>
            <dd>
              {filled !== undefined && `${filled} / `}
              {design.target}
            </dd>
          </>
        )}
        {visits.length > 0 && (
          <>
            <dt>{t('manage.visitsShown')}</dt>
            <dd>{visits.join(', ')}</dd>
          </>
        )}
      </dl>
      <Levels study={study} inForce={inForce} />
      {voided > 0 && <p className="soft">{t('manage.whoCounts', { enrolled, voided })}</p>}
    </>
  );
}

/** The word for the method. */
function methodKey({ method, by = [] }: StudyDesign['design']) {
  if (method === undefined) return 'urn';
  if (by.length > 0) return method;
  return method === 'blocks' ? 'centralBlocks' : method === 'list' ? 'centralList' : method;
}

/** Each level: whether it takes participants, how many it has, and its limit. */
function Levels({ study, inForce: { limits, design } }: { study: string; inForce: StudyDesign }) {
  const { t } = useTranslation();
  const filled = useFilled(study);
  return (
    <Scroll label={t('manage.design')}>
      <table>
        <thead>
          <tr>
            <th>{t('manage.factor')}</th>
            <th>{t('manage.level')}</th>
            <th>{t('manage.levelState')}</th>
            <th className="number">{t('manage.enrolled')}</th>
            <th className="number">{t('manage.limit')}</th>
          </tr>
        </thead>
        <tbody>
          {design.factors.flatMap(({ name: factor, levels, retired }) =>
            levels.map(({ name, closed }, i) => {
              const limit = limits.find((one) => one.factor === factor && one.level === name);
              const state = retired ? 'retired' : closed ? 'closedLevel' : 'takes';
              return (
                <tr key={`${factor}\n${name}`}>
                  <td>{i === 0 && factorName(factor)}</td>
                  <td>{name}</td>
                  <td>
                    <Chip tone={state === 'takes' ? 'ok' : 'warn'}>{t(`manage.${state}`)}</Chip>
                  </td>
                  <td className="number">{filled(factor, name)}</td>
                  <td className="number">{limit?.max}</td>
                </tr>
              );
            }),
          )}
        </tbody>
      </table>
    </Scroll>
  );
}

/** How many participants with a level fill a place now; undefined while that is not known, or not for the key to know. */
export function useFilled(study: string) {
  const { data } = useQuery(enrolmentQuery(study));
  return (factor: string, level: string) =>
    data?.levels.find((one) => one.factor === factor && one.level === level)?.filled;
}
