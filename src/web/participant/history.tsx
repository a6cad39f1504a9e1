/** The whole life of one participant, in words. The latest comes first. */
import type { TFunction } from 'i18next';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { factorName } from '../parts/record.ts';
import { When } from '../parts/when.tsx';
import styles from './participant.module.css';
import type { Entry } from './queries.ts';

export function History({ entries, withLevels }: { entries: readonly Entry[]; withLevels: boolean }) {
  const { t } = useTranslation();
  return (
    <section className="card">
      <h2>{t('participant.history')}</h2>
      <ol className={styles['timeline']}>
        {entries.toReversed().map((entry) => (
          <Item key={entry.revision} entry={entry} withLevels={withLevels} />
        ))}
      </ol>
    </section>
  );
}

/** Packs of visits that were recorded, but are not theirs: they never got them. */
export function packsNotTheirs(entries: readonly Entry[]): string[] {
  const isTheirs = new Map<string, boolean>();
  for (const { type, data } of entries)
    if (type === 'DispensationCorrected') isTheirs.set(data.code, data.to !== undefined);
  return [...isTheirs.keys()].filter((code) => !isTheirs.get(code));
}

/** Who learned a treatment. */
const isUnblinding = ({ type }: Entry) => type === 'AllocationRevealed' || type === 'UnblindingReported';

function Item({ entry, withLevels }: { entry: Entry; withLevels: boolean }) {
  const { t } = useTranslation();
  const { at, revision, note, requested_by } = entry;
  return (
    <li className={isUnblinding(entry) ? styles['red'] : undefined}>
      <EntryText entry={entry} withLevels={withLevels} />
      {note !== undefined && <q className={styles['note']}>{note}</q>}
      <small>
        <When at={at} /> · <By {...entry} />
        {requested_by !== undefined && ` · ${t('participant.requestedBy', { person: requested_by })}`}
        {' · '}
        {t('participant.revision', { revision })}
      </small>
    </li>
  );
}

export function By({ user, key_id, on_behalf_of }: Pick<Entry, 'user' | 'key_id' | 'on_behalf_of'>) {
  const { t } = useTranslation();
  if (key_id === undefined) return t('participant.commandLine', { user });
  return on_behalf_of === undefined ? user : t('participant.onBehalf', { user, person: on_behalf_of });
}

/** What happened, with details in small letters. */
function EntryText({ entry, withLevels }: { entry: Entry; withLevels: boolean }) {
  const { t } = useTranslation();
  // The row of an entry takes entries of its type.
  const { title, more } = (WORDS[entry.type] as Words<Entry['type']>)(entry, t, withLevels);
  return <EntryLine title={title} more={more ?? []} />;
}

type Words<K extends Entry['type']> = (
  entry: Extract<Entry, { type: K }>,
  t: TFunction,
  withLevels: boolean,
) => { readonly title: string; readonly more?: readonly ReactNode[] };

/** How somebody entered the study, as the label for the time. */
export const ENROLMENTS = {
  ParticipantRandomized: 'participant.randomized',
  ParticipantImported: 'participant.imported',
  AllocationForced: 'participant.entered',
} as const;

/** For each kind of event. */
const WORDS: { readonly [K in Entry['type']]: Words<K> } = {
  ParticipantRandomized: ({ data: { levels, code } }, t, withLevels) => ({
    title: t('participant.event.randomized'),
    more: [...levelTexts(levels, withLevels), ...packText(t, code)],
  }),
  ParticipantImported: ({ data: { original, row, levels } }, t, withLevels) => ({
    title: t('participant.event.imported'),
    more: [t('participant.event.importedFrom', { ...original, row }), ...levelTexts(levels, withLevels)],
  }),
  AllocationForced: ({ data: { cause, counted, occurredAt, code, levels } }, t, withLevels) => ({
    title: t('participant.event.forced'),
    more: [
      t(`participant.cause.${cause}`),
      <Since key="at" text={t('participant.event.forcedAt')} at={occurredAt} />,
      t(counted ? 'participant.event.forcedCounted' : 'participant.event.forcedNotCounted'),
      ...packText(t, code),
      ...levelTexts(levels, withLevels),
    ],
  }),
  LevelsCorrected: ({ data: { changes, cause, counts } }, t) => {
    const changed = changes.map(({ factor, from, to }) =>
      t('participant.event.levelCorrected', { factor: factorName(factor), from, to }),
    );
    const isCountedAsBefore = counts === 'as-randomized';
    return {
      title: changed.join('; '),
      more: [
        t(`participant.cause.${cause}`),
        t(isCountedAsBefore ? 'participant.event.countsAsRandomized' : 'participant.event.countsAsCorrected'),
      ],
    };
  },
  AllocationVoided: ({ data: { cause, duplicateOf, analysis, counts } }, t) => ({
    title: t('participant.event.voided', { cause: t(`participant.cause.${cause}`) }),
    more: [
      ...(duplicateOf === undefined ? [] : [t('participant.event.duplicateOf', { id: duplicateOf })]),
      t(`participant.analysis.${analysis}`),
      t(counts === 'kept' ? 'participant.event.countsKept' : 'participant.event.countsRemoved'),
    ],
  }),
  AllocationReinstated: (_, t) => ({ title: t('participant.event.reinstated') }),
  ParticipantIdCorrected: ({ data: { from, to, cause } }, t) => ({
    title: t('participant.event.idCorrected', { from, to }),
    more: [t(`participant.cause.${cause}`)],
  }),
  AllocationRevealed: ({ data: { category, code, shownAt } }, t) => ({
    title: t('participant.event.codeBroken', { category: t(`participant.category.${category}`) }),
    more: [
      ...(code === undefined ? [] : [t('participant.event.byPack', { code })]),
      ...(shownAt === undefined
        ? []
        : [<Since key="at" text={t('participant.event.shownBefore')} at={shownAt} />]),
    ],
  }),
  UnblindingReported: ({ data: { how, inadvertent, occurredAt, revealedAt } }, t) => ({
    title: t('participant.event.reported', { how: t(`participant.how.${how}`) }),
    more: [
      <Since key="at" text={t('participant.event.knownAt')} at={occurredAt} />,
      ...(inadvertent ? [t('participant.event.inadvertent')] : []),
      ...(revealedAt === undefined ? [] : [t('participant.event.mistake', { revision: revealedAt })]),
    ],
  }),
  PackDispensed: ({ data: { code, visit } }, t) => ({
    title: t('participant.event.dispensed', { code, visit }),
  }),
  DispensationCorrected: ({ data: { code, from, to, cause } }, t) => ({
    title: movedText(t, code, from, to),
    more: [t(`participant.cause.${cause}`)],
  }),
  CodeReplaced: ({ data: { code, by, cause } }, t) => ({
    title: t('participant.event.packReplaced', { code, by }),
    more: [t(`participant.cause.${cause}`)],
  }),
};

function movedText(t: TFunction, code: string, from: string | undefined, to: string | undefined): string {
  if (to === undefined) return t('participant.event.packTaken', { code });
  if (from === undefined) return t('participant.event.packGivenBack', { code, to });
  return t('participant.event.packMoved', { code, from, to });
}

function levelTexts(levels: readonly { factor: string; level: string }[], withLevels: boolean): string[] {
  return withLevels ? levels.map(({ factor, level }) => `${factorName(factor)}: ${level}`) : [];
}

function packText(t: TFunction, code: string | undefined): string[] {
  return code === undefined ? [] : [t('participant.event.withPack', { code })];
}

function EntryLine({ title, more = [] }: { title: string; more?: readonly ReactNode[] }) {
  return (
    <div>
      <strong>{title}</strong>
      {more.map((one, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the entry never changes.
        <small key={i}> · {one}</small>
      ))}
    </div>
  );
}

function Since({ text, at }: { text: string; at: string }) {
  return (
    <>
      {text} <When at={at} />
    </>
  );
}
