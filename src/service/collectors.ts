/** Collects the newest checkpoints in two files: one for the next start on this machine to compare with, and the witness's. */
import { appendTo, Collector } from '../core/ledger/collector.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';

export function startCollectors(log: OpenLog, witness: string | undefined, logger: Logger): Collector[] {
  const { ledger, lastCheckpoints } = log;
  logFirstCheckpoints(log, logger);
  void ledger.warmUp();
  const collect = (what: string, write: ConstructorParameters<typeof Collector>[1]) =>
    new Collector(ledger, write, (error) =>
      logger.error({ why: error.message }, `${what} cannot be written; trying again every second`),
    );
  return [
    ...(lastCheckpoints
      ? [collect('the file of last checkpoints', (checkpoints) => lastCheckpoints.keep(checkpoints))]
      : []),
    ...(witness === undefined ? [] : [collect("the witness's file", appendTo(witness))]),
  ];
}

/** Logs the first checkpoint of each study that has no participants yet. Later checkpoints prove less. */
function logFirstCheckpoints({ studies, ledger }: OpenLog, logger: Logger): void {
  for (const { stream, registered } of studies.list())
    if (ledger.tree(stream).size === 1 && ledger.maySign(stream))
      logger.info(
        { study: registered.configuration.name, checkpoint: ledger.checkpoint(stream, 1).note },
        'first checkpoint of a study: archive it outside this machine before the first participant',
      );
}
