/** API keys: how they look, and what is kept of them. */
import { hash, randomBytes } from 'node:crypto';

/** A new key: 256 random bits behind a prefix by which secret scanners and people know it. */
export function newApiKey(): string {
  return `urn_${randomBytes(32).toString('base64url')}`;
}

/** A key anywhere in a text. */
export const API_KEY = /urn_[A-Za-z0-9_-]{43}/;

/** Names a key in lists, events and logs. Says nothing about the key itself. */
export function newKeyId(): string {
  return `k${randomBytes(6).toString('hex')}`;
}

/** Lower-case hex. A fast hash is enough: the key has 256 random bits and cannot be guessed. */
export function keySha256(apiKey: string): string {
  return hash('sha256', apiKey);
}
