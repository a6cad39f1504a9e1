/** What became of each pack: a list to search and filter, without treatments until the map was asked for, too. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { SearchField } from 'react-aria-components/SearchField';
import { useTranslation } from 'react-i18next';
import { api, file, type Schemas } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import { fileNameOfToday, saveFile } from '../parts/save-file.ts';
import { ExactTime } from '../parts/when.tsx';
import { PackTable } from './pack-table.tsx';
import styles from './packs.module.css';
import { AskToRead, type useReading } from './reading.tsx';

export type Account = Schemas['Accountability'];
type State = Account[number]['state'];
const STATES = ['free', 'held', 'replaced', 'void', 'nobody', 'withdrawn'] as const satisfies State[];

interface Props {
  readonly study: string;
  readonly reading: ReturnType<typeof useReading<Account>>;
  /** What packs hold, if somebody asked for that. */
  readonly map: Schemas['Codes']['codes'] | undefined;
  readonly onPrint: () => void;
}

export function Accounted({ study, reading, map, onPrint }: Props) {
  const { t } = useTranslation();
  const { read, heading } = reading;
  return (
    <section className="card">
      <h2 ref={heading} tabIndex={-1}>
        {t('packs.list.title')}
      </h2>
      {read?.results.length === 0 && <p>{t('packs.noneRegistered')}</p>}
      {read && read.results.length > 0 && <AccountedPacks study={study} packs={read.results} map={map} />}
      {read && (
        <p className="soft">
          {t('packs.asOf', { revision: read.revision })} <ExactTime at={read.at} />
        </p>
      )}
      <AskToRead
        reading={reading}
        button={t(read ? 'packs.again' : 'packs.list.show')}
        more={
          <>
            {read && read.results.length > 0 && (
              <Button className="button" onPress={onPrint}>
                {t('packs.list.toPrint')}
              </Button>
            )}
            <SaveCsv study={study} />
          </>
        }
      >
        <p className={read ? 'soft' : 'notice'}>
          {t(map ? 'packs.list.disclosesWithMap' : 'packs.list.discloses')}
        </p>
      </AskToRead>
    </section>
  );
}

interface AccountedPacksProps extends Pick<Props, 'study' | 'map'> {
  readonly packs: Account;
}

function AccountedPacks({ study, packs, map }: AccountedPacksProps) {
  const { t } = useTranslation();
  const [search, setSearch] = useState('');
  const [state, setState] = useState<State | ''>('');
  const wanted = search.trim().toLowerCase();
  const found = packs.filter(
    (pack) =>
      (state === '' || pack.state === state) &&
      [pack.code, pack.id ?? ''].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <search className={styles.controls}>
        <SearchField value={search} onChange={setSearch} maxLength={128}>
          <Label>{t('packs.list.search')}</Label>
          <Input autoComplete="off" autoCapitalize="none" spellCheck={false} />
        </SearchField>
        <label>
          <span>{t('packs.list.state')}</span>
          <select value={state} onChange={({ target }) => setState(target.value as State | '')}>
            <option value="">{t('study.any')}</option>
            {STATES.map((one) => (
              <option key={one} value={one}>
                {t(`packs.state.${one}`)}
              </option>
            ))}
          </select>
        </label>
        <span role="status" className="number">
          {t('packs.list.found', { count: packs.length, found: found.length })}
        </span>
      </search>
      {/* Another search begins at the top. */}
      <PackTable key={`${wanted}\n${state}`} study={study} packs={found} map={map} />
    </>
  );
}

function SaveCsv({ study }: { study: string }) {
  const { t } = useTranslation();
  const { mutate, isPending, isSuccess, error } = useMutation({ mutationFn: () => saveCsv(study) });
  return (
    <>
      <Button className="button" isPending={isPending} onPress={() => mutate()}>
        {t('packs.list.csv')}
      </Button>
      <span role="status" className="hidden">
        {isPending && t('study.exporting')}
        {isSuccess && t('study.exported')}
      </span>
      <ProblemNotice error={error} />
    </>
  );
}

async function saveCsv(study: string): Promise<void> {
  const content = await file(
    api.GET('/pack_accountability', {
      // Who saves from a page will open the file in a spreadsheet.
      params: { query: { study, 'urn.excel': 'true' } },
      headers: { Accept: 'text/csv' },
      parseAs: 'blob',
    }),
  );
  saveFile(content, fileNameOfToday(study, 'accountability'));
}
