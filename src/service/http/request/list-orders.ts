/** The orders in which a list of participants can be shown. */
import type { Factor } from '../../../../projections/design.ts';
import { currentId } from '../../../../projections/enrolled.ts';
import { sortedInSlices } from '../../../base/sorted-in-slices.ts';
import type { Participant, Participants } from '../../../core/model/participants.ts';
import type { Lists } from './in-progress.ts';
import { LastOfStudy } from './last-of-study.ts';
import { levelsShown, type RecordView } from './study-view.ts';

/** Numbers in ids are compared as numbers. The locale is fixed, so that a list has the same order on every machine. */
const IDS = new Intl.Collator('en', { numeric: true });

type Compare = (a: Participant, b: Participant) => number;

/** Ids that compare as equal, such as 1 and 01, stay in the order of randomization. */
export const byId: Compare = (a, b) => IDS.compare(currentId(a), currentId(b));

/**
 * In the order of the configuration. Participants who came after the factor was retired have no level, and come last.
 */
export function byLevel(
  index: number,
  { levels }: Pick<Factor, 'levels'>,
  which: RecordView['levels'],
): Compare {
  const places = new Map(levels.map((level, place) => [level, place]));
  const place = (one: Participant) => places.get(levelsShown(one, which)[index] ?? '') ?? levels.length;
  return (a, b) => place(a) - place(b);
}

/**
 * Sorts participants. While the study does not change, a long list is not sorted again for each of its pages.
 */
export class ListOrders {
  readonly #last = new LastOfStudy<readonly Participant[]>();
  readonly #lists: Lists;

  constructor(lists: Lists) {
    this.#lists = lists;
  }

  /**
   * All participants as they are at the time of the call.
   * @param revision of the study at that time
   * @param name of the order; the same comparison must have the same name
   */
  sorted(
    participants: Participants,
    revision: number,
    name: string,
    compare: Compare,
  ): Promise<readonly Participant[]> {
    return this.#last.of(participants, revision, name, () =>
      // A copy, because the study may grow while it is being sorted.
      sortedInSlices(participants.inOrder.slice(), compare, (work) => this.#lists.slice(work)),
    );
  }
}
