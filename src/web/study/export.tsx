/** The list as a file for statisticians: as it is searched, filtered and sorted, all pages of it. */
import { useMutation } from '@tanstack/react-query';
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { api, file } from '../api/client.ts';
import { ProblemNotice } from '../parts/problem.tsx';
import { fileNameOfToday, saveFile } from '../parts/save-file.ts';
import style from './page.module.css';
import { type ListView, listParameters } from './queries.ts';

export function Export({ study, view }: { study: string; view: ListView }) {
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
