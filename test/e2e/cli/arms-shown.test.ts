/** What the commands show of a study with a ratio, closed arms, a retired factor and urns that began anew. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandsOn, enrol, typed } from '../../support/cli-log.ts';
import { registerIn } from '../../support/importing.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();

const STUDY = `
Sleep:
  mode: test
  starting_seed: 79228162514264337593543950337
  ratio: {B: 1, A: 2, C: 1}
  treatments: [A, B, C]
  factors:
    sex: [Male, Female]
    site: [Cook, Dupage]
`;

let data: string;
let opened: string;

async function randomizeAll(from: number, to: number, levels: readonly string[]): Promise<void> {
  const ids = Array.from({ length: to - from + 1 }, (_, i) => `${from + i}`);
  const outcomes = await enrol(data, 'Sleep', Object.fromEntries(ids.map((id) => [id, levels])));
  expect(new Set(outcomes)).toEqual(new Set(['randomized']));
}

async function amend(text: string, ...args: string[]): Promise<void> {
  const path = join(data, 'studies.yaml');
  writeFileSync(path, text);
  await commandsOn(data).ok`studies amend Sleep --reason decided --studies ${path} ${args}`;
}

beforeAll(async () => {
  data = await registerIn(newFolder(), STUDY);
  await randomizeAll(1, 8, ['Male', 'Cook']);
  opened = new Date().toISOString();
  await amend(STUDY.replace('[A, B, C]', '[A, B]').replace('{B: 1, A: 2, C: 1}', '[2, 1]'));
  await amend(
    STUDY.replace('[A, B, C]', '[A, B, D]')
      .replace('{B: 1, A: 2, C: 1}', '[2, 1, 3]')
      .replace('    sex: [Male, Female]\n', ''),
  );
  await randomizeAll(9, 12, ['', 'Cook']);
});

describe('urn studies show', () => {
  const show = (...args: string[]) => commandsOn(data).ok`studies show Sleep ${args}`;

  it('says ratio, closed arms, retired factors and when the urns began anew, and divides by the ratio', async () => {
    const text = await show();
    expect(text).toContain(`
ratio           2:1:1:3 ("A" 2, "B" 1, "C" 1, "D" 3)
policies        level_counts as-randomized, void_counts kept, forced_counts counted
closed arm      C
retired factor  sex
urns            began anew at amendment 2 (revision 10)

participants by treatment (in brackets: divided by its number in the ratio)
                        A        B        C (closed)  D
all                     4 (2.0)  3 (3.0)  3 (3.0)     2 (0.7)
sex = Male (retired)    3 (1.5)  2 (2.0)  3 (3.0)     0 (0.0)
sex = Female (retired)  0 (0.0)  0 (0.0)  0 (0.0)     0 (0.0)
site = Cook             4 (2.0)  3 (3.0)  3 (3.0)     2 (0.7)
site = Dupage           0 (0.0)  0 (0.0)  0 (0.0)     0 (0.0)

as the urns count them, since they began anew (in brackets: divided by its number in the ratio)
                        A        B        C (closed)  D
all                     1 (0.5)  1 (1.0)  0 (0.0)     2 (0.7)
`);
    expect(await commandsOn(data).ok`verify`).toContain('no fault was found');
  });

  it('shows an earlier moment with the design of that time', async () => {
    const text = await show('--revision', '8');
    expect(text).toMatch(/^ratio +2:1:1 \("A" 2, "B" 1, "C" 1\)$/m);
    expect(text).toMatch(/^ +A +B +C$/m);
    expect(text).not.toMatch(/closed|retired|anew/);
    expect(await show('--revision', '9')).toMatch(/^closed arm +C$/m);
    expect(await show('--revision', '9')).not.toContain('anew');
  });
});

describe('urn export --format reference-csv', () => {
  it('is refused with everything that the reference does not know', async () => {
    const exported = (...args: string[]) =>
      commandsOn(data).said`export --study Sleep --format reference-csv ${args}`;
    const now = await exported();
    expect(now).toMatch(/^2 /);
    expect(now).toContain('the study has a ratio, which the reference does not know');
    expect(now).toContain('the factor "sex" is retired, and the reference draws by every factor');
    expect(now).toContain('an amendment made the urns begin anew, and the reference counts everybody');
    // Nobody who is counted since then has it.
    expect(now).not.toContain('is closed');
    expect(await exported('--revision', '9')).toContain(
      'the arm "C" is closed and has participants, and the reference draws every arm',
    );
  });
});

describe('urn explain', () => {
  it('names each slot of an arm, says what is left out, and marks only the drawn slot', async () => {
    const text = await commandsOn(data).ok`explain --study Sleep --id 12`;
    expect(text).toContain('3 participants counted before, since the urns began anew at revision 10.');
    expect(text).toContain('Closed arms are left out, with their participants: C.');
    expect(text).toMatch(/^ +A \(slot 1\) +A \(slot 2\) +B +D \(slot 1\) +D \(slot 2\) +D \(slot 3\) +all$/m);
    expect(text).toMatch(
      /With a ratio \(version 2 of the algorithm\), d is worked out from the balls in ascending/,
    );
    expect(text.match(/^.*<- u falls here$/gm)).toEqual([expect.stringMatching(/^ +B +4 /)]);
    expect(text).toContain('Treatment: B (draw.slot 2, counted from 0 over all slots)');
    expect(text).toContain('The record says the same');
    expect(await commandsOn(data).ok`explain --study Sleep --id 1`).not.toMatch(/Closed arms|anew/);
  });
});

describe('urn participants force', () => {
  const force = (treatment: string, occurredAt: string, ...levels: string[]) => {
    const entry = typed`--id 20 --dry-run --cause outage --note envelope --treatment ${treatment}`;
    const named = levels.flatMap((level) => ['--level', level]);
    return commandsOn(data)
      .said`participants force --study Sleep ${entry} --occurred-at ${occurredAt} ${named}`;
  };

  it('takes an arm that was open then, and says why another one was not', async () => {
    const now = new Date().toISOString();
    expect(await force('C', opened, 'site=Cook')).toMatch(/^treatment +C \(closed now, open then\)$/m);
    expect(await force('D', now, 'site=Cook')).toMatch(/^treatment +D$/m);
    expect(await force('C', now, 'site=Cook')).toMatch(
      /^2 urn: --treatment: this arm was closed at .*: since \d{4}-.*, and it still is$/,
    );
    expect(await force('D', opened, 'site=Cook')).toMatch(
      /^2 urn: --treatment: this arm did not exist at .*: it was added at \d{4}-/,
    );
    expect(await force('X', now, 'site=Cook')).toContain('(allowed: "A", "B", "C" (closed now), "D")');
    // Of a retired factor no level is asked for.
    expect(await force('A', now, 'site=Cook')).toMatch(/^levels +Cook$/m);
    expect(await force('A', now, 'site=Cook', 'sex=Male')).toMatch(
      /^2 urn: --level "sex=Male": the factor "sex" is retired/,
    );
    expect(await force('A', now, 'age=1')).toMatch(
      /the study has no factor "age" \(factors: "site"\)\n +--level is missing for site$/,
    );
  });
});
