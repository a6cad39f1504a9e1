/** One file about a study to hand over, which can be verified without this software. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { answer, api } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import { saveFile } from '../parts/save-file.ts';
import styles from './audit.module.css';

const CONTENTS = ['blinded', 'open', 'full'] as const;
type Content = (typeof CONTENTS)[number];

export function BundlePanel({ study }: { study: string }) {
  const { t } = useTranslation();
  const [content, setContent] = useState<Content>('blinded');
  const { mutate, isPending, error, data } = useMutation({
    mutationFn: async () => {
      const { results: file, headers } = await answer(downloaded(study, content));
      saveFile(file, fileName(headers));
      return { bytes: file.size, sha256: headers.get('Urn-Bundle-Sha256') ?? '' };
    },
  });
  return (
    <section>
      <p className="soft">{t('audit.bundle.about')}</p>
      <div className="card">
        <ProblemNotice error={error} />
        <fieldset className={styles['choices']}>
          <legend>{t('audit.bundle.which')}</legend>
          {CONTENTS.map((one) => (
            <label key={one} className={styles['choice']}>
              <input type="radio" name="content" checked={content === one} onChange={() => setContent(one)} />
              <strong>{t(`audit.content.${one}`)}</strong>
              <small>{t(`audit.bundle.has.${one}`)}</small>
            </label>
          ))}
        </fieldset>
        {content !== 'blinded' && <p className="notice danger">{t('audit.bundle.unblinding')}</p>}
        <Button
          className={content === 'blinded' ? 'button go' : 'button stop'}
          isPending={isPending}
          onPress={() => mutate()}
        >
          {t(`audit.bundle.download.${content}`)}
        </Button>
        {isPending && <p role="status">{t('audit.bundle.making')}</p>}
        {data && !isPending && (
          <div role="status">
            <p>{t('audit.bundle.done', { kib: Math.ceil(data.bytes / 1024) })}</p>
            <dl className="terms">
              <dt>SHA-256</dt>
              <dd>{data.sha256}</dd>
            </dl>
          </div>
        )}
      </div>
    </section>
  );
}

/** The file in the place of the results. */
async function downloaded(study: string, content: Content) {
  const { data, error, response } = await api.GET('/bundle', {
    params: { query: { study, content } },
    parseAs: 'blob',
  });
  return { data: data && { results: data, message: '' }, error, response };
}

function fileName(headers: Headers): string {
  const [, encoded = 'bundle.zip'] =
    /filename\*=UTF-8''(.+)$/.exec(headers.get('Content-Disposition') ?? '') ?? [];
  return decodeURIComponent(encoded);
}
