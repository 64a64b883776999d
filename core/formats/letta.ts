import { invalidArchive } from '../archive/invalid-archive.ts';
import {
  checkItems,
  combine,
  type Converted,
  type ConvertedFile,
  describeValue,
  type JsonFormat,
  ListFiles,
  type TakenPaths,
  toBullet,
  tooLarge,
  toSegment,
  uniquePath,
} from './format.ts';
import { ItemFault, takeItem } from './item-fault.ts';
import type { ForeignJson } from './json.ts';
import {
  dayOfItem,
  isFields,
  joinHolders,
  lacksText,
  Members,
  quoteName,
  toFileText,
  unwrapJson,
  userOf,
} from './members.ts';

/**
 * Agent files of Letta (`.af`): the JSON of `AgentFileSchema` as letta 0.8 to 0.16 export it
 * (`{ agents, blocks, files, … }`, the messages in their agent), and the older one with a single
 * agent (`{ core_memory, messages, … }`), which clients save as a JSON text. An agent as the API answers it
 * (`{ memory: { blocks } }`), and core memory as a map of labels as MemGPT wrote it, are taken, too. Letta
 * leaves archival passages out of an agent file; the list of `GET /v1/agents/:id/archival-memory` is taken
 * by itself, or as `passages` in the file.
 *
 * A block becomes a file of its label: `human` is `profile.md`, others are `blocks/<label>.md`.
 * Passages are in `archive/passages-<month>.md`, what was said in `archive/messages-<month>.md`,
 * attached files in `archive/files/`. Instructions, tools and settings are no memory: system and tool
 * messages are skipped, and the rest is not counted.
 */
export const letta: JsonFormat = {
  what: 'The agent file',

  detect(json) {
    let looked = 0;
    for (const { members } of readParts(json)) {
      if (isPart(members)) return true;
      looked += 1;
      if (looked === SAMPLE) return false;
    }
    return false;
  },

  convert(json, { userId: otherwise, maxFileBytes }) {
    const isList = json.type === 'lines' || Array.isArray(json.value);
    if (!isList && !isPart(new Members(json.value))) {
      throw invalidArchive(`The agent file has none of ${MEMBERS.join(', ')}.`);
    }
    const found = collect(readParts(json), { isList });
    const { blocks, files, passages, messages } = found;
    checkItems(blocks.length + files.length + passages.length + messages.length);

    const wholes: Converted = { files: [], skipped: found.skipped };
    const { skipped } = wholes;
    const taken = new Map<string, TakenPaths>();
    const pathOf = (userId: string, path: (suffix: string) => string): string => {
      const paths: TakenPaths = taken.get(userId) ?? new Map<string, number>();
      taken.set(userId, paths);
      return uniquePath(paths, path);
    };
    const addWhole = (file: Omit<ConvertedFile, 'items'>): void => {
      if (Buffer.byteLength(file.content) > maxFileBytes)
        throw new ItemFault(tooLarge(maxFileBytes));
      wholes.files.push({ ...file, items: 1 });
    };
    const userOfItem = ({ members, holders }: Item): string =>
      userOf([members, ...holders], { otherwise, ignored: ACCOUNT });
    for (const [index, block] of blocks.entries()) {
      takeItem(skipped, `block ${index + 1}`, () => {
        const { members } = block;
        const label = members.text('label');
        const text = members.text('value');
        if (label === null || text === null) {
          throw new ItemFault('It has no "label", or no text in "value".');
        }
        const userId = userOfItem(block);
        const name = label === 'human' ? 'profile' : `blocks/${toSegment(label)}`;
        const path = pathOf(userId, (suffix) => `${name}${suffix}.md`);
        const heading = label === 'human' ? 'Profile' : label.replace(/\s+/g, ' ');
        const content = text.startsWith('#') ? `${text}\n` : `# ${heading}\n\n${text}\n`;
        addWhole({ userId, path, content });
      });
    }
    for (const [index, file] of files.entries()) {
      const item = `file ${index + 1}`;
      takeItem(skipped, item, () => {
        const { members } = file;
        const text = members.text('content');
        if (text === null) throw new ItemFault('Its content is not in the agent file.');
        const userId = userOfItem(file);
        const name = members.text('original_file_name') ?? members.text('file_name') ?? item;
        const stem = toSegment(name.replace(/\.md$/i, ''));
        const path = pathOf(userId, (suffix) => `archive/files/${stem}${suffix}.md`);
        addWhole({ userId, path, content: `${text}\n` });
      });
    }
    const lists = new ListFiles({ maxFileBytes });
    const addLine = (kind: 'passage' | 'message', line: Item, text: string): void => {
      const day = dayOfItem(line.members, 'created_at', 'created', 'date', 'timestamp');
      const month = day?.slice(0, 7) ?? 'undated';
      const list = {
        userId: userOfItem(line),
        path: `archive/${kind}s-${month}`,
        heading: `${kind === 'passage' ? 'Passages' : 'Messages'}, ${month}`,
      };
      lists.add(list, {
        item: line.item,
        line: toBullet(`${day === null ? '' : `${day}: `}${text}`),
      });
    };
    for (const passage of passages) {
      takeItem(skipped, passage.item, () =>
        addLine('passage', passage, toPassage(passage.members)),
      );
    }
    for (const message of messages) {
      takeItem(skipped, message.item, () =>
        addLine('message', message, toMessage(message.members)),
      );
    }
    return combine([wholes, lists.convert()]);
  },
};

/** Names of an agent file's parts; a part is a list, a map, or JSON of one as a text. */
const MEMBERS = ['agents', 'blocks', 'core_memory', 'passages', 'archival_memory'];

/** Letta's own accounts, which earlier versions wrote: no users of the memory. */
const ACCOUNT = /^user-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

interface Item {
  item: string;
  members: Members;
  /** What it is in; they may name its user. */
  holders: readonly Members[];
}

interface Part {
  item: string;
  members: Members;
  fault: string | null;
}

/** How many parts are looked at to find the format: the first ones may be damaged. */
const SAMPLE = 100;

/** The file, or each of a list of passages, blocks or agents. */
function* readParts(json: ForeignJson): Generator<Part, void> {
  if (json.type === 'lines') {
    for (const { item, value, fault } of json.lines()) {
      yield { item, members: new Members(value), fault };
    }
    return;
  }
  const values: readonly unknown[] = Array.isArray(json.value) ? json.value : [json.value];
  for (const [index, value] of values.entries()) {
    yield { item: `item ${index + 1}`, members: new Members(value), fault: null };
  }
}

/** Whether it is an agent file, or a passage, a block or an agent by itself. */
function isPart(members: Members): boolean {
  if (members.has(...MEMBERS) || isBlock(members) || hasMemory(members)) return true;
  return typeof members.peek('text') === 'string';
}

const isBlock = (members: Members): boolean => members.has('label') && members.has('value');

/** An agent as the API answers it; in mem0 a memory is a text. */
const hasMemory = (members: Members): boolean => isFields(members.peek('memory'));

interface Collected {
  blocks: Item[];
  files: Item[];
  passages: Item[];
  messages: Item[];
  skipped: Converted['skipped'];
}

function collect(parts: Iterable<Part>, { isList }: { isList: boolean }): Collected {
  const found: Collected = { blocks: [], files: [], passages: [], messages: [], skipped: [] };
  const add = (
    kind: 'blocks' | 'files' | 'passages' | 'messages',
    item: Omit<Item, 'item'>,
  ): void => {
    found[kind].push({ item: `${kind.slice(0, -1)} ${found[kind].length + 1}`, ...item });
  };
  const addHolder = (holder: Members, above: readonly Members[]): void => {
    const holders = [holder, ...above];
    for (const name of ['blocks', 'core_memory', 'memory_blocks']) {
      for (const members of toBlocks(holder.value(name))) add('blocks', { members, holders });
    }
    for (const members of blocksOfMemory(holder)) add('blocks', { members, holders });
    for (const [kind, ...names] of [
      ['files', 'files'],
      ['passages', 'passages', 'archival_memory'],
      ['messages', 'messages'],
    ] as const) {
      for (const value of names.flatMap((name) => toList(holder.value(name)))) {
        add(kind, { members: new Members(value), holders });
      }
    }
  };
  for (const { item, members, fault } of parts) {
    takeItem(found.skipped, isList ? item : 'the agent file', () => {
      if (fault !== null) throw new ItemFault(fault);
      const agents = toList(members.value('agents')).map((value) => new Members(value));
      if (isBlock(members)) add('blocks', { members, holders: [] });
      else if (members.has(...MEMBERS) || hasMemory(members)) {
        // What is beside the agents is theirs.
        addHolder(members, [joinHolders(agents, { ignored: ACCOUNT })]);
        for (const agent of agents) addHolder(agent, [members]);
      } else add('passages', { members, holders: [] });
    });
  }
  return found;
}

/** A list, or the values of a map. */
function toList(value: unknown): readonly unknown[] {
  const list = unwrapJson(value);
  if (Array.isArray(list)) return list as unknown[];
  return isFields(list) ? Object.values(list) : [];
}

/** Blocks as a list, or as a map of labels to blocks or to their text. */
function toBlocks(value: unknown): Members[] {
  const blocks = unwrapJson(value);
  if (!isFields(blocks)) return toList(blocks).map((block) => new Members(block));
  return Object.entries(blocks).map(([label, block]) => {
    const members = new Members(block);
    if (typeof unwrapJson(block) === 'string')
      return members.with('label', label).with('value', block);
    return members.has('label') ? members : members.with('label', label);
  });
}

/** The blocks in the memory of an agent, as the API answers it now and did in earlier versions. */
function blocksOfMemory(holder: Members): Members[] {
  if (!hasMemory(holder)) return [];
  const memory = holder.members('memory');
  if (memory.has('blocks')) return toBlocks(memory.value('blocks'));
  if (memory.has('memory')) return toBlocks(memory.value('memory'));
  const { prompt_template: _, ...blocks } = holder.value('memory') as Record<string, unknown>;
  return toBlocks(blocks);
}

function toPassage(passage: Members): string {
  const text = passage.text('text');
  if (text === null) throw lacksText(passage, 'text');
  const tags = passage
    .list('tags')
    .map(describeValue)
    .filter((tag) => tag !== null);
  return [text, ...tags.map((tag) => `#${tag}`)].join(' ');
}

function toMessage(message: Members): string {
  const role = message.text('role');
  const folded = role?.toLowerCase();
  if (folded !== 'user' && folded !== 'assistant') {
    throw new ItemFault(
      `It is of the role ${role === null ? 'null' : quoteName(role)}: no memory.`,
    );
  }
  const said = folded === 'user' ? saidByUser(message) : saidByAssistant(message);
  if (said.length === 0) throw new ItemFault('It says nothing to anyone.');
  return `${folded}: ${said.join('\n')}`;
}

/** The texts of a message. Older versions have a single text in the place of parts. */
function textsOf(message: Members): string[] {
  const single = message.text('content') ?? message.text('text');
  const content = message.value('content');
  const parts = Array.isArray(content) ? (content as unknown[]) : [];
  const texts = parts.map((part) => toFileText(part) ?? new Members(part).text('text'));
  return [single, ...texts].filter((text) => text !== null);
}

/** Letta packs what a user says into JSON, and its own events too. */
function saidByUser(message: Members): string[] {
  return textsOf(message).flatMap((text) => {
    const packed = new Members(text);
    const type = packed.value('type');
    if (typeof type !== 'string') return [text];
    const said = type === 'user_message' ? packed.text('message') : null;
    return said === null ? [] : [said];
  });
}

/** What an assistant says is in its calls of `send_message`; the text beside them is its thoughts. */
function saidByAssistant(message: Members): string[] {
  const calls = message.list('tool_calls');
  if (calls.length === 0) return textsOf(message);
  return calls.flatMap((each) => {
    const call = new Members(each);
    const called = call.has('function') ? call.members('function') : call;
    if (called.text('name') !== 'send_message') return [];
    const said = called.members('arguments').text('message');
    return said === null ? [] : [said];
  });
}
