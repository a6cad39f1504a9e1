/** Visits and stopped arms at the command line: checked, registered, amended, shown. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsOn } from '../../support/cli-log.ts';
import { commandOk } from '../../support/command.ts';
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

describe('a study with visits', () => {
  it('is checked with the line of each mistake, and registered with its visits', async () => {
    const { path, check } = onStudy(newFolder());
    const { code, stdout } = await check(STUDY);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^ {2}visits +V2, V3, Week 12$/m),
    });
    const wrong = await check(STUDY.replace('[V2, V3, Week 12]', '[V2, v2, placebo 1, =V2]'));
    expect(wrong.code).not.toBe(0);
    for (const problem of ['visit 2 is the same as visit 1', 'visit 3 is, or contains, the name of an arm'])
      expect(wrong.stderr).toContain(`${path}:7: study "Sleep": ${problem}`);
    expect(wrong.stderr).toContain('visit 4 has not the form of a visit');
    const data = await registerIn(newFolder(), STUDY);
    const [registered] = onStudy(data).records('StudyRegistered');
    expect(registered).toMatchObject({
      ...{ version: 3, data: { configuration: { visits: ['V2', 'V3', 'Week 12'] } } },
    });
  });

  it('is amended to the visits of the file, and arms are stopped', async () => {
    const data = await registerIn(newFolder(), STUDY);
    const { amend, check, records, show } = onStudy(data);
    const closed = STUDY.replace(', Placebo]', ']');
    const next = closed.replace('V3, ', '').replace('Week 12]', 'Week 12, Week 24]');
    const tried = await amend(next, '--stop', 'Placebo', '--dry-run');
    expect(tried.stdout).toMatch(/^visits +V2, Week 12, Week 24$/m);
    expect(tried.stdout).toMatch(
      /^treatments +nobody on "Placebo" gets packs any more, until it is reopened \(nobody has it\)$/m,
    );
    expect((await check(next)).stdout).toContain(
      'visits differs (in force: ["V2", "V3", "Week 12"]; file: ["V2", "Week 12", "Week 24"])',
    );
    expect(await amend(next, '--stop', 'Placebo')).toMatchObject({ code: 0 });
    expect(records('StudyAmended')).toMatchObject([
      {
        version: 2,
        data: {
          changes: [
            { kind: 'visits', value: ['V2', 'Week 12', 'Week 24'] },
            { kind: 'arm-closed', treatment: 'Placebo' },
            { kind: 'arm-stopped', treatment: 'Placebo' },
          ],
          history: 'keep',
        },
      },
    ]);
    const shown = await show();
    expect(shown).toMatch(/^visits +V2, Week 12, Week 24$/m);
    expect(shown).toMatch(/^stopped arm +Placebo$/m);
    expect(JSON.parse(await show('--json')).design).toMatchObject({
      ...{ visits: ['V2', 'Week 12', 'Week 24'], stopped_treatments: ['Placebo'] },
    });
    expect((await check(next)).stdout).toBe('Sleep: as amended, amendment 1\n');

    const refused = await amend(next, '--stop', 'Placebo', '--stop', 'A', '--stop', 'C');
    expect(refused.code).toBe(2);
    for (const problem of [
      '--stop "Placebo": it is stopped already',
      '--stop "A": it is not closed',
      '--stop "C": the study has no such treatment',
    ])
      expect(refused.stderr).toContain(problem);

    expect(await amend(STUDY.replace(/ {2}visits.*\n/, ''))).toMatchObject({ code: 0 });
    expect(records('StudyAmended')[1]).toMatchObject({
      data: {
        changes: [
          { kind: 'visits', value: [] },
          { kind: 'arm-reopened', treatment: 'Placebo' },
        ],
      },
    });
    expect(await show()).not.toMatch(/^visits|stopped/m);
    expect(await commandOk(['verify', '--data', data])).toContain('no fault was found');
  });
});

describe('a study without visits', () => {
  it('is registered and shown as ever', async () => {
    const data = await registerIn(newFolder(), WITHOUT);
    const { amend, records, show } = onStudy(data);
    expect(records('StudyRegistered')).toMatchObject([{ version: 1 }]);
    expect(await amend(WITHOUT.replace(', Placebo]', ']'))).toMatchObject({ code: 0 });
    expect(records('StudyAmended')).toMatchObject([{ version: 1 }]);
    expect(await show()).not.toMatch(/visits|stopped/);
    expect(await show('--json')).not.toMatch(/visits|stopped/);
  });
});
