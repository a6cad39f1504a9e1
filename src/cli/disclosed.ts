/** Records what the command line shows of a study, as the service does, if the log can be written. */
import type { OperationsFact } from '../../events/operations.ts';
import { DomainError } from '../base/errors.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { OPERATIONS } from '../service/operations/operations-stream.ts';
import { StoreError } from '../store/event-store.ts';
import { cliActor } from './options.ts';
import { note } from './output.ts';

type DisclosureFact = Extract<OperationsFact, { type: 'EvidenceDisclosed' }>;
/** What was shown. When and how often is added. */
type Disclosure = Omit<DisclosureFact['data'], 'count' | 'firstAt' | 'lastAt'>;

/**
 * Call it before showing anything. Anyone at this command line could read the file without a trace anyway, so a
 * disclosure that cannot be recorded only causes a warning.
 */
export async function recordDisclosure(
  log: OpenLog,
  disclosure: Disclosure,
  sections: DisclosureFact['sections'] = {},
): Promise<void> {
  const at = new Date().toISOString();
  const data = { ...disclosure, count: 1, firstAt: at, lastAt: at };
  try {
    if (!log.gate.isCompared) await log.read(OPERATIONS);
    await log.operations.record({ type: 'EvidenceDisclosed', data, sections }, cliActor());
  } catch (error) {
    if (!(error instanceof DomainError || error instanceof StoreError)) throw error;
    note(`warning: this disclosure could not be recorded: ${error.message}`);
  }
}
