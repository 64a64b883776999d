/** The longest name that common disks take, in bytes of UTF-8. */
const NAME_BYTES = 255;
const CONFLICT = / \(conflict \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d(?: \d+)?\)(?:\.[^.]*)?$/;

/**
 * The name of the copy that keeps the folder's text of a file which changed on both sides, in local time:
 * `name (conflict 2026-11-26 14.05.31).md`. From the second on with a number: `… 14.05.31 2).md`.
 */
export function toConflictName(name: string, { at, number }: { at: Date; number: number }): string {
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 ? name.slice(dot) : '';
  const mark = ` (conflict ${toLocalTime(at)}${number === 1 ? '' : ` ${number}`})`;
  // A long ending is no ending.
  const tail = Buffer.byteLength(ending) > 32 ? mark : `${mark}${ending}`;
  const stem = tail === mark ? name : name.slice(0, name.length - ending.length);
  return `${takeBytes(stem, NAME_BYTES - Buffer.byteLength(tail))}${tail}`;
}

/** Whether a name is one that {@link toConflictName} made. */
export function isConflictName(name: string): boolean {
  return CONFLICT.test(name);
}

function toLocalTime(at: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [
    String(at.getFullYear()).padStart(4, '0'),
    two(at.getMonth() + 1),
    two(at.getDate()),
  ];
  return `${day.join('-')} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join('.')}`;
}

/** The start of a text that has so many bytes, whole characters only. */
function takeBytes(text: string, bytes: number): string {
  let taken = '';
  let size = 0;
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > bytes) break;
    taken += character;
  }
  return taken;
}
