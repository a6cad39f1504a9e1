import { describe, expect, it } from 'vitest';
import { pageOf, searchForm } from '../../../src/service/http/request/page.ts';

function read(parameters: Record<string, string>) {
  const problems: string[] = [];
  const page = pageOf(new Map(Object.entries(parameters)), problems);
  return { page, problems };
}

describe('pageOf', () => {
  it('without parameters is the whole list, uncounted', () => {
    expect(read({})).toEqual({
      page: {
        ...{ from: 0, limit: undefined, offset: 0, isDescending: false, search: undefined },
        ...{ isCounted: false, continuesByRevision: true },
      },
      problems: [],
    });
  });

  it.each([
    [{ 'urn.limit': '5' }, true, true],
    [{ 'urn.limit': '5', 'urn.from': '0' }, false, true],
    [{ 'urn.search': 'a', 'urn.from': '7' }, false, true],
    [{ 'urn.search': 'a' }, true, true],
    [{ 'urn.sort': 'time' }, true, true],
    [{ 'urn.sort': 'time', 'urn.order': 'asc', 'urn.from': '3' }, false, true],
    [{ 'urn.order': 'desc' }, true, false],
    [{ 'urn.sort': 'id' }, true, false],
    [{ 'urn.limit': '5', 'urn.offset': '0' }, true, false],
  ])('%j: counted %s, goes on by revision %s', (parameters, isCounted, continuesByRevision) => {
    const { page, problems } = read(parameters);
    expect([page.isCounted, page.continuesByRevision, problems]).toEqual([
      isCounted,
      continuesByRevision,
      [],
    ]);
  });

  it.each([
    [{ 'urn.sort': 'id', 'urn.from': '0' }, /^urn\.from .*leave urn\.from out, and page with urn\.offset/],
    [{ 'urn.order': 'desc', 'urn.from': '5' }, /^urn\.from is a place in the order of randomization/],
    [{ 'urn.offset': '0', 'urn.limit': '1', 'urn.from': '5' }, /^urn\.from is a place/],
    [{ 'urn.offset': '3' }, /^urn\.offset needs urn\.limit/],
    [{ 'urn.offset': '-1', 'urn.limit': '1' }, /^urn\.offset is not a whole number from 0 on$/],
    [{ 'urn.order': 'up' }, /^urn\.order must be asc or desc$/],
    [{ 'urn.search': '' }, /^urn\.search is empty/],
    [{ 'urn.search': '😀'.repeat(129) }, /^urn\.search has more than 128 characters$/],
  ])('%j is one problem', (parameters, problem) => {
    const { problems } = read(parameters);
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });

  it('takes 128 characters to search for, however they are stored', () => {
    expect(read({ 'urn.search': '😀'.repeat(128) }).problems).toEqual([]);
  });
});

describe('searchForm', () => {
  it('is one for capitals, small letters and both ways to write an accent', () => {
    expect(searchForm('ÉMILE-01')).toBe(searchForm('e\u0301mile-01'));
    expect(searchForm('A')).not.toBe(searchForm('B'));
  });
});
