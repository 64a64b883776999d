import { join } from 'node:path';
import type { ScopeKey } from '../contracts/records.ts';
import { hashText } from '../files/content.ts';
import { contentChangedAt, isSameStamp, type FileStamp } from './file-stamp.ts';
import { FolderFiles, type Replacing } from './folder-files.ts';
import { DiskNames } from './disk-names.ts';
import type { MountClaim } from './mount-claim.ts';
import type { KnownFile, MountState } from './mount-state.ts';
import type { MountedMemory, ServiceFile, ServiceMark, ServiceText } from './mounted-memory.ts';
import { readLocal } from './read-local.ts';
import {
  findFault,
  type FolderScan,
  type FoundFile,
  isBlocked,
  scanFolder,
} from './scan-folder.ts';

/** How long a file must be missing in the folder until the service deletes it. */
const DELETE_AFTER_MS = 30_000;
/** Where more are missing, none is deleted unasked. */
const MOST_DELETED = 20;
/** How long a file must be left alone until it is sent: a program may still be writing it. */
const SETTLED_MS = 1_000;
/** A change so soon after a look may leave the same stamp. */
const RACY_MS = 2_000;
/** Until what was refused is tried again. */
const RETRY_MS = 30_000;
/** Until all files are listed again although nothing seems to have changed. */
const LIST_AGAIN_MS = 60_000;
/** How far the clocks of the service and of this machine may be apart. */
const SKEW_MS = 3_600_000;
/** Stands for the hash of a held text that could not be read; the next look fills it in. */
const UNREAD = '';
/** Files that are worked on at once. */
const AT_ONCE = 4;

/** What a mount tells a person. */
export type MountEvent =
  /** The folder's text is in the service now. */
  | { kind: 'sent'; path: string }
  /** The service's text is in the folder now. */
  | { kind: 'written'; path: string }
  | { kind: 'deleted'; path: string }
  | { kind: 'removed'; path: string }
  /** Both changed it. `copy` has the folder's text. */
  | { kind: 'conflict'; path: string; copy: string }
  /** A file is not carried over, for now or for good. */
  | { kind: 'left_out'; path: string; why: string }
  /** The folder as a whole. */
  | { kind: 'notice'; message: string };

/** What {@link MountedFolder} needs. */
export interface MountedFolderOptions {
  claim: Pick<MountClaim, 'folder' | 'markedAt' | 'isThere'>;
  memory: MountedMemory;
  state: MountState;
  /** Where the state is, for messages. */
  stateFile: string;
  /** Delete any number of files in the service. */
  confirmDeletes: boolean;
  now: () => number;
  onEvent(event: MountEvent): void;
  onProgress(done: number, total: number): void;
  /** Called with the state after each change that must not be forgotten. */
  save(): Promise<void>;
  signal: AbortSignal;
}

/** The state of a file in the folder, compared with what both sides had. */
type Local =
  | { kind: 'absent' }
  /** It can't be read, or it is changing: look again later. */
  | { kind: 'unclear' }
  | { kind: 'same'; disk: string; stamp: FileStamp }
  /** `text` is `null` where memory does not take it. */
  | {
      kind: 'changed';
      disk: string;
      stamp: FileStamp;
      text: string | null;
      hash: string;
      why: string;
    };

/**
 * Keeps a folder and a memory in step, both ways. Of a file that changed on one side, the other side gets
 * the change. A file that changed on both sides keeps both texts: the service's in its place, the folder's
 * in a conflict copy. Each call of {@link sync} is a round.
 */
export class MountedFolder {
  readonly #options: MountedFolderOptions;
  readonly #files: FolderFiles;
  readonly #state: MountState;
  readonly #memory: MountedMemory;
  readonly #scope: ScopeKey;
  /** The files of the service, as last listed, with what this mount wrote since. */
  #service: Map<string, ServiceFile> | null = null;
  #listedAt = 0;
  #scan: FolderScan = { files: new Map(), copies: new Set(), blocked: new Set() };
  #names = new DiskNames([]);
  /** When files were first found missing. */
  readonly #missing = new Map<string, number>();
  /** What the service or the disk refused: not tried again before, unless the text changes. */
  readonly #refused = new Map<string, { hash: string; until: number }>();
  /** What was said of a file, so that it is said once. */
  readonly #said = new Map<string, string>();
  /** The mount knows nothing yet of what the service has erased and redacted. */
  #isNew: boolean;
  #isStopped = false;
  /** The round leaves nothing for the next one. */
  #isDone = true;
  /** The folder can't be written to. */
  #isFull = false;
  #isChanged = false;

  constructor(options: MountedFolderOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#memory = options.memory;
    this.#scope = options.state.scope;
    this.#isNew = options.state.mark === null;
    this.#files = new FolderFiles(options.claim.folder, {
      now: options.now,
      onCopy: (disk, copy) => this.#noteCopy(disk, copy),
    });
  }

  /** Begins; once, before the first round. */
  async open(): Promise<void> {
    await this.#files.open();
  }

  /** Ends; nothing of the mount but its marker stays in the folder. */
  async close(): Promise<void> {
    const isThere = await this.#options.claim.isThere().catch(() => false);
    if (isThere) await this.#files.close();
    await this.#save();
  }

  /**
   * Brings both sides together:
   *
   * 1. looks whether the folder is there, at what it holds, and at what the service says;
   * 2. after an erasure, takes all that was known out of the folder, and holds what may come from before;
   * 3. carries each file that changed to the other side;
   * 4. deletes in the service what is missing in the folder for long enough.
   *
   * Returns whether nothing is left for the next round but deletions. Throws `ServiceAway` where the service
   * does not answer; the next round goes on.
   */
  async sync(): Promise<boolean> {
    this.#isDone = true;
    await this.#syncSides();
    return this.#isDone;
  }

  async #syncSides(): Promise<void> {
    const { claim } = this.#options;
    if (!(await claim.isThere())) return this.#sayGone();
    await this.#files.checkAsides();
    const before = this.#scan;
    this.#scan = await this.#look();
    // A disk that went while it was listed must not look like an empty folder.
    if (!(await claim.isThere())) return this.#sayGone();
    this.#forget('folder');
    this.#isStopped = false;
    this.#isFull = false;
    try {
      const news = await this.#memory.news(this.#state.mark);
      if (news.isErased) await this.#takeOut();
      if (news.erasedAt !== null) await this.#holdOld(news.erasedAt);
      this.#state.mark = news.mark;
      if (news.mark.isErasing) {
        this.#service = null;
        return this.#say('erasure', 'The memory is being erased: waiting for the end.');
      }
      this.#forget('erasure');
      if (news.isChanged || news.isRedacted || this.#isListOld()) await this.#list();
      if (news.isRedacted) await this.#dropRedactedCopies();
      if (this.#isNew) await this.#holdRedacted(news.mark);
      this.#isNew = false;
      const missing = await this.#syncFiles(before);
      await this.#deleteMissing(missing);
    } finally {
      if (this.#isChanged) await this.#save();
    }
  }

  async #save(): Promise<void> {
    try {
      await this.#options.save();
      this.#isChanged = false;
      this.#forget('state');
    } catch (error) {
      // A later run asks both sides again, and finds them alike.
      this.#say('state', `What the mount knows can't be saved (${toCode(error)}): trying again.`);
    }
  }

  #isListOld(): boolean {
    return this.#service === null || this.#options.now() - this.#listedAt >= LIST_AGAIN_MS;
  }

  /** Lists the folder. */
  async #look(): Promise<FolderScan> {
    const paths = new Map<string, string>();
    for (const [path, { disk }] of this.#state.files) {
      const [onDisk, inMemory] = [disk.split('/'), path.split('/')];
      for (let length = 1; length <= onDisk.length; length += 1) {
        paths.set(onDisk.slice(0, length).join('/'), inMemory.slice(0, length).join('/'));
      }
    }
    const scan = await scanFolder(this.#options.claim.folder, {
      scope: this.#scope,
      pathOf: (disk) => paths.get(disk),
      onLeftOut: (disk, why) => this.#leaveOut(disk, why),
    });
    for (const copy of this.#state.copies.keys()) {
      if (!scan.copies.has(copy)) this.#state.copies.delete(copy);
    }
    const known = Array.from(this.#state.files, ([path, { disk }]) => ({ path, disk }));
    const found = Array.from(scan.files, ([path, { disk }]) => ({ path, disk }));
    this.#names = new DiskNames([...known, ...found]);
    return scan;
  }

  async #list(): Promise<void> {
    const files = new Map<string, ServiceFile>();
    const listedAt = this.#options.now();
    for await (const file of this.#memory.list()) {
      const why = findFault(this.#scope, file.path);
      if (why === null) files.set(file.path, file);
      else this.#leaveOut(file.path, why);
    }
    this.#service = files;
    this.#listedAt = listedAt;
  }

  /** Carries each file. Returns those that are missing in the folder, and unchanged in the service. */
  async #syncFiles(before: FolderScan): Promise<string[]> {
    const service = this.#service ?? new Map<string, ServiceFile>();
    const paths = new Set([
      ...this.#state.files.keys(),
      ...service.keys(),
      ...this.#scan.files.keys(),
    ]);
    const missing: string[] = [];
    const open = [...paths].filter((path) => !this.#isInStep(path, service.get(path) ?? null));
    for (let at = 0; at < open.length; at += AT_ONCE) {
      if (this.#options.signal.aborted) return [];
      const some = open.slice(at, at + AT_ONCE).map(async (path) => {
        const isMissing = await this.#syncFile(path, service.get(path) ?? null, before);
        if (isMissing) missing.push(path);
      });
      // All of them end before an error ends the round.
      for (const done of await Promise.allSettled(some)) {
        if (done.status === 'rejected') throw done.reason;
      }
      this.#options.onProgress(Math.min(at + AT_ONCE, open.length), open.length);
    }
    return missing;
  }

  /** Whether nothing changed on either side, as far as one can tell without reading. */
  #isInStep(path: string, theirs: ServiceFile | null): boolean {
    const known = this.#state.files.get(path);
    const found = this.#scan.files.get(path);
    if (known === undefined || found === undefined || theirs === null) return false;
    return isSameVersion(known, theirs) && isSureStamp(known, found);
  }

  /** Carries one file. Returns whether it is missing in the folder, and unchanged in the service. */
  async #syncFile(path: string, theirs: ServiceFile | null, before: FolderScan): Promise<boolean> {
    const known = this.#state.files.get(path) ?? null;
    const local = await this.#lookAt(path, known);
    if (local.kind === 'unclear') {
      this.#isDone = false;
      return false;
    }
    const isTheirsSame = known !== null && theirs !== null && isSameVersion(known, theirs);
    if (local.kind === 'absent') {
      if (isTheirsSame) return true;
      if (theirs !== null) await this.#fetch(path, known?.disk ?? null);
      else if (known !== null) this.#drop(path);
      return false;
    }
    if (local.kind === 'same') {
      if (theirs === null) await this.#removeHere(path, known, local);
      else if (!isTheirsSame) await this.#merge(path, known, local);
      return false;
    }
    if (!this.#isSettled(path, local.stamp, before)) {
      this.#isDone = false;
      return false;
    }
    if (theirs === null && known !== null) await this.#removeHere(path, known, local);
    else if (theirs === null || isTheirsSame) await this.#send(path, local, theirs?.version ?? 0);
    else await this.#merge(path, known, local);
    return false;
  }

  /** What the folder has of a file. */
  async #lookAt(path: string, known: KnownFile | null): Promise<Local> {
    const found = this.#scan.files.get(path);
    if (found === undefined) {
      return isBlocked(this.#scan, path) ? { kind: 'unclear' } : { kind: 'absent' };
    }
    const { disk } = found;
    if (known !== null && isSureStamp(known, found)) return { kind: 'same', ...found };
    const read = await readLocal(this.#toPlace(disk));
    if (read.kind === 'unreadable') this.#leaveOut(disk, read.why);
    if (read.kind === 'unreadable' || read.kind === 'moving') return { kind: 'unclear' };
    const { stamp } = read;
    if (read.kind === 'no_text') {
      return { kind: 'changed', disk, stamp, text: null, hash: '', why: read.why };
    }
    if (known?.hash === read.hash) {
      this.#know(path, { ...known, disk, stamp });
      return { kind: 'same', disk, stamp };
    }
    return { kind: 'changed', disk, stamp, text: read.text, hash: read.hash, why: '' };
  }

  /** Whether nobody has written to a file for a while. */
  #isSettled(path: string, stamp: FileStamp, before: FolderScan): boolean {
    const earlier = before.files.get(path)?.stamp;
    const age = this.#options.now() - stamp.at;
    return age >= SETTLED_MS || (earlier !== undefined && isSameStamp(earlier, stamp));
  }

  /** Sends the folder's text. `version`: that of the service, 0 for a new file. */
  async #send(path: string, local: Local & { kind: 'changed' }, version: number): Promise<void> {
    const { disk, text, hash, stamp } = local;
    if (text === null) return this.#leaveOut(disk, local.why);
    if (this.#state.held.get(disk) === UNREAD) this.#state.held.set(disk, hash);
    if (this.#state.held.get(disk) === hash) {
      return this.#leaveOut(
        disk,
        'it may have text that was erased or redacted in the service: change it to send it',
      );
    }
    if (this.#isStopped || this.#isRefused(path, hash)) return;
    const outcome = await this.#memory.put(path, text, version);
    if (outcome.kind === 'written') {
      this.#forget(disk);
      this.#refused.delete(path);
      this.#state.held.delete(disk);
      const { revisionId } = outcome;
      this.#service?.set(path, { path, version: outcome.version, revisionId });
      // What screening masked is fetched as a change of the service.
      const seen = outcome.isAsSent ? revisionId : '';
      this.#isDone &&= outcome.isAsSent;
      this.#know(path, { disk, version: outcome.version, revisionId: seen, hash, stamp });
      this.#options.onEvent({ kind: 'sent', path });
    } else if (outcome.kind === 'moved_on') this.#listAgain();
    else if (outcome.kind === 'stopped') this.#stop(outcome.message);
    else this.#refuse(path, { hash, disk, why: outcome.message, isFinal: outcome.isFinal });
  }

  /** Writes the service's text into the folder, where there is no file. */
  async #fetch(path: string, known: string | null): Promise<void> {
    if (this.#isFull || this.#isRefused(path, '')) return;
    const theirs = await this.#memory.read(path);
    if (theirs === null) return this.#listAgain();
    const disk = known ?? this.#names.choose(path);
    await this.#place(disk, theirs, { kind: 'none' });
  }

  /** Brings both texts together: the service's gets the place. */
  async #merge(
    path: string,
    known: KnownFile | null,
    local: Local & { kind: 'same' | 'changed' },
  ): Promise<void> {
    if (this.#isFull || this.#isRefused(path, '')) return;
    const theirs = await this.#memory.read(path);
    if (theirs === null) return this.#listAgain();
    const { disk, stamp } = local;
    const hash = local.kind === 'same' ? (known?.hash ?? '') : local.hash;
    if (hashText(theirs.content) === hash) {
      return this.#know(path, { ...theirs, disk, hash, stamp });
    }
    const replacing: Replacing =
      known !== null && (await this.#isRedacted(path, known.version))
        ? { kind: 'gone', stamp }
        : local.kind === 'same'
          ? { kind: 'known', stamp, hash }
          : { kind: 'kept', stamp };
    await this.#place(disk, theirs, replacing);
  }

  async #place(disk: string, theirs: ServiceText, replacing: Replacing): Promise<void> {
    const { path, version, revisionId, content } = theirs;
    const base = this.#state.files.get(path)?.version ?? version;
    const { placed, copy } = await this.#files
      .place(disk, content, replacing)
      .catch((error: unknown) => this.#fill(error));
    if (copy !== null) this.#addCopy(copy, { path, version: base });
    if (placed.kind === 'occupied') {
      return this.#refuse(path, { hash: '', disk, why: placed.why, isFinal: false });
    }
    if (placed.kind === 'moving') {
      this.#isDone = false;
      return;
    }
    this.#forget(disk);
    this.#forget('disk');
    this.#service?.set(path, { path, version, revisionId });
    const { stamp } = placed;
    this.#know(path, { disk, version, revisionId, hash: hashText(content), stamp });
    if (copy === null) this.#options.onEvent({ kind: 'written', path });
    else this.#options.onEvent({ kind: 'conflict', path, copy });
  }

  /** Takes a file out of the folder that the service no longer has. */
  async #removeHere(
    path: string,
    known: KnownFile | null,
    local: Local & { kind: 'same' | 'changed' },
  ): Promise<void> {
    if (known === null || this.#isFull || !(await this.#isDeleted(path))) return;
    const { disk, stamp } = local;
    const replacing =
      local.kind === 'same'
        ? ({ kind: 'known', stamp, hash: known.hash } as const)
        : (await this.#isRedacted(path, known.version))
          ? ({ kind: 'gone', stamp } as const)
          : ({ kind: 'kept', stamp } as const);
    const { isRemoved, copy } = await this.#files
      .remove(disk, replacing)
      .catch((error: unknown) => {
        this.#fill(error);
        return { isRemoved: false, copy: null };
      });
    if (!isRemoved) return;
    if (copy !== null) this.#addCopy(copy, { path, version: known.version });
    this.#drop(path);
    if (copy === null) this.#options.onEvent({ kind: 'removed', path });
    else this.#options.onEvent({ kind: 'conflict', path, copy });
  }

  /** Deletes in the service what a person has taken out of the folder. */
  async #deleteMissing(missing: readonly string[]): Promise<void> {
    const now = this.#options.now();
    const still = new Set(missing);
    for (const path of this.#missing.keys()) if (!still.has(path)) this.#missing.delete(path);
    for (const path of missing) if (!this.#missing.has(path)) this.#missing.set(path, now);
    if (missing.length > MOST_DELETED && !this.#options.confirmDeletes) {
      return this.#say(
        'deletes',
        `${missing.length} files are missing in the folder. Nothing is deleted in the service: put them back, or mount with --confirm-deletes.`,
      );
    }
    this.#forget('deletes');
    for (const path of missing) {
      const since = this.#missing.get(path) ?? now;
      const known = this.#state.files.get(path);
      if (known === undefined || now - since < DELETE_AFTER_MS) continue;
      if (this.#options.signal.aborted || this.#isStopped) return;
      const outcome = await this.#memory.remove(path, known.version);
      if (outcome.kind === 'written') {
        this.#missing.delete(path);
        this.#service?.delete(path);
        this.#drop(path);
        this.#options.onEvent({ kind: 'deleted', path });
      } else if (outcome.kind === 'moved_on') this.#listAgain();
      else if (outcome.kind === 'stopped') this.#stop(outcome.message);
      else this.#leaveOut(path, outcome.message);
    }
  }

  /** Takes all out of the folder that came from a memory that is erased. */
  async #takeOut(): Promise<void> {
    const hashes = new Set(Array.from(this.#state.files.values(), ({ hash }) => hash));
    await this.#files.dropAsides();
    for (const [path, { disk }] of this.#state.files) {
      await this.#files.purge(disk);
      this.#options.onEvent({ kind: 'removed', path });
    }
    for (const disk of this.#scan.copies) await this.#files.purge(disk);
    // New to the service: a person may have copied an erased text into them.
    for (const [path, { disk }] of this.#scan.files) {
      if (this.#state.files.has(path)) continue;
      const read = await readLocal(this.#toPlace(disk));
      if (read.kind === 'text' && hashes.has(read.hash)) await this.#files.purge(disk);
      else await this.#hold(disk);
    }
    this.#state.files.clear();
    this.#state.copies.clear();
    this.#missing.clear();
    this.#service = null;
    this.#say('erased', 'The memory was erased: its files were taken out of the folder.');
    await this.#save();
    this.#scan = await this.#look();
  }

  /**
   * Holds what may come from a memory that was erased before this mount knew anything: all of a folder that was
   * mounted before and has lost its state, and elsewhere what is older than the erasure.
   */
  async #holdOld(erasedAt: number): Promise<void> {
    const { markedAt } = this.#options.claim;
    const until = erasedAt + SKEW_MS;
    const wasMounted = markedAt !== null && markedAt <= until;
    for (const { disk, stamp } of this.#scan.files.values()) {
      if (wasMounted || contentChangedAt(stamp) <= until) await this.#hold(disk);
    }
  }

  /** Holds what the service no longer has, and has redacted: the folder may have the text of before. */
  async #holdRedacted({ redactions }: ServiceMark): Promise<void> {
    if (!/\w/.test(redactions)) return;
    for (const [path, { disk }] of this.#scan.files) {
      if (this.#service?.has(path) === true) continue;
      if (await this.#isRedacted(path, 0)) await this.#hold(disk);
    }
  }

  /** Never sends the text that a file has now. */
  async #hold(disk: string): Promise<void> {
    const read = await readLocal(this.#toPlace(disk));
    if (read.kind === 'no_text') return;
    this.#state.held.set(disk, read.kind === 'text' ? read.hash : UNREAD);
    this.#isChanged = true;
  }

  /** Removes conflict copies whose text may have what was redacted. */
  async #dropRedactedCopies(): Promise<void> {
    for (const [disk, { path, version }] of this.#state.copies) {
      if (!(await this.#isRedacted(path, version))) continue;
      await this.#files.purge(disk);
      this.#state.copies.delete(disk);
      this.#isChanged = true;
      this.#options.onEvent({ kind: 'removed', path: disk });
    }
  }

  /** Whether something was redacted in a file, in the version that the folder had or since. */
  async #isRedacted(path: string, since: number): Promise<boolean> {
    for await (const { version, isRedacted } of this.#memory.versions(path)) {
      if (version < since) return false;
      if (isRedacted) return true;
    }
    return false;
  }

  /** Whether somebody deleted a file: what vanished without a trace was not deleted. */
  async #isDeleted(path: string): Promise<boolean> {
    for await (const { isDeletion } of this.#memory.versions(path)) {
      this.#forget('unknown');
      return isDeletion;
    }
    this.#say(
      'unknown',
      `The service knows nothing of files that were in step: is it another memory? They stay in the folder. To begin anew, remove ${this.#options.stateFile} and mount again.`,
    );
    return false;
  }

  #know(path: string, file: Omit<KnownFile, 'checkedAt'>): void {
    const { disk, version, revisionId, hash, stamp } = file;
    const checkedAt = this.#options.now();
    this.#state.files.set(path, { disk, version, revisionId, hash, stamp, checkedAt });
    this.#isChanged = true;
  }

  #drop(path: string): void {
    this.#state.files.delete(path);
    this.#isChanged = true;
  }

  #addCopy(disk: string, copy: { path: string; version: number }): void {
    this.#state.copies.set(disk, copy);
    this.#isChanged = true;
  }

  /** A file was written to while it was replaced. */
  #noteCopy(disk: string, copy: string): void {
    const [path, known] = [...this.#state.files].find(([, file]) => file.disk === disk) ?? [disk];
    this.#addCopy(copy, { path, version: known?.version ?? 0 });
    this.#options.onEvent({ kind: 'conflict', path, copy });
  }

  #toPlace(disk: string): string {
    return join(this.#options.claim.folder, disk);
  }

  /** The service has changed since its files were listed. */
  #listAgain(): void {
    this.#listedAt = -Infinity;
    this.#isDone = false;
  }

  #isRefused(path: string, hash: string): boolean {
    const refused = this.#refused.get(path);
    return refused?.hash === hash && this.#options.now() < refused.until;
  }

  #refuse(
    path: string,
    { hash, disk, why, isFinal }: { hash: string; disk: string; why: string; isFinal: boolean },
  ): void {
    const until = isFinal ? Infinity : this.#options.now() + RETRY_MS;
    this.#refused.set(path, { hash, until });
    this.#leaveOut(disk, why);
  }

  /** No more writes in this round. */
  #stop(message: string): void {
    this.#isStopped = true;
    this.#say('stopped', message);
  }

  /** No more changes of the folder in this round. */
  #fill(error: unknown): { placed: { kind: 'moving' }; copy: null } {
    const code = toCode(error);
    this.#isFull = true;
    const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : code;
    this.#say('disk', `The folder can't be written to (${why}): trying again.`);
    return { placed: { kind: 'moving' }, copy: null };
  }

  #sayGone(): void {
    this.#missing.clear();
    this.#say(
      'folder',
      `${this.#options.claim.folder} is gone, or is another folder by now. Nothing is deleted in the service: waiting for it.`,
    );
  }

  #leaveOut(path: string, why: string): void {
    if (this.#said.get(path) === why) return;
    this.#said.set(path, why);
    this.#options.onEvent({ kind: 'left_out', path, why });
  }

  /** Says something once, until {@link #forget}. */
  #say(about: string, message: string): void {
    if (this.#said.get(`\0${about}`) === message) return;
    this.#said.set(`\0${about}`, message);
    this.#options.onEvent({ kind: 'notice', message });
  }

  #forget(about: string): void {
    this.#said.delete(`\0${about}`);
    this.#said.delete(about);
  }
}

/** The code of an error of the disk; throws any other error. */
function toCode(error: unknown): string {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) throw error;
  return code;
}

function isSameVersion(known: KnownFile, { version, revisionId }: ServiceFile): boolean {
  return known.version === version && known.revisionId === revisionId;
}

/** Whether a file is surely the one that was known, by its stamp alone. */
function isSureStamp(known: KnownFile, { disk, stamp }: FoundFile): boolean {
  const isSame = known.disk === disk && isSameStamp(known.stamp, stamp);
  return isSame && known.checkedAt - known.stamp.at >= RACY_MS;
}
