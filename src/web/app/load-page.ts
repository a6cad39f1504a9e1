/** The pages of the program, each in a file of its own that is loaded when it is first opened. */
import type { ComponentType } from 'react';
import { forgetReloads } from './reloads.ts';

/** The file of a page is out of reach, or gone after an upgrade. */
export class PageNotLoaded extends Error {
  readonly page: string;

  constructor(page: string, cause: unknown) {
    super(`the page ${page} could not be loaded`, { cause });
    this.page = page;
  }
}

const PAGES = {
  offline: async () => (await import('../offline/offline.tsx')).Offline,
  studies: async () => (await import('../studies/studies.tsx')).Studies,
  study: async () => (await import('../study/study.tsx')).Study,
  randomize: async () => (await import('../randomize/randomize.tsx')).Randomize,
  participant: async () => (await import('../participant/participant.tsx')).Participant,
  manage: async () => (await import('../manage/manage.tsx')).Manage,
  packs: async () => (await import('../packs/packs.tsx')).Packs,
  audit: async () => (await import('../audit/audit.tsx')).Audit,
} as const satisfies Readonly<Record<string, () => Promise<ComponentType>>>;
type PageName = keyof typeof PAGES;

/** For the router. @throws PageNotLoaded */
export const lazily = (page: PageName) => async () => {
  try {
    const Component = await PAGES[page]();
    forgetReloads(page);
    return { Component };
  } catch (cause) {
    throw new PageNotLoaded(page, cause);
  }
};

/** What nobody can wait for: an emergency goes from the study to the participant, and whoever randomizes has a patient there. */
const NEEDED_AT_ONCE = ['study', 'participant', 'randomize'] as const;

/** Loads them while there is a connection. Those that fail are loaded when they are opened. */
export function loadAhead(): void {
  for (const page of NEEDED_AT_ONCE) PAGES[page]().catch(() => undefined);
}
