/** Keeps the newest checkpoints: those that this machine compares with at the next start, and the witness's. */
import { appendTo, Collector } from '../ledger/collector.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Logger } from './logger.ts';

export function startCollectors(log: OpenLog, witness: string | undefined, logger: Logger): Collector[] {
  const { ledger, lastCheckpoints } = log;
  logFirstCheckpoints(log, logger);
  void ledger.warmUp();
  const collect = (what: string, write: ConstructorParameters<typeof Collector>[1]) =>
    new Collector(ledger, write, (error) =>
      logger.error({ why: error.message }, `${what} cannot be written; it is tried again every second`),
    );
  return [
    ...(lastCheckpoints
      ? [collect('what was signed last', (checkpoints) => lastCheckpoints.keep(checkpoints))]
      : []),
    ...(witness === undefined ? [] : [collect("the witness's file", appendTo(witness))]),
  ];
}

/** Of the studies without a participant: later ones prove less. */
function logFirstCheckpoints({ studies, ledger }: OpenLog, logger: Logger): void {
  for (const { stream, registered } of studies.list())
    if (ledger.tree(stream).size === 1 && ledger.maySign(stream))
      logger.info(
        { study: registered.configuration.name, checkpoint: ledger.checkpoint(stream, 1).note },
        'first checkpoint of a study: archive it outside this machine before the first participant',
      );
}
