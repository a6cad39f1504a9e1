/** Messages that say what to do, in the right number. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandsOn, saidIn, typed } from '../../support/cli-log.ts';
import { served } from '../../support/served.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const fileOf = temporaryFiles('studies.yaml');
const data = newFolder();
const { run } = commandsOn(data);
const STUDIES = `
One:
  mode: test
  treatments: [a, b]
  id_pattern: "[0-9]{3}-[0-9]{4}"
  target_enrollment: 1
  limits: {total: 1}
  factors: {ward: [North, South, West], sex: [F, M]}
`;
served(
  STUDIES,
  { edc: ['edc'] },
  { data, filled: (one) => one.as('edc').randomize('One', '001-0001', { ward: 'North', sex: 'F' }) },
);

it('a study with one of everything is never one of "1 participants"', async () => {
  const PLURAL_OF_ONE =
    /\b1 (?:participants|records|studies|rows|packs|arms|levels|slots|lists|streams|checkpoints|trials|fields|times|events)\b/;
  const [bundle, report] = [join(newFolder(), 'one.zip'), join(newFolder(), 'one.html')];
  const file = fileOf(STUDIES.replace('One', 'Another'));
  const said: string[] = [];
  for (const line of [
    typed`studies list`,
    typed`studies show One`,
    typed`studies pause One --reason x --dry-run`,
    typed`bundle --study One --out ${bundle}`,
    typed`explain --study One --id 001-0001`,
    typed`verify`,
    typed`studies check --studies ${file}`,
    typed`report --study One --out ${report}`,
  ])
    said.push(saidIn(await run`${line}`));
  for (const one of said) expect(one).toMatch(/^0 /);
  said.push(readFileSync(report, 'utf8').replaceAll(/<[^>]*>/g, ''));
  const text = said.join('\n');
  for (const words of ['1 of 1 participant', '1 participant (information only'])
    expect(text).toContain(words);
  for (const i of [0, -1]) expect(said.at(i)).toContain('1 participant');
  expect(text.match(PLURAL_OF_ONE)).toBeNull();
});
