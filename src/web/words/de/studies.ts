export const studies = {
  title: 'Studien',
  none: 'Dieser Schlüssel darf keine Studie sehen. Fragen Sie die Person, die ihn ausgestellt hat.',
  enrolled_one: '{{count}} eingeschlossen',
  enrolled_other: '{{count}} eingeschlossen',
  enrolledOf: '{{enrolled}} von {{target}}',
  since: 'seit',
  lastAllocation: 'letzte Zuteilung',
  noAllocation: 'noch niemand randomisiert',
} as const;
