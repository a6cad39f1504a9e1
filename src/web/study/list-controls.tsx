/** Search and filters of the list. */
import { useEffect, useId, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { SearchField } from 'react-aria-components/SearchField';
import { useTranslation } from 'react-i18next';
import { factorName } from '../parts/record.ts';
import style from './page.module.css';
import type { ListView } from './queries.ts';
import { byFactor, useEnrolment } from './use-enrolment.ts';

/** The service is asked when typing pauses. */
const TYPING_MS = 250;

interface ListControlsProps {
  readonly study: string;
  readonly view: ListView;
  readonly onChange: (view: ListView) => void;
}

export function ListControls({ study, view, onChange }: ListControlsProps) {
  const { t } = useTranslation();
  const { data: enrolment } = useEnrolment(study);
  const count = Object.keys(view.levels).length;
  const [isOpen, setOpen] = useState(count > 0);
  const panel = useId();
  const factors = enrolment ? byFactor(enrolment) : [];
  const choose = (factor: string, level: string) => {
    const { [factor]: _, ...others } = view.levels;
    onChange({ ...view, levels: level === '' ? others : { ...others, [factor]: level }, offset: 0 });
  };
  return (
    <search className={style.controls}>
      <Search view={view} onChange={onChange} />
      <Button
        className="button"
        aria-expanded={isOpen}
        aria-controls={panel}
        onPress={() => setOpen(!isOpen)}
      >
        {count === 0 ? t('study.filter') : t('study.filterCount', { count })}
      </Button>
      <div id={panel} className={style.filters} hidden={!isOpen}>
        {factors.map(({ factor, levels }) => (
          <label key={factor}>
            <span>{factorName(factor)}</span>
            <select value={view.levels[factor] ?? ''} onChange={({ target }) => choose(factor, target.value)}>
              <option value="">{t('study.any')}</option>
              {levels.map(({ level }) => (
                <option key={level}>{level}</option>
              ))}
            </select>
          </label>
        ))}
      </div>
    </search>
  );
}

function Search({ view, onChange }: Omit<ListControlsProps, 'study'>) {
  const { t } = useTranslation();
  const [text, setText] = useState(view.search);
  const [shown, setShown] = useState(view.search);
  // The search was cleared elsewhere on the page.
  if (shown !== view.search) {
    setShown(view.search);
    setText(view.search);
  }
  useEffect(() => {
    const search = text.trim();
    if (search === view.search) return undefined;
    const timer = setTimeout(() => onChange({ ...view, search, offset: 0 }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, view, onChange]);
  return (
    <SearchField value={text} onChange={setText} maxLength={128}>
      <Label>{t('study.search')}</Label>
      <Input autoComplete="off" autoCapitalize="none" spellCheck={false} />
    </SearchField>
  );
}
