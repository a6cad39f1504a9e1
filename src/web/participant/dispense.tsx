/** Gives a participant a pack at a visit: a form, a dry run, one confirmation, and the number in large letters. */
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { type Answer, ApiProblem, answer, api } from '../api/client.ts';
import { Act, idempotent, isRepeated } from '../parts/act.tsx';
import { packsOf } from '../parts/record.ts';
import { ExactTime } from '../parts/when.tsx';
import { useSession } from '../session/session.tsx';
import { useChange } from './corrections.tsx';
import { PackNumber, type PackProps, VisitField, visitIn } from './pack-parts.tsx';
import styles from './participant.module.css';
import { refusedPack } from './refused-pack.tsx';
import { useVisitsInDesign } from './visits.ts';

export function Dispense({ study, id, record }: PackProps) {
  const { t } = useTranslation();
  const change = useChange(study, id);
  const visits = useVisitsInDesign(study);
  return (
    <Act
      {...change}
      title={`${t('participant.change.dispense')}: ${id}`}
      bodyOf={(filled) => ({ study, id, visit: visitIn(filled) })}
      send={(body, key) =>
        answer(api.POST('/dispensations', { ...idempotent(key), body })).catch((problem) => {
          // Somebody else may have been faster: then the form offers other visits.
          if (problem instanceof ApiProblem) change.onDone();
          throw problem;
        })
      }
      tell={({ visit }) => (
        <>
          <p>{t('packs.effect.dispense', { id, visit })}</p>
          {visits.length > 0 && !visits.includes(visit) && <p>{t('packs.effect.undeclared', { visit })}</p>}
        </>
      )}
      refused={(problem) => refusedPack(problem, ['duplicate', 'stale'])}
      confirm={t('packs.go', { id })}
      doneTitle={t('packs.done')}
      done={(_, given) => <GivenOut study={study} id={id} given={given} {...(record && { record })} />}
    >
      <VisitField study={study} label={t('packs.visit')} {...(record && { record })} />
    </Act>
  );
}

interface GivenOutProps extends Pick<PackProps, 'study' | 'id' | 'record'> {
  readonly given: Answer<unknown>;
}

function GivenOut({ study, id, record, given }: GivenOutProps) {
  const { t } = useTranslation();
  const { user, on_behalf_of: person } = useSession();
  const { visit, code } = given.results as { visit: string; code: string };
  const who = person === undefined ? user : t('participant.onBehalf', { user, person });
  const at = timeOf(given, record && packsOf(record).find((pack) => pack.visit === visit)?.at);
  const line = [
    [t('participant.study'), study],
    [t('participant.change.participant'), id],
    [t('packs.visit'), visit],
    [t('participant.pack'), code],
    [t('packs.at'), at === undefined ? '' : <ExactTime key="at" at={at} />],
    [t('participant.by'), who],
  ] as const;
  return (
    <>
      <p className={styles['handOut']}>{t('packs.handOut', { id, visit })}</p>
      <PackNumber>{code}</PackNumber>
      <dl className={`terms ${styles['forFile']}`}>
        {line.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p className="no-print">
        <Button className="button" onPress={() => window.print()}>
          {t('packs.print')}
        </Button>
      </p>
    </>
  );
}

/** As recorded; until that has arrived, or without a right to read it, when the service answered. */
function timeOf(given: Answer<unknown>, recorded: string | undefined): string | undefined {
  const answered = isRepeated(given) ? null : given.headers.get('Date');
  return recorded ?? (answered === null ? undefined : new Date(answered).toISOString());
}
