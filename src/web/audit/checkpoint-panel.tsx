/** The signed size and root of a study's log, to be kept elsewhere: nothing that it covers can be changed unnoticed. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Form } from 'react-aria-components/Form';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { api, results } from '../api/client.ts';
import { address } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { saveFile } from '../parts/save-file.ts';
import styles from './audit.module.css';

export function CheckpointPanel({ study }: { study: string }) {
  const { t } = useTranslation();
  const { data, error } = useQuery({
    queryKey: ['checkpoint', study],
    queryFn: ({ signal }) => results(api.GET('/checkpoint', { params: { query: { study } }, signal })),
  });
  return (
    <section className="grid">
      <p className="soft">{t('audit.checkpoint.about')}</p>
      <ProblemNotice error={error} />
      {!data && !error && <Loading />}
      {data && (
        <div className="card">
          <dl className="terms">
            <dt>{t('audit.checkpoint.size')}</dt>
            <dd>{data.size}</dd>
            <dt>{t('audit.checkpoint.root')}</dt>
            <dd>{data.root}</dd>
            <dt>{t('audit.checkpoint.origin')}</dt>
            <dd>{data.origin}</dd>
          </dl>
          <details className={styles['report']}>
            <summary>{t('audit.checkpoint.note')}</summary>
            <pre className={styles['raw']}>{data.checkpoint}</pre>
          </details>
          <Button
            className="button go"
            onPress={() => saveFile(new Blob([data.checkpoint]), `checkpoint-${data.size}.txt`)}
          >
            {t('audit.checkpoint.save')}
          </Button>
        </div>
      )}
      {data && data.size > 1 && <ProofOf study={study} size={data.size} />}
      <p>
        <Link to={address('offline')}>{t('audit.checkpoint.compare')}</Link>
      </p>
    </section>
  );
}

/** A proof that an earlier checkpoint, such as a receipt, is the beginning of what is there now. */
function ProofOf({ study, size }: { study: string; size: number }) {
  const { t } = useTranslation();
  const [first, setFirst] = useState('');
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const proof = await results(
        api.GET('/consistency_proof', { params: { query: { study, first: Number(first), second: size } } }),
      );
      saveFile(new Blob([JSON.stringify(proof)]), `proof-${proof.first}-${proof.second}.json`);
    },
  });
  return (
    <Form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <ProblemNotice error={error} />
      <div className="field">
        <label htmlFor="first">{t('audit.checkpoint.earlier')}</label>
        <input
          id="first"
          className={`react-aria-Input ${styles['short']}`}
          type="number"
          min={1}
          max={size}
          required
          value={first}
          onChange={(event) => setFirst(event.target.value)}
        />
        <p className="soft">{t('audit.checkpoint.earlierHint')}</p>
      </div>
      <Button type="submit" className="button" isPending={isPending}>
        {t('audit.checkpoint.saveProof')}
      </Button>
    </Form>
  );
}
