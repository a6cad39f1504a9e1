/** Which node of a cluster is taken for its leader, by what the nodes say of each other. */
import { describe, expect, it } from 'vitest';
import type { Host } from '../../../src/store/eventstoredb/address.ts';
import { Discovery, type Member } from '../../../src/store/eventstoredb/discovery.ts';

const host = (name: string): Host => ({ address: name, port: 2113 });
const NODES = ['a', 'b', 'c'];

/** What each node says: the one that it takes for the leader, nobody, or nothing at all. */
type Says = Readonly<Record<string, string | 'nobody' | 'nothing'>>;

function cluster(says: Says, seeds = NODES) {
  const asked: string[] = [];
  const said = { ...says };
  const ask = async ({ address }: Host): Promise<Member[]> => {
    asked.push(address);
    const leader = said[address] ?? 'nothing';
    if (leader === 'nothing') throw new Error('no answer');
    return NODES.map((name) => ({ host: host(name), isLeader: name === leader }));
  };
  const discovery = new Discovery(seeds.map(host), ask, 1);
  return {
    ...{ asked, discovery, said },
    leader: async (doubted?: string) =>
      (await discovery.survey(doubted === undefined ? undefined : host(doubted)))?.address,
  };
}

describe('the leader of a cluster', () => {
  it.each<[what: string, Says, leader: string | undefined, doubted?: string]>([
    ['that all nodes name, itself included', { a: 'b', b: 'b', c: 'b' }, 'b'],
    ['none that does not answer, however many name it', { a: 'nothing', b: 'a', c: 'a' }, undefined],
    ['that most of those name that answer', { a: 'nothing', b: 'b', c: 'b' }, 'b'],
    ['none that does not know it leads', { a: 'nobody', b: 'a', c: 'a' }, undefined],
    ['that more nodes name if the network is split', { a: 'a', b: 'b', c: 'b' }, 'b'],
    ['that more nodes name, even if in doubt', { a: 'a', b: 'b', c: 'b' }, 'b', 'b'],
    ['not in doubt if as many nodes name either', { a: 'a', b: 'b', c: 'nothing' }, 'b', 'a'],
    ['not in doubt, the other way round', { a: 'a', b: 'b', c: 'nothing' }, 'a', 'b'],
    ['in doubt if no other can be reached', { a: 'a', b: 'nothing', c: 'nothing' }, 'a', 'a'],
  ])('is the node %s', async (_, says, leader, doubted) => {
    expect(await cluster(says).leader(doubted)).toBe(leader);
  });

  it('is found through a node that is not a member, and is still known after that node is gone', async () => {
    const known = cluster({ a: 'c', b: 'c', c: 'c', dns: 'c' }, ['dns']);
    expect(await known.leader()).toBe('c');
    expect([...known.asked].sort()).toEqual(['a', 'b', 'c', 'dns']);
    Object.assign(known.said, { a: 'b', b: 'b', c: 'nothing', dns: 'nothing' });
    expect(await known.leader('c')).toBe('b');
  });

  it.each([
    ['is known as soon as most nodes name it, itself included: nobody waits for a silent node', 'b', 'b'],
    ['is not known while it has not said so itself, but is not waited for long', 'c', undefined],
  ])('%s', async (_, leader, known) => {
    const members = NODES.map((name) => ({ host: host(name), isLeader: name === leader }));
    // The third node never answers.
    const ask = ({ address }: Host) =>
      new Promise<Member[]>((resolve) => address !== 'c' && setImmediate(resolve, members));
    expect((await new Discovery(NODES.map(host), ask).survey())?.address).toBe(known);
  });

  it('is not found because of a wrong password, if that is what the nodes say', async () => {
    const ask = () => Promise.reject(Object.assign(new Error('no such user'), { code: 16 }));
    await expect(new Discovery(NODES.map(host), ask, 1).leader()).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('says: no such user'),
    });
  });

  it('is not found after a limited number of attempts', async () => {
    const none = cluster({ a: 'nobody', b: 'nobody', c: 'nothing' });
    await expect(none.discovery.leader()).rejects.toMatchObject({
      kind: 'not-connected',
      message: expect.stringContaining('Failed to discover who leads after 10 attempts'),
    });
    expect(none.asked).toHaveLength(30);
  });
});
