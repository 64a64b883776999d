import { invalidArchive } from '../invalid-archive.ts';
import {
  checkItems,
  combine,
  type Converted,
  dayOf,
  describeValue,
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
  toText,
} from './format.ts';

/**
 * Exports of mem0: the JSON of `get_all()`, as mem0ai 0.1 to 1.0 and its platform's API v1 and v2
 * answer it. That is a list of memories, or `{ results: […], relations: […] }`; a structured export
 * of the platform with `{ memories: […] }` is taken, too. A memory has `id`, `memory` and, where they
 * are known, `user_id`, `agent_id`, `app_id`, `run_id`, `actor_id`, `categories`, `metadata`,
 * `created_at`, `updated_at`, `expiration_date`; a relation has `source`, `relationship`, `target`.
 *
 * Each user gets a file for each month, `memories/2026-01.md`, with a line for each memory.
 */
export const mem0: ForeignFormat = {
  detect: (_text, value) => {
    const first = memoriesOf(value)?.[0];
    return isFields(first) && Object.hasOwn(first, 'memory');
  },

  convert(parts, { userId: otherwise, maxFileBytes }) {
    const value = parseJson(toText(onlyPart(parts, 'An export of mem0')), 'The export of mem0');
    const memories = memoriesOf(value);
    if (memories === null) {
      throw invalidArchive('The export of mem0 has no list of memories: it needs "results".');
    }
    const relations = isFields(value) ? listOf(value, 'relations') : [];
    checkItems(memories.length + relations.length);
    const skipped: Converted['skipped'] = [];
    const months = new Map<string, Month>();
    const seen = new Set<string>();
    for (const [index, memory] of memories.entries()) {
      const item = `memory ${index + 1}`;
      const text = isFields(memory) ? textOf(memory, 'memory') : null;
      if (!isFields(memory) || text === null) {
        skipped.push({ item, reason: 'It has no text in "memory".' });
        continue;
      }
      const id = describeValue(memory['id']);
      if (id !== null && seen.has(id)) {
        skipped.push({ item, reason: 'Its id comes twice.' });
        continue;
      }
      if (id !== null) seen.add(id);
      const day = dayOf(memory['created_at']);
      const userId = textOf(memory, 'user_id') ?? otherwise;
      const line = toBullet(`${day === null ? '' : `${day}: `}${text}${toDetails(memory)}`);
      add(months, { userId, name: day?.slice(0, 7) ?? 'undated' }, { item, line, day: day ?? '' });
    }
    for (const [index, relation] of relations.entries()) {
      const item = `relation ${index + 1}`;
      const words = isFields(relation)
        ? ['source', 'relationship', 'target'].map((name) => textOf(relation, name))
        : [null];
      if (words.includes(null)) {
        skipped.push({ item, reason: 'It lacks "source", "relationship" or "target".' });
        continue;
      }
      const userId = (isFields(relation) ? textOf(relation, 'user_id') : null) ?? otherwise;
      add(
        months,
        { userId, name: 'relations' },
        { item, line: toBullet(words.join(' ')), day: '' },
      );
    }
    const converted = [...months.values()].map(({ userId, name, items }) =>
      toListFiles(
        // Stable: memories of one day stay in their order.
        items.sort((one, other) => (one.day < other.day ? -1 : Number(one.day > other.day))),
        {
          userId,
          path: (suffix) => `memories/${name}${suffix}.md`,
          heading: name === 'relations' ? 'Relations' : `Memories, ${name}`,
          maxFileBytes,
        },
      ),
    );
    return combine([{ files: [], skipped }, ...converted]);
  },
};

interface Month {
  userId: string | null;
  name: string;
  items: (ListedItem & { day: string })[];
}

function add(
  months: Map<string, Month>,
  { userId, name }: { userId: string | null; name: string },
  item: Month['items'][number],
): void {
  const key = JSON.stringify([userId, name]);
  const month = months.get(key) ?? { userId, name, items: [] };
  months.set(key, month);
  month.items.push(item);
}

function memoriesOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value as unknown[];
  if (!isFields(value)) return null;
  const found = ['results', 'memories'].find((name) => Array.isArray(value[name]));
  return found === undefined ? null : listOf(value, found);
}

/** What is known of a memory beside its text, in brackets. */
function toDetails(memory: Fields): string {
  const updated = dayOf(memory['updated_at']);
  const metadata = isFields(memory['metadata']) ? memory['metadata'] : {};
  const details = [
    listOf(memory, 'categories')
      .map(describeValue)
      .filter((category) => category !== null)
      .join(', '),
    ...Object.entries(metadata).map(([name, value]) => named(name, value)),
    ...['agent_id', 'app_id', 'run_id', 'actor_id', 'role'].map((name) =>
      named(name.replace('_id', ''), memory[name]),
    ),
    updated === null || updated === dayOf(memory['created_at']) ? null : `updated ${updated}`,
    named('expires', memory['expiration_date']),
  ].filter((detail) => detail !== null && detail !== '');
  return details.length === 0 ? '' : ` (${details.join('; ')})`;
}

function named(name: string, value: unknown): string | null {
  const text = describeValue(value);
  const label = describeValue(name);
  return text === null || label === null ? null : `${label}: ${text}`;
}
