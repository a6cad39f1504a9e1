/** The third step: what the participant receives, large, and the confirmation to keep. */
import { useQuery } from '@tanstack/react-query';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { randomizedAt } from '../parts/record.ts';
import { saveFile } from '../parts/save-file.ts';
import { ExactTime } from '../parts/when.tsx';
import styles from './page.module.css';
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
          <Button
            className="button"
            onPress={() =>
              saveFile(new Blob([receipt], { type: 'text/plain' }), receiptName(study, revision))
            }
          >
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

/** It names the study and no participant: it stays in a folder of downloads. */
function receiptName(study: string, revision: number | undefined): string {
  return `receipt-${study.replaceAll(/[^\p{L}\p{N}]+/gu, '-')}-${revision}.txt`;
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

/** The encoder is loaded when the first code is shown. */
function QrCode({ content, label }: { content: Uint8Array; label: string }) {
  const { data: code } = useQuery({
    queryKey: ['qr-encoder'],
    queryFn: async () => (await import('uqr')).encode,
    select: (encode) => encode([...content], { ecc: 'L', border: 4 }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // This keeps its space until then.
  if (!code) return <div className={styles.qr} />;
  const { size, data } = code;
  const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
  return (
    <svg className={styles.qr} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
