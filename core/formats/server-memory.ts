import { invalidArchive } from '../archive/invalid-archive.ts';
import {
  checkItems,
  combine,
  type Converted,
  type JsonFormat,
  ListFiles,
  type ListedItem,
  type TakenPaths,
  toBullet,
  toSegment,
  toTarget,
  uniquePath,
} from './format.ts';
import { ItemFault, takeItem } from './item-fault.ts';
import type { ForeignJson } from './json.ts';
import { Members, quoteName, toFileText, userOf } from './members.ts';

/**
 * The knowledge graph of `@modelcontextprotocol/server-memory`, `memory.jsonl` (`memory.json` before 2025):
 * a JSON line for each entity (`type: "entity"`, `name`, `entityType`, `observations`) and for each
 * relation (`type: "relation"`, `from`, `to`, `relationType`). What its `read_graph` answers
 * (`{ entities, relations }`), a list of the lines, and lines without `type` are taken, too.
 *
 * Each entity becomes a file, `knowledge/<type>/<name>.md`, with its observations as a list and its
 * relations as links. Relations of entities that are not there are in `knowledge/relations.md`.
 */
export const serverMemory: JsonFormat = {
  what: 'The memory.jsonl',
  areLines: true,

  detect(json) {
    let looked = 0;
    for (const { members } of collect(json)) {
      if (kindOf(members) !== null) return true;
      looked += 1;
      if (looked === SAMPLE) return false;
    }
    return false;
  },

  convert(json, { userId: otherwise, maxFileBytes }) {
    if (json.type === 'document' && !Array.isArray(json.value)) {
      const page = findGraph(new Members(json.value));
      if (!isGraph(page) && kindOf(page) === null) {
        throw invalidArchive('The memory.jsonl has neither lines of JSON, nor "entities".');
      }
    }
    const skipped: Converted['skipped'] = [];
    const graphs = new Map<string, Graph>();
    let count = 0;
    for (const { item, members, fault, page } of collect(json)) {
      count += 1;
      checkItems(count);
      takeItem(skipped, item, () => {
        if (fault !== null) throw new ItemFault(fault);
        const kind = kindOf(members);
        if (kind === null) throw new ItemFault(unknownKind(members));
        const userId = userOf([members, page], { otherwise });
        const graph = graphs.get(userId) ?? createGraph();
        graphs.set(userId, graph);
        if (kind === 'entity') addEntity(graph.entities, { item, members, skipped });
        else graph.relations.push(toRelation(item, members));
      });
    }
    const converted = [...graphs].map(([userId, graph]) =>
      toFiles(graph, { userId, maxFileBytes }),
    );
    return combine([{ files: [], skipped }, ...converted]);
  },
};

/** How many items are looked at to find the format: the first ones may be damaged. */
const SAMPLE = 100;

interface Found {
  item: string;
  members: Members;
  fault: string | null;
  /** What it is in; it may name the user of all of its items. */
  page: Members;
}

/** The items of a graph, each with its place. */
function* collect(json: ForeignJson): Generator<Found, void> {
  const none = new Members(null);
  if (json.type === 'lines') {
    for (const { item, value, fault } of json.lines()) {
      yield { item, members: new Members(value), fault, page: none };
    }
    return;
  }
  if (Array.isArray(json.value)) {
    for (const [index, value] of json.value.entries()) {
      yield { item: `item ${index + 1}`, members: new Members(value), fault: null, page: none };
    }
    return;
  }
  const page = findGraph(new Members(json.value));
  if (!isGraph(page)) {
    yield { item: 'item 1', members: page, fault: null, page: none };
    return;
  }
  for (const [type, name] of [
    ['entity', 'entities'],
    ['relation', 'relations'],
  ] as const) {
    for (const [index, value] of page.list(name).entries()) {
      // Where it stands says what it is.
      const members = new Members(value).with('type', type);
      yield { item: `${type} ${index + 1}`, members, fault: null, page };
    }
  }
}

/** mem0 has relations, too, from a "source". */
function isGraph(page: Members): boolean {
  if (page.has('entities')) return true;
  const [relation] = page.list('relations');
  return new Members(relation).has('from');
}

/** The graph itself, or the graph in the answer of a tool of MCP. */
function findGraph(members: Members): Members {
  const answer = members.members('result');
  for (const holder of [members, answer]) {
    const structured = holder.members('structured_content');
    if (structured.has('entities')) return structured;
    const [content] = holder.list('content');
    const text = new Members(content).members('text');
    if (text.has('entities')) return text;
  }
  return members;
}

type Kind = 'entity' | 'relation';

/** What an item is; `null` where it says something else, or nothing that is known. */
function kindOf(item: Members): Kind | null {
  const type = item.peek('type');
  if (typeof type === 'string') {
    const folded = type.trim().toLowerCase();
    return folded === 'entity' || folded === 'relation' ? folded : null;
  }
  if (item.has('name') && item.has('entity_type', 'observations')) {
    return 'entity';
  }
  return item.has('from') && item.has('to') ? 'relation' : null;
}

function unknownKind(item: Members): string {
  const type = toFileText(item.peek('type'));
  const of = type === null ? '' : ` Its type is ${quoteName(type)}.`;
  return `It is neither an entity nor a relation.${of}`;
}

interface Graph {
  entities: Map<string, Entity>;
  relations: Relation[];
}

const createGraph = (): Graph => ({ entities: new Map(), relations: [] });

interface Entity {
  name: string;
  type: string;
  /** How often it comes. */
  items: number;
  /** Where they come from, by line: an observation that comes twice is taken once. */
  observations: Map<string, string>;
  relations: ListedItem[];
}

interface Relation {
  item: string;
  from: string;
  to: string;
  type: string;
}

function addEntity(
  entities: Map<string, Entity>,
  { item, members, skipped }: { item: string; members: Members; skipped: Converted['skipped'] },
): void {
  const name = members.text('name');
  const type = members.text('entity_type');
  if (name === null || type === null) {
    throw new ItemFault('The entity lacks "name" or "entityType".');
  }
  // A second one of that name is more of the first.
  const entity = entities.get(name) ?? {
    name,
    type,
    items: 0,
    observations: new Map<string, string>(),
    relations: [],
  };
  entity.items += 1;
  entities.set(name, entity);
  for (const [index, observation] of members.list('observations').entries()) {
    const text = toFileText(observation);
    const place = `${item}, observation ${index + 1}`;
    if (text === null) {
      skipped.push({ item: place, reason: 'It is no text.' });
      continue;
    }
    const line = toBullet(text);
    if (!entity.observations.has(line)) entity.observations.set(line, place);
  }
}

function toRelation(item: string, members: Members): Relation {
  const [from, to, type] = [
    members.text('from'),
    members.text('to'),
    members.text('relation_type'),
  ];
  if (from !== null && to !== null && type !== null) return { item, from, to, type };
  throw new ItemFault('The relation lacks "from", "to" or "relationType".');
}

function toFiles(
  { entities, relations }: Graph,
  { userId, maxFileBytes }: { userId: string; maxFileBytes: number },
): Converted {
  const taken: TakenPaths = new Map();
  const byName = new Map<string, string>();
  for (const { name, type } of entities.values()) {
    const path = (suffix: string) => `${toSegment(type)}/${toSegment(name)}${suffix}.md`;
    byName.set(name, uniquePath(taken, path));
  }
  const lists = new ListFiles({ maxFileBytes });
  for (const { item, from, to, type } of relations) {
    const target = byName.get(to);
    const link = target === undefined ? to : `[${to}](../${toTarget(target)})`;
    const entity = entities.get(from);
    if (entity !== undefined) {
      entity.relations.push({ item, line: toBullet(`${type} ${link}`) });
      continue;
    }
    const line = toBullet(`${from} ${type} ${to}`);
    lists.add({ userId, path: 'knowledge/relations', heading: 'Relations' }, { item, line });
  }
  const files: Converted['files'] = [];
  for (const { name, type, items, observations, relations: links } of entities.values()) {
    const path = byName.get(name) ?? '';
    const heading = `${oneLine(name)}\n\nType: ${oneLine(type)}`;
    const listed = links.map(({ line }) => line).join('');
    const related = listed === '' ? '' : `\n## Relations\n\n${listed}`;
    const observed = observations.size === 0 ? '' : `\n${[...observations.keys()].join('')}`;
    const content = `# ${heading}\n${observed}${related}`;
    if (Buffer.byteLength(content) <= maxFileBytes) {
      files.push({ userId, path: `knowledge/${path}`, content, items: items + links.length });
      continue;
    }
    // Too much for one file: its observations and relations as lists, in as many as it needs.
    const pathOf = (part: number): string =>
      part === 1
        ? `knowledge/${path}`
        : `knowledge/${uniquePath(taken, (end) => path.replace(/\.md$/, `-part-${part}${end}.md`))}`;
    const list = { userId, path, heading, pathOf };
    for (const [line, item] of observations) lists.add(list, { item, line });
    for (const link of links) lists.add(list, link);
  }
  return combine([{ files, skipped: [] }, lists.convert()]);
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ');
