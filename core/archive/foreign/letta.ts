import { invalidArchive } from '../invalid-archive.ts';
import {
  checkItems,
  combine,
  type Converted,
  type ConvertedFile,
  type ConvertOptions,
  dayOf,
  describeValue,
  type Fields,
  type ForeignFormat,
  isFields,
  listOf,
  type ListedItem,
  onlyPart,
  parseJson,
  parseOrNull,
  textOf,
  toBullet,
  toListFiles,
  toSegment,
  toText,
  type TakenPaths,
  uniquePath,
} from './format.ts';

/**
 * Agent files of Letta (`.af`): the JSON of `AgentFileSchema` as letta 0.8 to 0.16 export it
 * (`{ agents, blocks, files, … }`, the messages in their agent), and the older one with a single
 * agent (`{ core_memory, messages, … }`). Letta leaves archival passages out of an agent file; the
 * list of `GET /v1/agents/:id/archival-memory` is taken by itself, or as `passages` in the file.
 *
 * A block becomes a file of its label: `human` is `profile.md`, others are `blocks/<label>.md`.
 * Passages are in `archive/passages-<month>.md`, what was said in `archive/messages-<month>.md`,
 * attached files in `archive/files/`. Instructions, tools and settings are no memory: system and tool
 * messages are skipped, and the rest is not counted.
 */
export const letta: ForeignFormat = {
  detect(_text, value) {
    if (Array.isArray(value)) return isFields(value[0]) && typeof value[0]['text'] === 'string';
    if (!isFields(value)) return false;
    return Array.isArray(value['core_memory']) || Array.isArray(value['agents']);
  },

  convert(parts, { userId, maxFileBytes }) {
    const value = parseJson(toText(onlyPart(parts, 'An agent file')), 'The agent file');
    const file = Array.isArray(value) ? { passages: value as unknown[] } : value;
    const isKnown = isFields(file) && MEMBERS.some((name) => Array.isArray(file[name]));
    if (!isKnown) {
      throw invalidArchive(`The agent file has none of ${MEMBERS.join(', ')}.`);
    }
    const holders = [file, ...listOf(file, 'agents').filter(isFields)];
    const collect = (...names: string[]): unknown[] =>
      holders.flatMap((holder) => names.flatMap((name) => listOf(holder, name)));
    const blocks = collect('blocks', 'core_memory', 'memory_blocks');
    const passages = collect('passages', 'archival_memory');
    const messages = collect('messages');
    const files = collect('files');
    checkItems(blocks.length + passages.length + messages.length + files.length);

    const wholes: Converted = { files: [], skipped: [] };
    const taken: TakenPaths = new Map();
    const addWhole = (item: string, file: Omit<ConvertedFile, 'userId' | 'items'>): void => {
      if (Buffer.byteLength(file.content) > maxFileBytes) {
        const reason = `It has more than the ${maxFileBytes} bytes of a file.`;
        wholes.skipped.push({ item, reason });
      } else wholes.files.push({ userId, items: 1, ...file });
    };
    for (const [index, block] of blocks.entries()) {
      const item = `block ${index + 1}`;
      const label = isFields(block) ? textOf(block, 'label') : null;
      const text = isFields(block) ? textOf(block, 'value') : null;
      if (label === null || text === null) {
        wholes.skipped.push({ item, reason: 'It has no "label", or no text in "value".' });
        continue;
      }
      const name = label === 'human' ? 'profile' : `blocks/${toSegment(label)}`;
      const path = uniquePath(taken, (suffix) => `${name}${suffix}.md`);
      const heading = label === 'human' ? 'Profile' : label.replace(/\s+/g, ' ');
      addWhole(item, {
        path,
        content: text.startsWith('#') ? `${text}\n` : `# ${heading}\n\n${text}\n`,
      });
    }
    for (const [index, file] of files.entries()) {
      const item = `file ${index + 1}`;
      const text = isFields(file) ? textOf(file, 'content') : null;
      if (!isFields(file) || text === null) {
        wholes.skipped.push({ item, reason: 'Its content is not in the agent file.' });
        continue;
      }
      const name = textOf(file, 'original_file_name') ?? textOf(file, 'file_name') ?? item;
      const stem = toSegment(name.replace(/\.md$/i, ''));
      const path = uniquePath(taken, (suffix) => `archive/files/${stem}${suffix}.md`);
      addWhole(item, { path, content: `${text}\n` });
    }
    const lists = [
      toMonths(passages.map(toPassage), { kind: 'passage', userId, maxFileBytes }),
      toMonths(messages.map(toMessage), { kind: 'message', userId, maxFileBytes }),
    ];
    return combine([wholes, ...lists]);
  },
};

const MEMBERS = ['agents', 'blocks', 'core_memory', 'passages', 'archival_memory'];

/** A line with the day it is of, or why there is none. */
type Line = { day: string | null; text: string } | { reason: string };

function toPassage(passage: unknown): Line {
  const text = isFields(passage) ? textOf(passage, 'text') : null;
  if (!isFields(passage) || text === null) return { reason: 'It has no "text".' };
  const tags = listOf(passage, 'tags')
    .map(describeValue)
    .filter((tag) => tag !== null);
  return {
    day: dayOf(passage['created_at']),
    text: [text, ...tags.map((tag) => `#${tag}`)].join(' '),
  };
}

function toMessage(message: unknown): Line {
  if (!isFields(message)) return { reason: 'It is not an object.' };
  const role = textOf(message, 'role');
  if (role !== 'user' && role !== 'assistant') {
    return { reason: `It is of the role ${JSON.stringify(role)}: no memory.` };
  }
  const said = role === 'user' ? saidByUser(message) : saidByAssistant(message);
  if (said.length === 0) return { reason: 'It says nothing to anyone.' };
  return { day: dayOf(message['created_at']), text: `${role}: ${said.join('\n')}` };
}

/** The texts of a message. Older versions have a single text in the place of parts. */
function textsOf(message: Fields): string[] {
  const single = textOf(message, 'content') ?? textOf(message, 'text');
  const parts = listOf(message, 'content').filter(isFields);
  const texts = parts.map((part) => textOf(part, 'text'));
  return [single, ...texts].filter((text) => text !== null);
}

/** Letta packs what a user says into JSON, and its own events too. */
function saidByUser(message: Fields): string[] {
  return textsOf(message).flatMap((text) => {
    const packed = parseOrNull(text);
    if (!isFields(packed) || typeof packed['type'] !== 'string') return [text];
    const said = packed['type'] === 'user_message' ? textOf(packed, 'message') : null;
    return said === null ? [] : [said];
  });
}

/** What an assistant says is in its calls of `send_message`; the text beside them is its thoughts. */
function saidByAssistant(message: Fields): string[] {
  const calls = listOf(message, 'tool_calls').filter(isFields);
  if (calls.length === 0) return textsOf(message);
  return calls.flatMap((call) => {
    const called = isFields(call['function']) ? call['function'] : call;
    if (textOf(called, 'name') !== 'send_message') return [];
    const given = parseOrNull(textOf(called, 'arguments') ?? '');
    const said = isFields(given) ? textOf(given, 'message') : null;
    return said === null ? [] : [said];
  });
}

function toMonths(
  lines: readonly Line[],
  { kind, userId, maxFileBytes }: ConvertOptions & { kind: string },
): Converted {
  const months = new Map<string, ListedItem[]>();
  const skipped: Converted['skipped'] = [];
  for (const [index, line] of lines.entries()) {
    const item = `${kind} ${index + 1}`;
    if ('reason' in line) {
      skipped.push({ item, reason: line.reason });
      continue;
    }
    const { day, text } = line;
    const month = day?.slice(0, 7) ?? 'undated';
    const items = months.get(month) ?? [];
    months.set(month, items);
    items.push({ item, line: toBullet(`${day === null ? '' : `${day}: `}${text}`) });
  }
  const converted = [...months].map(([month, items]) =>
    toListFiles(items, {
      userId,
      path: (suffix) => `archive/${kind}s-${month}${suffix}.md`,
      heading: `${kind === 'passage' ? 'Passages' : 'Messages'}, ${month}`,
      maxFileBytes,
    }),
  );
  return combine([{ files: [], skipped }, ...converted]);
}
