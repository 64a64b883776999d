import type {
  CountedAccesses,
  TopFile,
  TopFiles,
  Topology,
  TopologyNode,
} from '../../contracts/admin.ts';
import type { AccessCount } from '../../contracts/records.ts';
import type { ObservationStore } from '../../contracts/storage.ts';
import { homeOf, toOwner, toPhysicalPath } from '../../files/paths.ts';
import { toTime, toTimeOrNull } from '../../time/time.ts';
import type { Range } from './range.ts';

/**
 * Access rows read in one query, newest first: this takes less than 100 ms however long the log is.
 * By default an answer covers one query and says from which time on it counted.
 */
const EXAMINED_ROWS = 4_000;

/** How accesses are counted. */
interface CountOptions {
  /** Counts all rows, in as many queries as needed: a million rows take some seconds. Default false. */
  isComplete?: boolean | undefined;
  /** Rows in one query; default 5,000. */
  examinedRows?: number;
}

/** The most nodes of each kind, so that the graph stays readable. */
const NODES = { scope: 40, actor: 20, tool: 40, file: 60 } as const;

/** The most accessed files of one user or of all. */
export async function readTopFiles(
  store: ObservationStore,
  range: Range,
  { limit, ...options }: CountOptions & { limit: number },
): Promise<TopFiles> {
  const files = new Map<string, { file: Omit<TopFile, 'lastAt'>; lastAt: number }>();
  const add = (row: AccessCount): void => {
    const path = toPhysicalPath(row);
    let entry = files.get(path);
    if (entry === undefined) {
      const none = { accesses: 0, reads: 0, writes: 0, finds: 0 };
      entry = { file: { path, ...toOwner(row.scope), ...none }, lastAt: 0 };
      files.set(path, entry);
    }
    entry.file.accesses += row.count;
    entry.file[kindOf(row)] += row.count;
    entry.lastAt = Math.max(entry.lastAt, row.lastAt);
  };
  const answer = await countAccesses(store, range, { ...options, take: add });
  const items = [...files.values()]
    .sort(
      (left, right) =>
        right.file.accesses - left.file.accesses ||
        right.lastAt - left.lastAt ||
        (left.file.path < right.file.path ? -1 : 1),
    )
    .slice(0, limit)
    .map(({ file, lastAt }) => ({ ...file, lastAt: toTime(lastAt) }));
  return { ...answer, items };
}

/** Who touches what, by which tool: scopes have actors, actors call tools, tools touch files. */
export async function readTopology(
  store: ObservationStore,
  range: Range,
  options: CountOptions = {},
): Promise<Topology> {
  const nodes = new Map<string, TopologyNode>();
  const edges = new Map<string, Map<string, Topology['edges'][number]>>();
  const addNode = (kind: TopologyNode['kind'], label: string, weight: number): string => {
    const id = `${kind}:${label}`;
    const node = nodes.get(id);
    if (node === undefined) nodes.set(id, { id, kind, label, weight });
    else node.weight += weight;
    return id;
  };
  const addEdge = (from: string, to: string, weight: number): void => {
    let ends = edges.get(from);
    if (ends === undefined) edges.set(from, (ends = new Map()));
    const edge = ends.get(to);
    if (edge === undefined) ends.set(to, { from, to, weight });
    else edge.weight += weight;
  };
  const add = (row: AccessCount): void => {
    const scope = addNode('scope', homeOf(row.scope).slice(0, -1), row.count);
    const actor = addNode('actor', row.actor, row.count);
    const file = addNode('file', toPhysicalPath(row), row.count);
    addEdge(scope, actor, row.count);
    if (row.tool === null) {
      // Operators and plugins write without a tool.
      addEdge(actor, file, row.count);
      return;
    }
    const tool = addNode('tool', row.tool, row.count);
    addEdge(actor, tool, row.count);
    addEdge(tool, file, row.count);
  };
  const answer = await countAccesses(store, range, { ...options, take: add });
  const shown = (Object.keys(NODES) as TopologyNode['kind'][]).flatMap((kind) =>
    [...nodes.values()]
      .filter((node) => node.kind === kind)
      .sort((left, right) => right.weight - left.weight || (left.id < right.id ? -1 : 1))
      .slice(0, NODES[kind]),
  );
  const ids = new Set(shown.map(({ id }) => id));
  return {
    ...answer,
    nodes: shown,
    edges: [...edges.values()]
      .flatMap((ends) => [...ends.values()])
      .filter(({ from, to }) => ids.has(from) && ids.has(to))
      .sort((left, right) => right.weight - left.weight),
    omitted: nodes.size - shown.length,
  };
}

/** Passes counts to `take`. Counts of the same file may come in several parts, one per query. */
async function countAccesses(
  store: ObservationStore,
  range: Range,
  {
    isComplete = false,
    examinedRows = EXAMINED_ROWS,
    take,
  }: CountOptions & { take: (count: AccessCount) => void },
): Promise<CountedAccesses> {
  const { scope, tool, since, countUntil } = range;
  let before: string | null = null;
  for (;;) {
    const filter = { scope, tool, since, until: countUntil, before };
    const part: Awaited<ReturnType<ObservationStore['countAccesses']>> = await store.countAccesses(
      filter,
      examinedRows,
    );
    part.counts.forEach(take);
    before = part.next;
    if (isComplete && before !== null) continue;
    return {
      since: toTime(since),
      until: toTime(range.until),
      countedFrom: toTimeOrNull(part.from),
    };
  }
}

function kindOf({ action }: AccessCount): 'reads' | 'writes' | 'finds' {
  if (action === 'write') return 'writes';
  return action === 'find' ? 'finds' : 'reads';
}
