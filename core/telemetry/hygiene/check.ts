import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type {
  HygieneFinding,
  HygieneKind,
  HygieneQuery,
  HygieneReport,
} from '../../contracts/admin.ts';
import type { FileContent, FileKey, FileListing, ScopeKey } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { invalidField, MemoryError } from '../../errors.ts';
import { isExcludedFromDreams } from '../../files/dream-exclusion.ts';
import { isServiceActor } from '../../files/service-actors.ts';
import { listLinks } from '../../files/links.ts';
import { readRows } from '../../lists/page.ts';
import { readStructureInSteps } from '../../markdown/structure.ts';
import { createPause, inSlices } from '../../time/pause.ts';
import {
  belowUser,
  isUserPath,
  type Owner,
  parsePhysicalPath,
  toFilteredScope,
  toOwner,
  toPhysicalPath,
  toUserId,
  toVirtualPath,
} from '../../files/paths.ts';
import type { Screening } from '../../screening/screening.ts';
import { parseTimeOrNull, toTime } from '../../time/time.ts';
import { observationsOf } from '../events/observation-store.ts';
import { readValidUntil } from '../../markdown/valid-until.ts';
import { type FileEnds, findExpired } from './expired-findings.ts';
import { findContradictions } from './fact-findings.ts';
import { findForgetRequests, type ForgetDependencies } from './forget-findings.ts';
import { type Line, readLines } from './line.ts';
import { findRepeatedLines } from './line-findings.ts';
import { findBrokenLinks, findUnlisted, type Link } from './link-findings.ts';
import { findSecretInPath, findSecrets } from './secret-findings.ts';

/** The most files, bytes, lines and links that one report examines. It says if there were more. */
const LIMITS = {
  files: 2_000,
  bytes: 16 * 1024 * 1024,
  lines: 200_000,
  links: 20_000,
} as const;
/** The most findings that one report lists. */
const FINDING_LIMIT = 500;
/** A larger file takes too much of a model's context. */
const OVERSIZED_BYTES = 32 * 1024;
/** A younger file doesn't count as unread. */
const UNREAD_MS = 7 * 24 * 60 * 60 * 1000;
/** The newest reads that are looked at, to tell those of agents from others. */
const READS_EXAMINED = 5_000;
const PAGE = 500;
const FILES_AT_ONCE = 8;

/** The most cached findings and links, of about 500 bytes each. */
const KNOWN_LIMIT = 20_000;

/** What a check of hygiene works with. */
export interface HygieneDependencies extends ForgetDependencies {
  screening: Pick<Screening, 'find'>;
  /** In which the days of memory end. */
  timeZone: string;
  now: () => number;
}

/**
 * Makes a {@link HygieneReport} of the memory of a user or a space. Throws `INVALID_USER_ID`, and
 * `INVALID_REQUEST` unless exactly one of them is named.
 */
export type HygieneCheck = (query: HygieneQuery) => Promise<HygieneReport>;

/**
 * Looks for possible problems in a memory, without a model. The filters select files by their
 * last write: `since` and `until` by its time, `tool` by its tool. Reads leave no access row. Caches
 * the findings in contents until one changes, because comparing all lines of a thousand files takes
 * a tenth of a second.
 */
export function createHygieneCheck({
  storage,
  revisions,
  screening,
  timeZone,
  now,
}: HygieneDependencies): HygieneCheck {
  const known = new LRUCache<string, ContentFindings>({
    maxSize: KNOWN_LIMIT,
    sizeCalculation: ({ findings, links, ends }) =>
      1 + findings.length + links.length + ends.reduce((sum, one) => sum + one.ends.length, 0),
  });
  return async (query) => {
    const at = now();
    const scope = toFilteredScope(query);
    if (scope === null) throw invalidField('/userId', 'or spaceId is needed', 'userId');
    const catalog = toVirtualPath({ scope, path: CATALOG });
    const since = parseTimeOrNull(query.since, 'since') ?? -Infinity;
    const until = parseTimeOrNull(query.until, 'until') ?? Infinity;
    const listings = await listFiles(storage, scope);
    const isByTool = await findWrittenBy(storage, scope, query.tool);
    const asked = listings.filter(
      (file) => file.updatedAt >= since && file.updatedAt < until && isByTool(file),
    );
    const key = toContentsKey(scope, asked);
    let contents = known.get(key);
    if (contents === undefined) {
      contents = await findInContents({ storage, screening }, asked);
      known.set(key, contents);
    }
    const { links, checked, ends } = contents;
    const findings = [...contents.findings];
    append(findings, findExpired(ends, { at, timeZone }));
    const unread = await findUnread(storage, scope, asked);
    for (const file of asked) {
      const isUnread = unread.has(file.fileNo);
      if (checked.has(toVirtualPath(file))) append(findings, findInFile(file, { at, isUnread }));
    }
    const toPhysical = (path: string) => toPhysicalPath(toKey(path, scope));
    const existing = new Set(listings.map(toVirtualPath));
    for (const path of await findOthers(storage, links, scope)) existing.add(path);
    const exists = (path: string) => existing.has(path);
    append(findings, await findBrokenLinks(links, { catalog, exists, toPhysical }));
    const listable = listings
      .filter(({ path }) => !isExcludedFromDreams(path))
      .map(toVirtualPath)
      .filter((path) => checked.has(path));
    if (checked.has(catalog)) {
      append(findings, findUnlisted(links, listable, { catalog, toPhysical }));
    }
    if (query.tool === undefined || query.tool === 'memory_remember') {
      append(findings, await findForgetRequests({ storage, revisions }, scope, { since, until }));
    }
    return toReport(findings, {
      ...toOwner(scope),
      now: at,
      filesChecked: checked.size,
      files: listings.length,
    });
  };
}

/** The findings that depend only on the contents of some files. */
interface ContentFindings {
  findings: readonly HygieneFinding[];
  links: readonly Link[];
  /** Whatever they say of their end: whether it has passed is decided for each report. */
  ends: readonly FileEnds[];
  /** Virtual paths of the files that were read. */
  checked: ReadonlySet<string>;
}

/** A key that is equal for the same files at the same versions. */
function toContentsKey(scope: ScopeKey, files: readonly FileListing[]): string {
  const hash = createHash('sha256').update(scope);
  for (const { fileNo, version } of files) hash.update(` ${fileNo}:${version}`);
  return hash.digest('hex');
}

async function findInContents(
  { storage, screening }: Pick<HygieneDependencies, 'storage' | 'screening'>,
  listings: readonly FileListing[],
): Promise<ContentFindings> {
  const findings: HygieneFinding[] = [];
  const lines: Line[] = [];
  const links: Link[] = [];
  const ends: FileEnds[] = [];
  const checked = new Set<string>();
  const pause = createPause();
  for await (const { listing, file } of readFiles(storage, listings)) {
    if (lines.length > LIMITS.lines || links.length > LIMITS.links) break;
    const path = toPhysicalPath(listing);
    const virtualPath = toVirtualPath(listing);
    checked.add(virtualPath);
    append(findings, findSecretInPath(listing, screening));
    append(findings, findSecrets(path, file.content, screening));
    const said = readValidUntil(file.content);
    if (said.length > 0) ends.push({ path, ends: said });
    await pause();
    // Repeated lines and links to deleted files are normal in logs.
    if (!isExcludedFromDreams(listing.path)) {
      const structure = await inSlices(readStructureInSteps(file.content), pause);
      for (const line of readLines(path, file.content, structure)) {
        if (saysSomething(line)) lines.push(line);
        await pause();
      }
      for (const { to, line } of listLinks(file.content, structure, virtualPath)) {
        links.push({ from: virtualPath, number: line, to });
        await pause();
      }
      await pause();
    }
  }
  append(findings, await findContradictions(lines));
  append(findings, await findRepeatedLines(lines));
  return { findings, links, ends, checked };
}

/** Skips lines that can't have findings: a file may have 131,072 of them. */
function saysSomething({ text }: Line): boolean {
  return text.includes(':') || text.length >= LEAST_TEXT;
}

/** The length of four one-letter words, the shortest text that lines are compared by. */
const LEAST_TEXT = 7;

/** Pushes one by one: `push(...more)` overflows the stack for long lists. */
function append<T>(items: T[], more: Iterable<T>): void {
  for (const item of more) items.push(item);
}

function toReport(
  findings: readonly HygieneFinding[],
  facts: Owner & { now: number; filesChecked: number; files: number },
): HygieneReport {
  const { userId, spaceId, now, filesChecked, files } = facts;
  const counts: Partial<Record<HygieneKind, number>> = {};
  const severities = { high: 0, medium: 0, low: 0 };
  for (const { kind, severity } of findings) {
    counts[kind] = (counts[kind] ?? 0) + 1;
    severities[severity] += 1;
  }
  const order = { high: 0, medium: 1, low: 2 } as const;
  const listed = findings
    .toSorted((one, other) => order[one.severity] - order[other.severity])
    .slice(0, FINDING_LIMIT);
  const omitted = findings.length - listed.length;
  return {
    userId,
    spaceId,
    at: toTime(now),
    filesChecked,
    files,
    counts,
    severities,
    findings: listed,
    omitted,
  };
}

/**
 * The files that no agent has read, by their numbers: the reads of dreams and the Playground are none. A file
 * counts as read where the newest accesses don't have all of its reads.
 */
async function findUnread(
  storage: Storage,
  scope: ScopeKey,
  files: readonly FileListing[],
): Promise<ReadonlySet<number>> {
  const unread = new Set(files.filter(({ reads }) => reads === 0).map(({ fileNo }) => fileNo));
  if (unread.size === files.length) return unread;
  const found = new Map<number, { reads: number; isByAgent: boolean }>();
  let rows = 0;
  const filter = { scope, outcome: 'ok' as const, actions: ['read', 'context'] as const };
  const accesses = readRows((page) => storage.log.listAccess(filter, page), { order: 'desc' });
  for await (const { fileNo, actor } of accesses) {
    if ((rows += 1) > READS_EXAMINED) break;
    if (fileNo === null) continue;
    const { reads, isByAgent } = found.get(fileNo) ?? { reads: 0, isByAgent: false };
    found.set(fileNo, { reads: reads + 1, isByAgent: isByAgent || !isServiceActor(actor) });
  }
  for (const { fileNo, reads } of files) {
    const known = found.get(fileNo);
    if (known !== undefined && !known.isByAgent && known.reads >= reads) unread.add(fileNo);
  }
  return unread;
}

/** What the file's own facts say. */
function findInFile(
  file: FileListing,
  { at, isUnread }: { at: number; isUnread: boolean },
): HygieneFinding[] {
  const path = toPhysicalPath(file);
  const findings: HygieneFinding[] = [];
  const isLog = isExcludedFromDreams(file.path);
  if (file.size > OVERSIZED_BYTES) {
    findings.push({
      kind: 'oversized',
      severity: 'medium',
      message: `The file has ${Math.round(file.size / 1024)} KB and ${file.lines} lines.`,
      places: [{ path, lines: [] }],
      mend: isLog
        ? 'Begin a new log and keep what matters of the old one.'
        : 'Split it by its headings into files that an agent can read one by one.',
    });
  }
  const isOld = at - file.createdAt > UNREAD_MS;
  if (isUnread && isOld && !isLog && file.path !== CATALOG) {
    findings.push({
      kind: 'never_read',
      severity: 'low',
      message: `Written ${file.writes === 1 ? 'once' : `${file.writes} times`}, never read${file.reads === 0 ? '' : ' by an agent'}.`,
      places: [{ path, lines: [] }],
      mend: 'Link to it where agents begin, bring it together with a file that is read, or remove it.',
    });
  }
  return findings;
}

/** Whether a call of the tool wrote a file's current content; without a tool, always true. */
async function findWrittenBy(
  storage: Storage,
  scope: ScopeKey,
  tool: string | undefined,
): Promise<(file: FileListing) => boolean> {
  if (tool === undefined) return () => true;
  const numbers = new Set(await observationsOf(storage).filesWrittenBy(scope, tool));
  return ({ fileNo }) => numbers.has(fileNo);
}

/** Reads files with their contents, several at once, up to the limits. */
async function* readFiles(
  storage: Storage,
  listings: readonly FileListing[],
): AsyncGenerator<{ listing: FileListing; file: FileContent }> {
  let bytes = 0;
  const beyond = listings.findIndex(({ size }) => (bytes += size) > LIMITS.bytes);
  const end = Math.min(LIMITS.files, beyond === -1 ? listings.length : beyond);
  for (let from = 0; from < end; from += FILES_AT_ONCE) {
    const some = listings.slice(from, Math.min(from + FILES_AT_ONCE, end));
    // Concurrent reads share one query.
    const files = await Promise.all(some.map((listing) => storage.files.read(listing)));
    for (const [at, listing] of some.entries()) {
      const file = files[at] ?? null;
      if (file === null) continue;
      yield { listing, file };
    }
  }
}

async function listFiles(storage: Storage, scope: ScopeKey): Promise<FileListing[]> {
  const files: FileListing[] = [];
  let after: readonly (string | number)[] | null = null;
  do {
    const page = { limit: PAGE, order: 'asc' as const, after, sort: 'path' as const };
    const { items, next }: Awaited<ReturnType<Storage['files']['listAll']>> =
      await storage.files.listAll({ scope }, page);
    append(files, items);
    after = next;
  } while (after !== null);
  return files;
}

/** The catalog, by its path inside the scope. */
const CATALOG = 'index.md';

/** The file of a link: it may be in a space, which the operator who asks sees. */
function toKey(path: string, scope: ScopeKey): FileKey {
  return isUserPath(path) ? { scope, path: belowUser(path) } : parsePhysicalPath(path);
}

/**
 * Finds which of the linked files outside of the memory itself exist: those of shared memory and of spaces.
 * In a space, a link to `user/…` leads to another file for each reader.
 */
async function findOthers(
  storage: Storage,
  links: readonly Link[],
  scope: ScopeKey,
): Promise<string[]> {
  const isSpace = toUserId(scope) === null;
  const found: string[] = [];
  for (const path of new Set(links.map(({ to }) => to))) {
    if (isUserPath(path)) {
      if (isSpace) found.push(path);
      continue;
    }
    try {
      if ((await storage.files.read(toKey(path, scope))) !== null) found.push(path);
    } catch (error) {
      if (!(error instanceof MemoryError) || error.code !== 'INVALID_PATH') throw error;
    }
  }
  return found;
}
