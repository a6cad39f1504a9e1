/** Adds pending code-breaks to a file: node pending-process.mjs <file> <first> <count> */
import process from 'node:process';
import { PendingReveals } from '../../dist/src/service/code-break/pending-reveals.js';

const [file, first, count] = process.argv.slice(2);
const pending = new PendingReveals(file);
for (let i = Number(first); i < Number(first) + Number(count); i++)
  await pending.add({
    ...{ study: 'S', participantId: `p${i}`, randomizedAt: i, category: 'emergency', reason: `number ${i}` },
    reveal: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    ...{ shownAt: '2026-03-01T09:00:00.000Z', actor: { cli: true, user: 'night' } },
  });
