/** API keys: their format, and what is stored of them. */
import { hash, randomBytes } from 'node:crypto';

/** A new key: 256 random bits after a prefix that secret scanners and people recognize. */
export function newApiKey(): string {
  return `urn_${randomBytes(32).toString('base64url')}`;
}

/** Matches a key anywhere in a text. */
export const API_KEY = /urn_[A-Za-z0-9_-]{43}/;

/** A name for a key in lists, events and messages. It reveals nothing about the key itself. */
export function newKeyId(): string {
  return `k${randomBytes(6).toString('hex')}`;
}

/** Lower-case hex. A fast hash is enough: the key has 256 random bits and cannot be guessed. */
export function keySha256(apiKey: string): string {
  return hash('sha256', apiKey);
}
