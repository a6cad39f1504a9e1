/** What an auditor looks at: who did what, the records themselves, and what proves that nobody changed them. */
import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components/Tabs';
import { useTranslation } from 'react-i18next';
import { useFragment } from '../parts/fragment.ts';
import { Page } from '../parts/page.tsx';
import { useSession } from '../session/session.tsx';
import styles from './audit.module.css';
import { BundlePanel } from './bundle-panel.tsx';
import { CheckpointPanel } from './checkpoint-panel.tsx';
import { OperationsPanel } from './operations-panel.tsx';
import { RecordsPanel } from './records-panel.tsx';
import { VerificationPanel } from './verification-panel.tsx';

export function Audit() {
  const { t } = useTranslation();
  const { study } = useFragment();
  const { studies, limits } = useSession();
  if (study === undefined) return <Page title={t('common.noSuchPage')}>{null}</Page>;
  const isLimited = limits.length > 0;
  const panels = {
    ...(!isLimited && {
      operations: <OperationsPanel study={study} />,
      records: <RecordsPanel study={study} />,
    }),
    checkpoint: <CheckpointPanel study={study} />,
    ...(!isLimited && { verification: <VerificationPanel study={study} /> }),
    ...(!isLimited && studies === null && { bundle: <BundlePanel study={study} /> }),
  };
  return (
    <Page title={t('audit.title', { study })}>
      <Tabs key={study}>
        <TabList className={styles['tabs'] ?? ''} aria-label={t('audit.sections')}>
          {namesOf(panels).map((name) => (
            <Tab key={name} id={name} className={styles['tab'] ?? ''}>
              {t(`audit.tab.${name}`)}
            </Tab>
          ))}
        </TabList>
        {Object.entries<ReactNode>(panels).map(([name, panel]) => (
          // What was asked for is kept while another section is open.
          <TabPanel key={name} id={name} className={styles['panel'] ?? ''} shouldForceMount>
            {panel}
          </TabPanel>
        ))}
      </Tabs>
    </Page>
  );
}

function namesOf<T extends object>(panels: T): (keyof T)[] {
  return Object.keys(panels) as (keyof T)[];
}
