/** One level of a factor: side by side if there are few short ones, else from a list. */
import { FieldError } from 'react-aria-components/FieldError';
import { Label } from 'react-aria-components/Label';
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup';
import { useTranslation } from 'react-i18next';
import { factorName } from '../parts/record.ts';
import styles from './page.module.css';

/** What fits side by side on a telephone, all as wide as the longest. */
const MAX_SEGMENTS = 4;
const MAX_CHARACTERS = 20;

interface Choice {
  /** The id of the field in the document. */
  readonly id: string;
  readonly factor: string;
  readonly levels: readonly string[];
  readonly chosen: string | undefined;
  readonly problem: string | undefined;
  readonly onChoose: (level: string) => void;
}

export function LevelChoice(choice: Choice) {
  const { levels } = choice;
  const width = Math.max(...levels.map((level) => level.length)) * levels.length;
  const isSegmented = levels.length <= MAX_SEGMENTS && width <= MAX_CHARACTERS;
  return isSegmented ? <Segments {...choice} /> : <List {...choice} />;
}

function Segments({ id, factor, levels, chosen, problem, onChoose }: Choice) {
  return (
    <RadioGroup
      id={id}
      value={chosen ?? null}
      onChange={onChoose}
      orientation="horizontal"
      isInvalid={problem !== undefined}
    >
      <Label>{factorName(factor)}</Label>
      <div className={styles.segments}>
        {levels.map((level) => (
          <Radio key={level} value={level} className={styles.segment ?? ''}>
            {level}
          </Radio>
        ))}
      </div>
      <FieldError>{problem}</FieldError>
    </RadioGroup>
  );
}

/** The browser's own list, which every telephone shows in the way its owner knows. */
function List({ id, factor, levels, chosen, problem, onChoose }: Choice) {
  const { t } = useTranslation();
  const problemId = `${id}-problem`;
  return (
    <div className="field">
      <label htmlFor={id}>{factorName(factor)}</label>
      <select
        id={id}
        value={chosen ?? ''}
        onChange={({ target }) => onChoose(target.value)}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : problemId}
      >
        <option value="" disabled>
          {t('randomize.choose')}
        </option>
        {levels.map((level) => (
          <option key={level}>{level}</option>
        ))}
      </select>
      {problem !== undefined && (
        <span className="react-aria-FieldError" id={problemId}>
          {problem}
        </span>
      )}
    </div>
  );
}
