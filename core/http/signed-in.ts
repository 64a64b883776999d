import type { Context } from 'koa';
import type { RouteDefinition } from '../contracts/route.ts';
import { withDeadline } from '../time/deadline.ts';
import { MemoryError } from '../errors.ts';
import { parseUserId, spaceNotAllowed } from '../files/paths.ts';

/**
 * Returns the user of a request, from the data that the app's own sign-in left in Koa's context;
 * `null` or `undefined` if nobody is signed in.
 */
export type ResolveUserId = (
  ctx: Context,
) => string | null | undefined | Promise<string | null | undefined>;

/** Time limit for `resolveUserId`, in milliseconds; the same as for plugin hooks. */
export const SIGN_IN_TIMEOUT_MS = 10_000;

/**
 * Asks the app who is signed in; `null` for nobody. Throws `UNAUTHORIZED` if the app throws a 401
 * or 403, `INVALID_USER_ID` for an invalid user id, and `INTERNAL` if the app does not answer
 * within `timeoutMs`.
 */
export async function findSignedIn(
  resolveUserId: ResolveUserId,
  { ctx, timeoutMs }: { ctx: Context; timeoutMs: number },
): Promise<string | null> {
  const userId = await withDeadline(askApp(resolveUserId, ctx), timeoutMs, () => {
    const cause = new Error(`resolveUserId did not settle within ${timeoutMs} ms.`);
    return new MemoryError('INTERNAL', 'The sign-in of the app did not answer in time.', { cause });
  });
  return userId === null || userId === undefined ? null : parseUserId(userId);
}

/**
 * Whether a route of the tools API works for the signed-in user. Throws `INVALID_USER_ID` when the
 * request names another user, and `UNSUPPORTED_MEDIA_TYPE` for a POST without a body: a form on
 * another site could make a browser send one with the app's cookies.
 */
export function bindSignedIn(
  route: RouteDefinition,
  request: { userId: string; header(name: string): string | null; hasBody: boolean },
): boolean {
  if (route.signedIn === undefined) return false;
  refuseOtherUser(request.userId, request.header('x-user-id'), 'x-user-id');
  if (route.method === 'POST' && !request.hasBody) {
    throw new MemoryError('UNSUPPORTED_MEDIA_TYPE', undefined, { situation: 'noBody' });
  }
  return true;
}

/**
 * Throws `INVALID_USER_ID` if a request names a user other than the one signed in.
 *
 * @param where the place to name in the message: `/context/userId`, `x-user-id`.
 */
export function refuseOtherUser(
  userId: string,
  named: string | null | undefined,
  where: string,
): void {
  if (named === null || named === undefined || named === userId) return;
  const message = 'must be left out: the app says who the user is';
  throw new MemoryError('INVALID_USER_ID', `${where} ${message}.`, {
    details: { issues: [{ path: where, message }] },
    situation: 'signedIn',
  });
}

/**
 * Throws `SPACE_NOT_ALLOWED` if the request of someone who is signed in names a space: what a browser may
 * use is for the app to say, and it has no place to say so here.
 */
export function refuseSpaces(spaces: readonly { id: string }[] | null | undefined): void {
  const [first] = spaces ?? [];
  if (first !== undefined) throw spaceNotAllowed(first.id);
}

async function askApp(
  resolveUserId: ResolveUserId,
  ctx: Context,
): Promise<string | null | undefined> {
  try {
    return await resolveUserId(ctx);
  } catch (error) {
    const { status } = Object(error) as { status?: unknown };
    if (error instanceof MemoryError || (status !== 401 && status !== 403)) throw error;
    throw new MemoryError('UNAUTHORIZED', undefined, { cause: error, situation: 'signedIn' });
  }
}
