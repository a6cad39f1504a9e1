/** For whoever supplies packs: the stock, what became of each pack, and the accountability on paper and as a file. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type Answer, answer, api } from '../api/client.ts';
import { address, useFragment } from '../parts/fragment.ts';
import { Page } from '../parts/page.tsx';
import { useScope } from '../session/session.tsx';
import { StudyChips } from '../session/study-chips.tsx';
import { type Account, Accounted } from './accounted.tsx';
import { PrintView } from './print-view.tsx';
import { useReading } from './reading.tsx';
import { Stock } from './stock.tsx';

export function Packs() {
  const { t } = useTranslation();
  const { study } = useFragment();
  const maySupply = useScope('supply');
  if (study !== undefined && maySupply) return <PacksOf key={study} study={study} />;
  return (
    <Page title={t('common.nav.packs')}>
      {study === undefined ? (
        <>
          <p>{t('common.noStudy')}</p>
          <Link to={address('studies')}>{t('common.toStudies')}</Link>
        </>
      ) : (
        <p className="notice">{t('common.notPermitted')}</p>
      )}
    </Page>
  );
}

function PacksOf({ study }: { study: string }) {
  const { t } = useTranslation();
  const params = { query: { study } };
  const map = useReading(() => answer(api.GET('/codes', { params })));
  const account = useReading(async () =>
    byNumber(await answer<Account>(api.GET('/pack_accountability', { params }))),
  );
  const [isPrinting, setPrinting] = useState(false);
  if (isPrinting && account.read)
    return <PrintView study={study} account={account.read} onBack={() => setPrinting(false)} />;
  return (
    <Page
      title={t('common.nav.packs')}
      chips={<StudyChips study={study} />}
      actions={
        <Link className="button quiet-stop" to={address('manage', study, undefined, 'withdraw')}>
          {t('manage.withdraw')}
        </Link>
      }
    >
      <div className="grid">
        <Stock reading={map} />
        <Accounted
          study={study}
          reading={account}
          map={map.read?.results.codes}
          onPrint={() => setPrinting(true)}
        />
      </div>
    </Page>
  );
}

/** People look for one by its number; and the order of registration may be that of the treatments. */
function byNumber(answered: Answer<Account>): Answer<Account> {
  const { compare } = new Intl.Collator('en', { numeric: true });
  return { ...answered, results: answered.results.toSorted((a, b) => compare(a.code, b.code)) };
}
