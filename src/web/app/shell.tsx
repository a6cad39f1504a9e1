/**
 * What surrounds every page: where to go, whose key this is, whether the study is a test, and when the session ends. Without
 * a session it shows the sign-in in place of the page.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Suspense, useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { I18nProvider } from 'react-aria-components/I18nProvider';
import { useTranslation } from 'react-i18next';
import { Link, NavLink, Outlet, useNavigate, useNavigation } from 'react-router';
import { Chip } from '../parts/chip.tsx';
import { formQuery } from '../parts/form-query.ts';
import { address, useFragment } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { TestChip } from '../parts/study-chips.tsx';
import { idleEndsAt, type Scope, sessionName, useSession, useSessionContext } from '../session/session.tsx';
import { studiesQuery } from '../session/studies-query.ts';
import { SignIn } from '../sign-in/sign-in.tsx';
import { LANGUAGES, useLanguage } from '../words/index.ts';
import { loadAhead } from './load-page.ts';

/** Around a page that needs a session. */
export function Shell() {
  const { language } = useLanguage();
  const { phase, check } = useSessionContext();
  const { t } = useTranslation();
  const navigate = useNavigate();
  const isSignedOut = phase.is === 'out' && (phase.why === 'signed-out' || phase.why === 'only-here');
  useEffect(() => {
    // The address names a study and a participant, and would take the next person who signs in there.
    if (isSignedOut) void navigate(address('studies'), { replace: true });
  }, [isSignedOut, navigate]);
  return (
    <I18nProvider locale={language}>
      {phase.is === 'asking' && <Loading />}
      {phase.is === 'unreachable' && (
        <main className="narrow">
          <ProblemNotice error={phase.error} />
          <Button className="button" onPress={() => void check()}>
            {t('common.tryAgain')}
          </Button>
        </main>
      )}
      {phase.is === 'out' && <SignIn why={phase.why} />}
      {/* Nothing that was filled in or shown stays for another session. */}
      {phase.is === 'in' && <SignedIn key={sessionName(phase.session)} />}
      <Footer />
    </I18nProvider>
  );
}

/** Around a page that needs no session. */
export function Outside() {
  const { language } = useLanguage();
  const { t } = useTranslation();
  return (
    <I18nProvider locale={language}>
      <header>
        <div className="bar">
          <strong className="brand">urn</strong>
          <nav aria-label={t('common.pages')}>
            <NavLink to={address('studies')}>{t('common.nav.studies')}</NavLink>
          </nav>
        </div>
      </header>
      <main id="main">
        <Outlet />
      </main>
      <Footer />
    </I18nProvider>
  );
}

function SignedIn() {
  const { t } = useTranslation();
  const { state } = useNavigation();
  const { study } = useFragment();
  const { data: studies } = useQuery(studiesQuery);
  const mode = studies?.find((one) => one.study === study)?.mode;
  useLoadAhead();
  return (
    <>
      <button className="skip" type="button" onClick={() => document.getElementById('main')?.focus()}>
        {t('common.skip')}
      </button>
      <header>
        <div className="bar">
          <strong className="brand">urn</strong>
          <Navigation />
          <SignedInAs mode={mode} />
        </div>
        {mode === 'test' && (
          <p className="test-bar">
            <strong>{t('common.testStudy')}</strong>
          </p>
        )}
      </header>
      <IdleWarning />
      <main id="main" tabIndex={-1} aria-busy={state === 'loading'}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </>
  );
}

/** What the first page asks for comes first. */
const AHEAD_AFTER_MS = 500;

/** When the browser has time after the sign-in, and again when a lost connection is back. */
function useLoadAhead(): void {
  useEffect(() => {
    // Safari has no idle callbacks.
    const timer = setTimeout(() => (window.requestIdleCallback ?? setTimeout)(loadAhead), AHEAD_AFTER_MS);
    window.addEventListener('online', loadAhead);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('online', loadAhead);
    };
  }, []);
}

/** The pages about a study, and who may use them. */
const STUDY_PAGES = [
  { page: 'study', scopes: ['read', 'blinded'] },
  { page: 'participant', scopes: ['read', 'blinded', 'audit', 'unblind', 'supply'] },
  { page: 'randomize', scopes: ['randomize'] },
  { page: 'packs', scopes: ['supply'] },
  { page: 'manage', scopes: ['manage', 'force', 'supply'] },
  { page: 'audit', scopes: ['audit'] },
] as const satisfies readonly { page: string; scopes: readonly Scope[] }[];

function Navigation() {
  const { t } = useTranslation();
  const { study } = useFragment();
  const session = useSession();
  const mayUse = (scopes: readonly Scope[]) => scopes.some((scope) => session.scopes.includes(scope));
  const givesOut = useGivesOut(study);
  return (
    <nav aria-label={t('common.pages')}>
      <NavLink to={address('studies')}>{t('common.nav.studies')}</NavLink>
      {study !== undefined &&
        STUDY_PAGES.filter(({ page, scopes }) => mayUse(scopes) || (page === 'participant' && givesOut)).map(
          ({ page }) => (
            <NavLink key={page} to={address(page, study)}>
              {t(`common.nav.${page}`)}
            </NavLink>
          ),
        )}
    </nav>
  );
}

/** With the scope randomize alone, participants have a page only to be given packs at visits. */
function useGivesOut(study: string | undefined): boolean {
  const { scopes } = useSession();
  const isAsked = study !== undefined && scopes.includes('randomize');
  const { data } = useQuery({ ...formQuery(study ?? ''), enabled: isAsked && scopes.length === 1 });
  return data?.visits !== undefined;
}

/** @param mode of the study that the page is about */
function SignedInAs({ mode }: { mode: 'test' | 'live' | undefined }) {
  const { t } = useTranslation();
  const { user, on_behalf_of: person, scopes, limits } = useSession();
  return (
    <div className="who">
      <span className="chips">
        <TestChip mode={mode} />
        {scopes.map((scope) => (
          <Chip key={scope}>{scope}</Chip>
        ))}
        {limits.map(({ factor, levels }) => (
          <Chip key={factor}>{t('common.limitedTo', { levels: levels.join(', ') })}</Chip>
        ))}
      </span>
      <span className="person">{person === undefined ? user : `${user} · ${person}`}</span>
      <SignOut />
    </div>
  );
}

function SignOut() {
  const { t } = useTranslation();
  const { signOut } = useSessionContext();
  const { mutate, isPending, isError } = useMutation({ mutationFn: signOut });
  return (
    <>
      <Button className="button small" isPending={isPending} onPress={() => mutate()}>
        {t('common.signOut')}
      </Button>
      {isError && <span role="alert">{t('common.signOutFailed')}</span>}
    </>
  );
}

const WARN_BEFORE_END_MS = 2 * 60_000;

/** Says that the session is about to end, and prolongs it on demand (WCAG 2.2, 2.2.1). */
function IdleWarning() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const session = useSession();
  const [ending, setEnding] = useState<'soon' | 'for-good' | undefined>();
  useEffect(() => {
    const look = () => {
      const soon = Date.now() + WARN_BEFORE_END_MS;
      if (soon > Date.parse(session.ends_at)) setEnding('for-good');
      else setEnding(soon > idleEndsAt(session) ? 'soon' : undefined);
    };
    const timer = setInterval(look, 5_000);
    return () => clearInterval(timer);
  }, [session]);
  if (ending === undefined) return null;
  const stay = async () => {
    // Any request that a person makes prolongs the session; every page has this query.
    await queries.invalidateQueries({ queryKey: studiesQuery.queryKey });
    setEnding(undefined);
  };
  return (
    <div className="notice warn" role="alert">
      {t(ending === 'soon' ? 'common.endsSoon' : 'common.endsForGood')}{' '}
      {ending === 'soon' && (
        <Button className="button small" onPress={() => void stay()}>
          {t('common.stay')}
        </Button>
      )}
    </div>
  );
}

function Footer() {
  const { t } = useTranslation();
  const { language, choose } = useLanguage();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <footer className="foot">
      <span>{t('common.times', { zone })}</span>
      <Link to={address('offline')}>{t('offline.link')}</Link>
      <span className="languages">
        {Object.entries(LANGUAGES).map(([code, name]) => (
          <Button
            key={code}
            className="link"
            {...(code === language && { 'aria-current': true })}
            lang={code}
            onPress={() => choose(code as keyof typeof LANGUAGES)}
          >
            {name}
          </Button>
        ))}
      </span>
    </footer>
  );
}
