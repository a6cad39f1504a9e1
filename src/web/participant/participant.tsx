/** One participant: what was recorded, everything that happened since, and what can be done. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, Suspense, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { Chip } from '../parts/chip.tsx';
import { CheckedForm, TextLine } from '../parts/fields.tsx';
import { address, useFragment } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { factorName, levelsOf, type ParticipantRecord } from '../parts/record.ts';
import { later } from '../parts/try-again.tsx';
import { ExactTime } from '../parts/when.tsx';
import { useScope } from '../session/session.tsx';
import { StudyChips } from '../session/study-chips.tsx';
import { AskForCode, BrokenCode, type ShownCode, type Subject } from './code-break.tsx';
import { By, ENROLMENTS, History } from './history.tsx';
import { Packs, usePacksShown } from './packs.tsx';
import styles from './participant.module.css';
import { type Entry, historyQuery, recordQuery } from './queries.ts';

const ChangeForm = later(async () => (await import('./changes.tsx')).ChangeForm);
const Changes = later(async () => (await import('./changes.tsx')).Changes);
const Why = later(async () => (await import('./why.tsx')).Why);

export function Participant() {
  const { t } = useTranslation();
  const { study, id, act } = useFragment();
  if (study === undefined)
    return (
      <Page title={t('participant.find')}>
        <p>{t('common.noStudy')}</p>
        <Link to={address('studies')}>{t('common.toStudies')}</Link>
      </Page>
    );
  // Another participant starts afresh: nothing that was shown about one stays for the next.
  const subject = `${study}\n${id}`;
  return id === undefined ? (
    <Find key={subject} study={study} />
  ) : (
    <OnePerson key={subject} study={study} id={id} act={act} />
  );
}

/** By an id, or by a pack when there is nothing else. */
function Find({ study }: { study: string }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const mayUnblind = useScope('unblind');
  return (
    <CodeBreaking study={study}>
      {(breakCode) => (
        <Page title={t('participant.find')} width="narrow" chips={<StudyChips study={study} />}>
          <CheckedForm
            className="card"
            onFilled={(filled) => void navigate(address('participant', study, filled('id')))}
          >
            <TextLine
              name="id"
              label={t('participant.id')}
              hint={t('participant.idHint')}
              autoComplete="off"
            />
            <Button type="submit" className="button go">
              {t('participant.show')}
            </Button>
          </CheckedForm>
          {mayUnblind && (
            <CheckedForm
              className={`card ${styles['second']}`}
              onFilled={(filled) => breakCode({ code: filled('code') ?? '' })}
            >
              <h2>{t('participant.onlyPack')}</h2>
              <TextLine
                name="code"
                label={t('participant.packCode')}
                hint={t('participant.packHint')}
                autoComplete="off"
              />
              <Button type="submit" className="button quiet-stop">
                {t('participant.breakPack')}
              </Button>
            </CheckedForm>
          )}
        </Page>
      )}
    </CodeBreaking>
  );
}

/** A page from which codes can be broken: the question appears over it, the treatment instead of it. */
function CodeBreaking({
  study,
  children,
}: {
  study: string;
  children: (breakCode: (subject: Subject) => void) => ReactNode;
}) {
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Subject>();
  const [broken, setBroken] = useState<ShownCode>();
  if (broken) return <BrokenCode study={study} broken={broken} onHide={() => setBroken(undefined)} />;
  return (
    <>
      {children(setAsked)}
      {asked && (
        <AskForCode
          study={study}
          subject={asked}
          onClose={() => setAsked(undefined)}
          onBroken={(shown) => {
            setAsked(undefined);
            setBroken(shown);
            void queries.invalidateQueries();
          }}
        />
      )}
    </>
  );
}

function OnePerson({ study, id, act }: { study: string; id: string; act: string | undefined }) {
  const { t } = useTranslation();
  const mayUnblind = useScope('unblind');
  const isReader = useScope('read', 'blinded');
  const mayReadHistory = useScope('read', 'blinded', 'audit');
  const mayAudit = useScope('audit');
  const { data: entries, error } = useQuery({ ...historyQuery(study, id), enabled: mayReadHistory });
  const { data: record, error: recordError } = useQuery({ ...recordQuery(study, id), enabled: isReader });
  const isDrawn = entries?.some(({ type }) => type === 'ParticipantRandomized') ?? false;
  const packs = usePacksShown(study, record ?? undefined);
  if (act !== undefined && (isReader ? record && entries : packs === 'shown'))
    return <ChangeForm name={act} {...{ study, id, entries: entries ?? [], ...(record && { record }) }} />;
  return (
    <CodeBreaking study={study}>
      {(breakCode) => (
        <Page
          title={record?.id ?? id}
          chips={
            <>
              <States entries={entries ?? []} record={record ?? undefined} />
              <StudyChips study={study} />
            </>
          }
          actions={
            mayUnblind && (
              <Button className="button quiet-stop" onPress={() => breakCode({ id })}>
                {t('participant.break.button')}
              </Button>
            )
          }
        >
          <ProblemNotice error={error ?? recordError} />
          {!mayReadHistory && <p className="notice">{t('participant.mayNotRead')}</p>}
          {((mayReadHistory && !entries && !error) || packs === 'asking') && <Loading />}
          {!record && packs === 'shown' && <Packs study={study} id={id} />}
          {entries && packs !== 'asking' && (
            <div className={record ? 'grid two' : 'grid'}>
              {record && packs === 'none' && <Recorded record={record} entries={entries} />}
              {record && packs === 'shown' && (
                <div className={`grid ${styles['stack']}`}>
                  <Recorded record={record} entries={entries} isPackElsewhere />
                  <Packs study={study} id={record.id} record={record} />
                </div>
              )}
              <History entries={entries} withLevels={!record} />
              {mayAudit && isDrawn && (
                <section className="card across">
                  <Suspense fallback={<Loading />}>
                    <Why study={study} id={id} />
                  </Suspense>
                </section>
              )}
              {record && (
                <Suspense fallback={null}>
                  <Changes study={study} record={record} entries={entries} />
                </Suspense>
              )}
            </div>
          )}
        </Page>
      )}
    </CodeBreaking>
  );
}

function States({ entries, record }: { entries: readonly Entry[]; record: ParticipantRecord | undefined }) {
  const { t } = useTranslation();
  const types = entries.map(({ type }) => type);
  return (
    <>
      {types.includes('AllocationRevealed') && <Chip tone="danger">{t('participant.codeBroken')}</Chip>}
      {!types.includes('AllocationRevealed') && types.includes('UnblindingReported') && (
        <Chip tone="danger">{t('participant.unblinded')}</Chip>
      )}
      {record?.['urn.voided'] !== undefined && <Chip tone="warn">{t('participant.voided')}</Chip>}
      {(types.includes('LevelsCorrected') || types.includes('ParticipantIdCorrected')) && (
        <Chip tone="warn">{t('participant.corrected')}</Chip>
      )}
    </>
  );
}

interface RecordedProps {
  readonly record: ParticipantRecord;
  readonly entries: readonly Entry[];
  /** The pack is shown with those of visits. */
  readonly isPackElsewhere?: boolean;
}

function Recorded({ record, entries, isPackElsewhere = false }: RecordedProps) {
  const { t } = useTranslation();
  const before = record['urn.as_randomized'] ?? {};
  const pack = record['urn.code'];
  const former = record['urn.id_as_randomized'];
  // Wrong entries that were replaced come before the valid one.
  const enrolment = entries.findLast(({ type }) => type in ENROLMENTS);
  return (
    <section className="card">
      <h2>{t('participant.recorded')}</h2>
      <dl className="terms">
        {former !== undefined && <Row term={t('participant.randomizedAs')}>{former}</Row>}
        {levelsOf(record).map(([factor, level]) => {
          const was = before[`f_${factor}`];
          return (
            <Row key={factor} term={factorName(factor)}>
              {level}
              {was !== undefined && was !== level && (
                <small> ({t('participant.asRandomized', { level: was })})</small>
              )}
            </Row>
          );
        })}
        {pack !== undefined && !isPackElsewhere && <Row term={t('participant.pack')}>{pack}</Row>}
        {record.trt !== undefined && (
          <Row term={t('participant.treatment')}>
            <strong>{record.trt}</strong>
          </Row>
        )}
        {enrolment && (
          <>
            <Row term={t(ENROLMENTS[enrolment.type as keyof typeof ENROLMENTS])}>
              <ExactTime at={enrolment.at} />
            </Row>
            <Row term={t('participant.by')}>
              <By {...enrolment} />
            </Row>
          </>
        )}
      </dl>
    </section>
  );
}

function Row({ term, children }: { term: string; children: ReactNode }) {
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}
