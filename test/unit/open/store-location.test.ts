/** Which store a setting names, and what is said of one that there is not. */
import { describe, expect, it } from 'vitest';
import { locate } from '../../../src/service/open/store-location.ts';

const at = (store: string) => locate({ data: '/nowhere', store });

describe('the address of a store', () => {
  it.each(['esdb', 'kurrentdb', 'kdb', 'esdb+discover', 'kdb+discover'])('may begin with %s://', (scheme) => {
    expect(at(`${scheme}://db:2113`)).toEqual({ kind: 'eventstoredb', url: `${scheme}://db:2113` });
  });

  it.each([
    ['kurrent://urn:SECRET@db:2113', /addresses begin with kurrentdb:\/\/\)$/],
    ['kurrent+discover://db', /addresses begin with kurrentdb\+discover:\/\/\)$/],
    ['kafka://db', /esdb:\/\/<host>:2113, kurrentdb:\/\/<host>:2113 or memory:\)$/],
  ])('%s is refused, and the hint names the right one', (store, hint) => {
    expect(() => at(store)).toThrow(hint);
    expect(() => at(store)).not.toThrow(/SECRET/);
  });
});
