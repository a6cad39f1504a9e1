export const randomize = {} as const;
