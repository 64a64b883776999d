/**
 * A name as the most lenient disk compares it: without regard to case, to Unicode form, to invisible
 * characters, and to dots and spaces at its end. Names that are equal here can be one file somewhere:
 * `Notes.md` and `notes.md` on a Mac, `straße` and `STRASSE` on Linux with casefolding.
 */
export function toComparableName(name: string): string {
  const comparable = name
    .replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .normalize('NFD')
    .toLowerCase()
    .toUpperCase()
    .normalize('NFD');
  let end = comparable.length;
  while (end > 0 && '. '.includes(comparable.charAt(end - 1))) end -= 1;
  return comparable.slice(0, end);
}

/** What marks a name that an export changed; no memory path has the character. */
const NUMBER = /%\d+(?=\.[^.]*$|$)/;

/** {@link toComparableName} for each name of a path. */
export function toComparablePath(path: string): string {
  return path.split('/').map(toComparableName).join('/');
}

/**
 * The paths under which files are written, so that they are apart on every disk. In a folder, of names
 * that some disk takes for one, the first keeps its name, and the others get a number: `notes%2.md`.
 * Folders come before files, since a name can be both in memory. Returns only the paths that change.
 * The same paths, in any order, give the same names.
 */
export function toDiskPaths(paths: Iterable<string>): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  nameEntries(toTree(paths), { from: '', to: '' }, changed);
  return changed;
}

/** The path in memory of a path that {@link toDiskPaths} made. */
export function fromDiskPath(path: string): string {
  return path
    .split('/')
    .map((name) => name.replace(NUMBER, ''))
    .join('/');
}

/** The folders and files of a folder, by their names. */
interface Tree {
  folders: Map<string, Tree>;
  files: Set<string>;
}

function toTree(paths: Iterable<string>): Tree {
  const root: Tree = { folders: new Map(), files: new Set() };
  for (const path of paths) {
    const names = path.split('/');
    const file = names.pop() ?? '';
    let tree = root;
    for (const name of names) {
      const below = tree.folders.get(name) ?? { folders: new Map(), files: new Set() };
      tree.folders.set(name, below);
      tree = below;
    }
    tree.files.add(file);
  }
  return root;
}

function nameEntries(
  { folders, files }: Tree,
  { from, to }: { from: string; to: string },
  changed: Map<string, string>,
): void {
  const taken = new Map<string, number>();
  const toName = (name: string, isFile: boolean): string => {
    const comparable = toComparableName(name);
    const number = (taken.get(comparable) ?? 0) + 1;
    taken.set(comparable, number);
    if (number === 1) return name;
    const dot = isFile ? name.lastIndexOf('.') : 0;
    return dot > 0 ? `${name.slice(0, dot)}%${number}${name.slice(dot)}` : `${name}%${number}`;
  };
  for (const [name, below] of [...folders].sort(([one], [other]) => compare(one, other))) {
    const place = { from: `${from}${name}/`, to: `${to}${toName(name, false)}/` };
    nameEntries(below, place, changed);
  }
  for (const name of [...files].sort(compare)) {
    const [path, written] = [`${from}${name}`, `${to}${toName(name, true)}`];
    if (path !== written) changed.set(path, written);
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
