/** Fields of forms: the label above, the problem beside, and a summary of all problems at the top. */
import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react';
import { FieldError } from 'react-aria-components/FieldError';
import { Form } from 'react-aria-components/Form';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup';
import { Text } from 'react-aria-components/Text';
import { TextArea } from 'react-aria-components/TextArea';
import { TextField } from 'react-aria-components/TextField';
import { useTranslation } from 'react-i18next';

/** What was filled in, by the names of the fields; empty ones are undefined. */
export type FieldValues = (name: string) => string | undefined;

/** A filled-in field, in the form that people read. */
export type FieldText = readonly [label: string, text: string];

interface CheckedFormProps {
  readonly children: ReactNode;
  readonly onFilled: (filled: FieldValues, lines: readonly FieldText[]) => void;
  readonly className?: string;
}

/** A form that is submitted only when the browser finds nothing wrong with any field. */
export function CheckedForm({ children, onFilled, className }: CheckedFormProps) {
  const { t } = useTranslation();
  const [wrong, setWrong] = useState<readonly string[]>([]);
  // The browser reports each field by an event of its own, one right after the other.
  const found = useRef<string[]>([]);
  const note = ({ target }: FormEvent<HTMLFormElement>) => {
    if (found.current.length === 0) setTimeout(tell);
    found.current.push(labelOf(target as unknown as Field));
  };
  const tell = () => {
    setWrong([...new Set(found.current)]);
    found.current = [];
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setWrong([]);
    const form = new FormData(event.currentTarget);
    const filled: FieldValues = (name) => String(form.get(name) ?? '').trim() || undefined;
    onFilled(filled, linesOf(event.currentTarget));
  };
  return (
    <Form className={className ?? ''} onSubmit={submit} onInvalid={note}>
      {wrong.length > 0 && (
        <p className="notice danger" role="alert">
          {t('common.toCheck', { fields: wrong.join(', ') })}
        </p>
      )}
      {children}
    </Form>
  );
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

function linesOf(form: HTMLFormElement): FieldText[] {
  return Array.from(form.elements as unknown as Field[]).flatMap((field): FieldText[] => {
    const text = textIn(field);
    return text === '' ? [] : [[labelOf(field), text]];
  });
}

function textIn(field: Field): string {
  if (field.name === '') return '';
  if (field instanceof HTMLSelectElement) return field.selectedOptions[0]?.text ?? '';
  if (field.type === 'radio' || field.type === 'checkbox')
    return (field as HTMLInputElement).checked ? (field.labels?.[0]?.textContent ?? '') : '';
  return field.value.replace('T', field.type === 'datetime-local' ? ' ' : 'T').trim();
}

function labelOf(field: Field): string {
  const group = field.closest('[role=radiogroup]')?.querySelector('.react-aria-Label');
  const label = group ?? field.labels?.[0];
  // Without the small print beside the label.
  return label?.firstChild?.textContent ?? field.name;
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly isOptional?: boolean;
}

interface TextProps extends FieldProps {
  readonly defaultValue?: string;
  readonly type?: 'text' | 'number' | 'date' | 'datetime-local';
  readonly isLong?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly autoComplete?: string;
  readonly min?: number;
  readonly max?: string;
}

export function TextLine({ label, hint, isOptional = false, isLong = false, min, max, ...field }: TextProps) {
  return (
    <TextField isRequired={!isOptional} {...field}>
      <FieldLabel label={label} isOptional={isOptional} />
      {isLong ? (
        <TextArea rows={3} onInput={mended} />
      ) : (
        <Input spellCheck={false} min={min} max={max} onInput={mended} />
      )}
      {hint !== undefined && <Text slot="description">{hint}</Text>}
      <Wrong />
    </TextField>
  );
}

/**
 * Removes a problem as soon as it is mended. Otherwise that would happen when the field is left, and the button would move
 * away from under the finger that presses it.
 */
function mended({ currentTarget }: FormEvent<HTMLInputElement | HTMLTextAreaElement>): void {
  if (currentTarget.validity.valid) currentTarget.dispatchEvent(new Event('change'));
}

/** In the language of the page. The browser's own messages may be in another language. */
function Wrong() {
  const { t } = useTranslation();
  return (
    <FieldError>
      {({ validationDetails, defaultChildren }) =>
        validationDetails.valueMissing ? t('common.missing') : defaultChildren
      }
    </FieldError>
  );
}

function FieldLabel({ label, isOptional }: { label: string; isOptional: boolean }) {
  const { t } = useTranslation();
  return (
    <Label>
      {label}
      {isOptional && <small> {t('common.optional')}</small>}
    </Label>
  );
}

/** A value, and its label. */
export type Option = readonly [value: string, text: string];

interface ChoiceProps extends FieldProps {
  readonly options: readonly Option[];
  readonly defaultValue?: string;
  readonly onChange?: (value: string) => void;
}

/** One of a few, all of them visible. */
export function Choice({ label, hint, options, isOptional = false, ...field }: ChoiceProps) {
  return (
    <RadioGroup isRequired={!isOptional} {...field}>
      <FieldLabel label={label} isOptional={isOptional} />
      <div className="segments">
        {options.map(([value, text]) => (
          <Radio key={value} value={value} className="segment">
            <span>{text}</span>
          </Radio>
        ))}
      </div>
      {hint !== undefined && <Text slot="description">{hint}</Text>}
      <Wrong />
    </RadioGroup>
  );
}

/** One of many. */
export function Selection({
  name,
  label,
  hint,
  options,
  isOptional = false,
  defaultValue,
  onChange,
}: ChoiceProps) {
  const { t } = useTranslation();
  const id = useId();
  const [problem, setProblem] = useState('');
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isOptional && <small> {t('common.optional')}</small>}
      </label>
      <select
        id={id}
        name={name}
        required={!isOptional}
        defaultValue={defaultValue ?? ''}
        aria-invalid={problem !== ''}
        aria-describedby={`${id}-more`}
        onChange={({ target }) => {
          setProblem('');
          onChange?.(target.value);
        }}
        onInvalid={(event) => {
          event.preventDefault();
          setProblem(t('common.missing'));
        }}
      >
        {defaultValue === undefined && <option value="" />}
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      <span id={`${id}-more`}>
        {hint !== undefined && <span slot="description">{hint}</span>}
        {problem !== '' && <span className="react-aria-FieldError">{problem}</span>}
      </span>
    </div>
  );
}
