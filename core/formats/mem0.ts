import { invalidArchive } from '../archive/invalid-archive.ts';
import { parseDate, toDay } from './dates.ts';
import {
  checkItems,
  combine,
  type Converted,
  describeValue,
  type JsonFormat,
  ListFiles,
  toBullet,
} from './format.ts';
import { ItemFault, takeItem } from './item-fault.ts';
import type { ForeignJson, JsonLine } from './json.ts';
import {
  dayOfItem,
  foldName,
  isFields,
  lacksText,
  Members,
  quoteName,
  unwrapJson,
  userOf,
} from './members.ts';

/**
 * Exports of mem0: what `get_all()` answers, of mem0ai 0.1 to 2.2 for Python, of its SDK 1.0 to 3.3 for
 * JavaScript, which spells all members in camel case, and of its platform's API. That is a list of
 * memories, pages of them, or `{ results: […], relations: […] }`; `{ memories: […] }` of a structured
 * export and `{ items: […] }` of OpenMemory are taken, too. A memory has `id`, `memory` and, where they
 * are known, `user_id`, `agent_id`, `app_id`, `run_id`, `actor_id`, `categories`, `metadata`,
 * `created_at`, `updated_at`, `expiration_date`; a relation has `source`, `relationship`, `target`.
 *
 * A store that both languages write has the user and the dates of the other one in `metadata`.
 *
 * Each user gets a file for each month, `memories/2026-01.md`, with a line for each memory.
 */
export const mem0: JsonFormat = {
  what: 'The export of mem0',

  detect(json) {
    let looked = 0;
    for (const { value } of collect(json)) {
      const memory = new Members(value);
      for (const holder of [memory, new Members(memory.peek('data'))]) {
        // An agent of Letta has an object there.
        if (typeof holder.peek('memory') === 'string') return true;
      }
      looked += 1;
      if (looked === SAMPLE) return false;
    }
    return false;
  },

  convert(json, { userId: otherwise, maxFileBytes }) {
    if (!hasList(json)) {
      throw invalidArchive(
        `The export of mem0 has no list of memories: it needs "results".${namesOf(json)}`,
      );
    }
    const skipped: Converted['skipped'] = [];
    const lists = new ListFiles({ maxFileBytes });
    const seen = new Set<string>();
    let count = 0;
    for (const { kind, item, value, fault, page } of collect(json)) {
      count += 1;
      checkItems(count);
      takeItem(skipped, item, () => {
        if (fault !== null) throw new ItemFault(fault);
        if (kind === 'relation') {
          const { line, userId } = toRelation(value, { page, otherwise });
          lists.add({ userId, path: 'memories/relations', heading: 'Relations' }, { item, line });
          return;
        }
        const memory = new Members(value);
        // The answer of add() has what it added there.
        const data = memory.members('data');
        const text = memory.text('memory', 'content') ?? data.text('memory');
        if (text === null) throw lacksText(memory, 'memory');
        const metadata = memory.members('metadata');
        const userId = userOf([memory, data, page], { otherwise });
        const id = describeValue(memory.value('id'));
        if (id !== null && seen.has(`${userId}\n${id}`)) {
          throw new ItemFault('Its id comes twice.');
        }
        const day = dayOfItem(memory, ...CREATED) ?? dayOfMetadata(metadata, 'created_at');
        const line = toBullet(
          `${day === null ? '' : `${day}: `}${text}${toDetails(memory, { metadata, day })}`,
        );
        // Only now: an item that is skipped doesn't stand in the way of its double.
        if (id !== null) seen.add(`${userId}\n${id}`);
        const month = day?.slice(0, 7) ?? 'undated';
        const list = { userId, path: `memories/${month}`, heading: `Memories, ${month}` };
        lists.add(list, { item, line, day: day ?? '' });
      });
    }
    return combine([{ files: [], skipped }, lists.convert()]);
  },
};

const CREATED = ['created_at', 'created', 'created_on', 'timestamp', 'date'];
const UPDATED = ['updated_at', 'updated', 'updated_on'];

/** How many items are looked at to find the format: the first ones may be damaged. */
const SAMPLE = 100;
const CONTAINERS = ['results', 'memories', 'items'];

interface Found extends JsonLine {
  kind: 'memory' | 'relation';
  /** What it is in; it may name the user of all of its items. */
  page: Members;
}

function containerOf(page: Members): string | undefined {
  return CONTAINERS.find((name) => Array.isArray(unwrapJson(page.peek(name))));
}

function hasList(json: ForeignJson): boolean {
  if (json.type === 'lines' || Array.isArray(json.value)) return true;
  const page = new Members(json.value);
  // The answer of get() is a memory by itself.
  return containerOf(page) !== undefined || page.text('memory') !== null;
}

/** The memories and relations of all pages, with their places. */
function* collect(json: ForeignJson): Generator<Found, void> {
  const none = new Members(null);
  let memories = 0;
  let relations = 0;
  for (const { item, value, fault } of readEach(json)) {
    const page = new Members(value);
    const container = containerOf(page);
    if (container === undefined) {
      memories += 1;
      yield { kind: 'memory', item: item || `memory ${memories}`, value, fault, page: none };
      continue;
    }
    const list = unwrapJson(page.peek(container)) as unknown[];
    for (const memory of list) {
      memories += 1;
      const place = item || `memory ${memories}`;
      yield { kind: 'memory', item: place, value: memory, fault, page };
    }
    const related = unwrapJson(page.peek('relations'));
    for (const relation of Array.isArray(related) ? (related as unknown[]) : []) {
      relations += 1;
      yield { kind: 'relation', item: `relation ${relations}`, value: relation, fault, page };
    }
  }
}

/** The lines, the members of a list, or the whole document; only a line has a place of its own. */
function* readEach(json: ForeignJson): Generator<JsonLine, void> {
  if (json.type === 'lines') yield* json.lines();
  else if (!Array.isArray(json.value)) yield { item: '', value: json.value, fault: null };
  else for (const value of json.value) yield { item: '', value, fault: null };
}

function toRelation(
  value: unknown,
  { page, otherwise }: { page: Members; otherwise: string | null },
): { line: string; userId: string } {
  const relation = new Members(value);
  const words = [
    relation.text('source'),
    relation.text('relationship', 'relation'),
    relation.text('target', 'destination'),
  ];
  if (words.includes(null)) {
    throw new ItemFault('It lacks "source", "relationship" or "target".');
  }
  return { line: toBullet(words.join(' ')), userId: userOf([relation, page], { otherwise }) };
}

/** What is known of a memory beside its text, in brackets. */
function toDetails(
  memory: Members,
  { metadata, day }: { metadata: Members; day: string | null },
): string {
  const updated = memory.day(...UPDATED) ?? dayOfMetadata(metadata, 'updated_at');
  const details = [
    memory
      .list('categories')
      .map(describeValue)
      .filter((category) => category !== null)
      .join(', '),
    ...metadata
      .entries()
      .filter(([name]) => !INTERNAL.has(foldName(name)))
      .map(([name, value]) => named(name, value)),
    ...['agent_id', 'app_id', 'run_id', 'session_id', 'actor_id', 'role'].map((name) =>
      named(name.replace('_id', ''), memory.value(name)),
    ),
    updated === null || updated === day ? null : `updated ${updated}`,
    named('expires', memory.value('expiration_date')),
  ].filter((detail) => detail !== null && detail !== '');
  return details.length === 0 ? '' : ` (${details.join('; ')})`;
}

/** What mem0 itself keeps beside the metadata of a memory; the SDK of another language shows it there. */
const INTERNAL = new Set(
  ['user_id', 'created_at', 'updated_at', 'hash', 'data', 'text_lemmatized'].map(foldName),
);

/** A day in metadata, which anyone may write: `null` where there is none that can be read. */
function dayOfMetadata(metadata: Members, name: string): string | null {
  return toDay(parseDate(metadata.value(name)));
}

function named(name: string, value: unknown): string | null {
  const text = describeValue(value);
  const label = describeValue(name);
  return text === null || label === null ? null : `${label}: ${text}`;
}

function namesOf(json: ForeignJson): string {
  if (json.type === 'lines' || !isFields(json.value)) return '';
  const names = Object.keys(json.value).slice(0, 10).map(quoteName);
  return ` It has ${names.length === 0 ? 'nothing' : names.join(', ')}.`;
}
