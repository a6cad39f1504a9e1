import express from 'express';
import { describe, expect, it } from 'vitest';
import { trustOf } from '../../../src/cli/trust-proxy.ts';

const accepts = (take: () => unknown) => {
  try {
    take();
    return true;
  } catch {
    return false;
  }
};

describe('--trust-proxy accepts what Express accepts, and refuses the rest with a hint:', () => {
  it.each([
    ['10.0.0.7', true],
    ['10.0.0.0/8', true],
    ['10.0.0.0/32', true],
    ['10.0.0.0/33', false],
    ['10.0.0.0/99', false],
    ['10.0.0.0/0', false],
    ['10.0.0.0/', false],
    ['10.0.0/8', false],
    ['10.0.0.7, 10.0.0.0/99', false],
    ['10.0.0.7,,10.0.0.8', false],
    ['loopback, uniquelocal,10.0.0.0/8', true],
    ['loopback/8', false],
    ['::1', true],
    ['fd00::/8', true],
    ['fd00::/128', true],
    ['fd00::/129', false],
    ['::ffff:10.0.0.1', true],
    ['::ffff:10.0.0.0/104', true],
    ['proxy.example', false],
    ['', false],
  ])('%j: %s', (given, expected) => {
    const app = express();
    expect(accepts(() => app.set('trust proxy', given))).toBe(expected);
    expect(accepts(() => trustOf(given))).toBe(expected);
    if (!expected) expect(() => trustOf(given)).toThrow(/--trust-proxy .*\(hint: 1, or 10\.0\.0\.7/);
  });

  it('accepts a number of proxies', () => {
    expect([trustOf(true), trustOf('true'), trustOf('2'), trustOf(undefined)]).toEqual([1, 1, 2, undefined]);
  });
});
