/**
 * Why a participant got this arm: asks for the explanation, shows what the method did, and says whether that agrees with the
 * record. A draw is shown by why-urns.tsx or why-picked.tsx, and the entry of a list here.
 */
import { useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Trans, useTranslation } from 'react-i18next';
import { api, results } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import styles from './participant.module.css';
import { type Explanation, stratumName } from './why-parts.tsx';
import { Picked } from './why-picked.tsx';
import { UrnsDrawn } from './why-urns.tsx';

/** Fetched only on demand, and never again by itself, because each reading is recorded as a disclosure. */
export function Why({ study, id }: { study: string; id: string }) {
  const { t } = useTranslation();
  const [explanation, setExplanation] = useState<Explanation>();
  const [error, setError] = useState<Error>();
  const [isPending, setPending] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const show = async () => {
    setPending(true);
    setError(undefined);
    try {
      setExplanation(await results(api.GET('/explanation', { params: { query: { study, id } } })));
      // The button that was pressed is gone.
      heading.current?.focus();
    } catch (problem) {
      setError(problem as Error);
    }
    setPending(false);
  };
  return (
    <>
      <h2 ref={heading} tabIndex={-1}>
        {t('participant.why.title')}
      </h2>
      <ProblemNotice error={error} />
      {explanation === undefined ? (
        <>
          <p>{t('participant.why.discloses')}</p>
          <Button className="button" isPending={isPending} onPress={() => void show()}>
            {t('participant.why.show')}
          </Button>
        </>
      ) : (
        <ExplainedDraw explanation={explanation} />
      )}
    </>
  );
}

function ExplainedDraw({ explanation }: { explanation: Explanation }) {
  const { t } = useTranslation();
  const { agrees, differences, code } = explanation;
  return (
    <>
      {!agrees && <Differences of={differences} />}
      <Working explanation={explanation} />
      {code !== undefined && <p>{t('participant.why.pack', { code })}</p>}
      {agrees && <p className={`soft ${styles['after']}`}>{t('participant.why.agrees')}</p>}
    </>
  );
}

function Differences({ of }: { of: Explanation['differences'] }) {
  const { t } = useTranslation();
  return (
    <div className="notice danger" role="alert">
      <strong>{t('participant.why.differs')}</strong>
      <ul>
        {of.map((difference) => (
          <li key={difference.field}>{t('participant.why.difference', difference)}</li>
        ))}
      </ul>
    </div>
  );
}

function Working({ explanation }: { explanation: Explanation }) {
  if ('urns' in explanation) return <UrnsDrawn explanation={explanation} />;
  return 'entry' in explanation ? (
    <ListEntryUsed explanation={explanation} />
  ) : (
    <Picked explanation={explanation} />
  );
}

type ListExplanation = Extract<Explanation, { entry: unknown }>;

/** With a list that was made elsewhere: which entry of it was used. */
function ListEntryUsed({ explanation: { entry, trt } }: { explanation: ListExplanation }) {
  const { t } = useTranslation();
  const where = stratumName(entry.stratum) ?? t('participant.why.wholeStudy');
  return (
    <p>
      <Trans
        i18nKey="participant.why.entry"
        values={{ entry: entry.entry, list: entry.list, where, arm: trt }}
        components={{ b: <strong /> }}
      />
    </p>
  );
}
