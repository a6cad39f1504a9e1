/** A file cannot be read as a bundle. The message names the file and says what to do. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
}
