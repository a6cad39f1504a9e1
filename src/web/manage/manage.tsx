/**
 * What a data manager does with a study: state, amendments, allocations from outside, packs. The page shows what there is; a
 * form that the address names takes its place.
 */
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { answer, api } from '../api/client.ts';
import { Act, idempotent } from '../parts/act.tsx';
import { designQuery, type StudyDesign } from '../parts/design-query.ts';
import { TextLine } from '../parts/fields.tsx';
import { address, useFragment } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { StateChip, TestChip } from '../parts/study-chips.tsx';
import { When } from '../parts/when.tsx';
import { useScope } from '../session/session.tsx';
import { studiesQuery } from '../session/studies-query.ts';
import { AMENDMENTS, AmendForm, type AmendmentName, isPossible } from './amend-form.tsx';
import { Design } from './design.tsx';
import { ForceForm } from './force-form.tsx';
import styles from './manage.module.css';
import { useStudyAct } from './parts.tsx';
import { ACTIONS_IN, STATE_ACTIONS, type StateAction, StateForm } from './state-form.tsx';

export function Manage() {
  const { t } = useTranslation();
  const { study, act } = useFragment();
  if (study === undefined)
    return (
      <Page title={t('common.nav.manage')}>
        <p>{t('common.noStudy')}</p>
        <Link to={address('studies')}>{t('common.toStudies')}</Link>
      </Page>
    );
  return <OneStudy key={study} study={study} act={act} />;
}

function OneStudy({ study, act }: { study: string; act: string | undefined }) {
  const { t } = useTranslation();
  const isReader = useScope('read', 'blinded');
  const { data: studies, error } = useQuery(studiesQuery);
  const { data: design, error: designError } = useQuery({ ...designQuery(study), enabled: isReader });
  const problem = error ?? designError;
  const shown = studies?.find((one) => one.study === study);
  if (shown && (design || !isReader) && act !== undefined)
    return <ChosenForm study={study} act={act} isLive={shown.mode === 'live'} design={design} />;
  return (
    <Page
      title={t('manage.title', { study })}
      chips={
        shown && (
          <>
            <StateChip state={shown.state} />
            <TestChip mode={shown.mode} />
          </>
        )
      }
    >
      <ProblemNotice error={problem} />
      {!problem && (!shown || (isReader && !design)) && <Loading />}
      {shown && (design || !isReader) && (
        <div className="grid">
          <StudyState {...shown} />
          <Amendments study={study} design={design} />
          <OutsideAllocations study={study} canRead={design !== undefined} />
          <Packs study={study} />
          <Imported imported={design?.imported} />
        </div>
      )}
    </Page>
  );
}

interface ChosenFormProps {
  readonly study: string;
  readonly act: string;
  readonly isLive: boolean;
  readonly design: StudyDesign | undefined;
}

/** The form that the address names. */
function ChosenForm({ study, act, isLive, design }: ChosenFormProps) {
  const { t } = useTranslation();
  const may = { manage: useScope('manage'), force: useScope('force'), supply: useScope('supply') };
  if (may.manage && act in STATE_ACTIONS)
    return <StateForm key={act} study={study} action={act as StateAction} isLive={isLive} />;
  if (may.manage && design && (AMENDMENTS as readonly string[]).includes(act))
    return <AmendForm key={act} study={study} name={act as AmendmentName} isLive={isLive} inForce={design} />;
  if (may.force && design && act === 'force') return <ForceForm study={study} design={design.design} />;
  if (may.supply && act === 'withdraw') return <WithdrawForm study={study} />;
  return (
    <Page title={t('manage.title', { study })}>
      <p className="notice">{t('common.notPermitted')}</p>
    </Page>
  );
}

/** Withdraws packs that nobody has. */
function WithdrawForm({ study }: { study: string }) {
  const { t } = useTranslation();
  const act = useStudyAct(study);
  return (
    <Act
      {...act}
      back={{ to: address('packs', study), text: t('packs.back') }}
      title={`${t('manage.withdraw')}: ${study}`}
      bodyOf={(filled) => ({
        study,
        codes: (filled('codes') ?? '').split(/\s+/).filter((code) => code !== ''),
        reason: filled('reason') ?? '',
      })}
      send={(body, key) => answer(api.POST('/code_withdrawals', { ...idempotent(key), body }))}
      tell={({ codes }) => (
        <>
          <p>{t('manage.effect.withdraw', { count: codes.length })}</p>
          <p>{t('manage.effect.withdrawSeen')}</p>
        </>
      )}
      confirm={t('manage.goWithdraw')}
      isFinal
      doneTitle={t('manage.done.withdraw')}
    >
      <TextLine name="codes" label={t('manage.codes')} hint={t('manage.codesHint')} isLong />
      <TextLine
        name="reason"
        label={t('manage.reason')}
        hint={t('manage.noteHint')}
        isLong
        minLength={3}
        maxLength={2000}
      />
    </Act>
  );
}

function StudyState({
  study,
  state,
  reason,
  since,
}: {
  study: string;
  state: Parameters<typeof StateChip>[0]['state'];
  reason?: string;
  since?: string;
}) {
  const { t } = useTranslation();
  const mayManage = useScope('manage');
  return (
    <section className="card">
      <h2>{t('manage.state')}</h2>
      {reason === undefined ? (
        <p>{t('manage.open')}</p>
      ) : (
        <p>
          {t('manage.halted', { state: t(`common.state.${state}`) })}
          {since !== undefined && (
            <>
              {` ${t('manage.since')} `}
              <When at={since} />
            </>
          )}
          : <q>{reason}</q>
        </p>
      )}
      {mayManage && (
        <div className={styles['actions']}>
          {(ACTIONS_IN[state] ?? []).map((action) => (
            <Link
              key={action}
              className={action === 'close' ? 'button quiet-stop' : 'button'}
              to={address('manage', study, undefined, action)}
            >
              {t(`manage.action.${action}`)}
            </Link>
          ))}
        </div>
      )}
    </section>
  );
}

function Amendments({ study, design }: { study: string; design: StudyDesign | undefined }) {
  const { t } = useTranslation();
  const mayManage = useScope('manage');
  if (!design)
    return mayManage ? (
      <section className="card">
        <h2>{t('manage.design')}</h2>
        <p>{t('manage.noDesign')}</p>
      </section>
    ) : null;
  return (
    <section className="card">
      <Design study={study} inForce={design} />
      {mayManage && (
        <>
          <div className={styles['actions']}>
            {AMENDMENTS.filter((name) => isPossible(name, design)).map((name) => (
              <Link key={name} className="button" to={address('manage', study, undefined, name)}>
                {t(`manage.amend.${name}`)}
              </Link>
            ))}
          </div>
          <p className="soft">{t('manage.beyond')}</p>
        </>
      )}
    </section>
  );
}

function OutsideAllocations({ study, canRead }: { study: string; canRead: boolean }) {
  const { t } = useTranslation();
  if (!useScope('force')) return null;
  return (
    <section className="card">
      <h2>{t('manage.force')}</h2>
      <p className="soft">{t(canRead ? 'manage.forceHint' : 'manage.forceNoDesign')}</p>
      {canRead && (
        <Link className="button" to={address('manage', study, undefined, 'force')}>
          {t('manage.force')}
        </Link>
      )}
    </section>
  );
}

function Packs({ study }: { study: string }) {
  const { t } = useTranslation();
  if (!useScope('supply')) return null;
  return (
    <section className="card">
      <h2>{t('manage.packs')}</h2>
      <div className={styles['actions']}>
        <Link className="button" to={address('packs', study)}>
          {t('packs.toPage')}
        </Link>
        <Link className="button quiet-stop" to={address('manage', study, undefined, 'withdraw')}>
          {t('manage.withdraw')}
        </Link>
      </div>
    </section>
  );
}

function Imported({ imported }: { imported: StudyDesign['imported'] }) {
  const { t } = useTranslation();
  if (!imported) return null;
  const { participants, redrawn, at } = imported;
  return (
    <section className="card">
      <h2>{t('manage.import')}</h2>
      <p>
        {t('manage.imported', { count: participants })} {t('manage.redrawn', { redrawn })} (<When at={at} />)
      </p>
      <p className="soft">{t('manage.importHow')}</p>
    </section>
  );
}
