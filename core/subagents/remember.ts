import type { FileKey } from '../contracts/records.ts';
import type { ListedFile, RememberService, ToolCall, WriteResult } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import { checkContent } from '../files/content.ts';
import { unifiedDiff } from '../history/delta/unified-diff.ts';
import { isExcludedFromDreams } from '../files/dream-exclusion.ts';
import type { Files } from '../files/files.ts';
import type { Idempotency } from '../files/idempotency.ts';
import { type FindDependencies, findHits, logHits } from '../search/find.ts';
import type { Model } from './model.ts';
import { createPause } from '../pause.ts';
import { parseUserId, toScope, toVirtualPath } from '../files/paths.ts';
import { INDEX_PATH } from './remember/checks.ts';
import { parseReply, REPLY_SCHEMA } from './remember/operations.ts';
import { type PlanFault, type PlannedFile, planOperations } from './remember/plan.ts';
import { SYSTEM_PROMPT, toPrompt } from './remember/prompt.ts';
import { type ShownFile, type Snapshot, toShownFile } from './remember/shown-file.ts';
import type { Revisions } from '../history/revisions.ts';
import type { Hit } from '../search/search.ts';
import { nameSecret } from '../edits/secrets.ts';

/** What remembering works with. */
export interface RememberDependencies {
  files: Files;
  idempotency: Idempotency;
  revisions: Pick<Revisions, 'get'>;
  search: FindDependencies;
  model: Model;
  now: () => number;
}

/** Files that one call may change, unless it says otherwise. */
const DEFAULT_WRITES = 5;
/** Questions to the model: one, and one more when it wants to see files or was refused. */
const ROUNDS = 2;
/** A provider has its own time limit; this one is for those that have none. */
const MODEL_MS = 120_000;
const REPLY_TOKENS = 4_000;
/** Files that are listed, and what the model is shown of them. */
const LISTED = 500;
const SHOWN_FILES = 20;
const SHOWN_CHARS = 24_000;
/** A file up to this length is shown whole, of a longer one the passages that were found. */
const WHOLE_CHARS = 8_000;
const FOUND_PASSAGES = 30;
const MORE_FILES = 5;
/** Words of a refused line that the model is told. */
const NAMED_WORDS = 8;

/**
 * `memory_remember`: looks, asks the model what to change, checks what it says, and writes all of it
 * in one transaction. Nothing is locked while the model thinks; what changed meanwhile is seen by
 * its version.
 *
 * Throws `INVALID_CONTENT` for a text that looks like a secret, `QUOTA_EXCEEDED` when more files
 * would change than may, and the codes of models: `details.check` names the rule that was broken.
 */
export function createRemember(deps: RememberDependencies): RememberService {
  const { files, idempotency, model } = deps;
  return {
    async remember({ text, reason, maxWrites = DEFAULT_WRITES, dryRun = false }, call) {
      checkFact(text);
      const replay = async () => {
        const first = dryRun ? null : await idempotency.replay<Kept>(call);
        return first === null ? null : await withDiffs(deps, first);
      };
      const first = await replay();
      if (first !== null) return first;
      const today = new Date(deps.now()).toISOString().slice(0, 10);
      let snapshot = await look(deps, text, call);
      let problem: string | null = null;
      for (let round = 1; ; round += 1) {
        const isLast = round === ROUNDS;
        const now = deps.now();
        const prompt = toPrompt(text, snapshot, { maxWrites, now, problem });
        const answer = await model.ask(
          { system: SYSTEM_PROMPT, prompt, schema: REPLY_SCHEMA, maxTokens: REPLY_TOKENS },
          { call, timeoutMs: MODEL_MS },
        );
        const reply = parseReply(answer);
        const isAsking = reply !== null && reply.read.length > 0 && reply.operations.length === 0;
        if (isAsking && !isLast) {
          snapshot = await showMore(deps, snapshot, reply.read, call);
          continue;
        }
        const plan =
          reply === null || isAsking
            ? { fault: isAsking ? ENDLESS : MALFORMED }
            : await planOperations(snapshot, text, reply.operations, { maxWrites, today });
        if ('fault' in plan) {
          // What it is refused for may be what the same call, sent twice, has just written.
          const twin = await replay();
          if (twin !== null) return twin;
          if (isLast) throw toError(plan.fault, maxWrites);
          problem = toProblem(plan.fault);
          continue;
        }
        if (dryRun) return await toPreview(plan.files);
        const change = {
          files: plan.files.map(({ path, version, after }) => ({ path, version, content: after })),
          reason,
        };
        try {
          const kept = await files.writeAll(change, (written) => toKept(plan.files, written), call);
          return await withDiffs(deps, kept);
        } catch (error) {
          if (isLast || !(error instanceof MemoryError)) throw error;
          if (error.code !== 'VERSION_CONFLICT') throw error;
          snapshot = await look(deps, text, call);
          problem = 'the memory changed meanwhile.';
        }
      }
    },
  };
}

type Remembered = Awaited<ReturnType<RememberService['remember']>>;

/** What an idempotency key keeps: no content, which a redaction would not find there. */
interface Kept {
  summary: string;
  writes: { path: string; version: number; revisionId: string }[];
}

const MALFORMED: PlanFault = {
  check: 'form',
  operation: null,
  message: 'the answer is not of the form that it must be',
};
const ENDLESS: PlanFault = {
  check: 'reads',
  operation: null,
  message: 'files can be asked for once, and something has to be proposed then',
};

/** Before anything of it leaves the service. */
function checkFact(text: string): void {
  checkContent(text, Number.MAX_SAFE_INTEGER);
  const secret = nameSecret(text);
  if (secret === null) return;
  throw new MemoryError('INVALID_CONTENT', `The text looks like ${secret}: it is not remembered.`, {
    details: { reason: 'secret' },
  });
}

/** What the model is shown: the catalog, what was found, and the rest while there is room. */
async function look(
  { files, search }: RememberDependencies,
  text: string,
  call: ToolCall,
): Promise<Snapshot> {
  const user = parseUserId(call.userId);
  const { files: first, nextCursor } = await files.list({ path: 'user/', limit: LISTED }, call);
  const catalog =
    nextCursor === null ? [] : (await files.list({ path: INDEX_PATH, limit: 1 }, call)).files;
  const listed = [...first, ...catalog].filter(({ path }) => isOpen(path));
  const request = {
    text,
    // Shared memory is nobody's to correct here, and what is in it is known to others.
    scopes: [toScope(user)],
    within: null,
    group: 'passage',
    limit: FOUND_PASSAGES,
    isFuzzy: true,
  } as const;
  const found = (await findHits(search, request, 'auto', call)).hits.filter(({ file }) =>
    isOpen(toVirtualPath(file)),
  );
  const shown = new Map<string, ShownFile>();
  let room = SHOWN_CHARS;
  const show = (file: ShownFile) => {
    const chars = [...file.shown].reduce((sum, at) => sum + (file.lines[at - 1]?.length ?? 0), 0);
    if (chars > room || shown.size >= SHOWN_FILES) return false;
    room -= chars;
    shown.set(file.path, file);
    return true;
  };
  if (listed.some(({ path }) => path === INDEX_PATH)) show(await readFile(files, INDEX_PATH, call));
  const logged: Hit[] = [];
  const pause = createPause();
  for (const hits of byFile(found)) {
    await pause();
    const [{ file }] = hits;
    const path = toVirtualPath(file);
    if (shown.has(path)) continue;
    const isWhole = file.content.length <= WHOLE_CHARS;
    const ranges = isWhole
      ? null
      : hits.flatMap(({ passages, passage }) => passages[passage] ?? []);
    const { version, content } = file;
    if (show(toShownFile({ path, version, content }, ranges))) logged.push(...hits);
  }
  await logHits(search, logged, 'find', call);
  // Words that nothing has in common may be about the same thing: a small memory is shown whole.
  const others = listed.filter(({ path, size }) => !shown.has(path) && size <= WHOLE_CHARS);
  for (const { path, size } of others.sort(newestFirst)) {
    if (size > room || shown.size >= SHOWN_FILES) break;
    show(await readFile(files, path, call));
  }
  return { files: shown, paths: new Set(listed.map(({ path }) => path)) };
}

/** Files that the model asked for: those that exist, as far as there is room. */
async function showMore(
  { files }: RememberDependencies,
  snapshot: Snapshot,
  paths: readonly string[],
  call: ToolCall,
): Promise<Snapshot> {
  const shown = new Map(snapshot.files);
  let room = SHOWN_CHARS;
  for (const path of [...new Set(paths)].slice(0, MORE_FILES)) {
    // What is not in the list of this user's files is none: nothing else is ever asked for.
    if (!snapshot.paths.has(path)) continue;
    const { version, content } = await files.read({ path }, call);
    const fitting = content.slice(0, room);
    if (fitting === '') break;
    room -= fitting.length;
    // Of one that is too long, the lines that fit: a cut one is none to be replaced.
    const endLine = fitting.split('\n').length - 1;
    const ranges = fitting.length === content.length ? null : [{ startLine: 1, endLine }];
    shown.set(path, toShownFile({ path, version, content }, ranges));
  }
  return { ...snapshot, files: shown };
}

async function readFile(files: Files, path: string, call: ToolCall): Promise<ShownFile> {
  return toShownFile(await files.read({ path }, call), null);
}

/** Logs are others' records: they are neither shown nor written. */
function isOpen(path: string): boolean {
  return !isExcludedFromDreams(path.slice('user/'.length));
}

function byFile(hits: readonly Hit[]): [Hit, ...Hit[]][] {
  const groups = new Map<string, [Hit, ...Hit[]]>();
  for (const hit of hits) {
    const { scope, path }: FileKey = hit.file;
    const group = groups.get(`${scope}/${path}`);
    if (group === undefined) groups.set(`${scope}/${path}`, [hit]);
    else group.push(hit);
  }
  return [...groups.values()];
}

function newestFirst(a: ListedFile, b: ListedFile): number {
  return a.updatedAt > b.updatedAt ? -1 : 1;
}

function toKept(planned: readonly PlannedFile[], written: readonly WriteResult[]): Kept {
  const writes = written.map(({ path, version, revisionId }) => ({ path, version, revisionId }));
  return { summary: summarise(planned, false), writes };
}

/** The answer, the first or a repeated one: what each revision changed, as it is kept by now. */
async function withDiffs(
  { revisions }: Pick<RememberDependencies, 'revisions'>,
  { summary, writes }: Kept,
): Promise<Remembered> {
  const pause = createPause();
  const answered: Remembered['writes'] = [];
  for (const write of writes) {
    let diff = '';
    try {
      const { contentBefore, contentAfter } = await revisions.get(write.revisionId);
      await pause();
      diff = unifiedDiff(contentBefore, contentAfter, { path: write.path });
    } catch (error) {
      // Pruned since the first answer; or the database went away, after what was to be done is done.
      if (!(error instanceof MemoryError)) throw error;
    }
    answered.push({ ...write, diff });
    await pause();
  }
  return { summary, writes: answered };
}

async function toPreview(planned: readonly PlannedFile[]): Promise<Remembered> {
  const pause = createPause();
  const writes: Remembered['writes'] = [];
  for (const { path, version, before, after } of planned) {
    const diff = unifiedDiff(before, after, { path });
    writes.push({ path, version: version + 1, revisionId: null, diff });
    await pause();
  }
  return { summary: summarise(planned, true), writes };
}

/** In the service's words: those of a model would speak to the agent. */
function summarise(planned: readonly PlannedFile[], isPreview: boolean): string {
  if (planned.length === 0) return 'Nothing was written: there was nothing to add or to correct.';
  const created = planned.filter(({ before }) => before === null).map(({ path }) => path);
  const changed = planned.filter(({ before }) => before !== null).map(({ path }) => path);
  const [create, change] = isPreview ? ['Would create', 'would change'] : ['Created', 'changed'];
  const parts = [
    ...(created.length === 0 ? [] : [`${create} ${created.join(', ')}`]),
    ...(changed.length === 0 ? [] : [`${change} ${changed.join(', ')}`]),
  ].join('; ');
  return `${parts.charAt(0).toUpperCase()}${parts.slice(1)}.`;
}

/** What the model is told: with the words, so that it can do without them. */
function toProblem({ operation, message, words = [] }: PlanFault): string {
  const named = words.slice(0, NAMED_WORDS).map((word) => JSON.stringify(word.slice(0, 60)));
  const why = named.length === 0 ? message : `${message} (${named.join(', ')})`;
  return operation === null ? `${why}.` : `operation ${operation + 1}: ${why}.`;
}

function toError({ check, operation, message }: PlanFault, maxWrites: number): MemoryError {
  if (check === 'budget') {
    return new MemoryError('QUOTA_EXCEEDED', message, {
      details: { limit: 'maxWrites', max: maxWrites },
    });
  }
  const where = operation === null ? '' : ` (operation ${operation})`;
  return new MemoryError(
    'MODEL_FAILED',
    `Nothing was written: the model’s proposal was refused${where}: ${message}.`,
    { details: { reason: check === 'form' ? 'malformed' : 'refused_operation', check } },
  );
}
