import type {
  BackendProtocolV2,
  EditResult,
  FileDownloadResponse,
  FileInfo,
  FileUploadResponse,
  GlobResult,
  GrepResult,
  LsResult,
  ReadRawResult,
  ReadResult,
  WriteResult,
} from 'deepagents';
import picomatch from 'picomatch';
import type { BuiltInTools, NamedSpace, ToolRunner } from '../core/contracts/tool.ts';
import { takeStart } from '../core/encoding/take-text.ts';
import { parseUserId, toScope, toUserPath, virtualHomeOf } from '../core/files/paths.ts';
import { runOf } from './langchain.ts';
import { type AdapterOptions, bindTools, type BoundTool, toFailedOutcome } from './runner.ts';

/** Files that one `grep` reads at most; with more, its answer says that it was cut short. */
const MOST_SEARCHED = 5_000;
/** Files that are read at once. */
const AT_ONCE = 8;
/** What `deepagents` reads at most when it names no number. */
const LINES_READ = 500;

const SWITCHED_OFF: Record<string, string> = {
  memory_delete: 'Error: Deleting is switched off in this memory.',
  '': 'Error: This memory is read-only.',
};

/**
 * A backend of LangChain's `deepagents` over the memory of a user: `/notes/a.md` is `user/notes/a.md`,
 * and nothing else is in reach. With a space in `spaces`, it is that space instead: `/notes/a.md` is
 * `spaces/acme/notes/a.md`; with several, `/acme/notes/a.md` is. Put it at `/memories/` with a `CompositeBackend`,
 * and a second one over a space at `/team/`. Each file that it
 * reads, writes, edits or deletes is a call of the service's tools: a trace, a row of the access log, and a
 * revision that can be undone. Memory is text: other bytes are refused. Deleting needs `memory_delete`,
 * which is off by default; a folder is deleted file by file.
 *
 * Its methods reject for nothing: what fails is an `error` for the model, with what to do. The
 * constructor throws `INVALID_USER_ID`.
 * https://docs.langchain.com/oss/javascript/deepagents/backends
 *
 * @example
 * import { CompositeBackend, createDeepAgent, StateBackend } from 'deepagents';
 * import { MemoryBackend } from 'memory-service/adapters/deepagents';
 *
 * const memory = new MemoryBackend(service.tools, { userId: session.userId });
 * const backend = new CompositeBackend(new StateBackend(), { '/memories/': memory });
 * const agent = createDeepAgent({ model: 'openai:gpt-5', backend });
 */
export class MemoryBackend implements BackendProtocolV2 {
  readonly #runner: ToolRunner;
  readonly #options: MemoryBackendOptions;
  readonly #roots: readonly Root[];
  #bound: Promise<BoundTool[]> | null = null;

  constructor(runner: ToolRunner, options: MemoryBackendOptions) {
    parseUserId(options.userId);
    this.#runner = runner;
    this.#options = options;
    this.#roots = toRoots(options.spaces ?? []);
  }

  /** What is directly in a folder; a folder's own path ends with a slash. */
  async ls(path: string): Promise<LsResult> {
    return await answer(async () => {
      const folder = withSlash(path);
      const folders = new Set<string>();
      const files: FileInfo[] = [];
      for (const file of await this.#filesBelow(folder)) {
        const [name = '', ...below] = file.path.slice(folder.length).split('/');
        if (below.length > 0) folders.add(`${folder}${name}/`);
        else files.push(toInfo(file));
      }
      const all = [...files, ...[...folders].map(toFolder)];
      return { files: all.sort((one, other) => (one.path < other.path ? -1 : 1)) };
    });
  }

  /** Lines of a file from `offset`, counted from 0. */
  async read(path: string, offset = 0, limit = LINES_READ): Promise<ReadResult> {
    return await answer(async () => {
      const first = toCount(offset);
      const count = toCount(limit);
      const lines = { startLine: first + 1, endLine: first + Math.max(1, count) };
      const file = await this.#call('memory_read', path, { path: this.#toPath(path), ...lines });
      const { totalLines } = file;
      const mimeType = toMimeType(path);
      if (count === 0 || first >= totalLines) return { content: '', mimeType };
      const end = Math.min(first + count, totalLines);
      const next = end < totalLines ? { nextOffset: end } : {};
      const { content } = file;
      return { content, mimeType, totalLines, startLine: first + 1, endLine: end, ...next };
    });
  }

  async readRaw(path: string): Promise<ReadRawResult> {
    return await answer(async () => {
      const { content, updatedAt } = await this.#readWhole(path);
      // When it was created is in its history alone.
      const times = { created_at: updatedAt, modified_at: updatedAt };
      return { data: { content, mimeType: toMimeType(path), ...times } };
    });
  }

  /** Creates a file, or replaces what it says. */
  async write(path: string, content: string): Promise<WriteResult> {
    return await answer(async () => {
      await this.#call('memory_write', path, { path: this.#toPath(path), content });
      return { path, filesUpdate: null };
    });
  }

  /** Replaces exact text, which occurs once unless all of it is to be replaced. */
  async edit(path: string, from: string, to: string, all = false): Promise<EditResult> {
    return await answer(async () => {
      if (from === '') return await this.#fill(path, to);
      const edit = { oldText: from, newText: to, replaceAll: all };
      const patch = { path: this.#toPath(path), edits: [edit] };
      const { replacements } = await this.#call('memory_patch', path, patch);
      return { path, filesUpdate: null, occurrences: replacements };
    });
  }

  /** Lines that have a text, exactly as it is; `glob` narrows by name, or by path if it has a slash. */
  async grep(
    pattern: string,
    path: string | null = null,
    glob: string | null = null,
    maxCount: number | null = null,
  ): Promise<GrepResult> {
    return await answer(async () => {
      const isNamed = glob === null ? () => true : matchName(glob);
      const found = (await this.#filesBelow(path ?? '/')).filter((file) => isNamed(file.path));
      const searched = found.slice(0, MOST_SEARCHED);
      const most = maxCount ?? Number.POSITIVE_INFINITY;
      const matches: NonNullable<GrepResult['matches']> = [];
      let at = 0;
      for (; at < searched.length && matches.length < most; at += AT_ONCE) {
        const batch = searched.slice(at, at + AT_ONCE).map((file) => this.#grepFile(file, pattern));
        matches.push(...(await Promise.all(batch)).flat());
      }
      const isCut = at < searched.length || matches.length > most || found.length > MOST_SEARCHED;
      return { matches: matches.slice(0, most), ...(isCut ? { truncated: true } : {}) };
    });
  }

  /** Files below a folder whose path from there matches. */
  async glob(pattern: string, path = '/'): Promise<GlobResult> {
    return await answer(async () => {
      const folder = withSlash(path);
      const isMatch = picomatch(pattern.replace(/^\/+/, ''), { dot: true });
      const files = await this.#filesBelow(path);
      const toName = ({ path: whole }: { path: string }): string =>
        whole.startsWith(folder) ? whole.slice(folder.length) : nameOf(whole);
      return { files: files.filter((file) => isMatch(toName(file))).map(toInfo) };
    });
  }

  /** Deletes a file, or each file of a folder. */
  async delete(path: string): Promise<{ error?: string; path?: string; filesUpdate?: null }> {
    return await answer(async () => {
      const files = await this.#filesBelow(path);
      if (files.length === 0) throw new Refusal(notFound(path));
      for (const file of files) {
        await this.#call('memory_delete', file.path, { path: this.#toPath(file.path) });
      }
      return { path, filesUpdate: null };
    });
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return await inTurn(files, async ([path, bytes]) => {
      const content = decode(bytes);
      const isWritten = content !== null && (await this.write(path, content)).error === undefined;
      return { path, error: isWritten ? null : 'invalid_path' };
    });
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return await inTurn(paths, async (path) => {
      const file = await answer(async () => await this.#readWhole(path));
      if (!('error' in file)) {
        return { path, content: new TextEncoder().encode(file.content), error: null };
      }
      const isMissing = file.error === notFound(path);
      return { path, content: null, error: isMissing ? 'file_not_found' : 'invalid_path' };
    });
  }

  async #readWhole(path: string): Promise<BuiltInTools['memory_read']['result']> {
    return await this.#call('memory_read', path, { path: this.#toPath(path) });
  }

  /** Gives an empty file its content; a file with content has no empty text to replace. */
  async #fill(path: string, content: string): Promise<EditResult> {
    const file = await this.#readWhole(path);
    if (file.content !== '') {
      throw new Refusal('Error: The text to replace is empty, and the file is not.');
    }
    const ifVersion = file.version;
    await this.#call('memory_write', path, { path: this.#toPath(path), content, ifVersion });
    return { path, filesUpdate: null, occurrences: 0 };
  }

  async #grepFile({ path }: { path: string }, pattern: string) {
    const { content } = await this.#readWhole(path).catch((thrown: unknown) => {
      // Deleted since it was listed.
      if (thrown instanceof Refusal && thrown.message === notFound(path)) return { content: '' };
      throw thrown;
    });
    return content
      .split('\n')
      .flatMap((text, at) => (text.includes(pattern) ? [{ path, line: at + 1, text }] : []));
  }

  /** The file at a path, or every file below the folder there. */
  async #filesBelow(path: string): Promise<Listed[]> {
    if (!path.startsWith('/')) throw new Refusal(badPath(path));
    const base = path.endsWith('/') ? path.slice(0, -1) : path;
    const folder = `${base}/`;
    const found: Listed[] = [];
    for (const { at, home } of this.#roots) {
      const isInside = folder.startsWith(at);
      if (!isInside && !at.startsWith(folder)) continue;
      const prefix = isInside && base.length >= at.length ? home + base.slice(at.length) : home;
      for (let cursor: string | null = ''; cursor !== null;) {
        const args = { path: prefix, limit: 500, cursor };
        const page: BuiltInTools['memory_list']['result'] = await this.#call(
          'memory_list',
          path,
          args,
        );
        for (const file of page.files) {
          const listed = { ...file, path: at + file.path.slice(home.length) };
          if (listed.path === base || listed.path.startsWith(folder)) found.push(listed);
        }
        cursor = page.nextCursor;
      }
    }
    return found;
  }

  /** The path for the tools. What follows the root is for the service to check. */
  #toPath(path: string): string {
    if (!path.startsWith('/')) throw new Refusal(badPath(path));
    const root = this.#roots.find(({ at }) => path.startsWith(at));
    if (root !== undefined) return root.home + path.slice(root.at.length);
    const names = this.#roots.map(({ at }) => at).join(', ');
    throw new Refusal(
      `Error: A path here starts with one of ${names}, got: ${takeStart(path, 200)}`,
    );
  }

  /** Runs a tool; throws a {@link Refusal} with what the model is to read. */
  async #call<Name extends keyof BuiltInTools>(
    name: Name,
    path: string,
    args: BuiltInTools[Name]['arguments'],
  ): Promise<BuiltInTools[Name]['result']> {
    const tool = (await this.#tools()).find((one) => one.name === name);
    if (tool === undefined) throw new Refusal(SWITCHED_OFF[name] ?? SWITCHED_OFF['']);
    const outcome = await tool.run(args, { run: await presentRun() });
    if (outcome.ok) return outcome.response.result as never;
    const isMissing = outcome.error.code === 'FILE_NOT_FOUND';
    throw new Refusal(isMissing ? notFound(path) : outcome.text);
  }

  /** Asked for at the first call; after a failure, again at the next. */
  async #tools(): Promise<BoundTool[]> {
    this.#bound ??= bindTools(this.#runner, this.#options);
    try {
      return await this.#bound;
    } catch (error) {
      this.#bound = null;
      throw error;
    }
  }
}

/** Whose memory it is, or which spaces it is instead, and who reads and writes. */
export type MemoryBackendOptions = Pick<AdapterOptions, 'userId' | 'spaces' | 'actor' | 'readOnly'>;

type Listed = BuiltInTools['memory_list']['result']['files'][number];

/** What the model reads in the place of a result. It never leaves this file. */
class Refusal extends Error {}

/** The result, or why there is none. */
async function answer<Result extends object>(
  work: () => Promise<Result>,
): Promise<Result | { error: string }> {
  try {
    return await work();
  } catch (thrown) {
    return { error: thrown instanceof Refusal ? thrown.message : toFailedOutcome(thrown).text };
  }
}

/** A folder of the backend, and what it is in memory; both end in `/`. */
interface Root {
  at: string;
  home: string;
}

/** Where the memory of a user, or that of spaces, stands in the backend. */
function toRoots(spaces: readonly NamedSpace[]): Root[] {
  const homes = spaces.map(({ id }) => ({
    at: `/${id}/`,
    home: virtualHomeOf(toScope({ spaceId: id })),
  }));
  const [only, ...more] = homes;
  if (only === undefined) return [{ at: '/', home: toUserPath('') }];
  return more.length === 0 ? [{ ...only, at: '/' }] : homes;
}

function badPath(path: string): string {
  return `Error: A path starts with /, got: ${takeStart(path, 200)}`;
}

function notFound(path: string): string {
  return `Error: File '${takeStart(path, 1_000)}' not found`;
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function matchName(glob: string): (path: string) => boolean {
  const isMatch = picomatch(glob.replace(/^\/+/, ''), { dot: true });
  return glob.includes('/') ? (path) => isMatch(path.slice(1)) : (path) => isMatch(nameOf(path));
}

function toInfo({ path, size, updatedAt }: Listed): FileInfo {
  return { path, is_dir: false, size, modified_at: updatedAt };
}

function toFolder(path: string): FileInfo {
  return { path, is_dir: true, size: 0, modified_at: '' };
}

/** Memory is text, whatever a name ends with. */
function toMimeType(path: string): string {
  return /\.(?:md|markdown)$/i.test(path) ? 'text/markdown' : 'text/plain';
}

/** A whole number from 0. Models also give others. */
function toCount(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.floor(value)) : 0;
}

/** `null` for bytes that are no text. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

/** The id that its caller gave the agent's run (`configurable.run_id`), if one is under way. */
async function presentRun(): Promise<ReturnType<typeof runOf>> {
  // The packages of an agent, which this class works without.
  const singletons = await import('@langchain/core/singletons').catch(() => null);
  const config: unknown = singletons?.AsyncLocalStorageProviderSingleton.getRunnableConfig();
  return config === undefined ? undefined : runOf(config as Parameters<typeof runOf>[0]);
}
