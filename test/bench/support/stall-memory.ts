import type { StallModel } from './stall-model.ts';
import { CHANGES, fit, KINDS, makeText, type Random } from './stall-texts.ts';

/** One call with arguments that are the worst for some part of the service. */
export interface StallCase {
  /** The tool, or the route as the table of routes has it. */
  surface: string;
  /** What is bad about its arguments. */
  argument: string;
  /** What has to be there; not watched. */
  prepare?: () => Promise<unknown>;
  run: () => Promise<unknown>;
  /** Waits for the index, which the call has left behind. */
  writes?: boolean;
}

/** The service as the cases call it. */
export interface StallClient {
  /** The limits that it runs with. */
  maxFileBytes: number;
  maxBodyBytes: number;
  send(
    method: string,
    path: string,
    more?: { body?: unknown; text?: string | Uint8Array; headers?: Record<string, string> },
  ): Promise<{ status: number; body: unknown }>;
  /** The bytes of an answer. */
  download(path: string): Promise<Uint8Array>;
  tool(
    name: string,
    userId: string,
    args: object,
  ): Promise<{ status: number; result: Record<string, unknown> | null }>;
  model: StallModel;
}

/** A route of the live table: what `/v1/openapi.json` names. */
export interface LiveRoute {
  method: string;
  path: string;
}

export interface CaseOptions {
  client: StallClient;
  routes: readonly LiveRoute[];
  random: Random;
  /** Random combinations of arguments, for each tool that has them. */
  combinations: number;
  /** Files of the user whose memory is large. */
  heavyFiles: number;
}

/** Users whose memory the cases read. */
export const WIDE = 'wide';
export const HEAVY = 'heavy';
export const OF_KINDS = 'kinds';
export const DEEP = 'deep';
/** A user whose large files were all changed, after all of them were there. */
export const CHANGED = 'differ';
const WIDE_FILES = 5_000;
const DEEP_REVISIONS = 70;
const AT_ONCE = 16;

/** What changed in which file of {@link CHANGED}. */
const CHANGED_FILES = [
  'short lines',
  'different lines',
  'two lines',
  'words',
  'similar lines',
].flatMap((kind) =>
  Object.entries(CHANGES).map(([change, apply]) => ({
    kind,
    change,
    apply,
    path: `diff/${kind}-${change}.md`.replaceAll(' ', '-'),
  })),
);
/** Its paths, in the order in which they were written. */
export const CHANGED_PATHS: readonly string[] = CHANGED_FILES.map(({ path }) => path);

/** Writes what the cases read. */
export async function fillMemory({ client, random, heavyFiles }: CaseOptions): Promise<void> {
  const write = async (userId: string, path: string, content: string): Promise<void> => {
    const { status } = await client.tool('memory_write', userId, { path, content });
    if (status !== 200) throw new Error(`${userId} ${path} was refused with ${status}.`);
  };
  const { maxFileBytes } = client;
  const wide = Array.from(
    { length: WIDE_FILES },
    (_, n) => () =>
      write(WIDE, `user/notes/${n % 50}/file-${n}.md`, `# Note ${n}\n\n- ${toWords(n, 12)}\n`),
  );
  const heavy = Array.from(
    { length: heavyFiles },
    (_, n) => () => write(HEAVY, `user/heavy/${n}.md`, makeHeavy(n, maxFileBytes)),
  );
  const kinds = KINDS.map(
    (kind) => () => write(OF_KINDS, toPath(kind), makeText(kind, maxFileBytes)),
  );
  for (const steps of [wide, heavy, kinds]) {
    for (let from = 0; from < steps.length; from += AT_ONCE) {
      await Promise.all(steps.slice(from, from + AT_ONCE).map((step) => step()));
    }
  }
  for (const { kind, path } of CHANGED_FILES) {
    await write(CHANGED, `user/${path}`, makeText(kind, maxFileBytes));
  }
  for (const { kind, path, apply } of CHANGED_FILES) {
    const after = fit(apply(makeText(kind, maxFileBytes), random), maxFileBytes);
    await write(CHANGED, `user/${path}`, after);
  }
  let text = makeText('different lines', maxFileBytes);
  for (let n = 0; n < DEEP_REVISIONS; n += 1) {
    const lines = text.split('\n');
    for (let at = n % 50; at < lines.length; at += 50) lines[at] = `${n.toString(36)}${at % 10}`;
    text = fit(lines.join('\n'), maxFileBytes);
    await write(DEEP, 'user/deep.md', text);
  }
}

/** Some words that many files share, and one that none does. */
function toWords(n: number, count: number): string {
  return Array.from({ length: count }, (_, at) => `word${(n * 31 + at * 7) % 997}`).join(' ');
}

function makeHeavy(n: number, bytes: number): string {
  const lines: string[] = [];
  for (let size = 0, at = 0; ; at += 1) {
    const line = `- the user likes tea and ${toWords(n * 4_099 + at, 8)}\n`;
    size += line.length;
    if (size > bytes) return lines.join('');
    lines.push(line);
  }
}

/** Where the file of a kind is. */
export function toPath(kind: string): string {
  return `user/${kind.replaceAll(' ', '-')}.md`;
}
