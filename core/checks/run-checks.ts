import { nearest } from '../values/nearest.ts';
import type { FileKey, ScopeKey } from '../contracts/records.ts';
import type { ToolCall } from '../contracts/tool.ts';
import { toLineNumbers } from '../encoding/line-numbers.ts';
import { CHECK_ACTOR } from '../files/service-actors.ts';
import { homeOf, parsePhysicalPath, toOwner, toPhysicalPath, toScope } from '../files/paths.ts';
import { listExpired, type Moment } from '../markdown/valid-until.ts';
import { detect } from '../screening/detect.ts';
import { noTrace } from '../telemetry/tracer.ts';
import { createPause } from '../time/pause.ts';
import { toTime } from '../time/time.ts';
import type { CheckPlace, CheckResult, CheckRun } from '../schemas/checks.ts';
import type { Check, Rule, Sought } from './check.ts';
import type { CheckedMemory } from './checked-memory.ts';

/** What running checks works with. */
export interface CheckDependencies {
  memory: CheckedMemory;
  /** In which the days of memory end. */
  timeZone: string;
  now: () => number;
}

/** How checks are run. */
export interface CheckOptions {
  progress?: CheckProgress | null;
  /** Look at these memories alone, whatever else a check is about. */
  scopes?: readonly ScopeKey[] | null;
}

/** Told how a run of checks goes on. */
export interface CheckProgress {
  /** So many files were looked at. */
  files(done: number): void;
  checks(done: number, total: number): void;
}

const FILES_AT_ONCE = 8;
/** Places that a result names. */
const NAMED_PLACES = 20;
/** Places that a check remembers while it goes on. */
const MOST_PLACES = 5_000;
/** Names that a missing one is compared with. */
const COMPARED = 5_000;

/**
 * Runs checks, in their order. Files are read page by page, each once for all checks, with pauses for
 * the calls of users. A result names places, never what stands there.
 */
export async function runChecks(
  deps: CheckDependencies,
  checks: readonly Check[],
  { progress = null, scopes = null }: CheckOptions = {},
): Promise<CheckRun> {
  const at = deps.now();
  const ofFiles = checks.filter(({ rule }) => rule.kind !== 'ask' && rule.kind !== 'hygiene');
  const { results: inFiles, users } = await lookAtFiles(deps, ofFiles, {
    at,
    scopes: scopes ?? toScopesOf(checks),
    progress,
  });
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
  /** Files with lines that match, by the memory that they count for. */
  readonly places = new Map<string, CheckPlace[]>();
  /** For each memory that it is about: lines that match, files with any, and bytes. */
  readonly matches = new Map<string, number>();
  readonly files = new Map<string, number>();
  readonly bytes = new Map<string, number>();
  #remembered = 0;

  constructor(check: Check) {
    this.check = check;
  }

  add(group: string, path: string, lines: readonly number[]): void {
    this.files.set(group, (this.files.get(group) ?? 0) + 1);
    if (this.#remembered >= MOST_PLACES) return;
    this.#remembered += 1;
    const places = this.places.get(group) ?? [];
    places.push({ path, lines: lines.slice(0, NAMED_PLACES) });
    this.places.set(group, places);
  }
}

async function lookAtFiles(
  { memory, timeZone }: CheckDependencies,
  checks: readonly Check[],
  {
    at,
    scopes,
    progress,
  }: { at: number; scopes: readonly (ScopeKey | null)[]; progress: CheckProgress | null },
): Promise<{ results: Map<Check, CheckResult>; users: Set<string> }> {
  const findings = checks.map((check) => new Finding(check));
  const users = new Set<string>();
  const paths = new Set<string>();
  const moment = { at, timeZone };
  let files = 0;
  for (const scope of scopes) {
    for await (const page of memory.pages(scope)) {
      for (const file of page) {
        const { userId } = toOwner(file.scope);
        if (userId !== null) users.add(userId);
        if (paths.size < COMPARED) paths.add(toPhysicalPath(file));
      }
      if (findings.length > 0) await lookAtPage(memory, page, { findings, moment });
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
    if (target.kind === 'user') scopes.add(toScope({ userId: target.userId }));
    // The names of others help to say what a missing one may be.
    else if (target.kind === 'space') return [null];
    else scopes.add(parsePhysicalPath(target.path).scope);
  }
  return [...scopes];
}

async function lookAtPage(
  memory: CheckedMemory,
  page: readonly FileKey[],
  { findings, moment }: { findings: readonly Finding[]; moment: Moment },
): Promise<void> {
  const pause = createPause();
  let batch: { key: FileKey; own: Finding[] }[] = [];
  const lookAtBatch = async () => {
    const files = await Promise.all(batch.map(({ key }) => memory.read(key)));
    for (const [at, { key, own }] of batch.entries()) {
      const read = files[at] ?? null;
      if (read === null) continue;
      const file = new LookedAtFile(key, read, moment);
      for (const finding of own) {
        lookAtFile(finding, file);
        const turn = pause();
        if (turn !== undefined) await turn;
      }
    }
    batch = [];
  };
  for (const key of page) {
    const named: NamedFile = { ...toOwner(key.scope), name: toPhysicalPath(key), path: key.path };
    const own = findings.filter(({ check }) => isAbout(check, named));
    if (own.length > 0) batch.push({ key, own });
    if (batch.length >= FILES_AT_ONCE) await lookAtBatch();
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  await lookAtBatch();
}

/** A file that several checks look at: what is the same for all of them is looked for once. */
class LookedAtFile {
  readonly key: FileKey;
  readonly content: string;
  readonly size: number;
  readonly #moment: Moment;
  #secrets: number[] | null = null;
  #expired: number[] | null = null;

  constructor(key: FileKey, file: { content: string; size: number }, moment: Moment) {
    this.key = key;
    this.content = file.content;
    this.size = file.size;
    this.#moment = moment;
  }

  /** The lines, from 1, that have what is sought; of a file that has expired as a whole, the first. */
  findLines(sought: Sought): number[] {
    if (sought.kind === 'secret') {
      return (this.#secrets ??= this.#toLines(
        detect(this.content, SECRETS).map(({ start }) => start),
      ));
    }
    if (sought.kind === 'expired') {
      return (this.#expired ??= listExpired(this.content, this.#moment).map(
        ({ line, saidIn }) => line ?? saidIn,
      ));
    }
    return this.#toLines(
      sought.kind === 'pattern'
        ? sought.find(this.content).map(({ start }) => start)
        : findText(this.content, sought.text),
    );
  }

  #toLines(starts: readonly number[]): number[] {
    return starts.length === 0 ? [] : [...new Set(toLineNumbers(this.content, starts))];
  }
}

const SECRETS = new Set(['secrets'] as const);

function findText(content: string, text: string): number[] {
  const starts: number[] = [];
  for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + text.length)) {
    starts.push(at);
  }
  return starts;
}

/** What checks know a file by: its path as tools see it, and as operators do. */
interface NamedFile extends ReturnType<typeof toOwner> {
  path: string;
  name: string;
}

/** Whether a check is about a file. */
function isAbout({ target }: Check, { userId, spaceId, path, name }: NamedFile): boolean {
  switch (target.kind) {
    case 'everywhere':
      return true;
    case 'path':
      return name === target.path;
    case 'space':
      return spaceId === target.spaceId && (target.path === null || name === target.path);
    case 'user':
      return target.path === null ? userId === target.userId : name === target.path;
    case 'each_user':
      return userId !== null && (target.path === null || target.path === `user/${path}`);
  }
}

/** What a check counts by: each user's memory by itself, or all that it is about. */
function toGroup({ target }: Check, { scope }: FileKey): string {
  return target.kind === 'each_user' ? scope : '';
}

function lookAtFile(finding: Finding, file: LookedAtFile): void {
  const { check, matches, bytes } = finding;
  const { rule } = check;
  const group = toGroup(check, file.key);
  bytes.set(group, (bytes.get(group) ?? 0) + file.size);
  if (!('sought' in rule)) return;
  const lines = file.findLines(rule.sought);
  if (lines.length > 0 && rule.kind !== 'contains') {
    finding.add(group, toPhysicalPath(file.key), lines);
  }
  matches.set(group, (matches.get(group) ?? 0) + lines.length);
}

/** What was found of the users and files that there are, to say what a missing name may be. */
interface Known {
  users: ReadonlySet<string>;
  paths: ReadonlySet<string>;
}

/** Why a check fails. */
interface Fault extends Pick<CheckResult, 'near'> {
  why: string;
  /** The memories in which it fails, where it is about several; absent: wherever something was found. */
  groups?: readonly string[];
}

function toResult(finding: Finding, known: Known): CheckResult {
  const { name } = finding.check;
  const fault = findFault(finding, known);
  if (fault === null) return { name, passed: true };
  const { why, near, groups = [...finding.files.keys()] } = fault;
  const isOfEachUser = finding.check.target.kind === 'each_user';
  const places: CheckPlace[] = [];
  let count = 0;
  for (const group of groups) {
    const found = finding.places.get(group) ?? [];
    // A user without anything to point at is named by the folder.
    const own =
      found.length > 0 || !isOfEachUser ? found : [{ path: homeOf(group as ScopeKey), lines: [] }];
    count += Math.max(own.length, finding.files.get(group) ?? 0);
    places.push(...own.slice(0, Math.max(0, NAMED_PLACES - places.length)));
  }
  const more = count - places.length;
  return {
    name,
    passed: false,
    why,
    ...(near !== undefined && { near }),
    ...(places.length > 0 && { places }),
    ...(places.length > 0 && more > 0 && { more }),
  };
}

/** Why a check of files fails; `null` if it passes. */
function findFault(finding: Finding, known: Known): Fault | null {
  const { check, bytes, matches, files } = finding;
  const { target, rule } = check;
  const isOfEachUser = target.kind === 'each_user';
  if (rule.kind === 'exists' && 'path' in target) return findExistence(finding, rule, known);
  if (bytes.size === 0 && target.kind !== 'everywhere') return nameMissing(check, known);
  const inUsers = (what: string, groups: readonly string[]): Fault => ({
    why: `${what} in ${countUsers(groups.length)}.`,
    groups,
  });
  switch (rule.kind) {
    case 'contains': {
      const without = toGroups(matches, (lines) => lines === 0);
      if (without.length === 0) return null;
      return isOfEachUser ? inUsers('Missing', without) : { why: 'It is not there.' };
    }
    case 'absent': {
      const count = [...files.values()].reduce((sum, one) => sum + one, 0);
      return count === 0 ? null : { why: `It is in ${count === 1 ? '1 file' : `${count} files`}.` };
    }
    case 'at_most_one_line': {
      const above = toGroups(matches, (lines) => lines > 1);
      const [first] = above;
      if (first === undefined) return null;
      return isOfEachUser
        ? inUsers('More than one line', above)
        : { why: `${matches.get(first) ?? 0} lines match.` };
    }
    case 'max_bytes': {
      const above = toGroups(bytes, (size) => size > rule.bytes);
      const [first] = above;
      if (first === undefined) return null;
      return isOfEachUser
        ? inUsers(`More than ${rule.bytes} bytes`, above)
        : { why: `It has ${bytes.get(first) ?? 0} bytes, more than ${rule.bytes}.` };
    }
    default:
      return null;
  }
}

function toGroups(
  values: ReadonlyMap<string, number>,
  isMeant: (value: number) => boolean,
): string[] {
  return [...values].filter(([, value]) => isMeant(value)).map(([group]) => group);
}

function findExistence(
  { check, bytes }: Finding,
  { isWanted }: Extract<Rule, { kind: 'exists' }>,
  known: Known,
): Fault | null {
  if (check.target.kind !== 'each_user') {
    if (bytes.size > 0) return isWanted ? null : { why: 'The file exists.' };
    return isWanted ? nameMissing(check, known) : null;
  }
  if (known.users.size === 0) return nameMissing(check, known);
  if (isWanted) {
    const missing = [...known.users]
      .map((userId) => toScope({ userId }))
      .filter((scope) => !bytes.has(scope));
    return missing.length === 0
      ? null
      : { why: `${countUsers(missing.length)} without it.`, groups: missing };
  }
  const having = [...bytes.keys()];
  return having.length === 0
    ? null
    : { why: `${countUsers(having.length)} with it.`, groups: having };
}

/** Says that what a check is about does not exist, with the nearest name that does. */
function nameMissing({ target }: Check, { users, paths }: Known): Fault {
  if (target.kind === 'each_user' && target.path === null) return { why: 'There is no user.' };
  if (target.kind === 'everywhere') return { why: 'There is no file.' };
  if (target.kind === 'space' && target.path === null) {
    return { why: `The space ${target.spaceId} has no file.` };
  }
  if (target.kind === 'user' && target.path === null) {
    const near = nearest(target.userId, [...users]);
    return { why: `There is no user ${target.userId}.`, ...(near !== null && { near }) };
  }
  const path = target.path ?? '';
  const near = nearest(path, [...paths]);
  return { why: `There is no file ${path}.`, ...(near !== null && { near }) };
}

function countUsers(count: number): string {
  return count === 1 ? '1 user' : `${count} users`;
}

/** Asks a question, as a find of the user would, and looks for what is expected. */
async function ask(
  deps: CheckDependencies,
  { name, target }: Check,
  { rule, users }: { rule: Extract<Rule, { kind: 'ask' }>; users: ReadonlySet<string> },
): Promise<CheckResult> {
  const userId = target.kind === 'user' ? target.userId : '';
  const { memory } = deps;
  if (!(await hasFiles(memory, userId, users))) {
    const { why, near } = nameMissing({ name, target, rule }, { users, paths: new Set() });
    return { name, passed: false, why, ...(near !== undefined && { near }), rank: null };
  }
  const call = toCall(userId);
  const { question: query, line, path, within, isContext } = rule;
  if (isContext) {
    const { context, sources } = await memory.context({ query, model: false }, call);
    const passed =
      (line === null || context.includes(line)) &&
      (path === null || sources.some((source) => source.path === path));
    return { name, passed, ...(!passed && { why: 'The context has it not.' }) };
  }
  const { results } = await memory.find({ query, limit: 50, group: 'passage' }, call);
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
  memory: CheckedMemory,
  userId: string,
  users: ReadonlySet<string>,
): Promise<boolean> {
  if (users.has(userId)) return true;
  for await (const page of memory.pages(toScope({ userId }))) return page.length > 0;
  return false;
}

/** A call of a user that counts as none. */
export function toCall(userId: string): ToolCall {
  return {
    userId,
    actor: CHECK_ACTOR,
    tool: CHECK_ACTOR,
    toolCallId: CHECK_ACTOR,
    trace: noTrace(''),
  };
}

async function lookAtHygiene(
  { memory: { hygiene } }: CheckDependencies,
  { name, target }: Check,
  users: ReadonlySet<string>,
): Promise<CheckResult> {
  if (hygiene === null) return { name, passed: true };
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
