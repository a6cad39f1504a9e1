/** The page that urn simulate writes, in a browser. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { describeInBrowser, expectAccessible, picture, sitDown } from '../../support/browser.ts';
import { command } from '../../support/command.ts';
import { urn } from '../../support/service.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
/** Names that would break a page which does not escape them, and one that is long. */
const STUDIES = `
"<b>Pain</b> & 'sleep'":
  mode: test
  target_enrollment: 60
  treatments: ["<script>alert(1)</script>", Placebo]
  factors:
    sex: [F, M]
    site: ["\\"north\\" <i>", "a site with a name that is longer than the room for it on a narrow screen"]
`;

describeInBrowser('the page of urn simulate', () => {
  let file: string;
  let html: string;

  beforeAll(async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'studies.yaml'), STUDIES);
    file = join(folder, 'page.html');
    const against = ['complete', 'block:4@site', 'block:2+4@site,sex', 'minimization:0.8', 'urn:w=5'];
    const { code, stderr } = await urn(
      [
        ...['simulate', '--reps', '300', '--site-factor', 'site', '--at', '20', '--html', file],
        ...against.flatMap((one) => ['--against', one]),
        ...['--require', 'guess.known < 0.6'],
      ],
      { cwd: folder },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    html = readFileSync(file, 'utf8');
  });

  it.each([
    ['wide', { viewport: { width: 1280, height: 900 } }],
    ['narrow', { viewport: { width: 375, height: 800 } }],
    ['dark', { viewport: { width: 1000, height: 900 }, colorScheme: 'dark' as const }],
  ])('%s: shows every design in each picture, asks for nothing, and fits', async (name, options) => {
    const { page, complaints } = await sitDown(options);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const url = pathToFileURL(file).href;
    await page.goto(url);
    expect(asked).toEqual([url]);
    expect(complaints).toEqual([]);
    expect(await page.title()).toBe("<b>Pain</b> & 'sleep': assessment of the design");
    // A distribution and a course for each of the six designs, and one picture of all.
    expect(await page.locator('svg[role=img]:visible').count()).toBe(13);
    const labels = await page.locator('.scatter svg text:visible').allTextContents();
    for (const design of ['this study', 'complete', 'block:4@site', 'minimization:0.8', 'urn:w=5'])
      expect(labels).toContain(design);
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    expect(wide[0]).toBeLessThanOrEqual(wide[1] ?? 0);
    expect(await page.locator('h1').innerText()).toBe("<b>Pain</b> & 'sleep': assessment of the design");
    expect(await page.locator('b, i, script').count()).toBe(0);
    await expectAccessible(page);
    await picture(page, `assessment-${name}`);
  });

  it('says what was found, with what was required, and the paragraph for the protocol', async () => {
    const { page } = await sitDown();
    await page.goto(pathToFileURL(file).href);
    const text = await page.locator('body').innerText();
    for (const words of [
      'After 60 participants the largest and the smallest arm differ by',
      'Beside minimization:0.8',
      "Better with this study's urns: right guesses",
      'Someone who knows everything is assumed to know the size of each block as well',
      'met: guess.known < 0.6',
      'after 20: mean range of the arms',
      'Arms: <script>alert(1)</script>, Placebo',
      "--study '<b>Pain</b> & '\\''sleep'\\'''",
      'levels.range@60.p95',
    ])
      expect(text).toContain(words);
    expect(text).not.toMatch(/NaN|undefined/);
  });

  it('is the same when it is written again', async () => {
    const again = join(newFolder(), 'page.html');
    const folder = newFolder();
    writeFileSync(join(folder, 'studies.yaml'), STUDIES);
    const [, line = ''] = /<code>urn (simulate .*?)<\/code>/.exec(html) ?? [];
    const against = [...line.matchAll(/--against (\S+)/g)].flatMap(([, one = '']) => ['--against', one]);
    await command(
      [
        ...['simulate', '--reps', '300', '--site-factor', 'site', '--at', '20', '--html', again],
        ...[...against, '--require', 'guess.known < 0.6', '--threads', '1'],
      ],
      { cwd: folder },
    );
    expect(readFileSync(again, 'utf8')).toBe(html);
  });
});
