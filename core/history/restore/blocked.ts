import type { FileKey } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { isOverlap, sayOverlap } from '../../files/overlaps.ts';
import { toOwner, toPhysicalPath } from '../../files/paths.ts';
import type { FileToRestore } from '../undo/plan.ts';

/** Files that are looked at in one transaction. */
const AT_ONCE = 100;

/**
 * The files that a space with `exclusivePaths` would not take back, because one stands there that is a folder of
 * the other, with why, by physical path. Deletions come first, as in the restore itself.
 */
export async function findBlocked(
  storage: Pick<Storage, 'mutate'>,
  targets: readonly FileToRestore[],
): Promise<ReadonlyMap<string, string>> {
  const blocked = new Map<string, string>();
  const [first] = targets;
  if (first === undefined || toOwner(first.key.scope).spaceId === null) return blocked;
  const back = targets.filter(({ exists }) => exists).map(({ key }) => key);
  const going = new Set(targets.filter(({ exists }) => !exists).map(({ key }) => key.path));
  const taken: FileKey[] = [];
  for (let at = 0; at < back.length; at += AT_ONCE) {
    const keys = back.slice(at, at + AT_ONCE);
    const found = await readOverlaps(storage, keys);
    if (found === null) return blocked;
    for (const [index, key] of keys.entries()) {
      const others = found[index]?.filter(({ path }) => !going.has(path)) ?? [];
      const other = others[0] ?? taken.find((one) => isOverlap(one, key));
      if (other === undefined) taken.push(key);
      else blocked.set(toPhysicalPath(key), sayOverlap(key, other, toPhysicalPath));
    }
  }
  return blocked;
}

/** What overlaps with each of these files now; `null` where the space takes everything. */
async function readOverlaps(
  storage: Pick<Storage, 'mutate'>,
  keys: readonly FileKey[],
): Promise<readonly (readonly FileKey[])[] | null> {
  const [first] = keys;
  if (first === undefined) return null;
  const request = { scopes: [first.scope], files: keys, spaces: [first.scope] };
  return await storage.mutate(request, (current) => {
    const isExclusive = current.space(first.scope)?.exclusivePaths === true;
    const isNew = (key: FileKey): boolean => (current.file(key)?.content ?? null) === null;
    const overlaps = keys.map((key) => (isNew(key) ? current.overlaps(key) : []));
    return { result: isExclusive ? overlaps : null, writes: 0, changes: {} };
  });
}
