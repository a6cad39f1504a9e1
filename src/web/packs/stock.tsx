/** How many packs are free, by treatment and level. It tells what packs hold, so it is shown to those who ask. */
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { factorName } from '../parts/record.ts';
import { Scroll } from '../parts/scroll.tsx';
import { ExactTime } from '../parts/when.tsx';
import styles from './packs.module.css';
import { AskToRead, type useReading } from './reading.tsx';

type Codes = Schemas['Codes'];

export function Stock({ reading }: { reading: ReturnType<typeof useReading<Codes>> }) {
  const { t } = useTranslation();
  const { read, heading } = reading;
  return (
    <section className="card">
      <h2 ref={heading} tabIndex={-1}>
        {t('packs.stock.title')}
      </h2>
      {read && <Rows stock={read.results.stock} />}
      {read && (
        <p className="soft">
          {t('packs.asOf', { revision: read.revision })} <ExactTime at={read.at} />
        </p>
      )}
      <AskToRead reading={reading} button={t(read ? 'packs.again' : 'packs.stock.show')}>
        <p className={read ? 'soft' : 'notice warn'}>{t('packs.stock.discloses')}</p>
      </AskToRead>
    </section>
  );
}

function Rows({ stock }: Pick<Codes, 'stock'>) {
  const { t } = useTranslation();
  if (stock.length === 0) return <p>{t('packs.noneRegistered')}</p>;
  const hasLevels = stock.some(({ where }) => where !== undefined);
  return (
    <>
      <Scroll label={t('packs.stock.title')}>
        <table className={styles.stock}>
          <thead>
            <tr>
              <th scope="col">{t('participant.treatment')}</th>
              {hasLevels && <th scope="col">{t('packs.stock.for')}</th>}
              <th scope="col" className="number">
                {t('packs.stock.free')}
              </th>
              <th scope="col">
                <span className="hidden">{t('packs.stock.low')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {stock.map(({ trt, where, free, low }) => (
              <tr key={`${trt}\n${where?.factor}\n${where?.level}`}>
                <th scope="row">{trt}</th>
                {hasLevels && (
                  <td>
                    {where ? `${factorName(where.factor)}: ${where.level}` : t('packs.stock.everybody')}
                  </td>
                )}
                <td className="number">{free}</td>
                <td>{low && <Chip tone="warn">{t('packs.stock.low')}</Chip>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {stock.some(({ low }) => low) && <p className="notice warn">{t('packs.stock.lowMeans')}</p>}
    </>
  );
}
