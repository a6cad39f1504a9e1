import { describe, expect, it } from 'vitest';
import type { AccessFact, Scope } from '../../../events/access.ts';
import { type ApiKey, access } from '../../../projections/access.ts';
import {
  accessDecider,
  type Grant,
  grantProblem,
  keySha256,
  newApiKey,
  newKeyId,
  scopeWarnings,
} from '../../../src/core/access/keys.ts';
import { OPERATOR, stored } from '../../support/facts.ts';
import { sentences } from '../../support/given.ts';

const given = sentences(accessDecider, access.initial);
const SHA256 = '4f'.repeat(32);

const grant = (scopes: Scope[], more: Partial<Grant> = {}): Grant => ({ user: 'nurse', scopes, ...more });
const issue = (of: Grant, keyId = 'k1', sha256 = SHA256) =>
  ({ type: 'issue', keyId, sha256, grant: of }) as const;
const issued = (of: Grant, keyId = 'k1', sha256 = SHA256): AccessFact => {
  return { type: 'ApiKeyIssued', data: { keyId, ...of } as never, sections: { credential: { sha256 } } };
};
const revoked = (reason?: string): AccessFact => {
  return { type: 'ApiKeyRevoked', data: { keyId: 'k1', ...(reason && { reason }) }, sections: {} };
};

const READER = grant(['read']);

describe('a key', () => {
  it('is issued as requested, with every limit and without those that were not requested; its SHA-256 is sealed', () => {
    const limited = grant(['read', 'randomize'], {
      studies: ['CHS JCOIN'],
      where: [{ factor: 'local_site', levels: ['11-Cook County – Chicago'] }],
      expiresAt: '2027-06-30T00:00:00.000Z',
    });
    const none = { studies: undefined, where: undefined, expiresAt: undefined, allowPrediction: false };
    for (const [asked, recorded] of [
      [limited, limited],
      [{ ...READER, ...none }, READER],
    ] as const)
      given([])
        .when(issue(asked))
        .then([issued(recorded)], { type: 'issued' });
  });

  it('is not issued if its id or hash already exists, even if that key was revoked', () => {
    for (const history of [[issued(READER)], [issued(READER), revoked()]]) {
      given(history)
        .when(issue(READER, 'k1', '00'.repeat(32)))
        .then([], { type: 'key-id-taken' });
      given(history).when(issue(READER, 'k2')).then([], { type: 'key-id-taken' });
    }
    given([issued(READER)])
      .when(issue(READER, 'k2', '00'.repeat(32)))
      .then([issued(READER, 'k2', '00'.repeat(32))], { type: 'issued' });
  });

  it('is revoked, with or without a reason, but not twice, or if it does not exist', () => {
    const revoke = (reason?: string, keyId = 'k1') => ({ type: 'revoke', keyId, reason }) as const;
    const key = given([issued(READER)]);
    key.when(revoke()).then([revoked()], { type: 'revoked' });
    key.when(revoke('left')).then([revoked('left')], { type: 'revoked' });
    key.when(revoke(undefined, 'k2')).then([], { type: 'unknown-key' });
    given([issued(READER), revoked()])
      .when(revoke())
      .then([], { type: 'already-revoked' });
  });
});

describe('a key with these scopes and limits', () => {
  const where = [{ factor: 'local_site', levels: ['11'] }];
  const allowPrediction = true;
  const studies = ['CHS JCOIN'];

  it.each<[string, Partial<Grant>, string]>([
    ['blinded,audit', {}, 'reveals arms'],
    ['read,blinded,audit,randomize', { allowPrediction }, 'reveals arms'],
    ['audit', { where }, '--where'],
    ['audit,randomize', {}, '--allow-prediction'],
    ['audit,randomize', { where, allowPrediction }, '--where'],
    ['audit,manage', {}, '--allow-prediction'],
    ['force,randomize', {}, '--allow-prediction'],
    ['manage,randomize', {}, 'so "manage" with "randomize" is refused'],
    ['read,manage', { where }, '--where'],
    ['manage,audit', { where, allowPrediction }, '--where'],
  ])('is never issued, whether its id is free or not: %s %o', (scopes, more, hint) => {
    const refused = grant(scopes.split(',') as Scope[], more);
    const why = grantProblem(refused) ?? '';
    expect(why).toContain(hint);
    expect(why).toContain('hint:');
    for (const history of [[], [issued(READER)]])
      given(history).when(issue(refused)).then([], { type: 'refused', why });
  });

  it.each<[string, Partial<Grant>]>([
    ['audit,randomize', { allowPrediction }],
    ['audit,manage', { allowPrediction }],
    ['manage', { studies }],
    ['manage,randomize', { allowPrediction }],
    ['blinded,unblind', { where }],
    ['audit,unblind', {}],
    ['blinded,randomize', {}],
    ['audit,read', {}],
    ['audit', { studies }],
  ])('is issued, with all of them recorded: %s %o', (scopes, more) => {
    const allowed = grant(scopes.split(',') as Scope[], more);
    expect(grantProblem(allowed)).toBeUndefined();
    given([])
      .when(issue(allowed))
      .then([issued(allowed)], { type: 'issued' });
  });
});

describe('a user', () => {
  const key = (scopes: Scope[], more: Partial<ApiKey> = {}): ApiKey => {
    return { user: 'nurse', scopes, keyId: 'k0', issuedAt: '2026-03-01T09:00:00.000Z', ...more };
  };
  it.each<[string, Grant, ApiKey, RegExp[]]>([
    ['randomizes and amends', grant(['randomize']), key(['manage']), [/"manage" and "randomize" .*\(k0\)/]],
    ['randomizes and enters', grant(['force']), key(['randomize']), [/"force" and "randomize"/]],
    ['sees states and randomizes', grant(['randomize']), key(['audit']), [/"randomize" and "audit"/]],
    ['is blinded and supplies', grant(['blinded']), key(['supply']), [/"blinded" and "supply"/]],
    ['is spelt differently', grant(['randomize']), key(['manage'], { user: ' NURSE' }), [/"manage"/]],
    ['corrects', grant(['correct']), key(['randomize']), [/needs two users/]],
    ['corrects with one key', grant(['correct', 'randomize']), key(['read']), [/needs two users/]],
    [
      'has them in one study',
      grant(['randomize'], { studies: ['A'] }),
      key(['manage'], { studies: ['A', 'B'] }),
      [/"manage"/],
    ],
    ['has them apart', grant(['randomize'], { studies: ['A'] }), key(['manage'], { studies: ['B'] }), []],
    ['is another one', grant(['randomize']), key(['manage'], { user: 'chief' }), []],
    [
      'was allowed it',
      grant(['randomize', 'manage'], { allowPrediction: true }),
      key(['randomize', 'manage']),
      [],
    ],
  ])('is warned of what several valid keys may do together: one who %s', (_, asked, valid, says) => {
    expect(scopeWarnings(asked, [valid])).toEqual(says.map((one) => expect.stringMatching(one)));
  });
});

describe('the secrets of a key', () => {
  it('are 256 random bits after a prefix that scanners know, and the id reveals nothing about them', () => {
    const keys = Array.from({ length: 100 }, newApiKey);
    expect(new Set(keys).size).toBe(100);
    for (const key of keys) expect(key).toMatch(/^urn_[A-Za-z0-9_-]{43}$/);
    const ids = Array.from({ length: 100 }, newKeyId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^k[0-9a-f]{12}$/);
  });

  it('are kept as a sealed SHA-256: the record contains neither the key nor its hash', () => {
    const apiKey = newApiKey();
    const fact = issued(READER, 'k1', keySha256(apiKey));
    const { record, sealed } = stored(fact, 0, { stream: 'access', actor: OPERATOR });
    for (const hidden of [apiKey, apiKey.slice(4), keySha256(apiKey)])
      expect(Buffer.from(record).toString()).not.toContain(hidden);
    expect(Buffer.from(sealed).toString()).not.toContain(apiKey.slice(4));
  });
});
