/** Why a participant got this arm, drawn: the urns, the lot, and the number on the line of probabilities. */
import { scaleLinear } from '@visx/scale';
import { Bar } from '@visx/shape';
import { useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Trans, useTranslation } from 'react-i18next';
import { armColour } from '../../base/charts/colours.ts';
import { api, results, type Schemas } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { factorName } from '../parts/record.ts';
import { Scroll } from '../parts/scroll.tsx';
import { useLanguage } from '../words/index.ts';
import styles from './participant.module.css';

type Explanation = Schemas['Explanation'];
type UrnExplanation = Extract<Explanation, { urns: unknown }>;
type PickExplanation = Exclude<Explanation, UrnExplanation>;

/** Fetched only on demand, and never again by itself, because each reading is recorded as a disclosure. */
export function Why({ study, id }: { study: string; id: string }) {
  const { t } = useTranslation();
  const [explanation, setExplanation] = useState<Explanation>();
  const [error, setError] = useState<Error>();
  const [isPending, setPending] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const show = async () => {
    setPending(true);
    setError(undefined);
    try {
      setExplanation(await results(api.GET('/explanation', { params: { query: { study, id } } })));
      // The button that was pressed is gone.
      heading.current?.focus();
    } catch (problem) {
      setError(problem as Error);
    }
    setPending(false);
  };
  return (
    <>
      <h2 ref={heading} tabIndex={-1}>
        {t('participant.why.title')}
      </h2>
      <ProblemNotice error={error} />
      {explanation === undefined ? (
        <>
          <p>{t('participant.why.discloses')}</p>
          <Button className="button" isPending={isPending} onPress={() => void show()}>
            {t('participant.why.show')}
          </Button>
        </>
      ) : (
        <ExplainedDraw explanation={explanation} />
      )}
    </>
  );
}

function ExplainedDraw({ explanation }: { explanation: Explanation }) {
  const { t } = useTranslation();
  const { agrees, differences, code } = explanation;
  return (
    <>
      {!agrees && <Differences of={differences} />}
      {'urns' in explanation ? <UrnsDrawn explanation={explanation} /> : <Picked explanation={explanation} />}
      {code !== undefined && <p>{t('participant.why.pack', { code })}</p>}
      {agrees && <p className={`soft ${styles['after']}`}>{t('participant.why.agrees')}</p>}
    </>
  );
}

/** The number that was drawn, and the arm that it falls on. */
function Fall({ explanation }: { explanation: Explanation }) {
  const { number } = useNumbers();
  const { arm, from, to } = drawnSlot(explanation);
  return (
    <Trans
      i18nKey="participant.why.drawn"
      values={{ number: number(explanation.uniform), arm, from: number(from), to: number(to) }}
      components={{ b: <strong /> }}
    />
  );
}

/** By another method than the urn. */
function Picked({ explanation }: { explanation: PickExplanation }) {
  const { t } = useTranslation();
  const { language } = useLanguage();
  const { block, minimization, treatments, weights } = explanation;
  return (
    <>
      <p>
        {block && <BlockText block={block} left={leftText(treatments, weights)} />}
        {minimization &&
          t('participant.why.minimization', {
            p: minimization.p.toLocaleString(language),
            count: minimization.best,
          })}
        {!block && !minimization && t('participant.why.complete')} <Fall explanation={explanation} />
      </p>
      <h3 className={styles['heading'] ?? ''}>{t('participant.why.line')}</h3>
      <Line explanation={explanation} />
      {minimization && (
        <>
          <h3 className={styles['heading'] ?? ''}>{t('participant.why.counts')}</h3>
          <Scores treatments={explanation.treatments} minimization={minimization} />
        </>
      )}
    </>
  );
}

interface BlockTextProps {
  readonly block: NonNullable<PickExplanation['block']>;
  /** The places of each arm. */
  readonly left: string;
}

function BlockText({ block, left }: BlockTextProps) {
  const { t } = useTranslation();
  const { stratum, number, size, sizes } = block;
  const where = stratum.length > 0 ? stratum.map(nameOf).join(', ') : t('participant.why.wholeStudy');
  return (
    <>
      {t('participant.why.block', { number, where, count: size })}{' '}
      {sizes.length > 1 && t('participant.why.sizes', { sizes: sizes.join(', ') })}{' '}
      {t('participant.why.left', { left })}
    </>
  );
}

/** Places by arm, whose slots may be several. */
function leftText(treatments: readonly string[], places: readonly number[]): string {
  const of = (arm: string) => sum(places.filter((_, i) => treatments[i] === arm));
  return [...new Set(treatments)].map((arm) => `${arm} ${of(arm)}`).join(', ');
}

interface ScoresProps {
  readonly treatments: readonly string[];
  readonly minimization: NonNullable<PickExplanation['minimization']>;
}

/** How many had each of the participant's levels, by slot, and the score that follows. */
function Scores({ treatments, minimization: { levels, scores, measure } }: ScoresProps) {
  const { t } = useTranslation();
  const least = Math.min(...scores);
  const weighs = levels.some(({ weight }) => weight > 1);
  return (
    <Scroll label={t('participant.why.counts')}>
      <table className={styles['rows']}>
        <thead>
          <tr>
            <td />
            {treatments.map((arm, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an arm can have several slots.
              <th key={i} className="number">
                <Swatch colour={colourOf(treatments, i)} />
                {arm}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {levels.map((level) => (
            <tr key={level.factor}>
              <th scope="row">
                {nameOf(level)}
                {weighs && <small className="soft"> · {t('participant.why.weight', level)}</small>}
              </th>
              {level.counts.map((count, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: in the order of the slots.
                <td key={i} className="number">
                  {count}
                </td>
              ))}
            </tr>
          ))}
          <tr>
            <th scope="row">{t('participant.why.score', { measure })}</th>
            {scores.map((score, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: in the order of the slots.
              <td key={i} className="number">
                {score === least ? <strong>{score}</strong> : score}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </Scroll>
  );
}

function UrnsDrawn({ explanation }: { explanation: UrnExplanation }) {
  const { t } = useTranslation();
  const { urns, candidates, lot, earlier_participants } = explanation;
  const urn = urns.find(({ selected }) => selected);
  const chosen = urn ? nameOf(urn) : factorName(explanation.selected_factor);
  const bold = { b: <strong /> };
  return (
    <>
      <p>
        {lot === undefined ? (
          <Trans
            i18nKey="participant.why.one"
            values={{ urn: chosen, count: urns.length }}
            components={bold}
          />
        ) : (
          <Trans
            i18nKey="participant.why.several"
            values={{
              candidates: candidates.map(factorName).join(', '),
              count: urns.length,
              lot: lot.result + 1,
              below: lot.below,
              urn: chosen,
            }}
            components={bold}
          />
        )}{' '}
        <Fall explanation={explanation} /> {t('participant.why.counted', { count: earlier_participants })}
        {explanation.missed_by_rounding.length > 0 &&
          ` ${t('participant.why.rounding', { factors: explanation.missed_by_rounding.map(factorName).join(', ') })}`}
      </p>
      <h3 className={styles['heading'] ?? ''}>{t('participant.why.line')}</h3>
      <Line explanation={explanation} />
      <h3 className={styles['heading'] ?? ''}>{t('participant.why.urns')}</h3>
      <Urns explanation={explanation} />
    </>
  );
}

function Differences({ of }: { of: Explanation['differences'] }) {
  const { t } = useTranslation();
  return (
    <div className="notice danger" role="alert">
      <strong>{t('participant.why.differs')}</strong>
      <ul>
        {of.map((difference) => (
          <li key={difference.field}>{t('participant.why.difference', difference)}</li>
        ))}
      </ul>
    </div>
  );
}

/** The drawings are this wide, in units that are stretched to the page. */
const WIDE = 1000;
const HIGH = 40;

/** The probabilities of the slots side by side from 0 to 1, and where the number falls. */
function Line({ explanation }: { explanation: Explanation }) {
  const { t } = useTranslation();
  const { number } = useNumbers();
  const { treatments, probabilities, cumulative, uniform } = explanation;
  const { arm: drawn, from, to } = drawnSlot(explanation);
  const x = scaleLinear<number>({ domain: [0, 1], range: [0, WIDE] });
  const alt = { number: number(uniform), arm: drawn, from: number(from), to: number(to) };
  return (
    <>
      <svg
        className={styles['line']}
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t('participant.why.lineAlt', alt)}
      >
        {probabilities.map((probability, i) => (
          <Bar
            // biome-ignore lint/suspicious/noArrayIndexKey: a slot has no other name.
            key={i}
            x={x(startOf(cumulative, i)) + 1}
            y={0}
            width={Math.max(0, x(probability) - 2)}
            height={HIGH}
            fill={colourOf(treatments, i)}
          />
        ))}
      </svg>
      <div className={styles['number']} aria-hidden="true">
        <span className={styles['pointer']} style={{ left: `${uniform * 100}%` }} />
        <strong style={{ left: `clamp(2rem, ${uniform * 100}%, 100% - 2rem)` }}>{number(uniform)}</strong>
      </div>
      <Slots explanation={explanation} />
    </>
  );
}

/** The same in numbers. */
function Slots({ explanation }: { explanation: Explanation }) {
  const { t } = useTranslation();
  const { number } = useNumbers();
  const { treatments, probabilities, cumulative } = explanation;
  const { slot } = drawnSlot(explanation);
  return (
    <Scroll label={t('participant.why.line')}>
      <table className={styles['rows']}>
        <thead>
          <tr>
            <th>{t('participant.why.arm')}</th>
            <th className="number">{t('participant.why.probability')}</th>
            <th className="number">{t('participant.why.from')}</th>
            <th className="number">{t('participant.why.to')}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {treatments.map((arm, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an arm can have several slots.
            <tr key={i} className={i === slot ? styles['drawn'] : undefined}>
              <td>
                <Swatch colour={colourOf(treatments, i)} />
                {arm}
              </td>
              <td className="number">{number(probabilities[i] ?? 0)}</td>
              <td className="number">{number(startOf(cumulative, i))}</td>
              <td className="number">{number(cumulative[i] ?? 1)}</td>
              <td>{i === slot && <Chip tone="ok">{t('participant.why.drawnArm')}</Chip>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Urns({ explanation: { urns, treatments, D } }: { explanation: UrnExplanation }) {
  const { t } = useTranslation();
  const { number } = useNumbers();
  const fullest = Math.max(...urns.map(({ balls }) => sum(balls)));
  return (
    <Scroll label={t('participant.why.urns')}>
      <table className={styles['rows']}>
        <thead>
          <tr>
            <th>{t('participant.why.urn')}</th>
            {treatments.map((arm, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an arm can have several slots.
              <th key={i} className="number">
                <Swatch colour={colourOf(treatments, i)} />
                {arm}
              </th>
            ))}
            <th className="hide-narrow">{t('participant.why.balls')}</th>
            <th className="number">{t('participant.why.imbalance', { measure: D })}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {urns.map((urn) => (
            <tr key={urn.factor} className={urn.selected ? styles['drawn'] : undefined}>
              <th scope="row">{nameOf(urn)}</th>
              {urn.balls.map((balls, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: in the order of the slots.
                <td key={i} className="number">
                  {balls}
                </td>
              ))}
              <td className="hide-narrow">
                <Balls urn={urn} treatments={treatments} fullest={fullest} />
              </td>
              <td className="number">{number(urn.imbalance)}</td>
              <td>
                {urn.selected && <Chip tone="ok">{t('participant.why.chosen')}</Chip>}
                {urn.candidate && !urn.selected && <Chip>{t('participant.why.candidate')}</Chip>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

interface BallsProps {
  readonly urn: UrnExplanation['urns'][number];
  readonly treatments: readonly string[];
  /** The number of balls in the urn that has most. */
  readonly fullest: number;
}

/** The balls of an urn side by side. */
function Balls({ urn, treatments, fullest }: BallsProps) {
  const { t } = useTranslation();
  const x = scaleLinear<number>({ domain: [0, fullest], range: [0, WIDE] });
  return (
    <svg
      className={styles['bar']}
      viewBox={`0 0 ${WIDE} 16`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t('participant.why.ballsAlt', {
        urn: nameOf(urn),
        balls: urn.balls.join(', '),
      })}
    >
      {urn.balls.map((balls, i) => (
        <Bar
          // biome-ignore lint/suspicious/noArrayIndexKey: in the order of the slots.
          key={i}
          x={x(sum(urn.balls.slice(0, i)))}
          width={Math.max(0, x(balls) - 2)}
          height={16}
          fill={colourOf(treatments, i)}
        />
      ))}
    </svg>
  );
}

function sum(balls: readonly number[]): number {
  return balls.reduce((all, one) => all + one, 0);
}

function Swatch({ colour }: { colour: string }) {
  return (
    <svg className={styles['swatch']} viewBox="0 0 1 1" aria-hidden="true">
      <Bar width={1} height={1} fill={colour} />
    </svg>
  );
}

/** The colour of the arm, the same in all its slots. */
function colourOf(treatments: readonly string[], slot: number): string {
  const arms = [...new Set(treatments)];
  return armColour(arms.indexOf(treatments[slot] ?? ''));
}

function nameOf({ factor, level }: { factor: string; level: string }): string {
  return `${factorName(factor)} = ${level}`;
}

function startOf(cumulative: readonly number[], slot: number): number {
  return slot === 0 ? 0 : (cumulative[slot - 1] ?? 0);
}

/** The first slot whose cumulative probability is greater than the number. */
function drawnSlot({ treatments, cumulative, uniform }: Explanation) {
  const found = cumulative.findIndex((end) => end > uniform);
  const slot = found === -1 ? cumulative.length - 1 : found;
  return { slot, arm: treatments[slot] ?? '', from: startOf(cumulative, slot), to: cumulative[slot] ?? 1 };
}

function useNumbers() {
  const { language } = useLanguage();
  const format = new Intl.NumberFormat(language, { minimumFractionDigits: 4, maximumFractionDigits: 4 });
  return { number: (value: number) => format.format(value) };
}
