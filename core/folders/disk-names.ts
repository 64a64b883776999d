import { toComparableName } from '../archive/disk-names.ts';

/**
 * Chooses a path on the disk for each file of memory. Some disks can't keep both `Notes.md` and `notes.md`. No disk can
 * keep both a file `a` and a folder `a`. The second one gets a number: `notes%2.md`. No path in memory contains `%`.
 */
export class DiskNames {
  /** What stands where, by the path on the disk as the most lenient disk compares it. */
  readonly #taken = new Map<string, { disk: string; path: string; isFile: boolean }>();

  constructor(files: Iterable<{ disk: string; path: string }>) {
    for (const file of files) this.#add(file);
  }

  /** The path on the disk for a path in memory. It is taken from then on. */
  choose(path: string): string {
    const names = path.split('/');
    let disk = '';
    let comparable = '';
    for (const [at, name] of names.entries()) {
      const isFile = at === names.length - 1;
      const inMemory = names.slice(0, at + 1).join('/');
      for (let number = 1; ; number += 1) {
        const tried = number === 1 ? name : withNumber(name, { number, isFile });
        const place = `${comparable}${toComparableName(tried)}`;
        const taken = this.#taken.get(place);
        const isOwn = taken?.path === inMemory && taken.isFile === isFile;
        if (taken !== undefined && !isOwn) continue;
        disk += taken?.disk.split('/').at(-1) ?? tried;
        this.#taken.set(place, { disk, path: inMemory, isFile });
        comparable = `${place}/`;
        break;
      }
      if (!isFile) disk += '/';
    }
    return disk;
  }

  #add({ disk, path }: { disk: string; path: string }): void {
    const [onDisk, inMemory] = [disk.split('/'), path.split('/')];
    let place = '';
    for (const [at, name] of onDisk.entries()) {
      place += toComparableName(name);
      const isFile = at === onDisk.length - 1;
      const entry = {
        disk: onDisk.slice(0, at + 1).join('/'),
        path: inMemory.slice(0, at + 1).join('/'),
        isFile,
      };
      if (!this.#taken.has(place)) this.#taken.set(place, entry);
      place += '/';
    }
  }
}

function withNumber(name: string, { number, isFile }: { number: number; isFile: boolean }): string {
  const dot = isFile ? name.lastIndexOf('.') : 0;
  return dot > 0 ? `${name.slice(0, dot)}%${number}${name.slice(dot)}` : `${name}%${number}`;
}
