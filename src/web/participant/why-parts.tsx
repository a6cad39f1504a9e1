/** What explanations of several methods show: the number that was drawn, on the line of probabilities. */
import { scaleLinear } from '@visx/scale';
import { Bar } from '@visx/shape';
import { Trans, useTranslation } from 'react-i18next';
import { armColour } from '../../base/charts/series.ts';
import type { Schemas } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { factorName } from '../parts/record.ts';
import { Scroll } from '../parts/scroll.tsx';
import { useLanguage } from '../words/index.ts';
import styles from './participant.module.css';

export type Explanation = Schemas['Explanation'];
/** With a random number. */
export type DrawnExplanation = Extract<Explanation, { uniform: number }>;

/** The number that was drawn, and the arm that it falls on. */
export function Fall({ explanation }: { explanation: DrawnExplanation }) {
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

/** The drawings are this wide, in units that are stretched to the page. */
export const WIDE = 1000;
const HIGH = 40;

/** The probabilities of the slots side by side from 0 to 1, and where the number falls. */
export function Line({ explanation }: { explanation: DrawnExplanation }) {
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
function Slots({ explanation }: { explanation: DrawnExplanation }) {
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

export function Swatch({ colour }: { colour: string }) {
  return (
    <svg className={styles['swatch']} viewBox="0 0 1 1" aria-hidden="true">
      <Bar width={1} height={1} fill={colour} />
    </svg>
  );
}

/** The colour of the arm, the same in all its slots. */
export function colourOf(treatments: readonly string[], slot: number): string {
  const arms = [...new Set(treatments)];
  return armColour(arms.indexOf(treatments[slot] ?? ''));
}

export function nameOf({ factor, level }: { factor: string; level: string }): string {
  return `${factorName(factor)} = ${level}`;
}

/** The levels of a stratum; undefined for the whole study. */
export function stratumName(levels: readonly { factor: string; level: string }[]): string | undefined {
  return levels.length > 0 ? levels.map(nameOf).join(', ') : undefined;
}

export function useNumbers() {
  const { language } = useLanguage();
  const format = new Intl.NumberFormat(language, { minimumFractionDigits: 4, maximumFractionDigits: 4 });
  return { number: (value: number) => format.format(value) };
}

export function sum(balls: readonly number[]): number {
  return balls.reduce((all, one) => all + one, 0);
}

function startOf(cumulative: readonly number[], slot: number): number {
  return slot === 0 ? 0 : (cumulative[slot - 1] ?? 0);
}

/** The first slot whose cumulative probability is greater than the number. */
function drawnSlot({ treatments, cumulative, uniform }: DrawnExplanation) {
  const found = cumulative.findIndex((end) => end > uniform);
  const slot = found === -1 ? cumulative.length - 1 : found;
  return { slot, arm: treatments[slot] ?? '', from: startOf(cumulative, slot), to: cumulative[slot] ?? 1 };
}
