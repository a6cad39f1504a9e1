/** A relay on an open log, for `urn relay` and for `urn serve --relay`. */

import type { Content } from '../../events/content.ts';
import type { Actor } from '../../events/record.ts';
import { studyConfig } from '../../projections/study-config.ts';
import type { OpenLog } from '../open/open-log.ts';
import type { Logger } from '../service/logger.ts';
import { Relay } from './relay.ts';
import { type RelaySettings, topicsOf } from './settings.ts';

/**
 * @param log folded, and not rolled back
 * @throws DomainError `identity` when the log's name makes no topic
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
  const beforeDisclosing = discloser(log, settings.content, actor);
  return new Relay({ log, settings, topics, logger, beforeDisclosing });
}

/** Once for each study and start: that its records go out with sealed sections stands in the log before they do. */
function discloser({ operations, runner }: OpenLog, content: Content, actor: Actor) {
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
