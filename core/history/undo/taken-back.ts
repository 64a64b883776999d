import type { Step } from '../weave.ts';

/** A step of a walk through the moves of a file. */
interface MovedStep extends Step {
  moves: number;
}

/**
 * The versions that a revert took back, as its row has them: `3,5-7` are versions of the file itself;
 * `;3` is one of the file that it was moved from.
 */
export function formatTakenBack(steps: Iterable<{ version: number; moves: number }>): string {
  const groups: number[][] = [];
  for (const { version, moves } of steps) {
    while (groups.length <= moves) groups.push([]);
    groups[moves]?.push(version);
  }
  return groups.map(formatVersions).join(';');
}

/** Says whether a revert took a write back. `moves` came after the revert. */
export function parseTakenBack(text: string, moves: number): (step: Step) => boolean {
  const groups = text.split(';').map(parseVersions);
  return (step) => {
    const { version, moves: crossed } = step as MovedStep;
    const ranges = groups[crossed - moves] ?? [];
    return ranges.some(([from, to]) => from <= version && version <= to);
  };
}

/** Whether others had written in between: then the versions are not all since the first of them. */
export function isMerged(text: string, revertVersion: number): boolean {
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
