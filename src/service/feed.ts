/** The relay inside a service, if there is one. If it fails, the service continues without it and the feed lags. */
import type { Registry } from 'prom-client';
import type { Actor } from '../../events/record.ts';
import { LOG_STREAM } from '../core/log/log-stream.ts';
import type { Logger } from './monitoring/logger.ts';
import type { OpenLog } from './open/open-log.ts';
import type { Relay } from './relay/relay.ts';
import { registerRelay } from './relay/relay-metrics.ts';
import type { RelaySettings } from './relay/settings.ts';

export class Feed {
  readonly #settings: RelaySettings | undefined;
  readonly #logger: Logger;
  #relay: Relay | undefined;

  constructor(settings: RelaySettings | undefined, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  async start(log: OpenLog, actor: Actor, metrics: Registry): Promise<void> {
    if (!this.#settings) return;
    // The Kafka client takes long to load, and most services do not need it.
    const { makeRelay } = await import('./relay/start.ts');
    const relay = await makeRelay(log, this.#settings, actor, this.#logger);
    this.#relay = relay;
    registerRelay(metrics, () => relay.status());
    this.publish(log);
  }

  /** Starts publishing. Called again after the log was reopened. */
  publish(log: OpenLog): void {
    this.#relay
      ?.run(log.gate.refusal(LOG_STREAM, 'sign'))
      .catch((error: Error) => this.#logger.error({ why: error.message }, 'the feed has stopped'));
  }

  /** Must be called when a record of the stream was folded. */
  noticed(stream: string): void {
    this.#relay?.folded(stream);
  }

  async stop(): Promise<void> {
    await this.#relay?.stop();
  }
}
