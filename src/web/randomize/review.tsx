/** The second step: what will be recorded, before it is. */
import { Button } from 'react-aria-components/Button';
import { useTranslation } from 'react-i18next';
import { factorName } from '../parts/record.ts';
import { useSession } from '../session/session.tsx';
import type { Draft } from './draft.ts';
import { Term, useMode } from './recorded.tsx';

interface Props {
  readonly draft: Draft;
  readonly onBack: () => void;
  readonly onRandomize: () => void;
}

export function Review({ draft, onBack, onRandomize }: Props) {
  const { t } = useTranslation();
  const { user, on_behalf_of: acting } = useSession();
  const { study, id, levels } = draft;
  const mode = useMode(study);
  return (
    <div className="card">
      <p>{t('randomize.checked')}</p>
      <dl className="terms">
        <Term name={t('randomize.study')} value={study} />
        {mode !== undefined && <Term name={t('randomize.modeLabel')} value={mode} />}
        <Term name={t('randomize.id')} value={id} />
        {[...levels].map(([factor, level]) => (
          <Term key={factor} name={factorName(factor)} value={level} />
        ))}
        <Term
          name={t('randomize.by')}
          value={acting === undefined ? user : t('randomize.onBehalf', { user, acting })}
        />
      </dl>
      <p className="notice warn">{t('randomize.forGood')}</p>
      <div className="choices">
        <Button className="button" onPress={onBack}>
          {t('randomize.change')}
        </Button>
        <Button className="button go" onPress={onRandomize}>
          {t('randomize.now', { id })}
        </Button>
      </div>
    </div>
  );
}
