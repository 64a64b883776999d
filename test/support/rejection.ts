import { MemoryError } from '../../core/errors.ts';

/** The error that a call is refused with; fails when the call goes through. */
export async function rejection(promise: Promise<unknown>): Promise<MemoryError> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof MemoryError) return error;
  throw new Error(error === null ? 'The call went through.' : 'It was no MemoryError.', {
    cause: error,
  });
}
