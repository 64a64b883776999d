import type { FileContent } from '../../contracts/records.ts';
import type { Storage } from '../../contracts/storage.ts';
import { toPlain } from '../../edits/classify.ts';
import { type AppliedEdits, applyEdits, examine } from '../../edits/engine.ts';
import {
  formatInboxLine,
  parseInboxLine,
  type SaidFact,
  toOneLine,
  toSpeaker,
} from '../../edits/inbox-line.ts';
import type { EditOperation } from '../../edits/operations.ts';
import { splitLines } from '../../files/line-ends.ts';
import { toInboxNumber, toInboxPath } from '../../files/inbox-path.ts';
import { toScope, toVirtualPath, toUserPath, belowUser } from '../../files/paths.ts';
import { createPause } from '../../time/pause.ts';

/** What the inbox works with. */
export interface InboxDependencies {
  storage: { files: Pick<Storage['files'], 'read' | 'list'> };
  /** Virtual. */
  inboxPath: string;
  maxFileBytes: number;
}

/** A line of memory that says a fact. */
export interface KnownLine {
  path: string;
  version: number;
  /** From 1. */
  line: number;
  text: string;
}

/** What becomes of a fact that is to be kept in the inbox. */
export type InboxOutcome =
  | { status: 'added'; file: ChangedFile }
  | { status: 'known'; line: KnownLine }
  | { status: 'refused'; why: string };

type ChangedFile = AppliedEdits['files'][number];

/** A file of the inbox. */
export interface InboxFile {
  path: string;
  version: number;
  content: string;
}

/** Files with that many lines before their number in the name. */
const LISTED = 500;
/** Files of the inbox, from the last one on, that are read. */
const READ = 20;
const HEADING = 'Inbox';

/** The files of the inbox as they are now, in the order of their numbers; at most the last 20. */
export async function readInbox(deps: InboxDependencies, userId: string): Promise<InboxFile[]> {
  const scope = toScope({ userId: userId });
  const first = belowUser(deps.inboxPath);
  const prefix = `${first.slice(0, -'.md'.length)}-`;
  const more = await deps.storage.files.list(scope, { prefix, after: null, limit: LISTED });
  const numbers = more
    .flatMap((file) => toInboxNumber(toVirtualPath(file), deps.inboxPath) ?? [])
    .sort((a, b) => a - b);
  const files: InboxFile[] = [];
  for (const nth of [1, ...numbers].slice(-READ)) {
    const path = toInboxPath(first, nth);
    const file: FileContent | null = await deps.storage.files.read({ scope, path });
    if (file === null) continue;
    const { version, content } = file;
    files.push({ path: toUserPath(path), version, content });
  }
  return files;
}

/**
 * Plans the line of a fact: at the end of the last file of the inbox, or in a new one where that is
 * full or takes no line. `changed` has what the same write makes of files. Nothing is written.
 */
export async function planInboxLine(
  deps: InboxDependencies,
  {
    userId,
    said,
    isTimed,
    changed,
  }: {
    userId: string;
    said: SaidFact;
    /** Whether the fact has words such as "yesterday": said on another day, it is another fact. */
    isTimed: boolean;
    changed: readonly ChangedFile[];
  },
): Promise<InboxOutcome> {
  const inbox = await readInbox(deps, userId);
  // The same write may take a line of the inbox away.
  const left = inbox.map((file) => {
    const content = changed.find(({ path }) => path === file.path)?.after ?? file.content;
    return { ...file, content };
  });
  const line = await findLine(left, { said, isTimed });
  if (line !== null) return { status: 'known', line };
  const last = inbox.at(-1);
  const number = last === undefined ? 0 : (toInboxNumber(last.path, deps.inboxPath) ?? 1);
  const candidates: (InboxFile & { before: string | null })[] = [
    ...(last === undefined ? [] : [{ ...last, before: last.content }]),
    { path: toInboxPath(deps.inboxPath, number + 1), version: 0, content: '', before: null },
  ];
  let why = '';
  for (const candidate of candidates) {
    const { path, before } = candidate;
    const other = changed.find((file) => file.path === path);
    const planned = await addLine(
      { ...candidate, ...(other && { content: other.after }) },
      said,
      deps,
    );
    if ('after' in planned) {
      const { version } = candidate;
      return { status: 'added', file: { path, version, before, after: planned.after } };
    }
    why = planned.why;
  }
  return { status: 'refused', why };
}

/** The line of the inbox that has a fact; `null` where there is none. */
export async function findInInbox(
  deps: InboxDependencies,
  userId: string,
  wanted: { said: Pick<SaidFact, 'text' | 'day' | 'speaker'>; isTimed: boolean },
): Promise<KnownLine | null> {
  return await findLine(await readInbox(deps, userId), wanted);
}

/** The line of the same fact, by the same speaker. */
async function findLine(
  inbox: readonly InboxFile[],
  { said, isTimed }: { said: Pick<SaidFact, 'text' | 'day' | 'speaker'>; isTimed: boolean },
): Promise<KnownLine | null> {
  const pause = createPause();
  const wanted = toPlain(toOneLine(said.text));
  const speaker = toSpeaker(said.speaker);
  for (const { path, version, content } of inbox) {
    for (const [at, text] of splitLines(content).entries()) {
      const turn = pause();
      if (turn !== undefined) await turn;
      const other = parseInboxLine(text);
      if (other === null || toPlain(toOneLine(other.text)) !== wanted) continue;
      const isSame = toSpeaker(other.speaker) === speaker;
      if (isSame && (!isTimed || other.day === said.day)) {
        return { path, version, line: at + 1, text };
      }
    }
  }
  return null;
}

/** Adds the line as an operation like any: the guards hold for it. */
async function addLine(
  { path, version, content }: InboxFile,
  said: SaidFact,
  { maxFileBytes }: Pick<InboxDependencies, 'maxFileBytes'>,
): Promise<{ after: string } | { why: string }> {
  const isNew = version === 0 && content === '';
  const memory = {
    files: isNew ? [] : [{ path, version, content }],
    paths: new Set(isNew ? [] : [path]),
    fact: toOneLine(said.text),
  };
  const operation: EditOperation = {
    number: 1,
    kind: 'add',
    reason: '',
    remove: [],
    add: { path, heading: isNew ? HEADING : null, lines: [formatInboxLine(said)] },
    sources: [],
  };
  const options = { limits: { maxFileBytes, mayCreate: true } };
  const examined = await examine(memory, [operation], options);
  const { files, stale } = await applyEdits(memory, examined, options);
  const [file] = files;
  if (file !== undefined && stale.length === 0 && examined[0]?.fault === null) return file;
  return { why: examined[0]?.fault?.why ?? 'The inbox takes no line.' };
}
