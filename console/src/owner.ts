/** Whose memory: a user's, or that of a space. As the API has it in queries and bodies. */
export type Owner = { userId: string } | { spaceId: string };

/** The memory of an owner, or shared memory. */
export type Memory = Owner | { shared: 'true' };

/** The id of the user or the space. */
export const idOf = (owner: Owner): string => ('userId' in owner ? owner.userId : owner.spaceId);

/** `user`, `space`. */
export const kindOf = (owner: Owner): 'user' | 'space' => ('userId' in owner ? 'user' : 'space');

/** The folder of all its files: `users/alice/`, `spaces/acme/`, `shared/`. */
export const homeOf = (memory: Memory): string =>
  'shared' in memory ? 'shared/' : `${kindOf(memory)}s/${idOf(memory)}/`;

/** A memory in words: `the memory of alice`, `shared memory`. */
export const tellMemory = (memory: Memory): string =>
  'shared' in memory ? 'shared memory' : `the memory of ${idOf(memory)}`;

/** Whose memory a record is of; `null` for shared memory. */
export function toOwner({
  userId,
  spaceId,
}: {
  userId: string | null;
  spaceId: string | null;
}): Owner | null {
  if (userId !== null) return { userId };
  return spaceId === null ? null : { spaceId };
}

/** The owner of a path; `null` for shared memory. */
export function ownerOf(path: string): Owner | null {
  const [, root, id] = /^(users|spaces)\/([^/]+)\//.exec(path) ?? [];
  if (id === undefined) return null;
  return root === 'users' ? { userId: id } : { spaceId: id };
}

/** The id in a record of a user or a space. */
export function ownerId({ userId, spaceId }: Record<'userId' | 'spaceId', string | null>): string {
  return userId ?? spaceId ?? '';
}

/** Who a record is of, in words: the user id, `space acme` or `shared`. */
export function tellOwner({
  userId,
  spaceId,
}: {
  userId: string | null;
  spaceId: string | null;
}): string {
  return userId ?? (spaceId === null ? 'shared' : `space ${spaceId}`);
}
