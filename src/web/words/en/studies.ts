export const studies = {
  title: 'Studies',
  none: 'This key may not see any study. Ask whoever issued it.',
  enrolled_one: '{{count}} enrolled',
  enrolled_other: '{{count}} enrolled',
  enrolledOf: '{{enrolled}} of {{target}}',
  since: 'since',
  lastAllocation: 'last allocation',
  noAllocation: 'nobody randomized yet',
} as const;
