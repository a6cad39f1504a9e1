import type { DesignChange } from '../../../events/study.ts';
import type { Closing } from '../model/model.ts';

/** When treatments took nobody, after a change at an instant. */
export function closingsAfter(at: string) {
  return (closings: readonly Closing[], change: DesignChange): readonly Closing[] => {
    switch (change.kind) {
      case 'arm-closed':
        return [...closings, { treatment: change.treatment, from: at, to: undefined }];
      case 'arm-added':
        return [...closings, { treatment: change.treatment, from: '', to: at }];
      case 'arm-reopened': {
        const { treatment } = change;
        return closings.map((one) =>
          one.treatment === treatment && one.to === undefined ? { ...one, to: at } : one,
        );
      }
      default:
        return closings;
    }
  };
}
