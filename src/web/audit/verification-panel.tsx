/** The service verifies the study, and what it found. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { AUTOMATIC, api, results, type Schemas } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { saveFile } from '../parts/save-file.ts';
import styles from './audit.module.css';

type Report = Schemas['Verification'];
type StreamReport = Report['streams'][number];

export function VerificationPanel({ study }: { study: string }) {
  const { t } = useTranslation();
  const { mutate, isPending, error, data } = useMutation({
    mutationFn: () => results(api.GET('/verification', { params: { query: { study } } })),
  });
  return (
    <section>
      <p className="soft">{t('audit.verification.about')}</p>
      <ProblemNotice error={error} />
      <p>
        <Button className="button go" isDisabled={isPending} onPress={() => mutate()}>
          {t(data ? 'audit.verification.again' : 'audit.verification.start')}
        </Button>
      </p>
      {isPending && <Running study={study} />}
      {!isPending && data && <VerificationReport report={data} />}
    </section>
  );
}

function Running({ study }: { study: string }) {
  const { t } = useTranslation();
  const { data } = useQuery({
    queryKey: ['study', study, 'verification-progress'],
    queryFn: ({ signal }) =>
      results(
        api.GET('/verification_progress', { params: { query: { study } }, signal, headers: AUTOMATIC }),
      ),
    refetchInterval: 1000,
    gcTime: 0,
  });
  return (
    <div className="card">
      <p role="status">{t('audit.verification.running')}</p>
      <progress
        aria-label={t('audit.verification.running')}
        {...(data?.verified !== undefined && { value: data.verified, max: data.records })}
      />
      {data?.verified !== undefined && (
        <p className="soft number">
          {t('audit.verification.progress', { verified: data.verified, count: data.records })}
        </p>
      )}
    </div>
  );
}

function VerificationReport({ report }: { report: Report }) {
  const { t } = useTranslation();
  return (
    <div className={`card ${styles['report']}`}>
      <div role="status" className={report.ok ? 'notice' : 'notice danger'}>
        <p className={styles['verdict']}>
          {t(report.ok ? 'audit.verification.sound' : 'audit.verification.unsound')}
        </p>
        <p lang="en">{report.caution}</p>
      </div>
      <div className="grid">
        {report.streams.map((stream) => (
          <Stream key={stream.stream} {...stream} />
        ))}
      </div>
      <details>
        <summary>{t('audit.verification.whole')}</summary>
        <pre className={styles['raw']}>{JSON.stringify(report, null, 2)}</pre>
      </details>
      <Button
        className="button"
        onPress={() => saveFile(new Blob([JSON.stringify(report, null, 2)]), 'verification.json')}
      >
        {t('audit.verification.save')}
      </Button>
    </div>
  );
}

function Stream({
  stream,
  study,
  sound,
  records,
  participants,
  divergence,
  evidence,
  life,
  warnings,
}: StreamReport) {
  const { t } = useTranslation();
  return (
    <article>
      <div className="head">
        <h2>{study ?? (stream === 'log' || stream === 'access' ? t(`audit.stream.${stream}`) : stream)}</h2>
        <Chip tone={sound ? 'ok' : 'danger'}>
          {t(sound ? 'audit.verification.streamSound' : 'audit.verification.streamUnsound')}
        </Chip>
      </div>
      <dl className="terms">
        <dt>{t('audit.checkpoint.size')}</dt>
        <dd>{records}</dd>
        {participants !== undefined && (
          <>
            <dt>{t('audit.verification.participants')}</dt>
            <dd>{participants}</dd>
          </>
        )}
        {evidence.matching > 0 && (
          <>
            <dt>{t('audit.verification.matching')}</dt>
            <dd>{evidence.matchingSize}</dd>
          </>
        )}
      </dl>
      {divergence && (
        <p className="notice danger">
          {t('audit.verification.differsAt', { revision: divergence.revision })}{' '}
          <span lang="en">{divergence.why}</span>
        </p>
      )}
      {life && <Steering {...life} />}
      {warnings.map(({ code, text }) => (
        <p key={code} className="notice warn" lang="en">
          {text}
        </p>
      ))}
    </article>
  );
}

/** What somebody may have done to choose arms. */
function Steering({ secondDraws = [], undoneAmendments = [] }: NonNullable<StreamReport['life']>) {
  const { t } = useTranslation();
  return (
    <>
      {secondDraws.map(({ user, draws, differed, kept }) => (
        <div key={user} className="notice warn">
          <p>{t('audit.verification.secondDraws', { user, count: draws.length })}</p>
          {differed !== undefined && kept && (
            <p>
              {t('audit.verification.secondArm', {
                ...{ differed, count: draws.length },
                kept:
                  kept.map(({ treatment, count }) => `${count} ${treatment}`).join(', ') ||
                  t('audit.verification.noArmKept'),
              })}
            </p>
          )}
          <ul>
            {draws.map((draw) => (
              <li key={draw.revision}>{t('audit.verification.secondDraw', draw)}</li>
            ))}
          </ul>
        </div>
      ))}
      {undoneAmendments.map(({ setting, randomized, ...undone }) => (
        <p key={`${setting} ${undone.undoneWith}`} className="notice warn">
          {t('audit.verification.undone', {
            ...{ ...undone, count: randomized.length },
            setting: t(`audit.verification.setting.${setting}`),
          })}
        </p>
      ))}
    </>
  );
}
