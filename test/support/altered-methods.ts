/** What somebody changes of draws and lists of studies that allocate otherwise than from urns. */
import { type Change, changed, data, type Json, sealed } from './altered-bundles.ts';
import { SEX } from './life.ts';

export const picked = (change: (pick: Json) => void) => sealed(({ pick }) => change(pick));

/** With the section under another name, or another one beside it. */
export const renamedSection = (from: string, to: string, isKept = false): Change =>
  changed((record, sections) => {
    const { salt, ...rest } = sections[from];
    record.seals[to] = '';
    const another = `${salt}`.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    sections[to] = { ...rest, salt: isKept ? another : salt };
    if (isKept) return;
    delete record.seals[from];
    delete sections[from];
  });

/** As an urn has it, in the form of its section. */
export const asDraw =
  (isKept = false): Change =>
  (bundle, name) => {
    renamedSection('pick', 'draw', isKept)(bundle, name);
    const urns = sealed((sections) => {
      const { weights, block: _, ...rest } = sections.draw;
      const counts = { balls: weights, counts: weights, candidates: [SEX], selectedFactor: SEX };
      sections.draw = { ...rest, ...counts };
    });
    urns(bundle, name);
  };

export const onList = (change: (list: Json) => void) => sealed(({ list }) => change(list));
/** The entry of a list at a place, from 1. */
export const listed = (place: number, members: object) =>
  onList(({ entries }) => Object.assign(entries[place - 1], members));
/** To so many entries. */
export const shortened = (count: number): Change =>
  changed(({ data: members }, { list }) => {
    list.entries.splice(count);
    members.count = list.entries.length;
  });
export const skipping = (...skipped: readonly object[]) => data({ skipped });
