import type { FileKey } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { invalidField } from '../../errors.ts';
import { toPhysicalPath } from '../../files/paths.ts';
import { readRows } from '../../lists/page.ts';
import { createPause } from '../../time/pause.ts';

/** The most paths that one file is looked for at. */
const MOST = 1_000;

/**
 * The paths that a file was moved to or from, directly or over others, after its own; each once. Throws
 * `INVALID_REQUEST` for a file that was at more than 1,000 paths.
 */
export async function findPlaces(
  { revisions }: Pick<Storage, 'revisions'>,
  { scope, path }: FileKey,
): Promise<FileKey[]> {
  const pause = createPause();
  const places = new Map<string, FileKey>();
  const add = (key: FileKey) => {
    const name = toPhysicalPath(key);
    if (places.has(name)) return;
    if (places.size === MOST) {
      const message = `must be user or everywhere: ${toPhysicalPath({ scope, path })} was at more than ${MOST} paths`;
      throw invalidField('/in', message, 'in');
    }
    places.set(name, { scope: key.scope, path: key.path });
  };
  add({ scope, path });
  // The loop also reaches the places that it adds.
  for (const key of places.values()) {
    const moves = readRows((page) => revisions.list({ path: key, action: 'move' }, page));
    for await (const { peerId } of moves) {
      const peer = peerId === null ? null : await revisions.get(peerId);
      if (peer !== null) add(peer);
      await pause();
    }
  }
  return [...places.values()];
}
