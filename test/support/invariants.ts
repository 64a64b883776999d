import { createHash } from 'node:crypto';
import { applyDelta } from '../../core/history/delta.ts';
import { decodeDelta } from '../../core/history/delta/codec.ts';
import { Segment } from '../../core/search/index/segment.ts';
import { toScopeId } from '../../core/storage/schema/scope-id.ts';
import { fromLabel } from '../../core/files/paths.ts';
import { DREAMING, scopeLeaseOf } from '../../core/files/run-names.ts';
import { type Rows, withSnapshot } from './snapshot.ts';
import { encodeText, indexText } from './index-text.ts';
import { joinLengths, readPostings, type WholeSegment } from './segments.ts';

/**
 * What must hold after every fault: I1 every acknowledged write is there, byte for byte. I2 a
 * file's version is its writes ever. I3 the content before revision n is the content after n − 1.
 * I4 the postings of what is not behind are those made anew from the files. I5 no revision without
 * a file row. I6 a write's access row is there. I7 no run is running past its lease. I8 the history
 * of each file is linear. And no write is there in part: counts of the scope, both halves of a move,
 * idempotency and audit rows.
 */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'whole';

/** A broken invariant: which one, and where. */
export interface Violation {
  invariant: Invariant;
  message: string;
}

/** A write that a client was told of. */
export interface AcknowledgedWrite {
  userId: string;
  /** Inside the user's scope. */
  path: string;
  version: number;
  revisionId: string;
  /** After the write, `null` for a deletion; its end alone where others write the file too. */
  content: string | null | { end: string };
}

/**
 * Checks a database (an SQLite file, or the URL of one) in one snapshot, while a service runs on it or
 * not. `isIndexed` asks that no file is behind: after a find, and the moment that its
 * index takes.
 */
export async function findViolations(
  database: string,
  options: { acknowledged?: readonly AcknowledgedWrite[]; isIndexed?: boolean } = {},
): Promise<Violation[]> {
  return await withSnapshot(database, async (rows) => {
    const read = await readDatabase(rows);
    const report: Violation[] = [];
    const histories = checkHistories(read, report);
    checkAcknowledged(read, histories, options.acknowledged ?? [], report);
    checkOrphans(read, report);
    checkAccess(read, report);
    checkRuns(read, report);
    checkWhole(read, report);
    checkIndex(read, options.isIndexed === true, report);
    return report;
  });
}

/** Violations as lines, for a message. */
export function toLines(violations: readonly Violation[]): string[] {
  return violations.map(({ invariant, message }) => `${invariant}: ${message}`);
}

interface FileRow {
  scope_id: number;
  path: string;
  file_no: number;
  version: number;
  size: number;
  hash: string;
  deleted_at: number | null;
  revisions: number;
  writes: number;
  latest_actor: string;
  latest_revision_id: string;
  content: string | null;
  content_version: number | null;
}

interface RevisionRow {
  scope_id: number;
  file_no: number;
  version: number;
  id: string;
  actor: string;
  action: string;
  at: number;
  size: number;
  peer_id: string | null;
  existed_before: number;
  exists_after: number;
  hash: string;
  delta: Buffer | null;
  keyframe: string | null;
}

interface Database {
  scopes: { scope_id: number; scope: string; files: number; bytes: number; revisions: number }[];
  files: FileRow[];
  revisions: RevisionRow[];
  access: { scope_id: number; action: string; outcome: string; revision_id: string | null }[];
  idempotency: { scope_id: number; result: string }[];
  audit: { details: string }[];
  runs: { user_id: string; id: string; fence: number | null }[];
  leases: { name: string; fence: number }[];
  contents: { scope_id: number; file_no: number }[];
  queue: { scope_id: number; file_no: number; version: number }[];
  segments: { scope_id: number; segment: number; head: Buffer }[];
  blocks: { scope_id: number; segment: number; block: number; bytes: Buffer }[];
}

async function readDatabase({ all, nowMs }: Rows): Promise<Database> {
  return {
    scopes: await all('select scope_id, scope, files, bytes, revisions from svc_scope'),
    files: await all(
      'select f.scope_id, f.path, f.file_no, f.version, f.size, lower(hex(f.hash)) as hash,' +
        ' f.deleted_at, f.revisions, f.writes, f.latest_actor,' +
        ' lower(hex(f.latest_revision_id)) as latest_revision_id, c.content,' +
        ' c.version as content_version from svc_file f left join svc_content c' +
        ' on c.scope_id = f.scope_id and c.file_no = f.file_no',
    ),
    revisions: await all(
      'select scope_id, file_no, version, lower(hex(id)) as id, actor, action, at, size,' +
        " nullif(lower(hex(peer_id)), '') as peer_id, existed_before, exists_after," +
        ' lower(hex(hash)) as hash,' +
        ' delta, keyframe from svc_revision order by scope_id, file_no, version',
    ),
    access: await all(
      'select scope_id, action, outcome, lower(hex(revision_id)) as revision_id from svc_access_log',
    ),
    idempotency: await all('select scope_id, result from svc_idempotency'),
    audit: await all('select details from svc_admin_audit'),
    runs: await all(
      "select user_id, lower(hex(id)) as id, fence from svc_dream_history where state = 'running'",
    ),
    leases: await all(`select name, fence from svc_lease where expires_at > ${nowMs}`),
    contents: await all('select scope_id, file_no from svc_content'),
    queue: await all('select scope_id, file_no, version from svc_index_queue'),
    segments: await all('select scope_id, segment, head from svc_segment order by segment'),
    blocks: await all(
      'select scope_id, segment, block, bytes from svc_segment_block order by block',
    ),
  };
}

type Report = Violation[];

/** Contents after each version that is kept, by file. */
type Histories = ReadonlyMap<string, ReadonlyMap<number, { id: string; content: string | null }>>;

const fileKey = (row: { scope_id: number; file_no: number }) => `${row.scope_id}/${row.file_no}`;

/** Walks each file from its content back to its oldest revision: I2, I3, I8. */
function checkHistories(database: Database, report: Report): Histories {
  const revisions = groupBy(database.revisions, fileKey);
  const histories = new Map<string, Map<number, { id: string; content: string | null }>>();
  for (const file of database.files) {
    const rows = revisions.get(fileKey(file)) ?? [];
    const name = `${nameOf(database, file.scope_id)} ${file.path}`;
    checkCounts(file, rows, name, report);
    checkOrder(file, rows, name, report);
    histories.set(fileKey(file), walkBack(file, rows, name, report));
  }
  return histories;
}

function checkCounts(file: FileRow, rows: readonly RevisionRow[], name: string, report: Report) {
  const add = (message: string) => report.push({ invariant: 'I2', message: `${name} ${message}` });
  if (file.writes !== file.version)
    add(`is at version ${file.version} after ${file.writes} writes`);
  const newest = rows.at(-1)?.version;
  if (newest !== file.version) add(`is at version ${file.version}, its newest revision ${newest}`);
  if (rows.length !== file.revisions) add(`counts ${file.revisions} revisions of ${rows.length}`);
  if (file.deleted_at === null && file.content_version !== file.version) {
    add(`is at version ${file.version}, its content at ${file.content_version}`);
  }
}

function checkOrder(file: FileRow, rows: readonly RevisionRow[], name: string, report: Report) {
  const add = (message: string) => report.push({ invariant: 'I8', message: `${name} ${message}` });
  for (const [index, row] of rows.entries()) {
    const before = rows[index - 1];
    if (before === undefined) continue;
    if (row.version !== before.version + 1) add(`has a gap before version ${row.version}`);
    if (row.id <= before.id) add(`has ids out of order at version ${row.version}`);
    if (row.at < before.at) add(`has times out of order at version ${row.version}`);
  }
  const newest = rows.at(-1);
  if (newest !== undefined && newest.id !== file.latest_revision_id) {
    add('names another revision than its newest');
  }
  if (newest !== undefined && newest.actor !== file.latest_actor) add('names another actor');
}

function walkBack(
  file: FileRow,
  rows: readonly RevisionRow[],
  name: string,
  report: Report,
): Map<number, { id: string; content: string | null }> {
  const contents = new Map<number, { id: string; content: string | null }>();
  const add = (message: string) => report.push({ invariant: 'I3', message: `${name} ${message}` });
  let after = file.content;
  if ((after === null) !== (file.deleted_at !== null))
    add('is deleted and has content, or neither');
  if (sha256(after ?? '') !== file.hash) add('has a content of another hash');
  for (const row of [...rows].reverse()) {
    const at = `at version ${row.version}`;
    if (sha256(after ?? '') !== row.hash || Buffer.byteLength(after ?? '') !== row.size) {
      add(`${at} has another content than its revision says`);
    }
    if ((row.exists_after === 1) !== (after !== null)) add(`${at} exists, or does not, wrongly`);
    contents.set(row.version, { id: row.id, content: after });
    const before = stepBack(row, after);
    if (before instanceof Error) {
      add(`${at}: ${before.message}`);
      break;
    }
    after = before;
  }
  if (rows[0]?.version === 1 && after !== null) add('had content before its first version');
  return contents;
}

function stepBack(row: RevisionRow, after: string | null): string | null | Error {
  if (row.existed_before === 0) return null;
  if (row.delta === null || after === null) {
    return row.keyframe ?? new Error('nothing leads to the content before it');
  }
  try {
    const before = applyDelta(after, decodeDelta(row.delta));
    if (row.keyframe === null || row.keyframe === before) return before;
    return new Error('its delta and its keyframe differ');
  } catch (error) {
    return error as Error;
  }
}

function checkAcknowledged(
  database: Database,
  histories: Histories,
  acknowledged: readonly AcknowledgedWrite[],
  report: Report,
) {
  const files = new Map(database.files.map((file) => [`${file.scope_id}/${file.path}`, file]));
  for (const { userId, path, version, revisionId, content } of acknowledged) {
    const file = files.get(`${toScopeId(`u:${userId}`)}/${path}`);
    const kept = file === undefined ? undefined : histories.get(fileKey(file))?.get(version);
    const isThere =
      kept?.id === revisionId.replaceAll('-', '') &&
      (typeof content === 'object' && content !== null
        ? kept.content?.endsWith(content.end) === true
        : kept.content === content);
    if (isThere) continue;
    const found = kept === undefined ? 'is lost' : 'is not what was written';
    report.push({ invariant: 'I1', message: `u:${userId} ${path} version ${version} ${found}` });
  }
}

function checkOrphans(database: Database, report: Report) {
  const files = new Set(database.files.map(fileKey));
  const scopes = new Set(database.scopes.map(({ scope_id }) => scope_id));
  const rows = { revision: database.revisions, content: database.contents };
  for (const [what, of] of Object.entries(rows)) {
    for (const row of of) {
      if (files.has(fileKey(row))) continue;
      report.push({
        invariant: 'I5',
        message: `a ${what} of file ${fileKey(row)}, which has no row`,
      });
    }
  }
  for (const file of database.files) {
    if (scopes.has(file.scope_id)) continue;
    report.push({ invariant: 'I5', message: `the file ${file.path} of a scope without a row` });
  }
}

function checkAccess(database: Database, report: Report) {
  const written = new Set(
    database.access
      .filter(({ action, outcome }) => action === 'write' && outcome === 'ok')
      .map((row) => `${row.scope_id}/${row.revision_id}`),
  );
  for (const row of database.revisions) {
    if (written.has(`${row.scope_id}/${row.id}`)) continue;
    report.push({ invariant: 'I6', message: `revision ${row.id} has no access row` });
  }
}

function checkRuns(database: Database, report: Report) {
  const fences = new Map(database.leases.map(({ name, fence }) => [name, fence]));
  for (const { user_id, id, fence } of database.runs) {
    if (fence !== null && fences.get(scopeLeaseOf(DREAMING, fromLabel(user_id))) === fence)
      continue;
    report.push({ invariant: 'I7', message: `run ${id} of ${user_id} is running past its lease` });
  }
}

/** What else one write leaves: none of it without the rest. */
function checkWhole(database: Database, report: Report) {
  const add = (message: string) => report.push({ invariant: 'whole', message });
  const files = groupBy(database.files, ({ scope_id }) => String(scope_id));
  const revisions = groupBy(database.revisions, ({ scope_id }) => String(scope_id));
  for (const scope of database.scopes) {
    const live = (files.get(String(scope.scope_id)) ?? []).filter((file) => !file.deleted_at);
    const counted = {
      files: live.length,
      bytes: live.reduce((sum, { size }) => sum + size, 0),
      revisions: revisions.get(String(scope.scope_id))?.length ?? 0,
    };
    for (const what of ['files', 'bytes', 'revisions'] as const) {
      if (scope[what] === counted[what]) continue;
      add(`${scope.scope} counts ${scope[what]} ${what} of ${counted[what]}`);
    }
  }

  const byId = new Map(database.revisions.map((row) => [row.id, row]));
  for (const row of database.revisions) {
    if (row.peer_id !== null && byId.get(row.peer_id)?.peer_id !== row.id) {
      add(`revision ${row.id} lacks its other half`);
    }
  }
  for (const { result } of database.idempotency) {
    const { revisionId = '' } = JSON.parse(result) as { revisionId?: string };
    if (!byId.has(revisionId.replaceAll('-', ''))) add(`a key remembers ${result}, which is lost`);
  }
  const audited = new Set(
    database.audit.flatMap(({ details }) => {
      const { written = [] } = JSON.parse(details) as { written?: { revisionId: string }[] };
      return written.map(({ revisionId }) => revisionId.replaceAll('-', ''));
    }),
  );
  for (const row of database.revisions) {
    if (row.actor === 'admin' && !audited.has(row.id)) add(`revision ${row.id} is not audited`);
  }
}

function checkIndex(database: Database, isIndexed: boolean, report: Report) {
  const add = (message: string) => report.push({ invariant: 'I4', message });
  const behind = new Map(database.queue.map((row) => [fileKey(row), row.version]));
  if (isIndexed && behind.size > 0) add(`${behind.size} files are behind`);
  const indexed = new Map<string, number>();
  const postings = new Map<string, string>();
  for (const [scopeId, rows] of groupBy(database.segments, (row) => `${row.scope_id}`)) {
    const segments = rows.flatMap(({ scope_id, segment: id, head }): WholeSegment[] => {
      const segment = Segment.read(Number(id), head);
      const own = database.blocks.filter(
        (row) => row.scope_id === scope_id && Number(row.segment) === Number(id),
      );
      const blocks = own.map(({ bytes }) => bytes);
      const isWhole = segment?.inline !== null || blocks.length === segment.blockCount;
      return segment === null || !isWhole ? [] : [{ segment, blocks }];
    });
    const found = segments.length < rows.length ? null : readPostings(segments);
    if (found === null) {
      add(`a segment of scope ${scopeId} is damaged`);
      continue;
    }
    for (const [key, payload] of found) postings.set(`${scopeId}/${key}`, payload);
    const lengths = joinLengths(segments);
    for (const file of lengths.files) {
      indexed.set(`${scopeId}/${file}`, lengths.versionOf(file) ?? -1);
    }
  }
  for (const file of database.files) {
    const key = fileKey(file);
    const name = `${nameOf(database, file.scope_id)} ${file.path}`;
    const queued = behind.get(key);
    if (queued !== undefined) {
      if (queued !== file.version) add(`${name} is behind with version ${queued}`);
      continue;
    }
    const version = indexed.get(key);
    indexed.delete(key);
    if (file.content === null) {
      if (version !== undefined) add(`${name} is deleted and indexed`);
      continue;
    }
    if (version === undefined) add(`${name} is neither indexed nor behind`);
    else if (version !== file.version) add(`${name} is indexed at another version`);
    for (const [term, payload] of encodeText(indexText(file.content, file.path))) {
      const own = `${key} ${term}`;
      if (postings.get(own) !== Buffer.from(payload).toString('hex')) {
        add(`${name} has other postings of ${JSON.stringify(term)}`);
      }
      postings.delete(own);
    }
  }
  for (const key of indexed.keys()) {
    if (!behind.has(key)) add(`file ${key} is indexed and does not exist`);
  }
  for (const key of postings.keys()) {
    if (!behind.has(key.split(' ')[0] ?? '')) add(`file ${key} has postings that it should not`);
  }
}

function nameOf(database: Database, scopeId: number): string {
  return database.scopes.find(({ scope_id }) => scope_id === scopeId)?.scope ?? String(scopeId);
}

function groupBy<T>(rows: readonly T[], toKey: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const key = toKey(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
