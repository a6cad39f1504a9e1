export const participant = {} as const;
