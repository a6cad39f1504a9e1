/**
 * Checks the imports between the rooms of the program against the floors in rooms.json. A room is a directory with
 * TypeScript files. It belongs to one floor and may import only from the floors below, so there is no cycle. Imports of
 * nothing but types do not count: they are gone when the program runs.
 *
 * usage: node tools/rooms.mjs [FOLDER]     exit code 1, and a line for each import that is not allowed
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'oxc-parser';

const folder = process.argv[2] ?? '.';
const { roots, floors } = JSON.parse(readFileSync(join(folder, 'tools/rooms.json'), 'utf8'));

/** The paths of all TypeScript files below the roots. */
const files = roots.flatMap((root) =>
  readdirSync(join(folder, root), { recursive: true })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(root, name)),
);
const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map((room) => [room, floor])));
const problems = [];

const rooms = new Set(files.map((file) => dirname(file)));
for (const room of rooms)
  if (!floorOf.has(room)) problems.push(`${room} is on no floor (hint: add it to tools/rooms.json)`);
for (const room of floorOf.keys())
  if (!rooms.has(room)) problems.push(`${room} is on a floor of tools/rooms.json, but has no files`);

for (const file of files)
  for (const imported of importsOf(file)) {
    const [from, to] = [dirname(file), dirname(imported)];
    if (!existsSync(join(folder, imported)))
      problems.push(`${file} imports ${imported}, which does not exist`);
    else if (from !== to && floorOf.get(to) >= floorOf.get(from))
      problems.push(`${file} imports ${imported}, but ${to} is not on a floor below ${from}`);
  }

for (const problem of problems) process.stderr.write(`rooms: ${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
else process.stdout.write(`${files.length} files in ${rooms.size} rooms on ${floors.length} floors\n`);

/** The program's own files that this one needs when it runs. */
function importsOf(file) {
  const source = readFileSync(join(folder, file), 'utf8');
  const { module, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const isOnlyTypes = (entries) => entries.length > 0 && entries.every(({ isType }) => isType);
  const requested = [
    ...module.staticImports
      .filter(({ entries }) => !isOnlyTypes(entries))
      .map((one) => one.moduleRequest.value),
    ...module.staticExports
      .flatMap(({ entries }) => entries)
      .filter(({ moduleRequest, isType }) => moduleRequest && !isType)
      .map((one) => one.moduleRequest.value),
    // Anything but a literal cannot be followed.
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
  ];
  return requested
    .filter((specifier) => /^\..*\.tsx?$/.test(specifier))
    .map((specifier) => normalize(join(dirname(file), specifier)));
}
