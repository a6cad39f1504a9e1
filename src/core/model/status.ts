/** The states of a study. */
export const STATUSES = ['open', 'paused', 'closed', 'importing'] as const;
/** Those in which no import is under way. */
export const SETTLED = ['open', 'paused', 'closed'] as const;
export type Status = (typeof STATUSES)[number];
