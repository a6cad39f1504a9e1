/** A real browser, Debian's Chromium, and the people who sit at it. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
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

/** Where the pictures of the pages are left. */
const PICTURES = fileURLToPath(new URL('../../dist/pictures/', import.meta.url));

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
    ],
    handleSIGTERM: false,
  });
  // With this the run ends its processes. Playwright would close the browser and let the process run on.
  process.once('SIGTERM', () => opened.close().finally(() => process.kill(process.pid, 'SIGTERM')));
  return opened;
}

/** A person at a browser of their own, with everything that it received. */
export interface Person {
  readonly page: Page;
  /** The bodies of all responses so far, by their URLs. */
  received(): Promise<{ url: string; body: string }[]>;
  /** Errors on the console, violations of the Content-Security-Policy among them. A test expects none. */
  readonly complaints: readonly string[];
}

/** Until the end of the test. */
export async function sitDown(options: BrowserContextOptions = {}): Promise<Person> {
  const person = await comeIn(options);
  onTestFinished(() => leave(person));
  return person;
}

/** For a person who stays for several tests, until they leave. */
export async function comeIn(options: BrowserContextOptions = {}): Promise<Person> {
  browser ??= openBrowser();
  const context = await (await browser).newContext({
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = await context.newPage();
  const bodies: Promise<{ url: string; body: string }>[] = [];
  const complaints: string[] = [];
  context.on('response', (response) => {
    // A redirect, or a stream that is still open, has no body yet.
    if (response.headers()['content-type'] === 'text/event-stream') return;
    bodies.push(
      response.text().then(
        (body) => ({ url: response.url(), body }),
        () => ({ url: response.url(), body: '' }),
      ),
    );
  });
  page.on('console', (message) => {
    // The browser itself reports each answer of 400 and more, which is not a complaint of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints, received: () => Promise.all(bodies) };
}

export async function leave({ page }: Person): Promise<void> {
  await page.context().close();
}

/** Signs in at the page where the person is, as they would: by pasting the key. */
export async function signIn({ page }: Person, key: string, acting?: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  if (acting !== undefined) await page.getByLabel('Who is acting?').fill(acting);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** A picture of the whole page in dist/pictures, for people to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** WCAG 2.2 AA, as far as a program can judge it. */
export async function expectAccessible(page: Page): Promise<void> {
  // They would not be looked at.
  expect(page.frames().slice(1)).toEqual([]);
  const { violations } = await new AxeBuilder({ page })
    // How all the rest passes takes most of the time to write down.
    .options({ resultTypes: ['violations'] })
    // In the page itself: a further page for the results takes as long as all rules.
    .setLegacyMode()
    // React Aria's, for seven seconds: it announces the button that was pressed, even one that has left the page.
    .exclude('[data-live-announcer]')
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze();
  expect(
    violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => [html, failureSummary]),
    })),
  ).toEqual([]);
}
