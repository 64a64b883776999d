import type { FileKey } from '../contracts/records.ts';
import type { ListedFile, RememberService, ToolCall, WriteResult } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import {
  applyEdits,
  examine,
  examineEach,
  type ExamineOptions,
  type ExaminedOperation,
  passes,
} from '../edits/engine.ts';
import { createFence } from '../edits/fence.ts';
import { GUARDS, INDEX_PATH } from '../edits/guards.ts';
import { parseHeading } from '../edits/markdown.ts';
import {
  type EditOperation,
  editsSchema,
  parseEdits,
  type Verdict,
  REMEMBER_KINDS,
} from '../edits/operations.ts';
import { nameSecret } from '../edits/secrets.ts';
import {
  parseVerdicts,
  toVerifierPrompt,
  VERDICTS_SCHEMA,
  VERIFIER_PROMPT,
} from '../edits/verify.ts';
import type { EditedFile, EditedMemory } from '../edits/workspace.ts';
import { checkContent } from '../files/content.ts';
import { isExcludedFromDreams } from '../files/dream-exclusion.ts';
import type { Files } from '../files/files.ts';
import type { Idempotency } from '../files/idempotency.ts';
import { findLinks } from '../files/links.ts';
import { parseUserId, toScope, toVirtualPath } from '../files/paths.ts';
import { unifiedDiff } from '../history/delta/unified-diff.ts';
import type { Revisions } from '../history/revisions.ts';
import { createPause } from '../pause.ts';
import { createProviderError } from '../provider-failure.ts';
import { type FindDependencies, findHits, logHits } from '../search/find.ts';
import type { Hit } from '../search/search.ts';
import type { Model } from './model.ts';
import { createFactGuard } from './remember/fact-guard.ts';
import { type Question, SYSTEM_PROMPT, toOccasion, toPrompt } from './remember/prompt.ts';
import { resolveTimes, toLocalDay } from '../edits/times.ts';

/** What remembering works with. */
export interface RememberDependencies {
  files: Files;
  idempotency: Idempotency;
  revisions: Pick<Revisions, 'contents' | 'lineTimes'>;
  search: FindDependencies;
  model: Model;
  /** Judges what the model proposes; the same model unless another one is configured. */
  verifier: Model;
  /** The key of the marks around memory in prompts. */
  fenceKey(): Promise<Buffer>;
  maxFileBytes: number;
  /** Of a caller that names none. */
  timeZone: string;
  now: () => number;
}

/** Files that one call may change, unless it says otherwise. */
const DEFAULT_WRITES = 5;
/** All questions together; the call itself has 150 s. */
const MODEL_MS = 140_000;
const REPLY_TOKENS = 8_000;
/** Files that are listed, and what the model is shown of them. */
const LISTED = 500;
const SHOWN_FILES = 20;
const SHOWN_CHARS = 24_000;
/** A file up to this length is shown whole, of a longer one the passages that were found. */
const WHOLE_CHARS = 8_000;
const FOUND_PASSAGES = 30;
/** Attempts to write while others change the same files. */
const ATTEMPTS = 3;
const REPLY_SCHEMA = editsSchema(REMEMBER_KINDS);

type Remembered = Awaited<ReturnType<RememberService['remember']>>;

/** What an idempotency key keeps: no content, which a redaction would not find there. */
interface Kept {
  summary: string;
  writes: { path: string; version: number; revisionId: string }[];
  refused: string[];
  unchanged: boolean;
}

/** An operation that was refused, and why. */
interface Refusal {
  why: string;
  lines: string[];
}

/**
 * `memory_remember`: looks, asks the model what to change, checks the form of each operation, has the
 * verifier judge its meaning, and writes those that pass in one transaction. Nothing is locked while
 * a model thinks; operations are found again by their lines when memory changed meanwhile.
 *
 * Throws `INVALID_CONTENT` for a text that looks like a secret, `QUOTA_EXCEEDED` when more files
 * would change than may, and `MODEL_FAILED` or `MODEL_TIMEOUT`; then nothing is stored.
 */
export function createRemember(deps: RememberDependencies): RememberService {
  const { files, idempotency, model, verifier } = deps;
  return {
    async remember(args, call) {
      const {
        text: fact,
        reason,
        at,
        speaker = null,
        maxWrites = DEFAULT_WRITES,
        dryRun = false,
      } = args;
      checkFact(fact, speaker);
      const first = dryRun ? null : await idempotency.replay<Kept>(call);
      if (first !== null) return await withDiffs(deps, first, null);
      const until = performance.now() + MODEL_MS;
      const timeZone = call.timeZone ?? deps.timeZone;
      const day = toLocalDay(at === undefined ? deps.now() : Date.parse(at), timeZone);
      const times = resolveTimes(fact, day);
      const limits = { maxFileBytes: deps.maxFileBytes, mayCreate: true };
      const options = { limits, guards: { ...GUARDS, fact: createFactGuard({ times, day }) } };
      const key = await deps.fenceKey();
      const toMark = (purpose: 'remember' | 'verify', memory: EditedMemory) =>
        createFence(key, { userId: call.userId, purpose }, [
          fact,
          speaker ?? '',
          ...memory.paths,
          ...memory.files.map(({ content }) => content),
        ]);

      let memory = await look(deps, fact, call);
      const question: Question = {
        fact,
        speaker,
        day,
        timeZone,
        times,
        maxWrites,
        mark: toMark('remember', memory),
      };
      const askModel = async (problem: string | null) =>
        parseEdits(
          await model.ask(
            {
              system: SYSTEM_PROMPT,
              prompt: toPrompt(memory, question, problem),
              schema: REPLY_SCHEMA,
              maxTokens: REPLY_TOKENS,
            },
            { call, timeoutMs: remaining(until) },
          ),
          REMEMBER_KINDS,
        );

      // What fails for its form goes back once.
      const reply = await askModel(null);
      memory = await showNamed(deps, memory, reply?.operations ?? [], call);
      let examined = await examineInSlices(memory, reply?.operations ?? [], options);
      let malformed = reply?.malformed.length ?? 0;
      if (reply === null || malformed > 0 || examined.some(isFaulty)) {
        const again = await askModel(toProblem(examined, reply));
        if (reply === null && again === null) {
          throw createProviderError('MODEL_FAILED', { reason: 'malformed' });
        }
        malformed = again === null ? malformed : again.malformed.length;
        const merged = mergeReplies(examined, again?.operations ?? []);
        memory = await showNamed(deps, memory, merged, call);
        examined = again === null ? examined : await examineInSlices(memory, merged, options);
      }

      const candidates = examined.filter(({ fault, isKnown }) => fault === null && !isKnown);
      const toJudge = candidates.filter((one) => one.class === 'meaning');
      const verdicts =
        toJudge.length === 0
          ? new Map<number, Verdict>()
          : await askVerifier(verifier, toJudge, {
              mark: toMark('verify', memory),
              question,
              call,
              until,
            });
      const isGood = (one: ExaminedOperation) =>
        one.class === 'certain' || passes(one, verdicts.get(one.operation.number) ?? null);
      const refused: Refusal[] = [
        ...examined.filter(isFaulty).map((one) => toRefusal(one, one.fault?.why ?? '')),
        ...candidates
          .filter((one) => !isGood(one))
          .map((one) =>
            toRefusal(one, `the verifier says: ${verdicts.get(one.operation.number) ?? 'unsure'}`),
          ),
        ...Array.from({ length: malformed }, () => ({
          why: 'an operation of another form',
          lines: [],
        })),
      ];
      let accepted = candidates.filter(isGood);

      for (let attempt = 1; ; attempt += 1) {
        const result = applyWithCatalog(memory, accepted, options);
        refused.push(...result.stale.map((one) => toRefusal(one, 'its lines changed meanwhile')));
        accepted = result.applied;
        if (result.files.length > maxWrites) throw tooManyWrites(result.files.length, maxWrites);
        const outcome = toOutcome(result.files, refused, dryRun);
        if (dryRun) return await toPreview(result.files, refused, outcome);
        const change = {
          files: result.files.map(({ path, version, after }) => ({
            path,
            version,
            content: after,
          })),
          reason,
        };
        try {
          const kept = await files.writeAll(
            change,
            (written) => toKept(outcome, refused, written),
            call,
          );
          return await withDiffs(deps, kept, refused);
        } catch (error) {
          const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
          if (!isConflict || attempt === ATTEMPTS) throw error;
          memory = await readAgain(deps, memory, call);
        }
      }
    },
  };
}

/** Before anything of it leaves the service. */
function checkFact(fact: string, speaker: string | null): void {
  checkContent(fact, Number.MAX_SAFE_INTEGER);
  const secret = nameSecret(fact) ?? nameSecret(speaker ?? '');
  if (secret === null) return;
  throw new MemoryError('INVALID_CONTENT', `The text looks like ${secret}: it is not remembered.`, {
    details: { reason: 'secret' },
  });
}

/** A reply may hold many operations: others have their turn between them. */
async function examineInSlices(
  memory: EditedMemory,
  operations: readonly EditOperation[],
  options: ExamineOptions,
): Promise<ExaminedOperation[]> {
  const pause = createPause();
  const examined: ExaminedOperation[] = [];
  for (const one of examineEach(memory, operations, options)) {
    examined.push(one);
    await pause();
  }
  return examined;
}

function isFaulty({ fault, isKnown }: ExaminedOperation): boolean {
  return fault !== null && !isKnown;
}

function remaining(until: number): number {
  return Math.max(1, Math.round(until - performance.now()));
}

/** One question for all operations. Whatever fails here, nothing is stored, and a repeat may help. */
async function askVerifier(
  verifier: Model,
  operations: readonly ExaminedOperation[],
  {
    mark,
    question,
    call,
    until,
  }: { mark: string; question: Question; call: ToolCall; until: number },
): Promise<Map<number, Verdict>> {
  const prompt = toVerifierPrompt(operations, { mark, about: toOccasion(question) });
  const timeoutMs = remaining(until);
  const request = {
    system: VERIFIER_PROMPT,
    prompt,
    schema: VERDICTS_SCHEMA,
    maxTokens: REPLY_TOKENS,
  };
  let reply: string;
  try {
    reply = await verifier.ask(request, { call, timeoutMs });
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code !== 'MODEL_TIMEOUT') throw error;
    throw createProviderError('MODEL_FAILED', { reason: 'timeout' }, { cause: error });
  }
  const verdicts = parseVerdicts(reply);
  if (verdicts !== null && operations.some(({ operation }) => verdicts.has(operation.number))) {
    return verdicts;
  }
  throw createProviderError('MODEL_FAILED', { reason: 'malformed' });
}

/** What the model is told of its first answer. */
function toProblem(
  examined: readonly ExaminedOperation[],
  reply: ReturnType<typeof parseEdits>,
): string {
  if (reply === null) return 'Your last answer was not of the form asked for. Answer again.';
  const reasons = [
    ...examined
      .filter(isFaulty)
      .map(({ operation, fault }) => `operation ${operation.number}: ${fault?.why}`),
    ...reply.malformed.map((number) => `operation ${number}: not of the form asked for`),
  ];
  return `Of your last answer these were refused: ${reasons.join('; ')}. The others are taken. Propose the refused ones again, mended, or leave them out.`;
}

/**
 * What passed of the first reply with the second: a repeat of what passed is left out, and the others
 * get the numbers that are free.
 */
function mergeReplies(
  examined: readonly ExaminedOperation[],
  again: readonly EditOperation[],
): EditOperation[] {
  const taken = examined.filter((one) => !isFaulty(one)).map(({ operation }) => operation);
  const toKey = ({ kind, remove, add }: EditOperation) =>
    JSON.stringify([kind, remove.map(({ path, text }) => [path, text]), add]);
  const known = new Set(taken.map(toKey));
  const merged = [...taken];
  let next = 1;
  for (const operation of again.filter((one) => !known.has(toKey(one)))) {
    while (taken.some(({ number }) => number === next)) next += 1;
    merged.push({ ...operation, number: next });
    next += 1;
  }
  return merged.sort((a, b) => a.number - b.number);
}

/** A file that is created comes into the catalog where there is one, whether or not the model thought of it. */
function applyWithCatalog(
  memory: EditedMemory,
  accepted: readonly ExaminedOperation[],
  options: ExamineOptions,
) {
  const result = applyEdits(memory, accepted, options);
  const index =
    result.files.find(({ path }) => path === INDEX_PATH)?.after ??
    memory.files.find(({ path }) => path === INDEX_PATH)?.content;
  if (index === undefined) return result;
  const linked = findLinks(index, INDEX_PATH);
  const entries = result.files
    .filter(({ before, path }) => before === null && !linked.includes(path))
    .map(({ path, after }): EditOperation => {
      const name = path.slice('user/'.length);
      const title =
        after
          .split('\n')
          .map(parseHeading)
          .find((heading) => heading !== null) ?? toTitle(name);
      const line = `- [${title.replace(/[[\]()]/g, '')}](${toTarget(name)})`;
      return {
        number: 0,
        kind: 'index',
        reason: '',
        remove: [],
        add: { path: INDEX_PATH, heading: null, lines: [line] },
        sources: [],
      };
    });
  if (entries.length === 0) return result;
  const all = examine(memory, [...accepted.map(({ operation }) => operation), ...entries], options);
  const own = all.slice(accepted.length).filter(({ fault }) => fault === null);
  const whole = applyEdits(memory, [...result.applied, ...own], options);
  return { ...whole, applied: result.applied, stale: result.stale };
}

/** A path as the target of a link: what would end it, or part it, is encoded. */
function toTarget(path: string): string {
  return path.replaceAll(/[\s()#[\]]/gu, (character) => {
    const encoded = encodeURIComponent(character);
    return encoded === character ? `%${character.charCodeAt(0).toString(16)}` : encoded;
  });
}

function toTitle(name: string): string {
  const base = name
    .slice(name.lastIndexOf('/') + 1)
    .replace(/\.md$/, '')
    .replaceAll(/[-_]/g, ' ');
  return base.charAt(0).toUpperCase() + base.slice(1);
}

/** What the model is shown: the catalog, files that were found, and the rest while there is room. */
async function look(
  deps: RememberDependencies,
  fact: string,
  call: ToolCall,
): Promise<EditedMemory> {
  const { files, search } = deps;
  const { files: first, nextCursor } = await files.list({ path: 'user/', limit: LISTED }, call);
  const catalog =
    nextCursor === null ? [] : (await files.list({ path: INDEX_PATH, limit: 1 }, call)).files;
  const listed = [...first, ...catalog].filter(({ path }) => isOpen(path));
  const request = {
    text: fact,
    // Shared memory is nobody's to correct here, and what is in it is known to others.
    scopes: [toScope(parseUserId(call.userId))],
    within: null,
    group: 'passage',
    limit: FOUND_PASSAGES,
    isFuzzy: true,
  } as const;
  const found = (await findHits(search, request, 'auto', call)).hits.filter(({ file }) =>
    isOpen(toVirtualPath(file)),
  );
  const shown = new Map<string, EditedFile>();
  let room = SHOWN_CHARS;
  const show = (file: EditedFile) => {
    const lines = file.content.split('\n').filter((_line, at) => file.shown?.has(at + 1) ?? true);
    const characters = lines.join('\n').length;
    if (characters > room || shown.size >= SHOWN_FILES) return false;
    room -= characters;
    shown.set(file.path, file);
    return true;
  };
  if (listed.some(({ path }) => path === INDEX_PATH)) show(await readFile(files, INDEX_PATH, call));
  const logged: Hit[] = [];
  for (const hits of byFile(found)) {
    const [{ file }] = hits;
    const path = toVirtualPath(file);
    if (shown.has(path)) continue;
    const { version, content } = file;
    const parts = content.length <= WHOLE_CHARS ? {} : { shown: toNumbers(hits) };
    if (show({ path, version, content, ...parts })) logged.push(...hits);
  }
  await logHits(search, logged, 'find', call);
  // Words that nothing has in common may be about the same thing: a small memory is shown whole.
  const others = listed.filter(({ path, size }) => !shown.has(path) && size <= WHOLE_CHARS);
  for (const { path, size } of others.sort(newestFirst)) {
    if (size > room || shown.size >= SHOWN_FILES) break;
    show(await readFile(files, path, call));
  }
  return { files: [...shown.values()], paths: new Set(listed.map(({ path }) => path)), fact };
}

/** Files that operations name and that were not shown, and the dates of the lines of all they name. */
async function showNamed(
  deps: RememberDependencies,
  memory: EditedMemory,
  operations: readonly EditOperation[],
  call: ToolCall,
): Promise<EditedMemory> {
  const named = new Set(
    operations.flatMap(({ remove, add, sources }) =>
      [...remove, ...sources, ...(add === null ? [] : [add])].map(({ path }) => path),
    ),
  );
  const known = new Map(memory.files.map((file) => [file.path, file]));
  const scope = toScope(parseUserId(call.userId));
  for (const path of named) {
    if (!memory.paths.has(path) || !isOpen(path)) continue;
    const file = known.get(path) ?? (await readFile(deps.files, path, call));
    if (file.times !== undefined) continue;
    const { version, times } = await deps.revisions.lineTimes({
      scope,
      path: path.slice('user/'.length),
    });
    known.set(path, version === file.version ? { ...file, times } : file);
  }
  return { ...memory, files: [...known.values()] };
}

/** The same files as they are now. */
async function readAgain(
  deps: RememberDependencies,
  memory: EditedMemory,
  call: ToolCall,
): Promise<EditedMemory> {
  const { files: listed } = await deps.files.list({ path: 'user/', limit: LISTED }, call);
  const paths = new Set(listed.map(({ path }) => path).filter(isOpen));
  const files: EditedFile[] = [];
  for (const path of memory.paths)
    if (paths.has(path) && memory.files.some((file) => file.path === path))
      files.push(await readFile(deps.files, path, call));
  for (const path of paths)
    if (!memory.paths.has(path)) files.push(await readFile(deps.files, path, call));
  return { ...memory, files, paths };
}

async function readFile(files: Files, path: string, call: ToolCall): Promise<EditedFile> {
  const { version, content } = await files.read({ path }, call);
  return { path, version, content };
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

/** The numbers of the lines of the passages that were found. */
function toNumbers(hits: readonly Hit[]): Set<number> {
  const numbers = new Set<number>();
  for (const { passages, passage } of hits) {
    const { startLine = 1, endLine = 0 } = passages[passage] ?? {};
    for (let line = startLine; line <= endLine; line += 1) numbers.add(line);
  }
  return numbers;
}

function newestFirst(a: ListedFile, b: ListedFile): number {
  return a.updatedAt > b.updatedAt ? -1 : 1;
}

type Changed = ReturnType<typeof applyEdits>['files'];

/** The lines that would have come; of an operation that only removes, those that would have gone. */
function toRefusal({ add, remove }: ExaminedOperation, why: string): Refusal {
  return { why, lines: add === null ? remove.map(({ text }) => text) : add.lines };
}

function tooManyWrites(count: number, max: number): MemoryError {
  return new MemoryError('QUOTA_EXCEEDED', `${count} files would change; at most ${max} may.`, {
    details: { limit: 'maxWrites', max },
  });
}

/** In the service's words: those of a model would speak to the agent. */
function toOutcome(
  files: Changed,
  refused: readonly Refusal[],
  isPreview: boolean,
): Pick<Kept, 'summary' | 'unchanged'> {
  const unchanged = files.length === 0 && refused.length === 0;
  if (unchanged) return { unchanged, summary: 'Nothing was written: memory says so already.' };
  const left = refused.length === 0 ? '' : ` Refused: ${refused.length}.`;
  if (files.length === 0) return { unchanged, summary: `Nothing was written.${left}` };
  const listOf = (isNew: boolean) =>
    files.filter(({ before }) => (before === null) === isNew).map(({ path }) => path);
  const [create, change] = isPreview ? ['would create', 'would change'] : ['created', 'changed'];
  const parts = [
    ...(listOf(true).length === 0 ? [] : [`${create} ${listOf(true).join(', ')}`]),
    ...(listOf(false).length === 0 ? [] : [`${change} ${listOf(false).join(', ')}`]),
  ].join('; ');
  return { unchanged, summary: `${parts.charAt(0).toUpperCase()}${parts.slice(1)}.${left}` };
}

function toKept(
  outcome: Pick<Kept, 'summary' | 'unchanged'>,
  refused: readonly Refusal[],
  written: readonly WriteResult[],
): Kept {
  const writes = written.map(({ path, version, revisionId }) => ({ path, version, revisionId }));
  return { ...outcome, writes, refused: refused.map(({ why }) => why) };
}

/** The answer, the first or a repeated one, with the diff of each revision that is still kept. */
async function withDiffs(
  { revisions }: Pick<RememberDependencies, 'revisions'>,
  { summary, writes, refused: reasons, unchanged }: Kept,
  refusals: readonly Refusal[] | null,
): Promise<Remembered> {
  const pause = createPause();
  const answered: Remembered['writes'] = [];
  for (const write of writes) {
    let diff = '';
    try {
      const { before, after } = await revisions.contents(write.revisionId);
      await pause();
      diff = unifiedDiff(before, after, { path: write.path });
    } catch (error) {
      // Pruned since the first answer; or the database went away, after what was to be done is done.
      if (!(error instanceof MemoryError)) throw error;
    }
    answered.push({ ...write, diff });
    await pause();
  }
  // A repeat has no lines of what was refused: nothing of it is kept.
  const refused = reasons.map((why, index) => refusals?.[index] ?? { why, lines: [] });
  return { summary, writes: answered, refused: [...refused], unchanged };
}

async function toPreview(
  files: Changed,
  refused: Refusal[],
  outcome: Pick<Kept, 'summary' | 'unchanged'>,
): Promise<Remembered> {
  const pause = createPause();
  const writes: Remembered['writes'] = [];
  for (const { path, version, before, after } of files) {
    const diff = unifiedDiff(before, after, { path });
    writes.push({ path, version: version + 1, revisionId: null, diff });
    await pause();
  }
  return { ...outcome, writes, refused };
}
