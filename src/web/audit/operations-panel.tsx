/** Who was refused, who was shown what, who signed in, and when the service ran: newest first. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { answer, api, type Schemas } from '../api/client.ts';
import { Loading } from '../parts/loading.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { ExactTime } from '../parts/when.tsx';
import { useSession } from '../session/session.tsx';
import styles from './audit.module.css';

type Operation = Schemas['Operations'][number];

/** How many are asked for at a time; the service sends no more than that. */
const PAGE = 250;

const KINDS = {
  all: undefined,
  refused: ['RequestRefused'],
  shown: ['EvidenceDisclosed'],
  sessions: ['SessionBegan', 'SessionEnded'],
  service: ['ServiceStarted', 'ServiceStopped'],
} as const satisfies Record<string, readonly Operation['type'][] | undefined>;

type Kind = keyof typeof KINDS;

export function OperationsPanel({ study }: { study: string }) {
  const { t } = useTranslation();
  const { studies } = useSession();
  const [from, setFrom] = useState<number | undefined>();
  const [kind, setKind] = useState<Kind>('all');
  const [isOfStudy, setIsOfStudy] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['operations', isOfStudy && study, from],
    queryFn: ({ signal }) => page(from, isOfStudy ? study : undefined, signal),
    placeholderData: keepPreviousData,
  });
  const types: readonly Operation['type'][] | undefined = KINDS[kind];
  const shown = data?.operations.filter(({ type }) => types?.includes(type) ?? true);
  return (
    <section>
      <p className="soft">{t('audit.operations.about')}</p>
      <div className={styles['tools']}>
        <KindChoice kind={kind} onChoose={setKind} />
        {/* A key that is limited to studies sees nothing else anyway. */}
        {studies === null && (
          <label className={styles['check']}>
            <input
              type="checkbox"
              checked={isOfStudy}
              onChange={(event) => setIsOfStudy(event.target.checked)}
            />
            {t('audit.operations.onlyStudy')}
          </label>
        )}
      </div>
      <ProblemNotice error={error} />
      {!data && !error && <Loading />}
      {shown?.length === 0 && <p className="notice">{t('audit.operations.none')}</p>}
      <ol className={`card ${styles['list']}`} aria-label={t('audit.tab.operations')}>
        {shown?.toReversed().map((operation) => (
          <li key={operation.revision} className={styles['entry']}>
            <ExactTime at={operation.at} />
            <span>{operation.actor.user}</span>
            <span>
              <OperationText {...operation} />
            </span>
          </li>
        ))}
      </ol>
      {data && data.total > PAGE && <Pager from={data.from} total={data.total} onTurn={setFrom} />}
    </section>
  );
}

/** Which operations to list. */
function KindChoice({ kind, onChoose }: { kind: Kind; onChoose: (kind: Kind) => void }) {
  const { t } = useTranslation();
  return (
    <div className="field">
      <label htmlFor="kind">{t('audit.operations.show')}</label>
      <select id="kind" value={kind} onChange={(event) => onChoose(event.target.value as Kind)}>
        {Object.keys(KINDS).map((one) => (
          <option key={one} value={one}>
            {t(`audit.operations.kind.${one as Kind}`)}
          </option>
        ))}
      </select>
    </div>
  );
}

interface PagerProps {
  readonly from: number;
  readonly total: number;
  readonly onTurn: (from: number) => void;
}

function Pager({ from, total, onTurn }: PagerProps) {
  const { t } = useTranslation();
  return (
    <div className={styles['pages']}>
      <Button
        className="button small"
        isDisabled={from === 0}
        onPress={() => onTurn(Math.max(0, from - PAGE))}
      >
        {t('audit.older')}
      </Button>
      <Button className="button small" isDisabled={from + PAGE >= total} onPress={() => onTurn(from + PAGE)}>
        {t('audit.newer')}
      </Button>
      <span className="number">
        {t('audit.operations.place', {
          first: from + 1,
          last: Math.min(from + PAGE, total),
          total: total,
        })}
      </span>
    </div>
  );
}

/** @param from undefined: the newest page */
async function page(from: number | undefined, study: string | undefined, signal: AbortSignal) {
  const ask = (first: number) =>
    answer(
      api.GET('/operations', {
        params: { query: { from: first, ...(study !== undefined && { study }) } },
        signal,
      }),
    );
  const first = await ask(from ?? 0);
  const total = (first.revision ?? -1) + 1;
  const begin = from ?? Math.max(0, total - PAGE);
  const { results } = begin === (from ?? 0) ? first : await ask(begin);
  return { operations: results, from: begin, total };
}

/** What happened, in words. */
function OperationText(operation: Operation) {
  const { t } = useTranslation();
  switch (operation.type) {
    case 'RequestRefused': {
      const { operation: asked, study, reason, count } = operation.data;
      return (
        <>
          {t('audit.refused', { why: t(`refused.${reason}.why`) })} <Times count={count} />
          <Details of={[asked, study]} />
        </>
      );
    }
    case 'EvidenceDisclosed': {
      const { what, study, participant, fromRevision, toRevision, content, interim, count } = operation.data;
      const upTo = toRevision === undefined ? undefined : t('audit.upTo', { revision: toRevision });
      const range =
        fromRevision === undefined || toRevision === undefined
          ? upTo
          : t('audit.range', { from: fromRevision, to: toRevision });
      return (
        <>
          {t('audit.shown', { what: t(`audit.what.${what}`) })} <Times count={count} />
          <Details of={[study, participant, content && t(`audit.content.${content}`), range, interim]} />
        </>
      );
    }
    case 'ServiceStarted':
    case 'ServiceStopped':
      return t(`audit.happened.${operation.type}`, { version: operation.data.version });
    default:
      return t(`audit.happened.${operation.type}`);
  }
}

function Times({ count }: { count: number }) {
  const { t } = useTranslation();
  return count > 1 ? <strong className="number">{t('audit.times', { count })}</strong> : null;
}

function Details({ of }: { of: readonly (string | undefined)[] }) {
  const given = of.filter((one) => one !== undefined);
  return given.length === 0 ? null : (
    <>
      <br />
      <small>{given.join(' · ')}</small>
    </>
  );
}
