import { expect, it } from 'vitest';
import { holderOf } from '../../../src/service/http/admission.ts';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('connections from %s count towards %s: an IPv6 client has a whole /64', (address, holder) => {
  expect(holderOf(address)).toBe(holder);
});
