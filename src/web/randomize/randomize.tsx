/**
 * Randomizes a participant: a form made from the configuration, a review, one click, and the result. Never twice: what is
 * sent is written down first (pending.ts), and waiting.tsx asks for its answer.
 */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Link, useLocation, useNavigate } from 'react-router';
import { address, useFragment } from '../parts/fragment.ts';
import { Page } from '../parts/page.tsx';
import { factorName } from '../parts/record.ts';
import { useSession } from '../session/session.tsx';
import { StudyChips } from '../session/study-chips.tsx';
import type { Draft } from './draft.ts';
import { FirstStep } from './first-step.tsx';
import styles from './page.module.css';
import { type Pending, readPending, removePending, writePending } from './pending.ts';
import { Term, useMode } from './recorded.tsx';
import type { Outcome } from './requests.ts';
import { Result } from './result.tsx';
import { Waiting } from './waiting.tsx';

export function Randomize() {
  const { t } = useTranslation();
  const { study } = useFragment();
  if (study === undefined)
    return (
      <Page title={t('randomize.title')} width="narrow">
        <p>{t('common.noStudy')}</p>
        <Link to={address('studies')}>{t('common.toStudies')}</Link>
      </Page>
    );
  return <RandomizeIn key={study} study={study} />;
}

function RandomizeIn({ study }: { study: string }) {
  const { t } = useTranslation();
  const { on_behalf_of: acting } = useSession();
  const { step, go, back } = useStep(study);
  const { pending, isOurs, isLeftOver, draft, checked, refusal, outcome, ...act } = useRandomizing(study, go);
  if (pending !== undefined && isOurs)
    return (
      <Frame study={pending.study} title={t('randomize.waiting')} step="review">
        <Waiting
          pending={pending}
          isLeftOver={isLeftOver}
          // Another person who has signed in with the same key since decides whether to ask in their own name.
          isSentAtOnce={pending.acting === acting}
          onAnswer={act.succeed}
          onRefused={(error) => act.refuse(pending, error)}
          onGiveUp={act.settle}
        />
      </Frame>
    );
  if (step === 'result' && outcome)
    return (
      <Frame study={outcome.draft.study} title={t('randomize.done')} step="result">
        <Result outcome={outcome} onNext={() => go('participant')} />
      </Frame>
    );
  if (step === 'review' && checked)
    return (
      <Frame study={study} title={t('randomize.check')} step="review">
        <Review draft={checked} onBack={back} onRandomize={() => act.send(checked)} />
      </Frame>
    );
  return (
    <Frame study={study} title={t('randomize.title')} step="participant">
      {pending !== undefined && <p className="notice warn">{t('randomize.othersPending')}</p>}
      <FirstStep study={study} draft={draft} refusal={refusal} onChange={act.change} onChecked={act.accept} />
    </Frame>
  );
}

const STEPS = ['participant', 'review', 'result'] as const;
type Step = (typeof STEPS)[number];

/** The step is in the history, so that the back button leads to the form. What was entered and recorded is not. */
function useStep(study: string) {
  const navigate = useNavigate();
  const { state } = useLocation() as { state: { readonly step?: Step } | null };
  return {
    step: state?.step ?? 'participant',
    back: () => void navigate(-1),
    go: (step: Step, { replace = false } = {}) =>
      void navigate(address('randomize', study), { replace, state: { step }, flushSync: true }),
  };
}

/** What was entered, what is under way and what came of it. */
function useRandomizing(study: string, go: ReturnType<typeof useStep>['go']) {
  const queries = useQueryClient();
  const { key_id, on_behalf_of: acting } = useSession();
  const [leftOver] = useState(readPending);
  const [pending, setPending] = useState(leftOver);
  const [draft, setDraft] = useState<Draft>({ study, id: '', levels: new Map() });
  const [checked, setChecked] = useState<Draft>();
  const [refusal, setRefusal] = useState<Error>();
  const [outcome, setOutcome] = useState<Outcome>();

  const isOurs = (one: Pending) => one.keyId === key_id;

  const send = (what: Draft) => {
    // The second of two clicks finds what the first one wrote down.
    const written = readPending();
    if (!written || !isOurs(written)) setPending(writePending(what, key_id, acting));
  };
  const settle = () => {
    removePending();
    setPending(undefined);
    setChecked(undefined);
  };
  const succeed = (result: Outcome) => {
    settle();
    setRefusal(undefined);
    setDraft({ study, id: '', levels: new Map() });
    setOutcome(result);
    go('result', { replace: true });
    void queries.invalidateQueries();
  };
  const refuse = (sent: Pending, error: Error) => {
    settle();
    // What was entered in another study belongs to the form of that study.
    if (sent.study === study) setDraft({ study, id: sent.id, levels: sent.levels });
    setRefusal(error);
    // The study may not be what the form took it for.
    void queries.invalidateQueries();
    go('participant', { replace: true });
  };
  const change = (to: Draft) => {
    setRefusal(undefined);
    setChecked(undefined);
    setDraft(to);
  };
  const accept = (one: Draft) => {
    setRefusal(undefined);
    setChecked(one);
    go('review');
  };
  return {
    ...{ pending, draft, checked, refusal, outcome },
    isOurs: pending !== undefined && isOurs(pending),
    isLeftOver: pending !== undefined && pending === leftOver,
    ...{ change, accept, send, settle, succeed, refuse },
  };
}

interface FrameProps {
  readonly study: string;
  readonly title: string;
  readonly step: Step;
  readonly children: ReactNode;
}

function Frame({ study, title, step, children }: FrameProps) {
  return (
    <Page key={title} title={title} chips={<StudyChips study={study} />} width="narrow">
      <Steps now={step} />
      {children}
    </Page>
  );
}

/** Shows which step the reader has reached. */
function Steps({ now }: { now: Step }) {
  const { t } = useTranslation();
  return (
    <ol className={styles.steps} aria-label={t('randomize.steps')}>
      {STEPS.map((step) => (
        <li key={step} aria-current={step === now ? 'step' : undefined}>
          {t(`randomize.step.${step}`)}
        </li>
      ))}
    </ol>
  );
}

interface ReviewProps {
  readonly draft: Draft;
  readonly onBack: () => void;
  readonly onRandomize: () => void;
}

/** The second step: what will be recorded, before it is. */
function Review({ draft, onBack, onRandomize }: ReviewProps) {
  const { t } = useTranslation();
  const { user, on_behalf_of: acting } = useSession();
  const { study, id, levels } = draft;
  const mode = useMode(study);
  return (
    <div className="card">
      <p>{t('randomize.checked')}</p>
      <dl className="terms">
        <Term name={t('randomize.study')} value={study} />
        {mode !== undefined && <Term name={t('randomize.modeLabel')} value={mode} />}
        <Term name={t('randomize.id')} value={id} />
        {[...levels].map(([factor, level]) => (
          <Term key={factor} name={factorName(factor)} value={level} />
        ))}
        <Term
          name={t('randomize.by')}
          value={acting === undefined ? user : t('randomize.onBehalf', { user, acting })}
        />
      </dl>
      <p className="notice warn">{t('randomize.forGood')}</p>
      <div className="choices">
        <Button className="button" onPress={onBack}>
          {t('randomize.change')}
        </Button>
        <Button className="button go" onPress={onRandomize}>
          {t('randomize.now', { id })}
        </Button>
      </div>
    </div>
  );
}
