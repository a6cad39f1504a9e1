/** How many replicates a band has. */

const REPLICATES = 1000;
/** From this many participants on, the usual number of replicates would take minutes. */
const LONG_STUDY = 10_000;
const REPLICATES_OF_LONG_STUDY = 200;

/** How many replicates a study has, unless somebody says how many. */
export function replicatesFor(participants: number): number {
  return participants >= LONG_STUDY ? REPLICATES_OF_LONG_STUDY : REPLICATES;
}
