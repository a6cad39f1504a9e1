import type { KeyActor } from '../../operations/recorder.ts';

/** What a route leaves for the log, the metrics and the error handler. */
export interface Locals {
  route: string;
  /** Whether the route takes such a request at all: another method, say, it does not. */
  isServed: boolean;
  emptyResults: '{}' | '[]';
  keyId?: string;
  user?: string;
  study?: string;
  revision?: number;
  /** Who asks, once the key is accepted. */
  actor?: KeyActor;
  /** Of the study, once it is clear that the key may know of it. */
  studyName?: string;
}
