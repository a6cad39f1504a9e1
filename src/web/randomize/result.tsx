/** The third step: what the participant receives, large, and the confirmation to keep. */

import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { randomizedAt } from '../parts/record.ts';
import { ExactTime } from '../parts/when.tsx';
import styles from './page.module.css';
import { QrCode } from './qr-code.tsx';
import { Arm, Recorded, Term } from './recorded.tsx';
import type { Outcome } from './requests.ts';

export function Result({ outcome, onNext }: { outcome: Outcome; onNext: () => void }) {
  const { t } = useTranslation();
  const { draft, record, revision, receipt, isRepeated, acting } = outcome;
  const { study } = draft;
  const id = record?.id ?? draft.id;
  return (
    <>
      {isRepeated && (
        <p className="notice" role="status">
          {t('common.act.repeated')}
        </p>
      )}
      <div className={`card ${styles.result}`}>
        <p>
          {t((record?.trt ?? record?.['urn.code']) ? 'randomize.receives' : 'randomize.isIn', { id, study })}
        </p>
        <p className={styles.arm}>
          <Arm record={record} />
        </p>
        <p className="soft">
          {record && (
            <>
              {t('randomize.recordedAt')} <ExactTime at={randomizedAt(record)} />
              {', '}
            </>
          )}
          {t('randomize.revision')} {revision}
        </p>
        <div className={`choices ${styles.centred}`}>
          <Button className="button" onPress={() => window.print()}>
            {t('randomize.print')}
          </Button>
          <Button className="button" onPress={() => save(receipt, receiptName(study, revision))}>
            {t('randomize.save')}
          </Button>
          <Button className="button go" onPress={onNext}>
            {t('randomize.next')}
          </Button>
        </div>
      </div>
      <div className="card">
        {record ? (
          <Recorded study={study} record={record} acting={acting} />
        ) : (
          <dl className="terms">
            <Term name={t('randomize.study')} value={study} />
            <Term name={t('randomize.id')} value={id} />
          </dl>
        )}
      </div>
      <Receipt receipt={receipt} />
    </>
  );
}

function Receipt({ receipt }: Pick<Outcome, 'receipt'>) {
  const { t } = useTranslation();
  return (
    <div className={`card ${styles.receipt}`}>
      <QrCode content={receipt} label={t('randomize.qr')} />
      <div>
        <h2>{t('randomize.receipt')}</h2>
        <p>{t('randomize.receiptMeans')}</p>
        <pre className={styles.note}>{new TextDecoder().decode(receipt)}</pre>
      </div>
    </div>
  );
}

/** It names the study and no participant: it stays in a folder of downloads. */
function receiptName(study: string, revision: number | undefined): string {
  return `receipt-${study.replaceAll(/[^\p{L}\p{N}]+/gu, '-')}-${revision}.txt`;
}

function save(content: Uint8Array<ArrayBuffer>, name: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
