/** What the command line shows of a study is recorded as what the service shows is, if the log can be written. */
import type { OperationsFact } from '../../events/operations.ts';
import { DomainError } from '../base/errors.ts';
import type { OpenLog } from '../open/open-log.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { StoreError } from '../store/event-store.ts';
import { cliActor } from './options.ts';
import { note } from './output.ts';

type Disclosed = Extract<OperationsFact, { type: 'EvidenceDisclosed' }>['data'];
/** What was shown; when and how often is added. */
type Said = Omit<Disclosed, 'count' | 'firstAt' | 'lastAt'>;

/**
 * To be called before it is shown. Whoever is at this command line could read the file without a trace anyway, so it is
 * shown even where it cannot be recorded, with a warning.
 */
export async function recordDisclosure(log: OpenLog, said: Said): Promise<void> {
  const at = new Date().toISOString();
  const data = { ...said, count: 1, firstAt: at, lastAt: at };
  try {
    if (!log.gate.isCompared) await log.read(OPERATIONS);
    await log.operations.record({ type: 'EvidenceDisclosed', data, sections: {} }, cliActor());
  } catch (error) {
    if (!(error instanceof DomainError || error instanceof StoreError)) throw error;
    note(`warning: it could not be recorded that you see this: ${error.message}`);
  }
}
