/** The check of the rooms (tools/rooms.mjs), on the program itself and on copies of it with something wrong. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECT } from '../support/project-copy.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();

function check(folder: string) {
  const { status, stderr } = spawnSync(process.execPath, [join(PROJECT, 'tools/rooms.mjs'), folder], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

it('the check of rooms accepts the program as it is, and refuses imports from above, rooms that need one another, and those in no area or without files', () => {
  expect(check(PROJECT)).toEqual({ status: 0, stderr: '' });
  const folder = newFolder();
  for (const name of ['events', 'projections', 'src', 'tools'])
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  // From an area above, even a dynamic one or one of types; the last one is of the same area.
  const imports = {
    'src/core/methods/draw.ts': "import '../../statistics/simulation/simulate.ts';\n",
    'src/core/methods/counts.ts': "export type { Study } from '../../statistics/simulation/simulate.ts';\n",
    'src/evidence/verify/source.ts': "export const later = () => import('../../service/open/open-log.ts');\n",
    'src/core/random/pcg64.ts': "import type { Urn } from '../methods/urn/allocate.ts';\n",
  };
  for (const [file, text] of Object.entries(imports)) appendFileSync(join(folder, file), text);
  mkdirSync(join(folder, 'src/attic'));
  writeFileSync(join(folder, 'src/attic/box.ts'), 'export {};\n');
  const rules = join(folder, 'tools/rooms.json');
  const { areas } = JSON.parse(readFileSync(rules, 'utf8')) as { areas: Record<string, string[]> };
  writeFileSync(rules, JSON.stringify({ areas: { ...areas, under: ['src/cellar'] } }));

  const { status, stderr } = check(folder);
  expect(status).toBe(1);
  const isCycle = (line: string) => line.startsWith('rooms: rooms need one another: ');
  const lines = stderr.trimEnd().split('\n');
  expect(lines.filter((line) => !isCycle(line)).sort()).toEqual([
    'rooms: src/attic is in no area (hint: add it to tools/rooms.json)',
    'rooms: src/cellar is in tools/rooms.json, but has no files',
    'rooms: src/core/methods/counts.ts imports src/statistics/simulation/simulate.ts, but statistics is above core',
    'rooms: src/core/methods/draw.ts imports src/statistics/simulation/simulate.ts, but statistics is above core',
    'rooms: src/evidence/verify/source.ts imports src/service/open/open-log.ts, but service is above evidence',
  ]);
  const cycles = lines.filter(isCycle);
  for (const cycle of cycles)
    expect(cycle).toMatch(/: src\/\S+ imports src\/\S+(?:; src\/\S+ imports src\/\S+)+$/);
  expect(cycles.join('\n')).toContain('src/core/random/pcg64.ts imports src/core/methods/urn/allocate.ts');
});
