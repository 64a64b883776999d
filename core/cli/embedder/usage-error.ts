/** A command line that cannot be carried out. Its message is what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
