import type { RevertWritesAnswer } from '../../contracts/admin.ts';

/** Adds the next page of a revert by text to those before. */
export function addRevertPage(
  before: RevertWritesAnswer,
  page: RevertWritesAnswer,
): RevertWritesAnswer {
  return {
    ...page,
    files: [...before.files, ...page.files],
    counts: {
      users: addCounts(
        [before, page].flatMap(({ counts }) => counts?.users ?? []),
        ({ userId, spaceId }) => JSON.stringify([userId, spaceId]),
      ),
      writers: addCounts(
        [before, page].flatMap(({ counts }) => counts?.writers ?? []),
        ({ actor }) => actor,
      ),
    },
  };
}

/** Adds up the counts of each name, most lines first. */
function addCounts<Count extends { files: number; lines: number }>(
  counts: readonly Count[],
  nameOf: (one: Count) => string,
): Count[] {
  const all = new Map<string, Count>();
  for (const one of counts) {
    const known = all.get(nameOf(one));
    const [files, lines] = [one.files + (known?.files ?? 0), one.lines + (known?.lines ?? 0)];
    all.set(nameOf(one), { ...one, files, lines });
  }
  return [...all.values()].sort((one, other) => other.lines - one.lines);
}
