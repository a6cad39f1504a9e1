/** Checks kept receipts and checkpoints on the reader's own computer, without a key and without the service. */
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { DropZone } from 'react-aria-components/DropZone';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import { Text } from 'react-aria-components/Text';
import { useTranslation } from 'react-i18next';
import { Chip, type Tone } from '../parts/chip.tsx';
import { Page } from '../parts/page.tsx';
import { parseKey, type Signature } from './check.ts';
import {
  type CheckedLog,
  type CheckedNote,
  type CheckedRecord,
  examine,
  type Findings,
  type GivenFile,
  groupedBy,
  type Pair,
} from './findings.ts';
import styles from './offline.module.css';

/** Files of kept checkpoints are much smaller. */
const MAX_BYTES = 20_000_000;

const SIGNATURE_TONES: Readonly<Record<Signature, Tone>> = {
  right: 'ok',
  wrong: 'danger',
  'of-another-key': 'warn',
};

export function Offline() {
  const { t } = useTranslation();
  const [keyText, setKeyText] = useState('');
  const [files, setFiles] = useState<readonly GivenFile[]>([]);
  const [findings, setFindings] = useState<Findings | undefined>();
  const [isKeyWrong, setKeyWrong] = useState(false);

  useEffect(() => {
    let isCurrent = true;
    void findingsIn(files, keyText).then((result) => {
      if (!isCurrent) return;
      setFindings(result.findings);
      setKeyWrong(result.isKeyWrong);
    });
    return () => {
      isCurrent = false;
    };
  }, [files, keyText]);

  const add = async (given: readonly File[]) => {
    const readable = given.filter(({ size }) => size <= MAX_BYTES);
    const read = await Promise.all(
      readable.map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })),
    );
    const names = new Set(read.map(({ name }) => name));
    setFiles((before) => [...before.filter(({ name }) => !names.has(name)), ...read]);
  };

  if (!isSecureContext) return <Page title={t('offline.title')}>{t('offline.needsHttps')}</Page>;
  return (
    <Page title={t('offline.title')} width="narrow">
      <p>{t('offline.about')}</p>
      <p className="notice">{t('offline.nothingSent')}</p>
      <KeyField text={keyText} isWrong={isKeyWrong} onChange={setKeyText} />
      <DropZone
        className={styles['zone'] ?? ''}
        onDrop={async ({ items }) => {
          const dropped = items.flatMap((item) => (item.kind === 'file' ? [item.getFile()] : []));
          await add(await Promise.all(dropped));
        }}
      >
        <Text slot="label">{t('offline.drop')}</Text>
        <FileTrigger allowsMultiple onSelect={(list) => void add([...(list ?? [])])}>
          <Button className="button go">{t('offline.choose')}</Button>
        </FileTrigger>
      </DropZone>
      <div aria-live="polite">{findings && files.length > 0 && <CheckFindings {...findings} />}</div>
    </Page>
  );
}

interface KeyFieldProps {
  readonly text: string;
  readonly isWrong: boolean;
  readonly onChange: (text: string) => void;
}

function KeyField({ text, isWrong, onChange }: KeyFieldProps) {
  const { t } = useTranslation();
  return (
    <div className="field">
      <label htmlFor="verifier-key">{t('offline.key')}</label>
      <input
        id="verifier-key"
        className="react-aria-Input"
        value={text}
        spellCheck={false}
        autoComplete="off"
        aria-describedby="verifier-key-hint"
        aria-invalid={isWrong}
        onChange={(event) => onChange(event.target.value)}
      />
      <p className="soft" id="verifier-key-hint">
        {t('offline.keyHint')}
      </p>
      {isWrong && (
        <p className="react-aria-FieldError" role="alert">
          {t('offline.keyWrong')}
        </p>
      )}
    </div>
  );
}

async function findingsIn(files: readonly GivenFile[], keyText: string) {
  const key = keyText.trim() === '' ? undefined : await parseKey(keyText);
  return { findings: await examine(files, key), isKeyWrong: keyText.trim() !== '' && key === undefined };
}

function CheckFindings({ logs, records, unreadable }: Findings) {
  const { t } = useTranslation();
  return (
    <div className="grid">
      {unreadable.map(({ name, why }) => (
        <div key={name} className="notice danger">
          <p>
            <strong>{t('offline.unreadable', { name })}</strong>
          </p>
          <p lang="en">{why}</p>
          <p>{t('offline.bundleHint')}</p>
        </div>
      ))}
      {logs.map((log) => (
        <Log key={log.origin} {...log} />
      ))}
      {records.map((record) => (
        <Inclusion key={`${record.revision} ${record.size}`} {...record} />
      ))}
    </div>
  );
}

function Log({ origin, notes, compared, unproven, contradictions }: CheckedLog) {
  const { t } = useTranslation();
  const named = ({ where, size }: CheckedNote) => t('offline.named', { where, count: size });
  const ofPair = ([one, other]: Pair) => ({ one: named(one), other: named(other) });
  const signed = [...groupedBy(notes, ({ signature }) => signature)];
  const areRight = notes.every(({ signature }) => signature === 'right');
  const [first, ...others] = notes;
  const says = areRight ? 'covers' : 'speaks';
  const agreeing = compared - unproven.length;
  return (
    <article className="card">
      <div className="head">
        <h2>{others.length === 0 ? first?.where : t('offline.several', { count: notes.length })}</h2>
        {signed.map(([signature, own]) => (
          <Chip key={signature ?? ''} tone={signature && SIGNATURE_TONES[signature]}>
            {t(`offline.signature.${signature ?? 'not-checked'}`)}
            {own.length < notes.length && ` (${own.length})`}
          </Chip>
        ))}
      </div>
      <p>
        {t(others.length === 0 ? `offline.${says}` : `offline.largest.${says}`, {
          count: notes.at(-1)?.size ?? 0,
        })}
      </p>
      {signed.length > 1 && (
        <Lines
          tone="notice warn"
          lines={signed.flatMap(([signature, own]) =>
            signature && signature !== 'right'
              ? own.map((note) => `${named(note)}: ${t(`offline.signature.${signature}`)}`)
              : [],
          )}
        />
      )}
      <Lines
        tone="notice danger"
        lines={contradictions.map((one) => t('offline.contradiction', ofPair(one)))}
      />
      {contradictions.length === 0 && unproven.length === 0 && others.length > 0 && (
        <p>{t('offline.agree')}</p>
      )}
      {unproven.length > 0 && agreeing > 0 && <p>{t('offline.agreeing', { count: agreeing, compared })}</p>}
      <Lines lines={unproven.map((one) => t('offline.unproven', ofPair(one)))} />
      <small>{origin}</small>
    </article>
  );
}

const SHOWN = 3;

/** The first of them. The others are a click away. */
function Lines({ lines, tone }: { lines: readonly string[]; tone?: string }) {
  const { t } = useTranslation();
  const [shown, others] = [lines.slice(0, SHOWN), lines.slice(SHOWN)].map((some) =>
    some.map((line) => <p key={line}>{line}</p>),
  );
  if (lines.length === 0) return null;
  return (
    <div className={tone}>
      {shown}
      {lines.length > SHOWN && (
        <details>
          <summary>{t('offline.more', { count: lines.length - SHOWN })}</summary>
          {others}
        </details>
      )}
    </div>
  );
}

function Inclusion({ revision, size, is }: CheckedRecord) {
  const { t } = useTranslation();
  return (
    <p className={is === 'included' ? 'notice' : 'notice warn'}>
      {t(`offline.record.${is}`, { revision, count: size })}
    </p>
  );
}
