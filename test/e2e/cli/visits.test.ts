/** Visits and stopped arms at the command line: checked, registered, amended, shown. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandsOn } from '../../support/cli-log.ts';
import { registerIn } from '../../support/importing.ts';
import { storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const STUDY = `
Sleep:
  mode: test
  treatments: [A, B, Placebo]
  factors:
    sex: [Male, Female]
  visits: [V2, V3, Week 12]
`;
const WITHOUT = STUDY.replace(/ {2}visits.*\n/, '');

function onStudy(data: string) {
  const path = join(data, 'studies.yaml');
  const { run, ok } = commandsOn(data);
  const written = (text: string) => {
    writeFileSync(path, text);
    return ['--studies', path];
  };
  return {
    path,
    check: (text: string) => run`studies check ${written(text)}`,
    amend: (text: string, ...args: string[]) =>
      run`studies amend Sleep --reason decided ${written(text)} ${args}`,
    show: (...args: string[]) => ok`studies show Sleep ${args}`,
    records: (type: string) =>
      storedLog(data).flatMap(({ record }) => (record.type === type ? [record] : [])),
  };
}

it('a study with visits is checked, registered, amended to those of the file, and shown; arms are stopped', async () => {
  const data = await registerIn(newFolder(), STUDY);
  const { path, amend, check, records, show } = onStudy(data);
  const wrong = await check(STUDY.replace('V3', 'v2'));
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain(`${path}:7: study "Sleep": visit 2 is the same as visit 1`);
  const configuration = { visits: ['V2', 'V3', 'Week 12'] };
  expect(records('StudyRegistered')).toMatchObject([{ version: 3, data: { configuration } }]);
  const next = STUDY.replace(', Placebo]', ']').replace('V3, Week 12]', 'Week 12, Week 24]');
  const [asked, shown] = [/^visits +V2, Week 12, Week 24$/m, /^stopped arm +Placebo$/m];
  const tried = (await amend(next, '--stop', 'Placebo', '--dry-run')).stdout;
  expect(tried).toMatch(asked);
  expect(tried).toMatch(
    /^treatments +nobody on "Placebo" gets packs any more, until it is reopened \(nobody has it\)$/m,
  );
  expect((await amend(next, '--stop', 'Placebo')).code).toBe(0);
  expect(records('StudyAmended')).toMatchObject([
    { version: 2, data: { changes: [{}, {}, { kind: 'arm-stopped', treatment: 'Placebo' }] } },
  ]);
  for (const row of [asked, shown]) expect(await show()).toMatch(row);
  expect(JSON.parse(await show('--json')).design).toMatchObject({
    ...{ visits: ['V2', 'Week 12', 'Week 24'], stopped_treatments: ['Placebo'] },
  });
  const refused = await amend(next, '--stop', 'Placebo', '--stop', 'A', '--stop', 'C');
  expect(refused.code).toBe(2);
  for (const problem of [
    '--stop "Placebo": it is stopped already',
    '--stop "A": it is not closed',
    '--stop "C": the study has no such treatment',
  ])
    expect(refused.stderr).toContain(problem);
});

it('a study without visits is registered, amended and shown in the versions that it always had', async () => {
  const { amend, records, show } = onStudy(await registerIn(newFolder(), WITHOUT));
  expect((await amend(WITHOUT.replace(', Placebo]', ']'))).code).toBe(0);
  for (const type of ['StudyRegistered', 'StudyAmended'])
    expect(records(type)).toMatchObject([{ version: 1 }]);
  for (const format of [[], ['--json']]) expect(await show(...format)).not.toMatch(/visits|stopped/);
});
