/**
 * Starts a program to which file modes apply, whoever runs the tests. The superuser may override modes, so the program is
 * started without that right. The user stays the same: another user might not be able to reach the program in this clone.
 */
const RIGHTS = '-dac_override,-dac_read_search';

/** The beginning of a command line to which file modes apply. (setpriv is part of util-linux.) */
export const WITHOUT_OVERRIDE: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', RIGHTS, '--inh-caps', RIGHTS] : [];
