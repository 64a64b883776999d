import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { BuiltInTools, ToolRunner } from '../core/contracts/tool.ts';
import { MemoryError } from '../core/errors.ts';
import { importPeer } from '../core/packages/import-peer.ts';
import {
  findLineEnd,
  findLineStart,
  splitLines,
  toLineNumbers,
  withLineEnds,
} from '../core/files/line-ends.ts';
import { applySplices, findEdit } from '../core/files/replace-text.ts';
import { type AdapterOptions, bindTools, type BoundCall, toFailedOutcome } from './runner.ts';
import { takeStart } from '../core/encoding/take-text.ts';

export type { AdapterOptions } from './runner.ts';

/**
 * Makes Anthropic's memory tool (`memory_20250818`) over the user's memory: `/memories` is `user/`,
 * and nothing else is in reach. It answers with the texts that Anthropic documents, which Claude
 * knows. The view of `/memories` also shows each file of a memory that fits in 8,000 characters, shared ones
 * too. Edits that meet another one are made again on what that one left. Deleting and renaming
 * need `memory_delete` and `memory_move`, which are off by default; a folder is deleted or renamed
 * file by file. For `client.beta.messages.toolRunner`; in a loop of your own, give `{ type, name }`
 * to the API and a call's `input` to `run`, which throws a `ToolError`. Needs `@anthropic-ai/sdk`.
 * https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/memory-tool
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk';
 * import { toAnthropicMemoryTool } from 'memory-service/adapters/anthropic-memory';
 *
 * const memory = await toAnthropicMemoryTool(service.tools, { userId: session.userId });
 * const request = { model: 'claude-sonnet-5', max_tokens: 4096, messages, tools: [memory] };
 * const message = await new Anthropic().beta.messages.toolRunner(request);
 */
export async function toAnthropicMemoryTool(
  runner: ToolRunner,
  options: Omit<AdapterOptions, 'tools' | 'toolPrefix'>,
): Promise<BetaRunnableTool> {
  const { ToolError } = await importPeer('toAnthropicMemoryTool', {
    packages: ['@anthropic-ai/sdk'],
    load: () => import('@anthropic-ai/sdk/lib/tools/ToolError'),
    parts: ['ToolError'],
  });
  if ((options as AdapterOptions).toolPrefix !== undefined) {
    throw new MemoryError(
      'INVALID_REQUEST',
      "Anthropic's API has one memory tool, which is named memory, so it takes no toolPrefix. Give a second memory by toAnthropicTools with toolPrefix.",
    );
  }
  const tools = await bindTools(runner, options);
  return {
    type: 'memory_20250818',
    name: 'memory',
    parse: (input: unknown) => input,
    async run(input: unknown, context) {
      const call = { callId: context?.toolUse.id, signal: context?.signal };
      const execute: Execute = async (name, args) => {
        const tool = tools.find((one) => one.name === name);
        if (tool === undefined) throw new Answer(SWITCHED_OFF[name] ?? SWITCHED_OFF['']);
        const outcome = await tool.run(args, call satisfies BoundCall);
        if (outcome.ok) return outcome.response.result as never;
        throw new MemoryError(outcome.error.code, outcome.error.message, outcome.error);
      };
      try {
        return await runCommand(input as Record<string, unknown>, execute);
      } catch (thrown) {
        if (context?.signal?.aborted) throw thrown;
        const text = thrown instanceof Answer ? thrown.message : toFailedOutcome(thrown).text;
        throw new ToolError(text);
      }
    },
  };
}

type Execute = <Name extends keyof BuiltInTools>(
  name: Name,
  args: BuiltInTools[Name]['arguments'],
) => Promise<BuiltInTools[Name]['result']>;

/** A refusal in the words that the tool is documented with. It never leaves this file. */
class Answer extends Error {}

const SWITCHED_OFF: Record<string, string> = {
  memory_delete: 'Error: Deleting is switched off in this memory.',
  memory_move: 'Error: Renaming is switched off in this memory.',
  '': 'Error: This memory is read-only.',
};

const ROOT = '/memories';
/** More have no room in the six characters of a line's number. */
const MAX_LINES = 999_999;
/** Writers that get in between are few: an agent’s own parallel calls. */
const ATTEMPTS = 20;

function runCommand(input: Record<string, unknown>, execute: Execute): Promise<string> {
  const { command, view_range: range } = input;
  const text = (name: string): string => toText(input, name);
  switch (command) {
    case 'view':
      return view(text('path'), range, execute);
    case 'create':
      return create(text('path'), text('file_text'), execute);
    case 'str_replace':
      return replace(text('path'), text('old_str'), text('new_str'), execute);
    case 'insert':
      return insert(text('path'), input['insert_line'], text('insert_text'), execute);
    case 'delete':
      return remove(text('path'), execute);
    case 'rename':
      return rename(text('old_path'), text('new_path'), execute);
    default:
      throw new Answer(`Error: There is no command ${takeStart(String(command), 64)}.`);
  }
}

async function view(path: string, range: unknown, execute: Execute): Promise<string> {
  const file = await readFile(path, execute);
  if (file === null) return viewFolder(path, execute);
  const lines = splitLines(file.content);
  if (lines.length > MAX_LINES) {
    throw new Answer(
      `Error: File ${path} has too many lines (${lines.length}). Maximum is 999,999 lines.`,
    );
  }
  const [from, to] = Array.isArray(range) ? (range as unknown[]).map(Number) : [];
  const first = Math.max(1, from ?? 1);
  const shown = lines.slice(first - 1, to === undefined || to === -1 ? lines.length : to);
  return `Here's the content of ${path} with line numbers:\n${number(shown, first)}`;
}

async function viewFolder(path: string, execute: Execute): Promise<string> {
  const folder = withoutSlash(path);
  const files = await listFiles(folder, execute);
  if (files.length === 0 && folder !== ROOT) {
    throw new Answer(`The path ${path} does not exist. Please provide a valid path.`);
  }
  // Two levels down; a folder has no size of its own, so it shows what is in it.
  const sizes = new Map<string, number>();
  for (const file of files) {
    const names = file.name.split('/');
    if (names.some(isHidden)) continue;
    for (let depth = 1; depth <= Math.min(2, names.length); depth += 1) {
      const shown = names.slice(0, depth).join('/') + (depth < names.length ? '/' : '');
      sizes.set(shown, (sizes.get(shown) ?? 0) + file.size);
    }
  }
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const entries = [...sizes].sort(([a], [b]) => (a < b ? -1 : 1));
  const listing = [
    `Here're the files and directories up to 2 levels deep in ${folder}, excluding hidden items and node_modules:`,
    `${toSize(total)}\t${folder}`,
    ...entries.map(([name, size]) => `${toSize(size)}\t${folder}/${name}`),
  ].join('\n');
  const shown = folder === ROOT && files.length > 0 ? await viewWhole(execute) : [];
  return [listing, ...shown].join('\n\n');
}

/** Length of a memory, in characters, that the first view shows whole. */
const WHOLE_CHARS = 8_000;

/**
 * The files of a memory that fits, as a view of each shows it; of a larger one, those with `context: always`.
 * It is `memory_context` that gives them: it leaves out logs and files with `context: never`, and records what
 * was shown. So files of shared memory are among them.
 */
async function viewWhole(execute: Execute): Promise<string[]> {
  const found = await execute('memory_context', {
    // Asks nothing: what is the same for every question is wanted.
    query: '-',
    maxChars: WHOLE_CHARS,
    fill: true,
    model: false,
  }).catch(() => null);
  // A service of an earlier version, or one that is out of reach by now.
  if (found === null) return [];
  const { context, stableChars, sources } = found;
  const isWhole = sources.some(({ why }) => why === 'fits');
  return parseContext(takeStart(context, stableChars)).map(({ path, firstLine, text }) => {
    const lines = number(splitLines(text), firstLine);
    const what = isWhole ? 'the content of' : 'the beginning of';
    return path.startsWith('user/')
      ? `Here's ${what} ${ROOT}${path.slice('user'.length)} with line numbers:\n${lines}`
      : `Here's ${what} ${path}, which all users share and no command changes, with line numbers:\n${lines}`;
  });
}

/** The files in a block of `memory_context`: only lines that begin with its mark name them. */
function parseContext(block: string): { path: string; firstLine: number; text: string }[] {
  const [, mark = ''] = /^<memory-(\w+)>\n/.exec(block) ?? [];
  const end = `</memory-${mark}>\n`;
  if (mark === '' || !block.endsWith(end)) return [];
  const inside = block.slice(block.indexOf('\n'), -end.length);
  return inside
    .split(`\n## ${mark} `)
    .slice(1)
    .flatMap((part) => {
      const [head = '', path = '', firstLine = ''] =
        /^(.+?), lines? (\d+)(?:–\d+)?, version .*\n\n/.exec(part) ?? [];
      const text = part.slice(head.length).replace(/\n$/, '');
      return head === '' ? [] : [{ path, firstLine: Number(firstLine), text }];
    });
}

function isHidden(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

async function create(path: string, content: string, execute: Execute): Promise<string> {
  const file = { path: toVirtualPath(path), content, ifVersion: 0 };
  await execute('memory_write', file).catch(
    upon('VERSION_CONFLICT', () => new Answer(`Error: File ${path} already exists`)),
  );
  return `File created successfully at: ${path}`;
}

async function replace(
  path: string,
  oldText: string,
  newText: string,
  execute: Execute,
): Promise<string> {
  return edit(path, execute, (content) => {
    const lineEnd = findLineEnd(content);
    const { starts, splices } = findEdit(content, { oldText, newText }, { lineEnd });
    if (starts.length === 0) {
      throw new Answer(
        `No replacement was performed, old_str \`${oldText}\` did not appear verbatim in ${path}.`,
      );
    }
    const numbers = toLineNumbers(content, starts);
    if (splices.length === 0) {
      const lines = [...new Set(numbers)].join(', ');
      throw new Answer(
        `No replacement was performed. Multiple occurrences of old_str \`${oldText}\` in lines: ${lines}. Please ensure it is unique`,
      );
    }
    const changed = applySplices(content, splices);
    const [line = 1] = numbers;
    const from = Math.max(1, line - 2);
    const to = line + splitLines(newText).length + 1;
    const snippet = number(splitLines(changed).slice(from - 1, to), from);
    const answer =
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):';
    return { content: changed, answer: `${answer}\n${snippet}` };
  });
}

async function insert(
  path: string,
  line: unknown,
  text: string,
  execute: Execute,
): Promise<string> {
  return edit(path, execute, (content) => {
    const { length } = splitLines(content);
    if (!Number.isInteger(line) || Number(line) < 0 || Number(line) > length) {
      throw new Answer(
        `Error: Invalid \`insert_line\` parameter: ${String(line)}. It should be within the range of lines of the file: [0, ${length}]`,
      );
    }
    const lineEnd = findLineEnd(content) ?? findLineEnd(text) ?? '\n';
    const added = withLineEnds(text.replace(/(?:\r\n|\n|\r)$/, ''), lineEnd);
    // The other lines keep their ends.
    const at = findLineStart(content, Number(line));
    const changed =
      at === null
        ? content + lineEnd + added
        : content.slice(0, at) + added + lineEnd + content.slice(at);
    return { content: changed, answer: `The file ${path} has been edited.` };
  });
}

/** Reads, changes and writes; when another writer got in between, all of it once more. */
async function edit(
  path: string,
  execute: Execute,
  change: (content: string) => { content: string; answer: string },
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const file = await readFile(path, execute);
    if (file === null) {
      const isFolder = (await listFiles(withoutSlash(path), execute)).length > 0;
      throw new Answer(
        isFolder
          ? `Error: The path ${path} is not a file.`
          : `${NO_PATH(path)}. Please provide a valid path.`,
      );
    }
    const { content, answer } = change(file.content);
    const write = { path: toVirtualPath(path), content, ifVersion: file.version };
    try {
      await execute('memory_write', write);
      return answer;
    } catch (error) {
      if (codeOf(error) !== 'VERSION_CONFLICT' || attempt === ATTEMPTS) throw error;
    }
  }
}

async function remove(path: string, execute: Execute): Promise<string> {
  const folder = withoutSlash(path);
  if (folder === ROOT) throw new Answer(`Error: Cannot delete the ${ROOT} directory itself`);
  const isFile = (await readFile(path, execute)) !== null;
  const names = isFile ? [''] : (await listFiles(folder, execute)).map(({ name }) => `/${name}`);
  if (names.length === 0) throw new Answer(NO_PATH(path));
  for (const name of names) {
    await execute('memory_delete', { path: toVirtualPath(folder + name) });
  }
  return `Successfully deleted ${path}`;
}

async function rename(from: string, to: string, execute: Execute): Promise<string> {
  const [source, target] = [withoutSlash(from), withoutSlash(to)];
  if (source === ROOT) throw new Answer(`Error: Cannot rename the ${ROOT} directory itself`);
  const isFile = (await readFile(from, execute)) !== null;
  const names = isFile ? [''] : (await listFiles(source, execute)).map(({ name }) => `/${name}`);
  if (names.length === 0) throw new Answer(NO_PATH(from));
  const taken = () => new Answer(`Error: The destination ${to} already exists`);
  if (target === ROOT || (await readFile(to, execute)) !== null) throw taken();
  if ((await listFiles(target, execute)).length > 0) throw taken();
  for (const name of names) {
    const move = { from: toVirtualPath(source + name), to: toVirtualPath(target + name) };
    await execute('memory_move', move).catch(upon('VERSION_CONFLICT', taken));
  }
  return `Successfully renamed ${from} to ${to}`;
}

const NO_PATH = (path: string): string => `Error: The path ${path} does not exist`;

/** The file at that path; `null` when there is none, or a folder. */
async function readFile(
  path: string,
  execute: Execute,
): Promise<{ content: string; version: number } | null> {
  const virtual = toVirtualPath(path);
  if (virtual === 'user') return null;
  try {
    return await execute('memory_read', { path: virtual });
  } catch (error) {
    if (codeOf(error) === 'FILE_NOT_FOUND') return null;
    throw error;
  }
}

/** Every file below a folder, named from there. */
async function listFiles(
  folder: string,
  execute: Execute,
): Promise<{ name: string; size: number }[]> {
  const prefix = `${toVirtualPath(folder)}/`;
  const found: { name: string; size: number }[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const next = cursor === '' ? {} : { cursor };
    const page: BuiltInTools['memory_list']['result'] = await execute('memory_list', {
      path: prefix,
      limit: 500,
      ...next,
    });
    for (const { path, size } of page.files) found.push({ name: path.slice(prefix.length), size });
    cursor = page.nextCursor;
  }
  return found;
}

/** `/memories/notes/a.md` is `user/notes/a.md`. What follows is for the service to check. */
function toVirtualPath(path: string): string {
  const plain = withoutSlash(path);
  if (plain !== ROOT && !plain.startsWith(`${ROOT}/`)) {
    throw new Answer(`Error: Path must start with ${ROOT}, got: ${takeStart(path, 200)}`);
  }
  if (leavesRoot(plain.slice(ROOT.length))) {
    throw new Answer(`Error: Path ${takeStart(path, 200)} would escape ${ROOT} directory`);
  }
  return `user${plain.slice(ROOT.length)}`;
}

function leavesRoot(path: string): boolean {
  let depth = 0;
  for (const segment of path.split('/')) {
    if (segment === '..') depth -= 1;
    else if (segment !== '' && segment !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function toText(input: Record<string, unknown>, name: string): string {
  const value = input[name];
  if (typeof value === 'string') return value;
  throw new Answer(`Error: The parameter ${name} is required, as text.`);
}

/** Six characters wide, then a tab. */
function number(lines: readonly string[], first: number): string {
  return lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n');
}

/** As `ls -h` has it: `0B`, `512B`, `1.5K`. */
function toSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < 3) {
    size /= 1024;
    unit += 1;
  }
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${'BKMG'[unit] ?? 'G'}`;
}

function codeOf(error: unknown): string | null {
  return error instanceof MemoryError ? error.code : null;
}

function upon(code: string, toAnswer: () => Answer): (error: unknown) => never {
  return (error) => {
    throw codeOf(error) === code ? toAnswer() : error;
  };
}
