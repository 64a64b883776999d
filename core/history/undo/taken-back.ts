import type { Step } from '../weave.ts';

/** A step of a walk through the moves of a file. */
interface MovedStep extends Step {
  moves: number;
}

/** Stands before versions of which only lines were taken back. */
const LINES_OF = '~';

/**
 * The versions that a revert took back, as its row has them: `3,5-7` are versions of the file itself;
 * `;3` is one of the file that it was moved from. After `~`, only lines of them were taken back.
 */
export function formatTakenBack(
  steps: Iterable<{ version: number; moves: number }>,
  { isOfLines }: { isOfLines: boolean },
): string {
  const groups: number[][] = [];
  for (const { version, moves } of steps) {
    while (groups.length <= moves) groups.push([]);
    groups[moves]?.push(version);
  }
  return `${isOfLines ? LINES_OF : ''}${groups.map(formatVersions).join(';')}`;
}

/** The same for all versions of a file from one on. */
export function formatAllSince({ from, to }: { from: number; to: number }): string {
  return from < to ? `${from}-${to}` : `${to}`;
}

/** Whether a revert took back lines only, and other changes of the writes that it names stand. */
export function isOfLines(text: string | null): boolean {
  return text?.startsWith(LINES_OF) === true;
}

/** Says whether a revert took a write back, or lines of it. `moves` came after the revert. */
export function parseTakenBack(text: string, moves: number): (step: Step) => boolean {
  const groups = (isOfLines(text) ? text.slice(LINES_OF.length) : text)
    .split(';')
    .map(parseVersions);
  return (step) => {
    const { version, moves: crossed } = step as MovedStep;
    const ranges = groups[crossed - moves] ?? [];
    return ranges.some(([from, to]) => from <= version && version <= to);
  };
}

/** Whether the revert kept something of what was written since the first of the versions. */
export function isMerged(text: string, revertVersion: number): boolean {
  if (isOfLines(text)) return true;
  const [own = '', ...others] = text.split(';');
  const ranges = parseVersions(own);
  const last = ranges.at(-1);
  return others.length > 0 || ranges.length !== 1 || last?.[1] !== revertVersion - 1;
}

function formatVersions(versions: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const version of [...new Set(versions)].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.[1] === version - 1) last[1] = version;
    else ranges.push([version, version]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

function parseVersions(text: string): [number, number][] {
  return text.split(',').flatMap((range) => {
    const [from, to] = range.split('-').map(Number);
    return from === undefined || !(from > 0) ? [] : [[from, to ?? from] as [number, number]];
  });
}
