/**
 * Checks the imports of the program against rooms.json, those of nothing but types included. A room is a directory with
 * TypeScript files. Rooms form areas, which are listed from the bottom up: a room imports from its own area and from those
 * below. Within an area, no room imports from one that needs it.
 *
 * usage: node tools/rooms.mjs [FOLDER]     exit code 1, and a line for each import that is not allowed
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'oxc-parser';

const folder = process.argv[2] ?? '.';
const { areas } = JSON.parse(readFileSync(join(folder, 'tools/rooms.json'), 'utf8'));
const names = Object.keys(areas);
const areaOf = new Map(names.flatMap((area) => areas[area].map((path) => [path, area])));
/** The outermost directories with code of the program. */
const roots = [...new Set([...areaOf.keys()].map((path) => path.split('/')[0]))];

/** The paths of all TypeScript files below the roots. */
const files = roots.flatMap((root) =>
  readdirSync(join(folder, root), { recursive: true })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(root, name)),
);
const rooms = [...new Set(files.map((file) => dirname(file)))];
const problems = [];
for (const room of rooms)
  if (!areaIn(room)) problems.push(`${room} is in no area (hint: add it to tools/rooms.json)`);
for (const path of areaOf.keys())
  if (!rooms.some((room) => `${room}/`.startsWith(`${path}/`)))
    problems.push(`${path} is in tools/rooms.json, but has no files`);
/** By room: the rooms that it imports from, with one file that does. */
const needs = new Map();

for (const file of files)
  for (const imported of importsOf(file)) {
    const [from, to] = [dirname(file), dirname(imported)];
    if (!existsSync(join(folder, imported)))
      problems.push(`${file} imports ${imported}, which does not exist`);
    else if (from !== to) {
      if (names.indexOf(areaIn(to)) > names.indexOf(areaIn(from)))
        problems.push(`${file} imports ${imported}, but ${areaIn(to)} is above ${areaIn(from)}`);
      needs.set(from, new Map([...(needs.get(from) ?? []), [to, `${file} imports ${imported}`]]));
    }
  }
for (const circle of circles()) problems.push(`rooms need one another: ${circle.join('; ')}`);

for (const problem of problems) process.stderr.write(`rooms: ${problem}\n`);
if (problems.length > 0) process.exitCode = 1;
else process.stdout.write(`${files.length} files in ${rooms.length} rooms of ${names.length} areas\n`);

/** The area of a room: that of the innermost directory which has one. `src` itself has only its own files. */
function areaIn(room) {
  const area = areaOf.get(room);
  return area ?? (dirname(room).includes('/') ? areaIn(dirname(room)) : undefined);
}

/** One circle of imports for each room that closes one. */
function circles() {
  const found = [];
  const done = new Set();
  const follow = (room, path) => {
    const start = path.findIndex(([from]) => from === room);
    if (start >= 0) found.push(path.slice(start).map(([, why]) => why));
    if (start >= 0 || done.has(room)) return;
    for (const [to, why] of needs.get(room) ?? []) follow(to, [...path, [room, why]]);
    done.add(room);
  };
  for (const room of needs.keys()) follow(room, []);
  return found;
}

/** The program's own files that this one names. */
function importsOf(file) {
  const source = readFileSync(join(folder, file), 'utf8');
  const { module, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const requested = [
    ...module.staticImports.map((one) => one.moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries).map((one) => one.moduleRequest?.value),
    // Anything but a literal cannot be followed.
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
  ];
  return requested
    .filter((specifier) => specifier && /^\..*\.tsx?$/.test(specifier) && !specifier.includes('/dist/'))
    .map((specifier) => normalize(join(dirname(file), specifier)));
}
