/** The accountability of all packs on paper, with columns that people fill in by hand. It names no treatment. */
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Page } from '../parts/page.tsx';
import { Scroll } from '../parts/scroll.tsx';
import { ExactTime } from '../parts/when.tsx';
import { StudyChips } from '../session/study-chips.tsx';
import type { Account } from './accounted.tsx';
import { ByWhom, VisitOf, Why } from './pack-table.tsx';
import styles from './packs.module.css';
import type { Reading } from './reading.tsx';

const BY_HAND = ['received', 'returned', 'destroyed', 'initials'] as const;

interface Props {
  readonly study: string;
  readonly account: Reading<Account>;
  readonly onBack: () => void;
}

export function PrintView({ study, account: { results: packs, revision, at }, onBack }: Props) {
  const { t } = useTranslation();
  return (
    <div className={styles.sheet}>
      <Page
        title={t('packs.sheet.title')}
        chips={<StudyChips study={study} />}
        actions={
          <>
            <Button className="button" onPress={onBack}>
              {t('packs.sheet.back')}
            </Button>
            <Button className="button go" onPress={() => window.print()}>
              {t('participant.break.print')}
            </Button>
          </>
        }
      >
        <p>
          {t('packs.sheet.about', { count: packs.length })} {t('packs.asOf', { revision })}{' '}
          <ExactTime at={at} />
        </p>
        <p className="soft">{t('packs.sheet.states')}</p>
        <Scroll label={t('packs.sheet.title')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('participant.pack')}</th>
                <th scope="col">{t('packs.visit')}</th>
                <th scope="col">{t('packs.list.state')}</th>
                <th scope="col">{t('participant.change.participant')}</th>
                <th scope="col">{t('packs.at')}</th>
                <th scope="col">{t('participant.by')}</th>
                {BY_HAND.map((one) => (
                  <th key={one} scope="col" className={styles.byHand}>
                    {t(`packs.sheet.${one}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {packs.map((pack) => (
                <tr key={pack.code}>
                  <th scope="row">{pack.code}</th>
                  <td>
                    <VisitOf {...pack} />
                  </td>
                  <td>
                    {t(`packs.state.${pack.state}`)}
                    <Why {...pack} />
                  </td>
                  <td>{pack.id}</td>
                  <td>{pack.dispensed_at !== undefined && <ExactTime at={pack.dispensed_at} />}</td>
                  <td>
                    <ByWhom {...pack} />
                  </td>
                  {BY_HAND.map((one) => (
                    <td key={one} className={styles.byHand} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Page>
    </div>
  );
}
