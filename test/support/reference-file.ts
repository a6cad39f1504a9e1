/** Files as the reference writes them. */
import type { StudyConfiguration } from '../../events/study.ts';
import type { ImportParticipant } from '../../src/core/study/commands.ts';
import { CONFIGURATION } from './facts.ts';

/** As csv.writer of Python quotes by default. */
const quoted = (field: string) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field);

/** As `export_history` writes it. */
export function referenceCsv(
  rows: readonly ImportParticipant[],
  { factors }: Pick<StudyConfiguration, 'factors'> = CONFIGURATION,
): string {
  const header = ['id', ...factors.map(({ name }) => `f_${name}`), 'trt', 'datetime', 'user', 'bg_state'];
  const lines = rows.map(({ participantId, levels, treatment, original, bgState }) => [
    ...[participantId, ...levels, treatment, original.datetime, original.user],
    bgState ? pythonState(bgState) : '',
  ]);
  return [header, ...lines].map((fields) => `${fields.map(quoted).join(',')}\n`).join('');
}

function pythonState({ state, has_uint32, uinteger }: NonNullable<ImportParticipant['bgState']>): string {
  return `{'bit_generator': 'PCG64', 'state': {'state': ${state.state}, 'inc': ${state.inc}}, 'has_uint32': ${has_uint32}, 'uinteger': ${uinteger}}`;
}
