/** Why this arm, by another method than the urn: one slot was drawn by weights. */
import { useTranslation } from 'react-i18next';
import { Scroll } from '../parts/scroll.tsx';
import { useLanguage } from '../words/index.ts';
import styles from './participant.module.css';
import {
  colourOf,
  type DrawnExplanation,
  Fall,
  Line,
  nameOf,
  Swatch,
  stratumName,
  sum,
} from './why-parts.tsx';

type PickExplanation = Exclude<DrawnExplanation, { urns: unknown }>;

export function Picked({ explanation }: { explanation: PickExplanation }) {
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
  const where = stratumName(stratum) ?? t('participant.why.wholeStudy');
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
