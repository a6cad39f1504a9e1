/** What the form needs to know about the study, and what is shown instead when nobody can be randomized. */
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { formQuery } from '../parts/form-query.ts';
import { Loading } from '../parts/loading.tsx';
import { ProblemNotice, RefusalNotice } from '../parts/problem.tsx';
import { factorName } from '../parts/record.ts';
import { When } from '../parts/when.tsx';
import { studiesQuery } from '../session/studies-query.ts';
import type { Draft } from './draft.ts';
import { ParticipantForm } from './participant-form.tsx';

interface Props {
  readonly study: string;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly refusal: Error | undefined;
  readonly onChecked: (draft: Draft) => void;
}

export function FirstStep({ study, draft, onChange, refusal, onChecked }: Props) {
  const { t } = useTranslation();
  const { data: studies, error: studiesError } = useQuery(studiesQuery);
  const { data: form, error } = useQuery(formQuery(study));
  if (!form || !studies) {
    const problem = error ?? studiesError;
    return problem ? <ProblemNotice error={problem} /> : <Loading />;
  }
  const { state, reason, since } = studies.find((one) => one.study === study) ?? {};
  if (state === 'paused' || state === 'closed' || state === 'importing')
    return (
      <RefusalNotice word={state}>
        {reason !== undefined && (
          <p>
            {since !== undefined && (
              <>
                {t('randomize.since')} <When at={since} />
                {': '}
              </>
            )}
            <q>{reason}</q>
          </p>
        )}
      </RefusalNotice>
    );
  const closed = form.factors.find(({ levels }) => levels.length === 0);
  if (closed)
    return <p className="notice warn">{t('randomize.noLevel', { factor: factorName(closed.name) })}</p>;
  return (
    <ParticipantForm
      form={form}
      draft={{ ...draft, levels: possible(form, draft) }}
      onChange={onChange}
      refusal={refusal}
      onChecked={onChecked}
    />
  );
}

/** The chosen levels that can still be chosen, in the order of the form. Where there is only one, it is chosen already. */
function possible(
  { factors }: { readonly factors: readonly { readonly name: string; readonly levels: readonly string[] }[] },
  { levels: chosen }: Draft,
): ReadonlyMap<string, string> {
  return new Map(
    factors.flatMap(({ name, levels }) => {
      const level = levels.length === 1 ? levels[0] : levels.find((one) => one === chosen.get(name));
      return level === undefined ? [] : [[name, level]];
    }),
  );
}
