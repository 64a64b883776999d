import type { InspectionStore } from '../contracts/inspection.ts';
import type { FileKey, RevisionRecord, ScopeKey } from '../contracts/records.ts';
import type { PageRequest, Storage } from '../contracts/storage.ts';
import { homeOf, SHARED, toPhysicalPath } from '../files/paths.ts';
import type { Revisions } from '../history/revisions.ts';
import { toComparableName, toDiskPaths } from './disk-names.ts';
import { isSelected, listScopeFiles, listScopes, type ScopeSelection } from './scopes.ts';
import { findUnsafeName } from './unsafe-names.ts';

/** What {@link packCommits} reads. */
export interface GitSource {
  storage: Storage;
  inspection: InspectionStore;
  revisions: Pick<Revisions, 'textAt'>;
}

const REVISIONS_READ = 100;
const BRANCH = 'refs/heads/main';
/** Who committed, and who is the author of contents that no revision explains. */
const SERVICE = 'memory-service';
/** A domain that no one can own. */
const EMAIL_DOMAIN = 'memory-service.invalid';

/**
 * Makes a `git fast-import` stream with a commit for each revision, in the order of their ids, up to
 * the newest one at the start. The author is the actor, the message the reason, the time that of the
 * revision; ids are trailers. It holds one page of revisions and one content in memory.
 *
 * - A move is one commit that renames, so that `git log --follow` and `git blame` follow it. The
 *   commit of its second revision changes nothing.
 * - If the first revisions of a file are pruned, a commit "Before …" by the service adds the content
 *   that the oldest kept one changed.
 * - A revision whose content is not known changes nothing, and its message says so. So does one of a
 *   file whose name programs run or obey ({@link findUnsafeName}); the stream begins with a notice for
 *   each of these files ({@link LEFT_OUT_NOTICE}).
 * - Names are made different where some disk takes them for one ({@link toDiskPaths}).
 *
 * The stream ends with `done`: git refuses one that was cut off.
 */
export async function* packCommits(
  { storage, inspection, revisions }: GitSource,
  selected: ScopeSelection,
): AsyncGenerator<Buffer, void> {
  const { scope } = selected;
  const filter = scope === null ? {} : { scope };
  const newest = (await storage.revisions.list(filter, { limit: 1, order: 'desc', after: null }))
    .items[0]?.id;
  const isExported = (revision: RevisionRecord | null): revision is RevisionRecord =>
    revision !== null && revision.id <= (newest ?? '') && isSelected(selected, revision.scope);
  const { toPath, leftOut } = await findNames(inspection, selected);

  async function* packRevision(revision: RevisionRecord): AsyncGenerator<Buffer, void> {
    const peer = revision.peerId === null ? null : await storage.revisions.get(revision.peerId);
    if (isExported(peer) && peer.id < revision.id) {
      const note = `The other half of the move in revision ${peer.id}.`;
      yield packCommit(revision, {
        subject: toSubject(revision, peer),
        notes: [note],
        changes: [],
      });
      return;
    }
    const halves = isExported(peer) ? [revision, peer] : [revision];
    const notes: string[] = [];
    const changes: Change[] = [];
    for (const half of halves) {
      const unsafe = findUnsafeName(half);
      if (unsafe !== null) {
        notes.push(`Left out ${toPhysicalPath(half)}: ${unsafe}.`);
        continue;
      }
      const previous = half.existedBefore
        ? await storage.revisions.ofVersion(half, half.version - 1)
        : null;
      if (half.existedBefore && previous === null) {
        const content = await revisions.textAt(half, half.version - 1);
        if (content !== null) yield packBase(half, { path: toPath(half), content });
      }
      const content = half.existsAfter ? await revisions.textAt(half, half.version) : null;
      if (half.existsAfter && content === null) {
        notes.push('The content after this revision is not known: it was redacted or pruned.');
        continue;
      }
      if (previous?.redacted === true) {
        notes.push('Holds the changes of the revision before it, too.');
      }
      changes.push({ path: toPath(half), content });
    }
    // Removals first: git then sees a rename.
    changes.sort((one, other) => Number(one.content !== null) - Number(other.content !== null));
    yield packCommit(revision, { subject: toSubject(revision, peer), notes, changes });
  }

  yield Buffer.from('feature done\n');
  // Git prints these lines.
  for (const [path, why] of leftOut) yield Buffer.from(`progress left out ${path}: ${why}\n`);
  for (let after: PageRequest['after'] = null; newest !== undefined;) {
    const page = await storage.revisions.list(filter, {
      limit: REVISIONS_READ,
      order: 'asc',
      after,
    });
    for (const revision of page.items) if (isExported(revision)) yield* packRevision(revision);
    if (page.next === null || (page.items.at(-1)?.id ?? newest) >= newest) break;
    after = page.next;
  }
  yield Buffer.from('done\n');
}

/** A line of the stream that names a file which is left out, and why. */
export const LEFT_OUT_NOTICE = /^progress left out (.*?): (.*)$/;

/** A file of a commit; without content it is removed. */
interface Change {
  path: string;
  content: string | null;
}

function packCommit(
  revision: RevisionRecord,
  { subject, notes, changes }: { subject: string; notes: readonly string[]; changes: Change[] },
): Buffer {
  const reason = revision.reason?.trim() ?? '';
  const trailers = [
    ['Revision', revision.id],
    ['Path', toPhysicalPath(revision)],
    ['Version', String(revision.version)],
    ['Tool', revision.tool],
    ['Tool-Call', revision.toolCallId],
    ['Trace', revision.traceId],
    ['Run', revision.runId],
    ['Peer', revision.peerId],
  ].flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  // An empty line ends the reason, so that none of its lines counts as a trailer.
  const message = [reason === '' ? subject : reason, ...notes, trailers.join('\n')].join('\n\n');
  return pack({ author: revision.actor, at: revision.at, message, changes });
}

function packBase(revision: RevisionRecord, change: Change): Buffer {
  const path = toPhysicalPath(revision);
  const message =
    `Before version ${revision.version} of ${path}\n\n` +
    'The content that the oldest remaining revision changed. Who wrote it is not known:\n' +
    'older revisions were pruned.\n\n' +
    `Before-Revision: ${revision.id}\nPath: ${path}`;
  return pack({ author: SERVICE, at: revision.at, message, changes: [change] });
}

function pack(commit: {
  author: string;
  at: number;
  message: string;
  changes: readonly Change[];
}): Buffer {
  const seconds = Math.floor(commit.at / 1000);
  return Buffer.concat([
    Buffer.from(
      `commit ${BRANCH}\n` +
        `author ${toIdentity(commit.author)} ${seconds} +0000\n` +
        `committer ${toIdentity(SERVICE)} ${seconds} +0000\n`,
    ),
    packData(`${commit.message}\n`),
    ...commit.changes.flatMap(({ path, content }) =>
      content === null
        ? [Buffer.from(`D ${path}\n`)]
        : [Buffer.from(`M 100644 inline ${path}\n`), packData(content)],
    ),
    Buffer.from('\n'),
  ]);
}

function packData(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from('\n')]);
}

/** `name <email>`, where `<`, `>` and line ends would end the name. */
function toIdentity(actor: string): string {
  const name = actor.replace(/[<>%\p{Cc}]/gu, (character) => encodeURIComponent(character));
  return `${name} <${encodeURIComponent(actor)}@${EMAIL_DOMAIN}>`;
}

function toSubject(revision: RevisionRecord, peer: RevisionRecord | null): string {
  const path = toPhysicalPath(revision);
  if (peer !== null && revision.action === 'move') {
    const other = toPhysicalPath(peer);
    return revision.existsAfter ? `Move ${other} to ${path}` : `Move ${path} to ${other}`;
  }
  return `${revision.action.charAt(0).toUpperCase()}${revision.action.slice(1)} ${path}`;
}

/**
 * The names of files in git, and the files that are left out, with the reason. Deleted files count,
 * because history has them.
 */
async function findNames(
  inspection: InspectionStore,
  selected: ScopeSelection,
): Promise<{ toPath(key: FileKey): string; leftOut: ReadonlyMap<string, string> }> {
  const leftOut = new Map<string, string>();
  const renamed = new Map<string, string>();
  const folders = new Map<ScopeKey, string>();
  const homes = new Map<string, number>();
  for await (const each of listScopes(inspection, selected)) {
    const paths: string[] = [];
    for await (const { path } of listScopeFiles(inspection, each)) {
      const key = { scope: each, path };
      const why = findUnsafeName(key);
      if (why === null) paths.push(path);
      else leftOut.set(toPhysicalPath(key), why);
    }
    for (const [path, name] of toDiskPaths(paths)) {
      renamed.set(toPhysicalPath({ scope: each, path }), name);
    }
    if (each === SHARED || paths.length === 0) continue;
    const home = homeOf(each).slice(0, -1);
    const comparable = toComparableName(home);
    const number = (homes.get(comparable) ?? 0) + 1;
    homes.set(comparable, number);
    if (number > 1) folders.set(each, `${home}%${number}/`);
  }
  return {
    leftOut,
    toPath(key) {
      const path = toPhysicalPath(key);
      const name = renamed.get(path) ?? key.path;
      const folder = folders.get(key.scope);
      return folder === undefined ? toPhysicalPath({ ...key, path: name }) : `${folder}${name}`;
    },
  };
}
