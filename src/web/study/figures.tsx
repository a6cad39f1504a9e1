/**
 * The charts of a study: its enrolment, its balance, and how many participants there are of each level. They are loaded after
 * the rest of the page.
 */
import { type ReactNode, useState, useSyncExternalStore } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Bar } from '../../base/charts/bars.tsx';
import { DifferenceChart } from '../../base/charts/difference-chart.tsx';
import { EnrolmentChart } from '../../base/charts/enrolment-chart.tsx';
import {
  armColour,
  COLOURS,
  type Counts,
  type DifferencePoint,
  differences,
  largestDifference,
} from '../../base/charts/series.ts';
import type { Schemas } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import { factorName } from '../parts/record.ts';
import { Scroll } from '../parts/scroll.tsx';
import { dayText, localeOf } from '../parts/when.tsx';
import { useProgressText } from '../session/progress.tsx';
import { useLanguage } from '../words/index.ts';
import style from './page.module.css';
import type { Enrolment, StudyArm } from './queries.ts';
import { type FactorCounts, useArms, useEnrolment, useFactors } from './use-enrolment.ts';
import { useExpected } from './use-expected.ts';

/** What stands beside the list, and the table of the first factor for those who see no arm. */
export function Figures({ summary }: { summary: Schemas['Studies'][number] }) {
  const { study } = summary;
  const { data: enrolment, error } = useEnrolment(study);
  const arms = useArms(study);
  const [firstFactor] = useFactors(study).filter(isWorthShowing);
  return (
    <div className={`grid ${style.figures}`}>
      <ProblemNotice error={enrolment ? null : error} />
      {enrolment ? <EnrolmentCard enrolment={enrolment} summary={summary} /> : !error && <ChartSpace />}
      {enrolment?.treatments &&
        (arms ? <BalanceCard study={study} enrolment={enrolment} arms={arms} /> : <ChartSpace />)}
      {enrolment && !enrolment.treatments && firstFactor && (
        <LevelCard {...firstFactor} arms={undefined} voided={enrolment.voided} />
      )}
      {!enrolment && !error && <ChartSpace />}
    </div>
  );
}

/** What the page has room for below the list. */
export function LevelTables({ study }: { study: string }) {
  const { data: enrolment } = useEnrolment(study);
  const arms = useArms(study);
  const factors = useFactors(study).filter(isWorthShowing);
  if (!enrolment || (enrolment.treatments && !arms)) return null;
  const shown = enrolment.treatments ? factors : factors.slice(1);
  return (
    <div className={`grid ${arms ? '' : style.figures}`}>
      {shown.map((factor) => (
        <LevelCard key={factor.factor} {...factor} arms={arms} voided={enrolment.voided} />
      ))}
    </div>
  );
}

/** For those who see the balance and not the arms' names: auditors who read no list. */
export function Balance({ study }: { study: string }) {
  const { t } = useTranslation();
  const { course } = useExpected(study);
  const last = course?.points.at(-1)?.difference;
  return (
    <div className={style.alone}>
      <Figure
        title={t('study.balance')}
        finding={last !== undefined && t('study.differenceNow', { difference: last })}
      >
        <BalanceOverTime study={study} points={[]} share={1} enrolled={0} />
      </Figure>
    </div>
  );
}

/** If everybody has the same level, there is nothing to show. */
function isWorthShowing({ levels }: FactorCounts): boolean {
  return levels.length > 1;
}

function EnrolmentCard({
  enrolment,
  summary: { state, since },
}: {
  enrolment: Enrolment;
  summary: Schemas['Studies'][number];
}) {
  const { t } = useTranslation();
  const { language } = useLanguage();
  const isNarrow = useNarrow();
  const { points, goal } = enrolment;
  const finding = useProgressText()(enrolment);
  const day = (at: string) => dayText(at, language);
  const [first, last] = [points[0], points.at(-1)];
  const full =
    first && last
      ? t('study.enrolmentSince', { finding, first: day(first.at), last: day(last.at) })
      : finding;
  return (
    <Figure title={t('study.enrolment')} finding={full}>
      <EnrolmentChart
        {...(isNarrow ? NARROW : WIDE)}
        points={points.map(({ at, filled }) => ({ at, enrolled: filled }))}
        target={goal?.places}
        targetLabel={goal && t(`study.goal.${goal.kind}`, { places: goal.places })}
        until={state === 'closed' && since !== undefined ? since : new Date().toISOString()}
        alternative={full}
        language={localeOf(language)}
      />
    </Figure>
  );
}

interface FigureProps {
  readonly title: string;
  readonly finding: ReactNode;
  readonly children: ReactNode;
}

function Figure({ title, finding, children }: FigureProps) {
  return (
    <section className="card">
      <h2>{title}</h2>
      <p className="soft">{finding}</p>
      {children}
    </section>
  );
}

/** On a narrow screen the chart itself is smaller, so that its labels are not. */
const WIDE = { width: 580, height: 230 } as const;
const NARROW = { width: 330, height: 200 } as const;

/** As in style/parts.css. */
const narrowScreen = window.matchMedia('(max-width: 760px)');

/** Whether the screen is narrow, for what cannot be said in a style sheet. */
function useNarrow(): boolean {
  return useSyncExternalStore(subscribeToNarrow, () => narrowScreen.matches);
}

function subscribeToNarrow(changed: () => void): () => void {
  narrowScreen.addEventListener('change', changed);
  return () => narrowScreen.removeEventListener('change', changed);
}

interface BalanceCardProps {
  readonly study: string;
  readonly enrolment: Enrolment;
  readonly arms: readonly StudyArm[];
}

function BalanceCard({ study, enrolment, arms }: BalanceCardProps) {
  const { t } = useTranslation();
  const { treatments = {}, points, enrolled } = enrolment;
  const open = arms.filter(({ isClosed }) => !isClosed);
  const difference = largestDifference(treatments, open);
  const byShare = ({ name, share }: StudyArm) => (treatments[name] ?? 0) / share;
  const ranked = open.toSorted((one, other) => byShare(other) - byShare(one));
  const [most, fewest] = [ranked[0], ranked.at(-1)];
  return (
    <Figure
      title={t('study.balance')}
      finding={
        <>
          {difference === 0 || !most || !fewest
            ? t('study.balanced')
            : t('study.balanceFinding', { difference, most: most.name, fewest: fewest.name })}{' '}
          {open.some(({ share }) => share !== 1) && t('study.perShare')}{' '}
          {enrolment.voided > 0 && t('study.withVoided')}
        </>
      }
    >
      <Legend arms={arms} counts={treatments} />
      <BalanceOverTime
        study={study}
        points={differences(points, open)}
        share={open.reduce((sum, { share }) => sum + share, 0) / open.length}
        enrolled={enrolled}
      />
    </Figure>
  );
}

/** The arms in their colours. */
function Legend({ arms, counts }: { arms: readonly StudyArm[]; counts: Counts }) {
  return (
    <ul className={`plain ${style.legend}`}>
      {arms.map(({ name, place }) => (
        <li key={name}>
          <Swatch colour={armColour(place)} /> {name} <strong className="number">{counts[name] ?? 0}</strong>
        </li>
      ))}
    </ul>
  );
}

function Swatch({ colour }: { colour: string }) {
  return (
    <svg className={style.swatch} viewBox="0 0 12 12" width={12} height={12} aria-hidden>
      <rect width={12} height={12} rx={3} fill={colour} />
    </svg>
  );
}

interface BalanceOverTimeProps {
  readonly study: string;
  /** Shown until the service has worked out what was to be expected. */
  readonly points: readonly DifferencePoint[];
  /** How many participants an arm with the share 1 gets, of as many participants as there are arms. */
  readonly share: number;
  readonly enrolled: number;
}

/** The line and its band come from the same numbers, as the urns count them. */
function BalanceOverTime({ study, points, share, enrolled }: BalanceOverTimeProps) {
  const { t } = useTranslation();
  const { language } = useLanguage();
  const isNarrow = useNarrow();
  const { course, hasNone, isWorkedOut } = useExpected(study);
  const line =
    course?.points.map((one) => ({ ...one, difference: perShare(one.difference, share) })) ?? points;
  const band = course?.band.map((one) => ({
    ...one,
    low: perShare(one.low, share),
    high: perShare(one.high, share),
  }));
  const last = line.at(-1);
  const now = band?.at(-1);
  const alternative = t('study.balanceAlternative', {
    difference: last?.difference ?? 0,
    highest: Math.max(...line.map(({ difference }) => difference)),
  });
  return (
    <>
      {last && (
        <DifferenceChart
          {...(isNarrow ? NARROW : WIDE)}
          height={(isNarrow ? NARROW : WIDE).height - 30}
          points={line}
          band={band}
          alternative={now ? `${alternative} ${t('study.expectedAlternative', { ...now })}` : alternative}
          language={localeOf(language)}
        />
      )}
      <p className="soft">
        {t('study.byEnrolled')}{' '}
        {course && last && enrolled > last.enrolled && t('study.expectedUntil', { enrolled: last.enrolled })}
      </p>
      {course && <p className="soft">{t('study.expected', { percentile: course.percentile })}</p>}
      {hasNone && <p className="soft">{t('study.expectedOfList')}</p>}
      {isWorkedOut && (
        <p className="soft" role="status">
          {t('study.expectedSoon')}
        </p>
      )}
    </>
  );
}

/** A tenth of a participant is precise enough, as in the differences that the page works out itself. */
function perShare(range: number, share: number): number {
  return Math.round((range / share) * 10) / 10;
}

/** More levels than this are shown on demand. */
const FEW_LEVELS = 12;

interface LevelCardProps extends FactorCounts {
  /** How many in the list are voided. */
  readonly voided: number;
  readonly arms: readonly StudyArm[] | undefined;
}

function LevelCard({ factor, levels, arms, voided }: LevelCardProps) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const most = Math.max(...levels.map(({ enrolled }) => enrolled));
  const shown = isWhole ? levels : levels.slice(0, FEW_LEVELS);
  const title = t('study.byFactor', { factor: factorName(factor) });
  return (
    <section className="card">
      <h2>{title}</h2>
      <Scroll label={title}>
        <table className={style.levels} aria-label={title}>
          <thead>
            <tr>
              <th scope="col">{t('study.level')}</th>
              {arms?.map(({ name, place }) => (
                <th key={name} scope="col" className="number">
                  <Swatch colour={armColour(place)} /> {name}
                </th>
              ))}
              <td className={arms ? 'hide-narrow' : undefined} />
              <th scope="col" className="number">
                {t('study.all')}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ level, enrolled, treatments = {} }) => (
              <tr key={level}>
                <th scope="row">{level}</th>
                {arms?.map(({ name }) => (
                  <td key={name} className="number">
                    {treatments[name] ?? 0}
                  </td>
                ))}
                <td className={`${style.bar} ${arms ? 'hide-narrow' : ''}`}>
                  <Bar most={most} parts={barParts(enrolled, treatments, arms)} />
                </td>
                <td className="number">{enrolled}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {voided > 0 && <p className="soft">{t('study.withVoided')}</p>}
      {levels.length > FEW_LEVELS && (
        <Button className="link" onPress={() => setWhole(!isWhole)}>
          {isWhole ? t('study.showFewer') : t('study.showAll', { count: levels.length })}
        </Button>
      )}
    </section>
  );
}

function barParts(enrolled: number, treatments: Counts, arms: readonly StudyArm[] | undefined) {
  if (!arms) return [{ count: enrolled, colour: COLOURS.data }];
  return arms.map(({ name, place }) => ({ count: treatments[name] ?? 0, colour: armColour(place) }));
}

/** Keeps the space of a chart. */
function ChartSpace() {
  return <div className={`card ${style.waiting}`} aria-busy />;
}
