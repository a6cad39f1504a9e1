/** What the service knows about one participant. */
import { queryOptions } from '@tanstack/react-query';
import type { StudyFact } from '../../../events/catalogue.ts';
import { api, results, type Schemas } from '../api/client.ts';
import { headersFor } from '../api/unasked.ts';
import type { ParticipantRecord } from '../parts/record.ts';

type HistoryRecord = Schemas['ParticipantHistory'][number];
type Kind = HistoryRecord['type'];

/** An entry of the history, with what its kind of record holds in the clear. */
export type Entry = {
  [K in Kind]: Omit<HistoryRecord, 'type' | 'data'> & { readonly type: K; readonly data: DataOf<K> };
}[Kind];
type DataOf<K extends Kind> = Extract<StudyFact, { type: K }>['data'];

export const historyQuery = (study: string, id: string) =>
  queryOptions({
    queryKey: ['study', study, 'history', id],
    queryFn: async ({ signal, queryKey }) => {
      const params = { query: { study, id } };
      const headers = headersFor(queryKey);
      return (await results(api.GET('/participant_history', { params, signal, headers }))) as Entry[];
    },
  });

export const recordQuery = (study: string, id: string) =>
  queryOptions({
    queryKey: ['study', study, 'record', id],
    queryFn: async ({ signal, queryKey }) => {
      const query = { study, id, 'urn.bg_state': 'omit' } as const;
      const headers = headersFor(queryKey);
      // The service sends the list as CSV only when that is asked for.
      const list = api.GET('/study_participants', { params: { query }, signal, headers });
      const [record] = await results(list as Parameters<typeof results<ParticipantRecord[]>>[0]);
      return record ?? null;
    },
  });
