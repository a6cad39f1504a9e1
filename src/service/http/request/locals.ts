import type { KnownKey } from '../../../core/access/keys.ts';
import type { KeyActor } from '../../operations/recorder.ts';

/** What a route passes to the log, the metrics and the error handler. */
export interface Locals {
  route: string;
  /** Whether the route handles such a request at all. It does not if the method is wrong, for example. */
  isServed: boolean;
  emptyResults: '{}' | '[]';
  keyId?: string;
  user?: string;
  study?: string;
  revision?: number;
  /** The user with the key, once the key is accepted. */
  actor?: KeyActor;
  /** The key of a sign-in, if it was ever issued. */
  presented?: KnownKey | undefined;
  /** The name of the study, once it is clear that the key may know of it. */
  studyName?: string;
  /** When a stream of changes began, by the monotonic clock. */
  answeredAt?: number;
  /** Whether the study is a test. */
  isTest?: boolean;
}

const TEST = { 'Urn-Mode': 'test' } as const;

/** Marks every answer about a test study, so that nobody takes it for a live one. */
export function modeHeader({ isTest }: Locals): Readonly<Record<string, string>> | undefined {
  return isTest ? TEST : undefined;
}
