/**
 * How to start a program that file modes hold back, whoever runs the tests. The superuser passes over modes, so the
 * program is started without that right. It stays the same user: another one would have to be able to reach the
 * program, which lies wherever this clone lies.
 */
const RIGHTS = '-dac_override,-dac_read_search';

/** What a command line begins with that is held to file modes. (setpriv is part of util-linux.) */
export const WITHOUT_OVERRIDE: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', RIGHTS, '--inh-caps', RIGHTS] : [];
