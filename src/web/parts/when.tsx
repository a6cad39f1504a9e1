import { useLanguage } from '../words/index.ts';

/** A time in the reader's zone, with UTC alongside. */
export function When({ at, utc = true }: { at: string; utc?: boolean }) {
  const { language } = useLanguage();
  const date = new Date(at);
  return (
    <time dateTime={at} title={utc ? undefined : utcText(date, language)}>
      {localText(date, language)}
      {utc && <small> ({utcText(date, language)})</small>}
    </time>
  );
}

/** The reader's own variety of the language: Americans and the British write dates differently. */
export function localeOf(language: string): string {
  return navigator.languages.find((tag) => tag.startsWith(language)) ?? language;
}

function localText(date: Date, language: string): string {
  const time = new Intl.DateTimeFormat(localeOf(language), {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(date);
  const days = daysAgo(date);
  if (days === 0 || days === 1) {
    const day = new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(-days, 'day');
    return `${day} ${time}`;
  }
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  const day = new Intl.DateTimeFormat(localeOf(language), {
    day: 'numeric',
    month: 'short',
    ...(isThisYear ? {} : { year: 'numeric' }),
  }).format(date);
  return `${day} ${time}`;
}

/** With the seconds, for what is recorded. */
export function ExactTime({ at }: { at: string }) {
  const { language } = useLanguage();
  return (
    <time dateTime={at}>
      {exactText(at, language)} <small>({utcText(new Date(at), language, true)})</small>
    </time>
  );
}

export function dayText(at: string, language: string): string {
  return new Intl.DateTimeFormat(localeOf(language), { dateStyle: 'medium' }).format(new Date(at));
}

function exactText(at: string, language: string): string {
  return new Intl.DateTimeFormat(localeOf(language), {
    dateStyle: 'medium',
    timeStyle: 'medium',
    hourCycle: 'h23',
  }).format(new Date(at));
}

function utcText(date: Date, language: string, withSeconds = false): string {
  const isSameDay = date.getDate() === date.getUTCDate();
  const format = new Intl.DateTimeFormat(localeOf(language), {
    timeZone: 'UTC',
    hour: '2-digit',
    minute: '2-digit',
    ...(withSeconds && { second: '2-digit' }),
    hourCycle: 'h23',
    ...(isSameDay ? {} : { day: 'numeric', month: 'short' }),
  });
  return `${format.format(date)} UTC`;
}

/** Calendar days between the date and today, in the reader's zone. */
function daysAgo(date: Date): number {
  const midnight = (of: Date) => Date.UTC(of.getFullYear(), of.getMonth(), of.getDate());
  return (midnight(new Date()) - midnight(date)) / 86_400_000;
}
