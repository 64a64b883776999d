import type { PatternNode } from './pattern-tree.ts';

/** Characters in a row, each as it stands in the pattern. */
type Run = readonly string[];

/** A longer run finds nothing faster. */
const RUN_LENGTH = 16;
const MOST_RUNS = 32;

/**
 * A simpler pattern that every match contains: a few characters in a row, or one of several such rows. `null` if the
 * pattern has none. It repeats nothing, so the engine of JavaScript finds it in linear time, and much faster than a
 * {@link LinearPattern} finds a whole match.
 */
export function toRequiredPart(tree: PatternNode, flags: 'u' | 'iu'): RegExp | null {
  const runs = listRequired(tree);
  if (runs === null) return null;
  return new RegExp(runs.map((run) => run.map((one) => `(?:${one})`).join('')).join('|'), flags);
}

/** Runs of which every match has one; `null` if there may be a match without any. */
function listRequired(node: PatternNode): readonly Run[] | null {
  switch (node.kind) {
    case 'char':
      return [[node.source]];
    case 'assert':
      return null;
    case 'repeat':
      return node.least === 0 ? null : listRequired(node.node);
    case 'any': {
      const ways = node.nodes.map(listRequired);
      const runs = ways.flatMap((way) => way ?? []);
      return ways.includes(null) || runs.length > MOST_RUNS ? null : runs;
    }
    case 'all':
      return listRequiredInRow(node.nodes);
  }
}

/** The best of what the parts of a row need: its longest run of single characters, or what one part needs. */
function listRequiredInRow(nodes: readonly PatternNode[]): readonly Run[] | null {
  let best: readonly Run[] | null = null;
  const offer = (runs: readonly Run[] | null) => {
    if (runs !== null && (best === null || shortest(runs) > shortest(best))) best = runs;
  };
  let run: string[] = [];
  for (const node of nodes.flatMap(unfold)) {
    if (node.kind === 'assert') continue;
    if (node.kind === 'char') {
      if (run.length < RUN_LENGTH) run.push(node.source);
      continue;
    }
    if (run.length > 0) offer([run]);
    run = [];
    offer(listRequired(node));
  }
  if (run.length > 0) offer([run]);
  return best;
}

/**
 * Takes groups apart, and writes a repeated part as often as it must be there: `\d{3,}` becomes `\d\d\d\d{3,}`. That
 * is another pattern, but its matches begin in the same way.
 */
function unfold(node: PatternNode): readonly PatternNode[] {
  if (node.kind === 'all') return node.nodes.flatMap(unfold);
  if (node.kind !== 'repeat' || node.least === 0) return [node];
  const part = unfold(node.node);
  if (!part.every(({ kind }) => kind === 'char' || kind === 'assert')) return [node];
  const first = Array.from({ length: Math.min(node.least, RUN_LENGTH) }, () => part).flat();
  return node.most === node.least && node.least <= RUN_LENGTH ? first : [...first, node];
}

function shortest(runs: readonly Run[]): number {
  return Math.min(...runs.map(({ length }) => length));
}
