import type { Assessment } from './assessment.ts';
export function pageOf(a: Assessment): string {
  return String(a.version);
}
