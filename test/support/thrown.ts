/** What it throws; undefined if it does not. */
export function thrownBy(act: () => unknown): Error | undefined {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  return undefined;
}
