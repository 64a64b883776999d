import type { ToolCall } from '../../contracts/tool.ts';
import type { ExaminedOperation } from '../../edits/engine.ts';
import { formatInboxLine, type SaidFact } from '../../edits/inbox-line.ts';
import { MemoryError } from '../../errors.ts';
import { isProviderError } from '../../providers/provider-failure.ts';
import { DEFAULT_WRITES, findKnown } from '../remember.ts';
import { type Kept, type Refusal, toKept, toOutcome } from './answer.ts';
import { noteForgetting } from './forget-trail.ts';
import { type InboxFile, readInbox } from './inbox.ts';
import { askVerifier, judge } from './judge.ts';
import { look, lookAgain, replaceLine, withoutLineAndGap } from './look.ts';
import { propose, type Proposal } from './propose.ts';
import { openSession, type RememberDependencies, type Session } from './session.ts';
import { applyWithin, toContents } from './store.ts';

/** Attempts to write while others change the same files. */
const ATTEMPTS = 5;

/** A line that waits. */
export interface QueuedLine {
  userId: string;
  file: InboxFile;
  /** As it stands in the file. */
  text: string;
  said: SaidFact;
  context: string | null;
  /** Throws `WRITES_FROZEN` where an operator has stopped the filing, or who told the line. */
  checkWriter(): void;
}

/** What became of a line. */
export type Fate = 'filed' | 'left' | 'gone';

/** Asks the models as `memory_remember` does, and writes what comes of the line together with its end. */
export async function fileLine(
  remember: RememberDependencies,
  line: QueuedLine,
  call: ToolCall,
): Promise<Fate> {
  const { said, text, file, context } = line;
  const deps = { ...remember, hidden: { path: file.path, text } };
  const { text: fact, speaker, day } = said;
  const told = {
    fact,
    speaker,
    day,
    context,
    timeZone: deps.timeZone,
    maxWrites: DEFAULT_WRITES,
    purpose: 'inbox' as const,
  };
  const standing = await deps.standing();
  const shown = await look(deps, { fact, context, use: standing.model }, call);
  const session = await openSession(deps, { told, shown, standing, call });
  let found: Found = { proposal: null, accepted: [], refused: [], isDone: false };
  // Where nobody can judge, the line waits for a dream.
  if (standing.judges === false) return await write(session, found, line);
  try {
    found = await ask(session, await propose(session), line);
  } catch (error) {
    // Another line may fare better with this model, and the same one later with one that is there.
    if (!isProviderError(error) || isUnreachable(error)) throw error;
  }
  return await write(session, found, line);
}

/** What the models say of a line. */
interface Found {
  proposal: Proposal | null;
  accepted: readonly ExaminedOperation[];
  refused: readonly Refusal[];
  /** Nothing has to be written: memory says so already, or the line says nothing. */
  isDone: boolean;
}

async function ask(session: Session, proposal: Proposal, line: QueuedLine): Promise<Found> {
  const { accepted, refused, failure } = await judge(session, proposal);
  if (failure !== null && isUnreachable(failure)) throw failure;
  const known = await findKnown(session, proposal);
  if (known.length > 0) return { proposal, accepted, refused, isDone: true };
  const isEmpty = proposal.examined.length === 0 && proposal.malformed === 0;
  if (!isEmpty) return { proposal, accepted, refused, isDone: false };
  const discard = toDiscard(line);
  const verdicts = await askVerifier(session, [discard], proposal.memory);
  const isDone = verdicts.get(discard.operation.number) === 'keeps';
  return { proposal, accepted, refused, isDone };
}

/** A line that says nothing, as the verifier is asked about it. */
function toDiscard({ file, said, text }: QueuedLine): ExaminedOperation {
  const shown = { path: file.path, line: null, heading: null, text: said.text, at: null };
  return {
    operation: {
      number: 1,
      kind: 'discard',
      reason: '',
      add: null,
      sources: [],
      remove: [{ path: file.path, line: null, text }],
    },
    remove: [shown],
    add: null,
    sources: [],
    class: 'meaning',
    signals: [],
    fault: null,
    knownBy: [],
    values: [],
  };
}

/** Writes what passed together with the end of the line, or takes the mark off the line that stays. */
async function write(
  session: Session,
  { proposal, accepted, refused, isDone }: Found,
  { file, text, said, checkWriter }: QueuedLine,
): Promise<Fate> {
  const { deps, call, options } = session;
  for (let attempt = 1; ; attempt += 1) {
    const now = (await readInbox(deps, call.userId)).find(({ path }) => path === file.path);
    const rest = now === undefined ? null : withoutLineAndGap(now.content, text);
    // Another process has filed it, or somebody has edited it.
    if (now === undefined || rest === null) return 'gone';
    const operations = accepted.map(({ operation }) => operation);
    const memory =
      proposal === null ? null : await lookAgain(deps, proposal.memory, operations, call);
    const applied =
      memory === null
        ? { files: [], refused: [] }
        : await applyWithin(memory, accepted, { options, maxWrites: DEFAULT_WRITES });
    const isPart = [...refused, ...applied.refused].some(({ kind }) => kind !== 'index');
    const isFiled = isDone || (applied.files.length > 0 && !isPart);
    const changed = applied.files.find(({ path }) => path === file.path);
    const without = changed?.after ?? rest;
    const left = formatInboxLine({ ...said, isQueued: false });
    const after = isFiled
      ? without
      : changed === undefined
        ? replaceLine(now.content, text, left)
        : `${without.replace(/\n?$/, '\n')}${left}\n`;
    const files = [
      ...applied.files.filter(({ path }) => path !== file.path),
      { path: file.path, version: now.version, before: now.content, after },
    ];
    const outcome = toOutcome(files, { refused: [] });
    const reason = isFiled
      ? applied.files.length > 0
        ? 'A fact of the inbox was filed.'
        : 'Memory says so already, or the line says nothing to keep.'
      : 'The fact could not be filed; it waits for a dream.';
    checkWriter();
    try {
      await deps.files.writeAll<Kept>(
        { files: toContents(files), reason },
        (written) => toKept(outcome, written),
        call,
      );
      if (proposal?.isForget === true) {
        const memoryThen = memory ?? proposal.memory;
        const all = [...refused, ...applied.refused];
        await noteForgetting(deps, { call, memory: memoryThen, refused: all });
      }
      return isFiled ? 'filed' : 'left';
    } catch (error) {
      const isConflict = error instanceof MemoryError && error.code === 'VERSION_CONFLICT';
      if (!isConflict || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Replies that a model gave, of whatever use: it was there. */
const ANSWERED = new Set(['malformed', 'empty', 'too_large', 'cut_off', 'refused', 'rejected']);

function isUnreachable(error: MemoryError): boolean {
  return !ANSWERED.has(String(error.details?.['reason']));
}
