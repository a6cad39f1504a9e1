export const studies = {
  title: 'Studies',
  none: 'This key may see no study. Ask whoever issued it.',
  enrolled_one: '{{count}} enrolled',
  enrolled_other: '{{count}} enrolled',
  enrolledOf: '{{enrolled}} of {{target}}',
  since: 'since',
  lastAllocation: 'last allocation',
  noAllocation: 'nobody randomized yet',
} as const;
