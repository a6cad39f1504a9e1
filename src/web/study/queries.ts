/** What the page of a study asks the service. Only the band of the balance (use-expected.ts) is a disclosure. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answer, api, results, type Schemas } from '../api/client.ts';
import { headersFor } from '../api/unasked.ts';
import type { StudyDesign } from '../parts/design-query.ts';

export type Enrolment = Schemas['Enrolment'];

export const PAGE_LENGTH = 50;

/** Which participants the list shows. */
export interface ListView {
  readonly search: string;
  /** By factor, those that are chosen. */
  readonly levels: Readonly<Record<string, string>>;
  /** `time`, `id`, or `f_` and the name of a factor. */
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  readonly offset: number;
}

export const NEWEST_FIRST: ListView = { search: '', levels: {}, sort: 'time', order: 'desc', offset: 0 };

export const keyOfStudy = (study: string) => ['study', study] as const;

/** The parameters of the list, of all its pages. */
export function listParameters(study: string, { search, levels, sort, order }: ListView) {
  return {
    study,
    factors: levels,
    'urn.bg_state': 'omit',
    'urn.sort': sort,
    'urn.order': order,
    ...(search !== '' && { 'urn.search': search }),
  } as const;
}

export function listQuery(study: string, view: ListView) {
  return queryOptions({
    queryKey: [...keyOfStudy(study), 'list', view],
    queryFn: async ({ signal, queryKey }) => {
      const query = {
        ...listParameters(study, view),
        'urn.limit': PAGE_LENGTH,
        'urn.offset': view.offset,
      };
      const list = api.GET('/study_participants', {
        params: { query },
        signal,
        headers: headersFor(queryKey),
      });
      const { results: participants, headers } = await answer(list);
      return { participants, total: Number(headers.get('Urn-Total')) };
    },
    // The list stays while another page is loaded.
    placeholderData: keepPreviousData,
  });
}

/** An arm and its place among the treatments, which gives it its colour. */
export interface StudyArm {
  readonly name: string;
  readonly place: number;
  readonly share: number;
  readonly isClosed: boolean;
}

export function armsOf({ design: { treatments, closed_treatments, ratio } }: StudyDesign): StudyArm[] {
  return treatments.map((name, place) => ({
    name,
    place,
    share: ratio?.[place] ?? 1,
    isClosed: closed_treatments.includes(name),
  }));
}

export function codeBreaksQuery(study: string) {
  return queryOptions({
    queryKey: [...keyOfStudy(study), 'code-breaks'],
    queryFn: ({ signal, queryKey }) =>
      results(
        api.GET('/code_breaks', { params: { query: { study } }, signal, headers: headersFor(queryKey) }),
      ),
  });
}
