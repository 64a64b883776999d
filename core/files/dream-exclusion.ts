/**
 * Whether dreaming ignores a file and its writes: `log.md` and `dream-log.md` at the root of the
 * user's memory, and names that end in `-log.md` or `.log`. ASCII case is ignored.
 *
 * @param path inside the user's scope, as in `projects/standup-log.md`.
 */
export function isExcludedFromDreams(path: string): boolean {
  const name = path
    .slice(path.lastIndexOf('/') + 1)
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return (
    name.endsWith('-log.md') || name.endsWith('.log') || (name === 'log.md' && !path.includes('/'))
  );
}
