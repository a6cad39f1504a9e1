/** A real browser, Debian's Chromium, and the people who sit at it. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Page,
  type Response,
} from 'playwright-core';
import { describe, expect, onTestFinished } from 'vitest';
import { inCi } from './in-ci.ts';

/** The same browser with and without windows: without, it takes two thirds of the processor time. */
const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const CHROMIUM = process.env['CHROMIUM'] ?? INSTALLED.find(existsSync) ?? 'chromium';
const isHere = existsSync(CHROMIUM);
if (!isHere && !inCi)
  process.stderr.write(
    `\nSKIPPED: no browser at ${CHROMIUM} (hint: install chromium-headless-shell or chromium, or set CHROMIUM)\n`,
  );

/** In CI a missing browser is a failure. */
export const describeInBrowser = isHere || inCi ? describe : describe.skip;

/** What AxeBuilder runs, of the version that it depends on. */
const ofAxeBuilder = createRequire(import.meta.resolve('@axe-core/playwright'));
const AXE = readFileSync(ofAxeBuilder.resolve('axe-core/axe.min.js'), 'utf8');

/** Where the pictures of the pages are left, if they are wanted. */
const PICTURES = fileURLToPath(new URL('../../dist/pictures/', import.meta.url));
const arePicturesWanted = process.env['PICTURES'] !== undefined;

const WIDE = { width: 1280, height: 900 } as const;
export const NARROW = { width: 360, height: 740 } as const;
export const TELEPHONE = { viewport: NARROW, hasTouch: true, isMobile: true } as const;
/** How somebody's telephone is set up who reads German at night. */
export const GERMAN_AT_NIGHT = { viewport: NARROW, colorScheme: 'dark', locale: 'de-DE' } as const;

let browser: Promise<Browser> | undefined;

/** One for all files that this process runs. It ends with the process. */
async function openBrowser(): Promise<Browser> {
  const opened = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Pages are open for a moment: what further processes and threads prepare for later costs more than it saves.
      '--in-process-gpu',
      '--js-flags=--single-threaded',
    ],
    handleSIGTERM: false,
  });
  // With this the run ends its processes. Playwright would close the browser and let the process run on.
  process.once('SIGTERM', () => opened.close().finally(() => process.kill(process.pid, 'SIGTERM')));
  return opened;
}

type Name = string | RegExp;

const isAsset = (url: string) => new URL(url).pathname.startsWith('/assets/');

/** A person at a browser of their own, with everything that it received. */
export class Person {
  readonly page: Page;
  /** Errors on the console, violations of the Content-Security-Policy among them. There must be none in the end. */
  readonly complaints: string[] = [];
  readonly #bodies: Promise<{ url: string; body: string }>[] = [];
  readonly #press: 'tap' | 'click';
  /** For whoever comes next to this browser. */
  readonly stopListening: () => void;

  constructor(page: Page, hasTouch: boolean) {
    this.page = page;
    this.#press = hasTouch ? 'tap' : 'click';
    const keep = (response: Response) => {
      // A stream that is still open has no body yet; the files of the program are the same for everybody.
      if (response.headers()['content-type'] === 'text/event-stream' || isAsset(response.url())) return;
      this.#bodies.push(
        response.text().then(
          (body) => ({ url: response.url(), body }),
          () => ({ url: response.url(), body: '' }),
        ),
      );
    };
    const hear = (message: ConsoleMessage) => {
      // The browser itself reports each answer of 400 and more, which is not a complaint of the page.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        this.complaints.push(message.text());
    };
    const fail = (error: Error) => this.complaints.push(String(error));
    page.context().on('response', keep);
    page.on('console', hear).on('pageerror', fail);
    this.stopListening = () => {
      page.context().off('response', keep);
      page.off('console', hear).off('pageerror', fail);
    };
  }

  /** The bodies of all responses so far, by their URLs, but for the files of the program. */
  received(): Promise<{ url: string; body: string }[]> {
    return Promise.all(this.#bodies);
  }

  /** All that the browser holds: what it received, what it shows, and what it keeps. */
  async everything(): Promise<string[]> {
    const received = await this.received();
    return [...received.map(({ url, body }) => url + body), await this.page.content(), await this.kept()];
  }

  kept(): Promise<string> {
    return this.page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
  }

  /** Presses the buttons with these names, one after the other. */
  async press(...names: readonly Name[]): Promise<void> {
    for (const name of names) await this.page.getByRole('button', { name })[this.#press]();
  }

  async follow(...names: readonly Name[]): Promise<void> {
    for (const name of names) await this.page.getByRole('link', { name })[this.#press]();
  }

  /** Waits until each of these texts is there, in one place. */
  async sees(...texts: readonly Name[]): Promise<void> {
    for (const text of texts) await this.page.getByText(text).waitFor();
  }

  seesHeading(name: Name): Promise<void> {
    return this.page.getByRole('heading', { name }).waitFor();
  }

  isWarned(text: Name): Promise<void> {
    return this.page.getByRole('alert').getByText(text).waitFor();
  }

  /** How often it is there now: a text, or the name of what has this role. */
  countOf(role: 'text' | Parameters<Page['getByRole']>[0], name: Name): Promise<number> {
    const { page } = this;
    return (role === 'text' ? page.getByText(name) : page.getByRole(role, { name })).count();
  }

  async fill(values: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, value] of Object.entries(values)) await this.page.getByLabel(label).fill(value);
  }

  async select(values: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, value] of Object.entries(values))
      await this.page.getByLabel(label).selectOption(value);
  }

  async choose(values: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, option] of Object.entries(values))
      await this.page.getByRole('radiogroup', { name }).getByText(option, { exact: true }).click();
  }

  /** Looks at what an act will do. @returns what the page says */
  async lookAhead(): Promise<string> {
    await this.press('See what will happen');
    const review = this.page.locator('section').filter({ hasText: 'What will happen' });
    return (await review.locator('.notice').textContent()) ?? '';
  }

  /** Looks ahead, and confirms. @returns what the page said would happen */
  async confirm(button: string): Promise<string> {
    const said = await this.lookAhead();
    await this.press(button);
    return said;
  }

  /** What a press of the button saves. @returns the suggested name and the bytes */
  async save(button: string): Promise<{ name: string; bytes: Buffer }> {
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.press(button)]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  }

  /** The page as it is: it is no wider than its window. */
  async fits(name: string): Promise<void> {
    await this.picture(name);
    const width = await this.page.evaluate<number>('document.documentElement.scrollWidth');
    const room = this.page.viewportSize()?.width ?? 0;
    expect(width, `${name} is wider than its window`).toBeLessThanOrEqual(room);
  }

  /** The page as it is: it is no wider than its window, and accessible. */
  async look(name: string): Promise<void> {
    await this.fits(name);
    await expectAccessible(this.page);
  }

  /** The page as it is, then narrow and in the dark, and as it was again. */
  async lookTwice(name: string): Promise<void> {
    const size = this.page.viewportSize();
    await this.look(name);
    await this.page.setViewportSize(NARROW);
    await this.page.emulateMedia({ colorScheme: 'dark' });
    await this.look(`${name}-narrow-dark`);
    await this.page.emulateMedia({ colorScheme: 'light' });
    if (size) await this.page.setViewportSize(size);
  }

  /** A picture of the whole page, for people to look at. */
  async picture(name: string): Promise<void> {
    if (!arePicturesWanted) return;
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  }

  async leave(): Promise<void> {
    await this.page.context().close();
    expect(this.complaints).toEqual([]);
  }
}

/** Until the end of the test. */
export async function sitDown(options: BrowserContextOptions = {}): Promise<Person> {
  const person = await comeIn(options);
  onTestFinished(() => person.leave());
  return person;
}

/** For a person who stays for several tests, until they leave. */
export async function comeIn(options: BrowserContextOptions = {}): Promise<Person> {
  browser ??= openBrowser();
  const context = await (await browser).newContext({
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    viewport: WIDE,
    ...options,
  });
  return new Person(await context.newPage(), options.hasTouch === true);
}

/** Signs in at the page where the person is, as they would: by pasting the key. */
export async function signIn({ page }: Person, key: string, acting?: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  if (acting !== undefined) await page.getByLabel('Who is acting?').fill(acting);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

type Options = BrowserContextOptions & { acting?: string };

/** Browsers that stand ready for somebody with the same options, also in the next file. */
const standing = new Map<string, Page[]>();

/**
 * Somebody who has signed in before they open this address, if they have a key, until the end of the test. They take the
 * browser that somebody else has left: a page in a new one takes three times as much processor time.
 */
export async function openAs(key: string | undefined, url: string, { acting, ...options }: Options = {}) {
  const { origin } = new URL(url);
  const seats = standing.get(JSON.stringify(options)) ?? [];
  standing.set(JSON.stringify(options), seats);
  const left = seats.pop();
  const person = left ? new Person(left, options.hasTouch === true) : await comeIn(options);
  onTestFinished(async ({ task }) => {
    // After a failure, nobody knows what is left there.
    if (task.result?.state !== 'pass' || person.page.isClosed()) return person.leave();
    await tidyUp(person, options, origin);
    seats.push(person.page);
    expect(person.complaints).toEqual([]);
  });
  const { page } = person;
  if (key !== undefined) {
    const data = { key, ...(acting !== undefined && { on_behalf_of: acting }) };
    const answer = await page.request.post(`${origin}/session`, { headers: { Origin: origin }, data });
    expect(answer.status(), await answer.text()).toBe(200);
  }
  await page.goto(url);
  const name = key === undefined ? /^(Sign in|Anmelden)$/ : /^(Sign out|Abmelden)$/;
  await page.getByRole('button', { name }).waitFor();
  return person;
}

/** Leaves a browser as if it were new, except for what it has loaded of the program. */
async function tidyUp(person: Person, options: BrowserContextOptions, origin: string): Promise<void> {
  const { page } = person;
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await context.unrouteAll();
  await page.unrouteAll();
  await context.setOffline(false);
  await context.clearCookies();
  // Of the same origin, so that the page stays with its process.
  await page.goto(`${origin}/healthz`);
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.emulateMedia({ media: null, colorScheme: options.colorScheme ?? null });
  await page.setViewportSize(options.viewport ?? WIDE);
  person.stopListening();
}

/** WCAG 2.2 AA, as far as a program can judge it. */
async function expectAccessible(page: Page): Promise<void> {
  // They would not be looked at.
  expect(page.frames().slice(1)).toEqual([]);
  // Reading it takes as long as all rules, and AxeBuilder would do that twice each time.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE);
  const { violations } = await new AxeBuilder({ page, axeSource: ';' })
    // How all the rest passes takes most of the time to write down.
    .options({ resultTypes: ['violations'] })
    // In the page itself: a further page for the results takes as long as all rules.
    .setLegacyMode()
    // React Aria's, for seven seconds: it announces the button that was pressed, even one that has left the page.
    .exclude('[data-live-announcer]')
    // The first rows stand for the others: the contrast of each text is computed, which takes most of the time.
    .exclude('tbody tr:nth-child(n + 9)')
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze();
  expect(
    violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => [html, failureSummary]),
    })),
  ).toEqual([]);
}
