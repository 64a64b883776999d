import { setTimeout as sleep } from 'node:timers/promises';
import type { AcknowledgedWrite } from './invariants.ts';

/** A call of a tool, under an idempotency key where it writes. */
export interface Operation {
  userId: string;
  tool: string;
  args: Readonly<Record<string, unknown>>;
  key?: string;
}

/** What became of a call: `lost` is one that nobody answered. */
export type Answer =
  | { status: 'acknowledged'; result: Record<string, unknown>; isReplayed: boolean }
  | { status: 'refused'; code: string; details?: unknown }
  | { status: 'lost' };

/** Whatever runs tools, and may be killed while it does. */
export interface Target {
  execute(operation: Operation): Promise<Answer>;
}

/** A file as its only writer knows it. */
interface KnownFile {
  content: string | null;
  version: number;
}

interface Planned {
  operation: Operation;
  /** The files of the operation as they are, and as it leaves them; none for the shared file. */
  before: ReadonlyMap<string, KnownFile>;
  after: ReadonlyMap<string, KnownFile>;
  /** The line that it adds to the file that all write. */
  line: string | null;
}

/** A write that was acknowledged. */
interface Recent {
  operation: Operation;
  revisionId: unknown;
}

/** The file that every writer appends to. */
const SHARED = { userId: 'everyone', path: 'shared.md' } as const;
const PATHS = ['a.md', 'b.md', 'c.md', 'notes/d.md', 'notes/e.md'];
/** How often in a row a write may be told to come again, on a machine that is busy with others. */
const MOST_POSTPONED = 50;

/**
 * Writers that know exactly what they were told: each has a user of its own whose files nobody else
 * writes, and all append to one file. What was in flight at a fault is looked at afterwards (it is
 * whole or absent), and repeated under its key (it is there once).
 */
export class Workload {
  readonly acknowledged: AcknowledgedWrite[] = [];
  /** What does not fit what was acknowledged. */
  readonly problems: string[] = [];
  /** Writes that were not answered, and how many of them turned out to be committed. */
  unanswered = 0;
  committed = 0;
  replayed = 0;
  /** How often a write was told to come again, and did under its key. */
  postponed = 0;
  readonly #random: () => number;
  readonly #files = new Map<string, Map<string, KnownFile>>();
  readonly #lines = new Set<string>();
  readonly #underWay = new Set<Planned>();
  #pending: Planned[] = [];
  readonly #recent: Recent[] = [];
  #count = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Writes that wait for an answer. */
  get inFlight(): number {
    return this.#underWay.size;
  }

  /** Makes the file that all append to. */
  async prepare(target: Target): Promise<void> {
    const args = { path: `user/${SHARED.path}`, content: '# Shared\n' };
    const operation = { userId: SHARED.userId, tool: 'memory_write', args, key: 'shared' };
    const answer = await target.execute(operation);
    if (answer.status !== 'acknowledged') throw new Error('The first write failed.');
  }

  /** Writes with so many writers until one is not answered, or `isOver` says so. */
  async write(target: Target, writers: number, isOver: () => boolean): Promise<void> {
    let isLost = false;
    const write = async (writer: number) => {
      while (!isOver() && !isLost) {
        const planned = this.#plan(`writer-${writer}`);
        this.#underWay.add(planned);
        const answer = await this.#execute(target, planned.operation);
        this.#underWay.delete(planned);
        if (answer.status === 'acknowledged') {
          this.#acknowledge(planned, answer);
        } else if (answer.status === 'lost' || answer.code === 'SHUTTING_DOWN') {
          isLost = true;
          this.unanswered += 1;
          this.#pending.push(planned);
        } else {
          this.problems.push(`${describe(planned)} was refused: ${answer.code}`);
        }
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  }

  /** Looks at what was in flight, repeats it, and repeats a few of what was acknowledged. */
  async settle(target: Target): Promise<void> {
    const recent = this.#recent.splice(0).slice(-3);
    await Promise.all(recent.map((write) => this.#repeat(target, write)));
    // Of each writer one is in flight: they don't meet but in the shared file, which is looked at after.
    const pending = this.#pending.splice(0);
    await Promise.all(pending.map((planned) => this.#settleOne(target, planned)));
    await this.#checkShared(target);
  }

  /** What waited too long for a lock is repeated under its key, as callers are told to. */
  async #execute(target: Target, operation: Operation): Promise<Answer> {
    for (let postponed = 0; ; postponed += 1) {
      const answer = await target.execute(operation);
      const isForNow = answer.status === 'refused' && answer.code === 'STORAGE_UNAVAILABLE';
      if (!isForNow || postponed === MOST_POSTPONED) return answer;
      this.postponed += 1;
      await sleep(20);
    }
  }

  async #repeat(target: Target, { operation, revisionId }: Recent): Promise<void> {
    const answer = await target.execute(operation);
    const isSame = answer.status === 'acknowledged' && answer.result['revisionId'] === revisionId;
    if (isSame && answer.isReplayed) this.replayed += 1;
    else this.problems.push(`a repeat of ${operation.key} is not the first answer`);
  }

  #plan(userId: string): Planned {
    this.#count += 1;
    const n = this.#count;
    const line = `- fact ${n} ${'of some length '.repeat(Math.floor(this.#random() * 8))}end`;
    const key = `operation-${n}`;
    if (this.#random() < 0.25) {
      const args = { path: `user/${SHARED.path}`, append: { text: line } };
      const operation = { userId: SHARED.userId, tool: 'memory_patch', args, key };
      return { operation, before: new Map(), after: new Map(), line };
    }
    const files = this.#files.get(userId) ?? new Map<string, KnownFile>();
    this.#files.set(userId, files);
    const path = PATHS[Math.floor(this.#random() * PATHS.length)] as string;
    const file = files.get(path) ?? { content: null, version: 0 };
    const free = PATHS.find((other) => (files.get(other)?.content ?? null) === null);
    const { tool, args, content } = this.#choose(path, file, line, free);
    const before = new Map([[path, file]]);
    const after = new Map([[path, next(file, content)]]);
    if (tool === 'memory_move' && free !== undefined) {
      const target = files.get(free) ?? { content: null, version: 0 };
      before.set(free, target);
      after.set(free, next(target, file.content));
    }
    return { operation: { userId, tool, args, key }, before, after, line: null };
  }

  #choose(path: string, file: KnownFile, line: string, free: string | undefined) {
    const virtual = `user/${path}`;
    const { content } = file;
    const dice = this.#random();
    if (content === null || dice < 0.3) {
      const whole = `# ${path}\n\n${line}\n`;
      return {
        tool: 'memory_write',
        args: { path: virtual, content: whole, ifVersion: content === null ? 0 : file.version },
        content: whole,
      };
    }
    if (dice < 0.35) {
      return { tool: 'memory_write', args: { path: virtual, content }, content };
    }
    if (dice < 0.45) return { tool: 'memory_delete', args: { path: virtual }, content: null };
    if (dice < 0.55 && free !== undefined) {
      return { tool: 'memory_move', args: { from: virtual, to: `user/${free}` }, content: null };
    }
    if (dice < 0.7) {
      const oldText = content.slice(content.lastIndexOf('- fact'));
      const newText = `${line}\n`;
      const changed = content.replace(oldText, newText);
      return {
        tool: 'memory_patch',
        args: { path: virtual, edits: [{ oldText, newText }] },
        content: changed,
      };
    }
    return {
      tool: 'memory_patch',
      args: { path: virtual, append: { text: line } },
      content: `${content}${line}\n`,
    };
  }

  #acknowledge(planned: Planned, answer: Extract<Answer, { status: 'acknowledged' }>): void {
    const { operation, after, line } = planned;
    const version = answer.result['version'] as number;
    const revisionId = answer.result['revisionId'] as string;
    this.#recent.push({ operation, revisionId });
    if (line !== null) {
      this.#lines.add(line);
      const content = { end: `${line}\n` };
      this.acknowledged.push({ ...SHARED, version, revisionId, content });
      return;
    }
    // Of a move the answer names the file that arrived, the last one here.
    const [path, file] = [...after].at(-1) as [string, KnownFile];
    if (version !== file.version) {
      this.problems.push(`${describe(planned)} made version ${version}, not ${file.version}`);
    }
    const { userId } = operation;
    this.acknowledged.push({ userId, path, version, revisionId, content: file.content });
    const files = this.#files.get(userId);
    for (const [name, known] of after) files?.set(name, known);
  }

  async #settleOne(target: Target, planned: Planned): Promise<void> {
    const isCommitted = await this.#isCommitted(target, planned);
    if (isCommitted === true) this.committed += 1;
    const answer = await this.#execute(target, planned.operation);
    if (answer.status !== 'acknowledged') {
      this.problems.push(`a repeat of ${describe(planned)}: ${JSON.stringify(answer)}`);
      return;
    }
    if (isCommitted !== null && answer.isReplayed !== isCommitted) {
      this.problems.push(`a repeat of ${describe(planned)} did not know of the first`);
    }
    this.#acknowledge(planned, answer);
    for (const [path, known] of planned.after) {
      const found = await read(target, planned.operation.userId, path);
      if (isSame(found, known)) continue;
      this.problems.push(`${describe(planned)} is not what it is after a repeat`);
    }
  }

  /** Whether all of it is there; `null` where that can't be told. None of it: `false`. */
  async #isCommitted(target: Target, planned: Planned): Promise<boolean | null> {
    const { operation, before, after, line } = planned;
    if (line !== null) {
      const { content } = await read(target, SHARED.userId, SHARED.path);
      return content?.includes(`${line}\n`) ?? false;
    }
    const found = await Promise.all(
      [...after.keys()].map((path) => read(target, operation.userId, path)),
    );
    const isAfter = [...after.values()].every((known, index) => isSame(found[index], known));
    const isBefore = [...before.values()].every((known, index) => isSame(found[index], known));
    if (isAfter && isBefore) return null;
    if (!isAfter && !isBefore) {
      this.problems.push(`${describe(planned)} is there in part: ${JSON.stringify(found)}`);
    }
    return isAfter;
  }

  async #checkShared(target: Target): Promise<void> {
    const { content, version } = await read(target, SHARED.userId, SHARED.path);
    const lines = (content ?? '').split('\n').filter((line) => line.startsWith('- fact'));
    const unknown = lines.filter((line) => !this.#lines.has(line));
    const missing = [...this.#lines].filter((line) => !lines.includes(line));
    if (unknown.length > 0) this.problems.push(`${unknown.length} lines that nobody wrote`);
    if (missing.length > 0) this.problems.push(`${missing.length} acknowledged lines are lost`);
    if (lines.length !== this.#lines.size) this.problems.push('a line is there twice');
    if (version !== this.#lines.size + 1) {
      this.problems.push(`version ${version} after ${this.#lines.size + 1} writes`);
    }
  }
}

/** A number from 0 to 1 after the other, the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  // Mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

function next(file: KnownFile, content: string | null): KnownFile {
  return file.content === content ? file : { content, version: file.version + 1 };
}

async function read(target: Target, userId: string, path: string): Promise<KnownFile> {
  const answer = await target.execute({
    userId,
    tool: 'memory_read',
    args: { path: `user/${path}` },
  });
  if (answer.status === 'acknowledged') {
    const { content, version } = answer.result as unknown as KnownFile;
    return { content, version };
  }
  if (answer.status === 'refused' && answer.code === 'FILE_NOT_FOUND') {
    return { content: null, version: 0 };
  }
  throw new Error(`${userId} cannot read ${path}: ${JSON.stringify(answer)}`);
}

/** The version of a file that is gone is not seen by reading. */
function isSame(found: KnownFile | undefined, known: KnownFile): boolean {
  if (known.content === null) return found?.content === null;
  return found?.content === known.content && found.version === known.version;
}

function describe({ operation }: Planned): string {
  return `${operation.key} (${operation.tool} of ${operation.userId})`;
}
