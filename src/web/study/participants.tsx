/**
 * Who is in the study: a list to search, filter, sort and page through. It stays up to date while it is shown, and is given
 * out as a file for statisticians.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { api, file } from '../api/client.ts';
import { Chip } from '../parts/chip.tsx';
import { address } from '../parts/fragment.ts';
import { Loading } from '../parts/loading.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { factorName, type ParticipantRecord, randomizedAt } from '../parts/record.ts';
import { fileNameOfToday, saveFile } from '../parts/save-file.ts';
import { Scroll } from '../parts/scroll.tsx';
import { When } from '../parts/when.tsx';
import { ListControls } from './list-controls.tsx';
import { type Liveness, useLive } from './live.ts';
import style from './page.module.css';
import {
  codeBreaksQuery,
  keyOfStudy,
  type ListView,
  listParameters,
  listQuery,
  NEWEST_FIRST,
  PAGE_LENGTH,
} from './queries.ts';
import { unblindedIn } from './unblinded.ts';
import { useArms, useFactors } from './use-enrolment.ts';

export function Participants({ study }: { study: string }) {
  const { t } = useTranslation();
  const [view, setView] = useListView(study);
  const { data: list, error } = useQuery(listQuery(study, view));
  const liveness = useLive(study);
  const total = list?.total ?? 0;
  const isFiltered = view.search !== '' || Object.keys(view.levels).length > 0;
  return (
    <section className="card" aria-labelledby="participants">
      <div className={`head ${style.listHead}`}>
        <h2 id="participants">{t('study.participants')}</h2>
        <LivenessNote liveness={liveness} />
        <ExportButton study={study} view={view} />
      </div>
      <ListControls study={study} view={view} onChange={setView} />
      <ProblemNotice error={list ? null : error} />
      {!list && !error && <Loading />}
      {list && total > 0 && (
        <Scroll label={t('study.participants')}>
          <ParticipantTable study={study} participants={list.participants} view={view} onSort={setView} />
        </Scroll>
      )}
      {list && total === 0 && (
        <p className={style.empty}>
          {t(isFiltered ? 'study.noneFound' : 'study.none')}{' '}
          {isFiltered && (
            <Button
              className="button small"
              onPress={() => setView({ ...view, search: '', levels: {}, offset: 0 })}
            >
              {t('study.clear')}
            </Button>
          )}
        </p>
      )}
      {list && total > 0 && <Paging view={view} total={total} onChange={setView} />}
    </section>
  );
}

/** Remembers how the list was left, for a reader who comes back from a participant. It is forgotten with the session. */
function useListView(study: string) {
  const queries = useQueryClient();
  const kept = [...keyOfStudy(study), 'view'];
  const [view, setView] = useState<ListView>(() => queries.getQueryData(kept) ?? NEWEST_FIRST);
  const change = (next: ListView) => {
    queries.setQueryDefaults(kept, { gcTime: Number.POSITIVE_INFINITY });
    queries.setQueryData(kept, next);
    setView(next);
  };
  return [view, change] as const;
}

function LivenessNote({ liveness }: { liveness: Liveness }) {
  const { t } = useTranslation();
  return (
    <span role="status">
      {liveness !== 'connecting' && (
        <Chip tone={liveness === 'offline' ? 'warn' : liveness === 'live' ? 'ok' : undefined}>
          {t(`study.${liveness}`)}
        </Chip>
      )}
    </span>
  );
}

/** The list as a file: as it is searched, filtered and sorted, all pages of it. */
function ExportButton({ study, view }: { study: string; view: ListView }) {
  const { t } = useTranslation();
  const { mutate, isPending, isSuccess, error } = useMutation({ mutationFn: () => exportCsv(study, view) });
  return (
    <div className={style.export}>
      <Button className="button" isPending={isPending} onPress={() => mutate()}>
        {t('study.exportCsv')}
      </Button>
      <span role="status" className="hidden">
        {isPending && t('study.exporting')}
        {isSuccess && t('study.exported')}
      </span>
      <ProblemNotice error={error} />
    </div>
  );
}

async function exportCsv(study: string, view: ListView): Promise<void> {
  const content = await file(
    api.GET('/study_participants', {
      // Who exports from a page will open the file in a spreadsheet.
      params: { query: { ...listParameters(study, view), 'urn.excel': 'true' } },
      headers: { Accept: 'text/csv' },
      parseAs: 'blob',
    }),
  );
  saveFile(content, fileNameOfToday(study, 'participants'));
}

interface ParticipantTableProps {
  readonly study: string;
  readonly participants: readonly ParticipantRecord[];
  readonly view: ListView;
  readonly onSort: (view: ListView) => void;
}

function ParticipantTable({ study, participants, view, onSort }: ParticipantTableProps) {
  const { t } = useTranslation();
  const arms = useArms(study);
  const { data: breaks = [] } = useQuery(codeBreaksQuery(study));
  const [openedAt] = useState(() => Date.now());
  const unblinded = unblindedIn(breaks);
  const factors = useFactors(study).map(({ factor }) => factor);
  const head = { view, onSort };
  return (
    <table className={style.participants}>
      <thead>
        <tr>
          <SortableHead {...head} by="id" name={t('study.participant')} />
          {factors.map((factor) => (
            <SortableHead key={factor} {...head} by={`f_${factor}`} name={factorName(factor)} />
          ))}
          {arms && <th scope="col">{t('study.treatment')}</th>}
          <SortableHead {...head} by="time" name={t('study.randomized')} />
          <th scope="col">{t('study.by')}</th>
          <th scope="col">{t('study.remarks')}</th>
        </tr>
      </thead>
      <tbody>
        {participants.map((one) => {
          const at = randomizedAt(one);
          const classes = [
            one['urn.voided'] && style.voided,
            // A row that appears while the page is open is marked as new.
            Date.parse(at) > openedAt && style.fresh,
          ].filter(Boolean);
          return (
            <tr key={one.id} className={classes.join(' ')}>
              <th scope="row">
                <Link to={address('participant', study, one.id)}>{one.id}</Link>
              </th>
              {factors.map((factor) => (
                <td key={factor} className={style.level} title={factorName(factor)}>
                  {levelOf(one, factor)}
                </td>
              ))}
              {arms && <td className={style.treatment}>{one.trt}</td>}
              <td className={style.time}>
                <When at={at} />
              </td>
              <td className={style.by}>{one.user}</td>
              <td className={style.remarks}>
                <Remarks participant={one} isBroken={unblinded.has(one.id)} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface SortableHeadProps {
  readonly view: ListView;
  readonly onSort: (view: ListView) => void;
  readonly by: string;
  readonly name: string;
}

function SortableHead({ view, onSort, by, name }: SortableHeadProps) {
  const { t } = useTranslation();
  const isSorted = view.sort === by;
  const isUp = view.order === 'asc';
  const turn = () => onSort({ ...view, sort: by, order: isSorted && isUp ? 'desc' : 'asc', offset: 0 });
  return (
    <th scope="col" {...(isSorted && { 'aria-sort': isUp ? 'ascending' : 'descending' })}>
      <button type="button" className={style.sort} onClick={turn}>
        {name}
        {isSorted && (
          <span aria-hidden title={t(isUp ? 'study.sortedUp' : 'study.sortedDown')}>
            {isUp ? ' ↑' : ' ↓'}
          </span>
        )}
      </button>
    </th>
  );
}

function levelOf(participant: ParticipantRecord, factor: string): string {
  return String((participant as Readonly<Record<string, unknown>>)[`f_${factor}`] ?? '');
}

function Remarks({ participant, isBroken }: { participant: ParticipantRecord; isBroken: boolean }) {
  const { t } = useTranslation();
  const {
    'urn.voided': voided,
    'urn.as_randomized': levels,
    'urn.id_as_randomized': id,
    'urn.occurred_at': occurredAt,
    'urn.code': code,
  } = participant;
  return (
    <span className={style.chips}>
      {voided !== undefined && <Chip tone="warn">{t(`study.voided.${voided}`)}</Chip>}
      {isBroken && <Chip tone="danger">{t('study.codeBroken')}</Chip>}
      {levels && <Chip tone="warn">{t('study.corrected')}</Chip>}
      {id !== undefined && <Chip tone="warn">{t('study.correctedId', { id })}</Chip>}
      {occurredAt !== undefined && <Chip>{t('study.byHand')}</Chip>}
      {code !== undefined && <Chip>{t('study.pack', { code })}</Chip>}
    </span>
  );
}

interface PagingProps {
  readonly view: ListView;
  readonly total: number;
  readonly onChange: (view: ListView) => void;
}

function Paging({ view, total, onChange }: PagingProps) {
  const { t } = useTranslation();
  const { offset } = view;
  // When participants are corrected meanwhile, the page that is shown may no longer exist.
  const last = Math.max(0, Math.floor((total - 1) / PAGE_LENGTH) * PAGE_LENGTH);
  useEffect(() => {
    if (offset > last) onChange({ ...view, offset: last });
  });
  const range = { from: Math.min(offset + 1, total), to: Math.min(offset + PAGE_LENGTH, total), total };
  return (
    <nav className={style.paging} aria-label={t('study.pages')}>
      <span className="number" role="status">
        {t('study.range', range)}
      </span>
      {total > PAGE_LENGTH && (
        <>
          <Button
            className="button"
            isDisabled={offset === 0}
            onPress={() => onChange({ ...view, offset: Math.max(0, offset - PAGE_LENGTH) })}
          >
            {t('study.previous')}
          </Button>
          <Button
            className="button"
            isDisabled={offset >= last}
            onPress={() => onChange({ ...view, offset: offset + PAGE_LENGTH })}
          >
            {t('study.next')}
          </Button>
        </>
      )}
    </nav>
  );
}
