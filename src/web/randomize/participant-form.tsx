/** The first step: whom to randomize. What is entered is tried out by the service, which records nothing yet. */
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { FieldError } from 'react-aria-components/FieldError';
import { Form } from 'react-aria-components/Form';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { Text } from 'react-aria-components/Text';
import { TextField } from 'react-aria-components/TextField';
import { useTranslation } from 'react-i18next';
import { exampleId } from '../../core/model/participant-id.ts';
import type { Schemas } from '../api/client.ts';
import { factorName } from '../parts/record.ts';
import type { Draft } from './draft.ts';
import { LevelChoice } from './level-choice.tsx';
import { Refusal } from './refusal.tsx';
import { tryOut } from './requests.ts';

interface ParticipantFormProps {
  readonly form: Schemas['StudyForm'];
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  /** Why the participant was not randomized when it was tried. */
  readonly refusal: Error | undefined;
  /** Called when the service would accept the participant. */
  readonly onChecked: (draft: Draft) => void;
}

const ID_FIELD = 'participant-id';
const factorField = (index: number) => `factor-${index}`;

export function ParticipantForm({ form, draft, onChange, refusal, onChecked }: ParticipantFormProps) {
  const { t } = useTranslation();
  const { data: matches } = useQuery(idPatternQuery(form.id_pattern));
  const [isSubmitted, setIsSubmitted] = useState(false);
  const check = useMutation({ mutationFn: tryOut, onSuccess: (_, checked) => onChecked(checked) });
  const id = draft.id.trim();
  const fits = id === '' ? undefined : matches?.(id);

  const problems = useProblems(form, { ...draft, id }, fits);
  const shown = isSubmitted ? problems : [];
  const problemOf = (field: string) => shown.find((problem) => problem.field === field)?.text;

  const change = (to: Partial<Draft>) => {
    check.reset();
    onChange({ ...draft, ...to });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsSubmitted(problems.length > 0);
    if (problems.length === 0 && !check.isPending) check.mutate({ ...draft, id });
  };
  const failure = check.error ?? (check.isIdle ? refusal : undefined);
  return (
    <Form className="card" onSubmit={submit} validationBehavior="aria">
      <ProblemSummary problems={shown} />
      {failure && <Refusal error={failure} draft={{ ...draft, id }} />}
      <IdField
        id={draft.id}
        pattern={form.id_pattern}
        example={form.id_pattern && matches && exampleId(form.id_pattern, matches)}
        fits={fits === true}
        problem={problemOf(ID_FIELD)}
        onChange={(text) => change({ id: text })}
      />
      {form.factors.map(({ name, levels }, index) => (
        <LevelChoice
          key={name}
          id={factorField(index)}
          factor={name}
          levels={levels}
          chosen={draft.levels.get(name)}
          problem={problemOf(factorField(index))}
          onChoose={(level) => change({ levels: new Map(draft.levels).set(name, level) })}
        />
      ))}
      <Button type="submit" className="button go" isPending={check.isPending}>
        {t('randomize.review')}
      </Button>
    </Form>
  );
}

type Matches = (id: string) => boolean;

/**
 * Whether an id matches the pattern of the study, judged as the service does. The engine is large, so it is loaded only if
 * there is a pattern.
 */
const idPatternQuery = (pattern: string | undefined) =>
  queryOptions({
    queryKey: ['id-pattern', pattern],
    enabled: pattern !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async (): Promise<Matches> => {
      const { RE2JS } = await import('re2js');
      const compiled = RE2JS.compile(pattern ?? '');
      return (id) => compiled.matches(id);
    },
  });

interface FieldProblem {
  readonly field: string;
  readonly text: string;
}

/** What is missing or wrong, in the order of the fields. */
function useProblems(
  form: Schemas['StudyForm'],
  { id, levels }: Draft,
  fits: boolean | undefined,
): FieldProblem[] {
  const { t } = useTranslation();
  const problems: FieldProblem[] = [];
  if (id === '') problems.push({ field: ID_FIELD, text: t('randomize.idMissing') });
  else if (fits === false) problems.push({ field: ID_FIELD, text: t('randomize.idUnlike') });
  form.factors.forEach(({ name }, index) => {
    if (!levels.has(name))
      problems.push({
        field: factorField(index),
        text: t('randomize.levelMissing', { factor: factorName(name) }),
      });
  });
  return problems;
}

/** All problems together, each with a link to its field. */
function ProblemSummary({ problems }: { problems: readonly FieldProblem[] }) {
  const { t } = useTranslation();
  const box = useRef<HTMLDivElement>(null);
  const isShown = problems.length > 0;
  useEffect(() => {
    if (isShown) box.current?.focus();
  }, [isShown]);
  if (!isShown) return null;
  return (
    <div className="notice danger" role="alert" tabIndex={-1} ref={box}>
      <strong>{t('randomize.incomplete')}</strong>
      <ul className="plain">
        {problems.map(({ field, text }) => (
          <li key={field}>
            <button type="button" className="link" onClick={() => focusField(field)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function focusField(field: string): void {
  const element = document.getElementById(field);
  const input = element?.matches('input, select') ? element : element?.querySelector('input');
  input?.focus();
}

interface IdFieldProps {
  readonly id: string;
  readonly pattern: string | undefined;
  /** An id that matches the pattern. */
  readonly example: string | undefined;
  readonly fits: boolean;
  readonly problem: string | undefined;
  readonly onChange: (text: string) => void;
}

function IdField({ id, pattern, example, fits, problem, onChange }: IdFieldProps) {
  const { t } = useTranslation();
  return (
    <TextField
      id={ID_FIELD}
      value={id}
      onChange={onChange}
      autoComplete="off"
      isInvalid={problem !== undefined}
    >
      <Label>{t('randomize.id')}</Label>
      <Input spellCheck={false} autoCapitalize="none" maxLength={256} />
      {pattern !== undefined && (
        <Text slot="description">
          {fits ? (
            <span className="ok">✓ {t('randomize.idFits')}</span>
          ) : (
            <>
              {t('randomize.idPattern')} <code>{pattern}</code>
              {example !== undefined && (
                <>
                  {t('randomize.idExample')} <code>{example}</code>
                </>
              )}
            </>
          )}
        </Text>
      )}
      <FieldError>{problem}</FieldError>
    </TextField>
  );
}
