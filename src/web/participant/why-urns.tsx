/** Why this arm, in a study with urns: the urns, the lot between them, and the draw. */
import { scaleLinear } from '@visx/scale';
import { Bar } from '@visx/shape';
import { Trans, useTranslation } from 'react-i18next';
import { Chip } from '../parts/chip.tsx';
import { factorName } from '../parts/record.ts';
import { Scroll } from '../parts/scroll.tsx';
import styles from './participant.module.css';
import {
  colourOf,
  type Explanation,
  Fall,
  Line,
  nameOf,
  Swatch,
  sum,
  useNumbers,
  WIDE,
} from './why-parts.tsx';

type UrnExplanation = Extract<Explanation, { urns: unknown }>;

export function UrnsDrawn({ explanation }: { explanation: UrnExplanation }) {
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
