/** Makes a relay for an open log, for `urn relay` and `urn serve --relay`. */

import type { Actor, Content } from '../../../events/record.ts';
import { studyConfig } from '../../core/study/fold.ts';
import type { Logger } from '../monitoring/logger.ts';
import type { OpenLog } from '../open/open-log.ts';
import { Relay } from './relay.ts';
import { type RelaySettings, topicsOf } from './settings.ts';

/**
 * @param log folded, and not rolled back
 * @throws DomainError `identity` if the log's name cannot name a topic
 */
export function makeRelay(log: OpenLog, settings: RelaySettings, actor: Actor, logger: Logger): Relay {
  const topics = topicsOf(settings.topic, log.identity.logName);
  if (settings.content !== 'blinded')
    logger.warn(
      { topic: topics.records, content: settings.content },
      settings.content === 'full'
        ? 'the feed is UNBLINDING MATERIAL: it holds every treatment, and the states from which every later assignment can be computed'
        : 'the feed is UNBLINDING MATERIAL: it holds the treatment of every participant',
    );
  const recordDisclosure = disclosureRecorder(log, settings.content, actor);
  return new Relay({ log, settings, topics, logger, recordDisclosure });
}

/** Records, once for each study and start, that its records are published with sealed sections, before they are. */
function disclosureRecorder({ operations, runner }: OpenLog, content: Content, actor: Actor) {
  const recorded = new Set<string>();
  return async (stream: string, fromRevision: number) => {
    const study = runner.state(studyConfig, stream)?.configuration.name;
    if (study === undefined || recorded.has(stream)) return;
    const at = new Date().toISOString();
    const data = {
      what: 'records',
      study,
      fromRevision,
      content,
      count: 1,
      firstAt: at,
      lastAt: at,
    } as const;
    await operations.record({ type: 'EvidenceDisclosed', data, sections: {} }, actor);
    recorded.add(stream);
  };
}
