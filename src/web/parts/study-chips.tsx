import { useTranslation } from 'react-i18next';
import type { Schemas } from '../api/client.ts';
import { Chip, type Tone } from './chip.tsx';

type State = Schemas['Studies'][number]['state'];

const TONES: Readonly<Record<State, Tone | undefined>> = {
  open: 'ok',
  paused: 'warn',
  importing: 'warn',
  closed: undefined,
  unreadable: 'danger',
};

export function StateChip({ state }: { state: State }) {
  const { t } = useTranslation();
  return <Chip tone={TONES[state]}>{t(`common.state.${state}`)}</Chip>;
}

export function TestChip({ mode }: { mode: 'test' | 'live' | undefined }) {
  const { t } = useTranslation();
  if (mode === undefined) return null;
  return <Chip tone={mode === 'test' ? 'test' : undefined}>{t(`common.mode.${mode}`)}</Chip>;
}
