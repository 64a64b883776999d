import { parseIdPrefix } from '../access/prefix.ts';
import type {
  EraseAnswer,
  EraseRequest,
  PrefixEraseAnswer,
  PrefixEraseRequest,
} from '../contracts/admin.ts';
import type { ErasureStore } from '../contracts/erasure.ts';
import type { AuditCaller } from '../contracts/plugin.ts';
import type { ScopeKey } from '../contracts/records.ts';
import { invalidField, MemoryError } from '../errors.ts';
import { type OwnerId, ownerOf, toOwner, toUserId } from '../files/paths.ts';
import { requireErasure } from '../history/redact.ts';
import { type ListIdentity, parsePage, readByKey, toCursor } from '../lists/page.ts';
import { writeAudit } from '../telemetry/audit.ts';
import type { EraseParts } from './erase-memory.ts';

/** Scopes that are read at once. */
const SCOPES_READ = 500;
/** After this time a page of the work ends, so that the caller hears how far it is. */
const PAGE_MS = 20_000;

/** What an erasure by prefix needs. */
interface PrefixParts extends Pick<EraseParts, 'storage' | 'ids'> {
  erase(owner: OwnerId, request: EraseRequest, caller: AuditCaller): Promise<EraseAnswer>;
}

/** A page: which users and spaces it is about, after which one, and how many came before it. */
interface PrefixPage {
  idPrefix: string;
  identity: ListIdentity;
  limit: number;
  after: ScopeKey | null;
  done: number;
}

/**
 * Erases the users and spaces whose ids start with a prefix, page after page, in the order of their
 * scopes:
 *
 * 1. A preview (`dryRun`) counts all that match, and lists a page of them.
 * 2. The first page of the work checks `confirm` against the same counts, and leaves an audit row.
 * 3. Each page erases some of them, and has their receipts. Its cursor stands for what was confirmed.
 *
 * Throws `VERSION_CONFLICT` where the numbers are not those of the preview any more.
 */
export async function erasePrefix(
  parts: PrefixParts,
  request: PrefixEraseRequest,
  caller: AuditCaller,
): Promise<PrefixEraseAnswer> {
  const { prefix, dryRun = false, confirm, removeCopies = false } = request;
  const idPrefix = parseIdPrefix(prefix);
  const erasure = requireErasure(parts.storage);
  if (!dryRun && confirm?.prefix !== prefix) {
    const rule = 'must have the prefix again, with the numbers of a preview (dryRun: true)';
    throw invalidField('/confirm', rule, 'confirm');
  }
  const filters = { prefix, dryRun, removeCopies, ...(dryRun ? {} : confirm) };
  const identity: ListIdentity = { list: 'erase', sort: 'scope', defaultOrder: 'asc', filters };
  const { limit, after: key } = parsePage(request, identity);
  const [after = null, done = 0] = (key ?? []) as [ScopeKey?, number?];
  const page = { idPrefix, identity, limit, after, done };
  if (dryRun || confirm === undefined) return await previewPage(erasure, { prefix, page });
  if (after === null) {
    checkNumbers(await countOwners(erasure, idPrefix), confirm);
    const { users, spaces } = confirm;
    const entry = { action: 'memory.erase_prefix', target: prefix, details: { users, spaces } };
    await writeAudit(parts, { ...entry, ...caller });
  }
  return await erasePage(parts, { confirm, removeCopies, page }, caller);
}

async function previewPage(
  erasure: ErasureStore,
  { prefix, page }: { prefix: string; page: PrefixPage },
): Promise<PrefixEraseAnswer> {
  const { idPrefix, after, limit, done, identity } = page;
  const scopes = await erasure.owners(idPrefix, { after, limit });
  const matches: PrefixEraseAnswer['matches'] = [];
  for (const scope of scopes) {
    matches.push({ ...toOwner(scope), tables: await erasure.count(scope) });
  }
  const last = scopes.length < limit ? undefined : scopes.at(-1);
  const next = last === undefined ? null : [last, done + scopes.length];
  return {
    prefix,
    dryRun: true,
    ...(await countOwners(erasure, idPrefix)),
    matches,
    receipts: [],
    progress: { done: done + scopes.length },
    nextCursor: toCursor(next, {}, identity),
  };
}

async function erasePage(
  { storage, erase }: PrefixParts,
  {
    confirm,
    removeCopies,
    page,
  }: {
    confirm: NonNullable<PrefixEraseRequest['confirm']>;
    removeCopies: boolean;
    page: PrefixPage;
  },
  caller: AuditCaller,
): Promise<PrefixEraseAnswer> {
  const { prefix, users, spaces } = confirm;
  const receipts: EraseAnswer[] = [];
  const began = performance.now();
  let { after, done } = page;
  const toAnswer = (isEnd: boolean): PrefixEraseAnswer => {
    const next = isEnd || after === null ? null : [after, done];
    const nextCursor = toCursor(next, {}, page.identity);
    return {
      prefix,
      dryRun: false,
      users,
      spaces,
      matches: [],
      receipts,
      progress: { done },
      nextCursor,
    };
  };
  for await (const scope of readOwners(requireErasure(storage), page.idPrefix, after)) {
    const isOver = receipts.length >= page.limit || performance.now() - began > PAGE_MS;
    if (receipts.length > 0 && isOver) return toAnswer(false);
    try {
      if (done >= users + spaces) throw moreThanConfirmed(confirm);
      const owner =
        toUserId(scope) === null ? { spaceId: ownerOf(scope) } : { userId: ownerOf(scope) };
      receipts.push(await erase(owner, { confirm: ownerOf(scope), removeCopies }, caller));
    } catch (error) {
      const isGone = error instanceof MemoryError && error.code === 'FILE_NOT_FOUND';
      // The next page has the error: the receipts so far must reach the caller.
      if (!isGone && receipts.length > 0) return toAnswer(false);
      if (!isGone) throw error;
    }
    after = scope;
    done += 1;
  }
  return toAnswer(true);
}

function readOwners(
  erasure: ErasureStore,
  idPrefix: string,
  after: ScopeKey | null,
): AsyncGenerator<ScopeKey, void> {
  return readByKey<ScopeKey, ScopeKey>(
    (last) => erasure.owners(idPrefix, { after: last, limit: SCOPES_READ }),
    { keyOf: (scope) => scope, after },
  );
}

async function countOwners(
  erasure: ErasureStore,
  idPrefix: string,
): Promise<{ users: number; spaces: number }> {
  const counts = { users: 0, spaces: 0 };
  for await (const scope of readOwners(erasure, idPrefix, null)) {
    if (toUserId(scope) === null) counts.spaces += 1;
    else counts.users += 1;
  }
  return counts;
}

/** Throws `VERSION_CONFLICT` unless as many match as were confirmed. */
function checkNumbers(
  actual: { users: number; spaces: number },
  { prefix, users, spaces }: NonNullable<PrefixEraseRequest['confirm']>,
): void {
  if (actual.users === users && actual.spaces === spaces) return;
  throw new MemoryError(
    'VERSION_CONFLICT',
    `${prefix} matches ${actual.users} users and ${actual.spaces} spaces, not ${users} and ${spaces}. Nothing was erased: look at the preview again.`,
    { details: { prefix, expected: { users, spaces }, actual }, situation: 'preview' },
  );
}

function moreThanConfirmed({
  prefix,
  users,
  spaces,
}: NonNullable<PrefixEraseRequest['confirm']>): MemoryError {
  return new MemoryError(
    'VERSION_CONFLICT',
    `More users and spaces match ${prefix} now than were confirmed. The others stay: look at the preview again.`,
    { details: { prefix, expected: { users, spaces } }, situation: 'preview' },
  );
}
