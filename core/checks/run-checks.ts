import { nearest } from '../values/nearest.ts';
import type { FileContent, FileListing, ScopeKey } from '../contracts/records.ts';
import type { Storage } from '../contracts/storage.ts';
import type { ContextService, FindService, ToolCall } from '../contracts/tool.ts';
import { toLineNumbers } from '../encoding/line-numbers.ts';
import { CHECK_ACTOR } from '../files/service-actors.ts';
import {
  parsePhysicalPath,
  parseUserId,
  toOwner,
  toPhysicalPath,
  toScope,
} from '../files/paths.ts';
import { listExpired, type Moment } from '../markdown/valid-until.ts';
import { detect } from '../screening/detect.ts';
import type { Observability } from '../telemetry/observability.ts';
import { noTrace } from '../telemetry/tracer.ts';
import { createPause } from '../time/pause.ts';
import { toTime } from '../time/time.ts';
import type { CheckPlace, CheckResult, CheckRun } from '../schemas/checks.ts';
import type { Check, Rule, Sought } from './check.ts';

/** What running checks works with. */
export interface CheckDependencies {
  storage: Storage;
  /** Answers without a row in the access log. */
  find: FindService;
  context: ContextService;
  hygiene: Observability['hygiene'];
  /** In which the days of memory end. */
  timeZone: string;
  now: () => number;
}

/** Told how a run of checks goes on. */
export interface CheckProgress {
  /** So many files were looked at. */
  files(done: number): void;
  checks(done: number, total: number): void;
}

const PAGE = 500;
const FILES_AT_ONCE = 8;
/** Places that a result names. */
const NAMED_PLACES = 20;
/** Names that a missing one is compared with. */
const COMPARED = 5_000;

/**
 * Runs checks, in their order. Files are read page by page, each once for all checks, with pauses for
 * the calls of users. A result names places, never what stands there.
 */
export async function runChecks(
  deps: CheckDependencies,
  checks: readonly Check[],
  progress: CheckProgress | null = null,
): Promise<CheckRun> {
  const at = deps.now();
  const ofFiles = checks.filter(({ rule }) => rule.kind !== 'ask' && rule.kind !== 'hygiene');
  const { results: inFiles, users } = await lookAtFiles(deps, ofFiles, { at, checks, progress });
  const results: CheckResult[] = [];
  for (const check of checks) {
    const { rule } = check;
    if (rule.kind === 'ask') results.push(await ask(deps, check, { rule, users }));
    else if (rule.kind === 'hygiene') results.push(await lookAtHygiene(deps, check, users));
    else results.push(inFiles.get(check) as CheckResult);
    progress?.checks(results.length, checks.length);
  }
  const failed = results.filter(({ passed }) => !passed).length;
  return { at: toTime(at), passed: results.length - failed, failed, results };
}

/** What a check of files has found so far. */
class Finding {
  readonly check: Check;
  readonly places: CheckPlace[] = [];
  /** For each memory or file that it is about: lines that match, and bytes. */
  readonly matches = new Map<string, number>();
  readonly bytes = new Map<string, number>();
  count = 0;

  constructor(check: Check) {
    this.check = check;
  }

  add(path: string, lines: readonly number[]): void {
    this.count += 1;
    if (this.places.length < NAMED_PLACES) {
      this.places.push({ path, lines: lines.slice(0, NAMED_PLACES) });
    }
  }
}

async function lookAtFiles(
  { storage, timeZone }: CheckDependencies,
  checks: readonly Check[],
  {
    at,
    checks: all,
    progress,
  }: { at: number; checks: readonly Check[]; progress: CheckProgress | null },
): Promise<{ results: Map<Check, CheckResult>; users: Set<string> }> {
  const findings = checks.map((check) => new Finding(check));
  const users = new Set<string>();
  const paths = new Set<string>();
  const moment = { at, timeZone };
  let files = 0;
  for (const scope of toScopesOf(all)) {
    for await (const page of listPages(storage, scope)) {
      for (const listing of page) {
        const { userId } = toOwner(listing.scope);
        if (userId !== null) users.add(userId);
        if (paths.size < COMPARED) paths.add(toPhysicalPath(listing));
      }
      if (findings.length > 0) await lookAtPage(storage, page, { findings, moment });
      files += page.length;
      progress?.files(files);
    }
  }
  const toEnd = (finding: Finding) => toResult(finding, { users, paths });
  return { results: new Map(findings.map((one) => [one.check, toEnd(one)])), users };
}

/** The memories to read; `null` for all. */
function toScopesOf(checks: readonly Check[]): (ScopeKey | null)[] {
  const scopes = new Set<ScopeKey>();
  for (const { target } of checks) {
    if (target.kind === 'each_user' || target.kind === 'everywhere') return [null];
    if (target.kind === 'user') scopes.add(toScope({ userId: parseUserId(target.userId) }));
    // The names of others help to say what a missing one may be.
    else if (target.kind === 'space') return [null];
    else scopes.add(parsePhysicalPath(target.path).scope);
  }
  return [...scopes];
}

async function* listPages(
  storage: Storage,
  scope: ScopeKey | null,
): AsyncGenerator<readonly FileListing[]> {
  let after: readonly (string | number)[] | null = null;
  do {
    const page = { limit: PAGE, order: 'asc' as const, after, sort: 'path' as const };
    const { items, next }: Awaited<ReturnType<Storage['files']['listAll']>> =
      await storage.files.listAll(scope === null ? {} : { scope }, page);
    yield items;
    after = next;
  } while (after !== null);
}

async function lookAtPage(
  storage: Storage,
  listings: readonly FileListing[],
  { findings, moment }: { findings: readonly Finding[]; moment: Moment },
): Promise<void> {
  const pause = createPause();
  const wanted = listings.filter((listing) =>
    findings.some(({ check }) => isAbout(check, listing)),
  );
  for (let from = 0; from < wanted.length; from += FILES_AT_ONCE) {
    const some = wanted.slice(from, from + FILES_AT_ONCE);
    const files = await Promise.all(some.map((listing) => storage.files.read(listing)));
    for (const [index, listing] of some.entries()) {
      const file = files[index] ?? null;
      if (file === null) continue;
      for (const finding of findings) {
        if (!isAbout(finding.check, listing)) continue;
        lookAtFile(finding, { listing, file, moment });
        await pause();
      }
    }
  }
}

/** Whether a check is about a file. */
function isAbout({ target }: Check, file: Pick<FileListing, 'scope' | 'path'>): boolean {
  const { userId, spaceId } = toOwner(file.scope);
  switch (target.kind) {
    case 'everywhere':
      return true;
    case 'path':
      return toPhysicalPath(file) === target.path;
    case 'space':
      return spaceId === target.spaceId && isPath(target.path, file);
    case 'user':
      return target.path === null ? userId === target.userId : toPhysicalPath(file) === target.path;
    case 'each_user':
      return userId !== null && (target.path === null || target.path === `user/${file.path}`);
  }
}

function isPath(path: string | null, file: Pick<FileListing, 'scope' | 'path'>): boolean {
  return path === null || toPhysicalPath(file) === path;
}

/** What a check counts by: each user's memory by itself, or all that it is about. */
function toGroup({ target }: Check, { scope }: Pick<FileListing, 'scope'>): string {
  return target.kind === 'each_user' ? scope : '';
}

function lookAtFile(
  finding: Finding,
  { listing, file, moment }: { listing: FileListing; file: FileContent; moment: Moment },
): void {
  const { check, matches, bytes } = finding;
  const { rule } = check;
  const group = toGroup(check, listing);
  const path = toPhysicalPath(listing);
  bytes.set(group, (bytes.get(group) ?? 0) + file.size);
  if (!('sought' in rule)) return;
  const lines = findLines(file.content, rule.sought, moment);
  if (lines.length > 0 && rule.kind !== 'contains') finding.add(path, lines);
  matches.set(group, (matches.get(group) ?? 0) + lines.length);
}

/** The lines, from 1, that have what is sought; of a file that has expired as a whole, the first. */
function findLines(content: string, sought: Sought, moment: Moment): number[] {
  if (sought.kind === 'expired') {
    return listExpired(content, moment).map(({ line, saidIn }) => line ?? saidIn);
  }
  return [...new Set(toLineNumbers(content, findStarts(content, sought)))];
}

const SECRETS = new Set(['secrets'] as const);

function findStarts(content: string, sought: Exclude<Sought, { kind: 'expired' }>): number[] {
  if (sought.kind === 'secret') return detect(content, SECRETS).map(({ start }) => start);
  if (sought.kind === 'pattern') return sought.find(content).map(({ start }) => start);
  const starts: number[] = [];
  const { text } = sought;
  for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + text.length)) {
    starts.push(at);
  }
  return starts;
}

function toResult(
  finding: Finding,
  known: { users: ReadonlySet<string>; paths: ReadonlySet<string> },
): CheckResult {
  const why = findWhy(finding, known);
  const isShown = why !== null && finding.places.length > 0;
  return {
    name: finding.check.name,
    passed: why === null,
    ...(why !== null && { why }),
    ...(isShown && { places: finding.places }),
    ...(isShown && finding.count > NAMED_PLACES && { more: finding.count - NAMED_PLACES }),
  };
}

/** Why a check of files fails; `null` if it passes. */
function findWhy(
  finding: Finding,
  known: { users: ReadonlySet<string>; paths: ReadonlySet<string> },
): string | null {
  const { check, bytes, matches, count } = finding;
  const { target, rule } = check;
  if (rule.kind === 'exists' && 'path' in target) return findExistence(finding, rule, known);
  if (bytes.size === 0 && target.kind !== 'everywhere') return nameMissing(check, known);
  switch (rule.kind) {
    case 'contains': {
      const without = [...matches].filter(([, lines]) => lines === 0);
      if (without.length === 0) return null;
      return target.kind === 'each_user'
        ? `Missing in ${countUsers(without.length)}: ${nameScopes(without)}.`
        : 'It is not there.';
    }
    case 'absent':
      return count === 0 ? null : `It is in ${count === 1 ? '1 file' : `${count} files`}.`;
    case 'at_most_one_line': {
      const above = [...matches].filter(([, lines]) => lines > 1);
      if (above.length === 0) return null;
      return target.kind === 'each_user'
        ? `More than one line in ${countUsers(above.length)}: ${nameScopes(above)}.`
        : `${above[0]?.[1] ?? 0} lines match.`;
    }
    case 'max_bytes': {
      const above = [...bytes].filter(([, size]) => size > rule.bytes);
      if (above.length === 0) return null;
      return target.kind === 'each_user'
        ? `More than ${rule.bytes} bytes in ${countUsers(above.length)}: ${nameScopes(above)}.`
        : `It has ${above[0]?.[1] ?? 0} bytes, more than ${rule.bytes}.`;
    }
    default:
      return null;
  }
}

function findExistence(
  { check, bytes }: Finding,
  { isWanted }: Extract<Rule, { kind: 'exists' }>,
  known: { users: ReadonlySet<string>; paths: ReadonlySet<string> },
): string | null {
  if (check.target.kind !== 'each_user') {
    if (bytes.size > 0) return isWanted ? null : 'The file exists.';
    return isWanted ? nameMissing(check, known) : null;
  }
  if (known.users.size === 0) return nameMissing(check, known);
  const having = bytes.size;
  if (isWanted) {
    const missing = [...known.users].filter(
      (userId) => !bytes.has(toScope({ userId: parseUserId(userId) })),
    );
    return missing.length === 0
      ? null
      : `${countUsers(missing.length)} without it: ${missing.slice(0, NAMED_PLACES).join(', ')}.`;
  }
  return having === 0 ? null : `${countUsers(having)} with it: ${nameScopes([...bytes])}.`;
}

/** Says that what a check is about does not exist, with the nearest name that does. */
function nameMissing(
  { target }: Check,
  { users, paths }: { users: ReadonlySet<string>; paths: ReadonlySet<string> },
): string {
  if (target.kind === 'each_user' && target.path === null) return 'There is no user.';
  if (target.kind === 'everywhere') return 'There is no file.';
  if (target.kind === 'space' && target.path === null)
    return `The space ${target.spaceId} has no file.`;
  if (target.kind === 'user' && target.path === null) {
    const likely = nearest(target.userId, [...users]);
    return `There is no user ${target.userId}${hint(likely)}`;
  }
  const path = target.path ?? '';
  const likely = nearest(path, [...paths]);
  return `There is no file ${path}${hint(likely)}`;
}

const hint = (likely: string | null): string =>
  likely === null ? '.' : `. Did you mean ${likely}?`;

function countUsers(count: number): string {
  return count === 1 ? '1 user' : `${count} users`;
}

function nameScopes(found: readonly (readonly [string, number])[]): string {
  const names = found.map(([scope]) => toOwner(scope as ScopeKey).userId ?? scope);
  const more = names.length > NAMED_PLACES ? ', …' : '';
  return `${names.slice(0, NAMED_PLACES).join(', ')}${more}`;
}

/** Asks a question, as a find of the user would, and looks for what is expected. */
async function ask(
  deps: CheckDependencies,
  { name, target }: Check,
  { rule, users }: { rule: Extract<Rule, { kind: 'ask' }>; users: ReadonlySet<string> },
): Promise<CheckResult> {
  const userId = target.kind === 'user' ? target.userId : '';
  if (!(await hasFiles(deps.storage, userId, users))) {
    const why = nameMissing({ name, target, rule }, { users, paths: new Set() });
    return { name, passed: false, why, rank: null };
  }
  const call = toCall(userId);
  const { question: query, line, path, within, isContext } = rule;
  if (isContext) {
    const { context, sources } = await deps.context.context({ query, model: false }, call);
    const passed =
      (line === null || context.includes(line)) &&
      (path === null || sources.some((source) => source.path === path));
    return { name, passed, ...(!passed && { why: 'The context has it not.' }) };
  }
  const { results } = await deps.find.find({ query, limit: 50, group: 'passage' }, call);
  const place = results.findIndex(
    (result) =>
      (line === null || result.snippet.includes(line)) && (path === null || result.path === path),
  );
  const rank = place === -1 ? null : place + 1;
  const passed = rank !== null && rank <= within;
  const why =
    rank === null
      ? `Not among the first ${Math.max(within, results.length)} results.`
      : `At rank ${rank}, not within ${within}.`;
  return { name, passed, rank, ...(!passed && { why }) };
}

async function hasFiles(
  storage: Storage,
  userId: string,
  users: ReadonlySet<string>,
): Promise<boolean> {
  if (users.has(userId)) return true;
  const scope = toScope({ userId: parseUserId(userId) });
  return (await storage.files.list(scope, { prefix: '', after: null, limit: 1 })).length > 0;
}

function toCall(userId: string): ToolCall {
  return {
    userId,
    actor: CHECK_ACTOR,
    tool: CHECK_ACTOR,
    toolCallId: CHECK_ACTOR,
    trace: noTrace(''),
  };
}

async function lookAtHygiene(
  { hygiene }: CheckDependencies,
  { name, target }: Check,
  users: ReadonlySet<string>,
): Promise<CheckResult> {
  const ids = target.kind === 'user' ? [target.userId] : [...users];
  const places: CheckPlace[] = [];
  let count = 0;
  for (const userId of ids) {
    const report = await hygiene({ userId });
    count += report.findings.length + report.omitted;
    for (const finding of report.findings) {
      places.push(...finding.places.slice(0, Math.max(0, NAMED_PLACES - places.length)));
    }
  }
  if (ids.length === 0) return { name, passed: false, why: 'There is no user.' };
  if (count === 0) return { name, passed: true };
  const why = `Hygiene has ${count} ${count === 1 ? 'finding' : 'findings'}.`;
  return { name, passed: false, why, ...(places.length > 0 && { places }) };
}
