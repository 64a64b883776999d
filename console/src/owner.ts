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

/** The owner of a path; `null` for shared memory. */
export function ownerOf(path: string): Owner | null {
  const [, root, id] = /^(users|spaces)\/([^/]+)\//.exec(path) ?? [];
  if (id === undefined) return null;
  return root === 'users' ? { userId: id } : { spaceId: id };
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
