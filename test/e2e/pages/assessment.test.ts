/** The page that urn simulate writes, in a browser. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { describeInBrowser, sitDown } from '../../support/browser.ts';
import { command } from '../../support/command.ts';
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

  beforeAll(async () => {
    const folder = newFolder();
    file = join(folder, 'page.html');
    writeFileSync(join(folder, 'studies.yaml'), STUDIES);
    const against = ['complete', 'block:4@site', 'block:2+4@site,sex', 'minimization:0.8', 'urn:w=5'];
    const { code, stderr } = await command(
      [
        ...['simulate', '--reps', '100', '--site-factor', 'site', '--at', '20', '--html', file],
        ...against.flatMap((one) => ['--against', one]),
        ...['--require', 'guess.known < 0.6'],
      ],
      { cwd: folder },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('shows every design in each picture, asks for nothing, and fits, wide and narrow, light and dark', async () => {
    const person = await sitDown();
    const { page } = person;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const url = pathToFileURL(file).href;
    await page.goto(url);
    const title = "<b>Pain</b> & 'sleep': assessment of the design";
    expect(await page.title()).toBe(title);
    expect(await page.locator('h1').innerText()).toBe(title);
    expect(await page.locator('b, i, script').count()).toBe(0);
    const expectPictures = async () => {
      // A distribution and a course for each of the six designs, and one picture of all.
      expect(await page.locator('svg[role=img]:visible').count()).toBe(13);
      const labels = await page.locator('.scatter svg text:visible').allTextContents();
      for (const design of ['this study', 'complete', 'block:4@site', 'minimization:0.8', 'urn:w=5'])
        expect(labels).toContain(design);
    };
    await expectPictures();
    await person.look('assessment');
    await page.setViewportSize({ width: 375, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectPictures();
    await person.look('assessment-narrow-dark');
    expect(asked).toEqual([url]);

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
});
