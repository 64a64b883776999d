import { invalidArchive } from '../invalid-archive.ts';
import {
  checkItems,
  combine,
  type Converted,
  type Fields,
  type ForeignFormat,
  isFields,
  listOf,
  type ListedItem,
  onlyPart,
  parseJson,
  textOf,
  toBullet,
  toListFiles,
  toSegment,
  toTarget,
  toText,
  type TakenPaths,
  uniquePath,
} from './format.ts';

/**
 * The knowledge graph of `@modelcontextprotocol/server-memory` 0.6, `memory.jsonl`: a JSON line for
 * each entity (`type: "entity"`, `name`, `entityType`, `observations`) and for each relation
 * (`type: "relation"`, `from`, `to`, `relationType`). The JSON of its `read_graph`
 * (`{ entities, relations }`) is taken, too.
 *
 * Each entity becomes a file, `knowledge/<type>/<name>.md`, with its observations as a list and its
 * relations as links. Relations of entities that are not there are in `knowledge/relations.md`.
 */
export const serverMemory: ForeignFormat = {
  detect(text, value) {
    if (isFields(value) && Array.isArray(value['entities'])) return true;
    const line = text.split('\n', 50).find((each) => each.trim() !== '') ?? '';
    return /^\s*\{/.test(line) && /"type"\s*:\s*"(?:entity|relation)"/.test(line);
  },

  convert(parts, { userId, maxFileBytes }) {
    const skipped: Converted['skipped'] = [];
    const entities = new Map<string, Entity>();
    const relations: Relation[] = [];
    for (const [item, value] of readItems(toText(onlyPart(parts, 'A memory.jsonl')))) {
      const kind = isFields(value) ? value['type'] : undefined;
      if (isFields(value) && kind === 'entity') addEntity(entities, { item, value, skipped });
      else if (isFields(value) && kind === 'relation')
        addRelation(relations, { item, value, skipped });
      else skipped.push({ item, reason: 'It is neither an entity nor a relation.' });
    }
    const taken: TakenPaths = new Map();
    const byName = new Map<string, string>();
    for (const { name, type } of entities.values()) {
      const path = (suffix: string) => `${toSegment(type)}/${toSegment(name)}${suffix}.md`;
      byName.set(name, uniquePath(taken, path));
    }
    const others: ListedItem[] = [];
    for (const { item, from, to, type } of relations) {
      const target = byName.get(to);
      const link = target === undefined ? to : `[${to}](../${toTarget(target)})`;
      const entity = entities.get(from);
      if (entity === undefined) others.push({ item, line: toBullet(`${from} ${type} ${to}`) });
      else entity.relations.push({ item, line: toBullet(`${type} ${link}`) });
    }
    const files: Converted['files'] = [];
    for (const { name, type, item, count, observations, relations: links } of entities.values()) {
      const related = links.length === 0 ? '' : `\n## Relations\n\n${join(links)}`;
      const observed = observations.length === 0 ? '' : `\n${join(observations)}`;
      const content = `# ${oneLine(name)}\n\nType: ${oneLine(type)}\n${observed}${related}`;
      if (Buffer.byteLength(content) > maxFileBytes) {
        skipped.push({ item, reason: `It has more than the ${maxFileBytes} bytes of a file.` });
        const why = 'Its entity is too large for a file.';
        skipped.push(...links.map((link) => ({ item: link.item, reason: why })));
        continue;
      }
      const path = `knowledge/${byName.get(name) ?? ''}`;
      files.push({ userId, path, content, items: count + links.length });
    }
    const rest = toListFiles(others, {
      userId,
      path: (suffix) => `knowledge/relations${suffix}.md`,
      heading: 'Relations',
      maxFileBytes,
    });
    return combine([{ files, skipped }, rest]);
  },
};

interface Entity {
  name: string;
  type: string;
  item: string;
  /** How often it comes. */
  count: number;
  observations: ListedItem[];
  relations: ListedItem[];
}

interface Relation {
  item: string;
  from: string;
  to: string;
  type: string;
}

/** The items of a graph, each with its place. */
function readItems(text: string): [string, unknown][] {
  const lines = text.split('\n');
  const isGraph = /^\s*\{\s*"(?:entities|relations)"/.test(text);
  if (isGraph) {
    const graph = parseJson(text, 'The graph');
    if (!isFields(graph)) throw invalidArchive('The graph is not an object.');
    const tag =
      (type: string) =>
      (value: unknown, index: number): [string, unknown] => [
        `${type} ${index + 1}`,
        isFields(value) ? { ...value, type } : value,
      ];
    const entities = listOf(graph, 'entities').map(tag('entity'));
    const items = [...entities, ...listOf(graph, 'relations').map(tag('relation'))];
    checkItems(items.length);
    return items;
  }
  checkItems(lines.length);
  return lines.flatMap((line, index): [string, unknown][] =>
    line.trim() === ''
      ? []
      : [[`line ${index + 1}`, parseJson(line, 'The memory.jsonl', index + 1)]],
  );
}

interface Found {
  item: string;
  value: Fields;
  skipped: Converted['skipped'];
}

function addEntity(entities: Map<string, Entity>, { item, value, skipped }: Found): void {
  const name = textOf(value, 'name');
  const type = textOf(value, 'entityType');
  if (name === null || type === null) {
    skipped.push({ item, reason: 'The entity lacks "name" or "entityType".' });
    return;
  }
  const entity = entities.get(name);
  // A second one of that name is more of the first.
  const into = entity ?? { name, type, item, count: 0, observations: [], relations: [] };
  into.count += 1;
  entities.set(name, into);
  const lines = new Set(into.observations.map(({ line }) => line));
  for (const [index, observation] of listOf(value, 'observations').entries()) {
    const text = textOf({ observation }, 'observation');
    const place = `${item}, observation ${index + 1}`;
    if (text === null) {
      skipped.push({ item: place, reason: 'It is no text.' });
      continue;
    }
    const line = toBullet(text);
    if (lines.has(line)) continue;
    lines.add(line);
    into.observations.push({ item: place, line });
  }
}

function addRelation(relations: Relation[], { item, value, skipped }: Found): void {
  const [from, to, type] = ['from', 'to', 'relationType'].map((name) => textOf(value, name));
  if (typeof from === 'string' && typeof to === 'string' && typeof type === 'string') {
    relations.push({ item, from, to, type });
  } else skipped.push({ item, reason: 'The relation lacks "from", "to" or "relationType".' });
}

const join = (items: readonly ListedItem[]): string => items.map(({ line }) => line).join('');

const oneLine = (text: string): string => text.replace(/\s+/g, ' ');
