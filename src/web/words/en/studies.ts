export const studies = {
  title: 'Studies',
  none: 'This key may not see any study. Ask whoever issued it.',
  since: 'since',
  lastAllocation: 'last allocation',
  noAllocation: 'nobody randomized yet',
} as const;
