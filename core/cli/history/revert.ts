import { ConfigError } from '../../config/error.ts';
import type { RevertAnswer, RevertWritesAnswer } from '../../contracts/admin.ts';
import { addRevertPage } from '../../history/undo/add-page.ts';
import { postPages } from '../post-pages.ts';
import { readText } from '../read-text.ts';
import type { RunningServer } from '../running-server.ts';
import { createUndo } from './undo.ts';

/** The flags of which exactly one selects what is reverted. */
const KINDS = ['revision', 'run', 'tool-call', 'actor', 'lines', 'text'];
/** Flags that go with one of them only. */
const ONLY_WITH: Readonly<Record<string, readonly string[]>> = {
  since: ['actor'],
  until: ['actor'],
  user: ['run', 'tool-call', 'actor', 'text'],
  space: ['run', 'tool-call', 'actor', 'text'],
  path: ['lines', 'text'],
  version: ['lines'],
  in: ['text'],
  'if-version': ['revision', 'lines'],
};
/** Files that are listed where there may be one for each user. */
const FILES_LISTED = 100;

type Answer = RevertAnswer | RevertWritesAnswer;
type Ask = (
  api: RunningServer,
  options: { dryRun: boolean; preview: Answer | null },
) => Promise<Answer>;

/** `memory-service revert --tool-call=<id>`: undoes writes or lines, and keeps what others wrote since. */
export const revert = createUndo<Answer>({
  summary: 'Undo revisions, the writes of a run, of a tool call or of an actor, or lines.',
  flags: {
    revision: { value: 'id', summary: 'This revision, or several: id,id,id.' },
    run: { value: 'id', summary: 'What this dream run wrote.' },
    'tool-call': { value: 'id', summary: 'What this tool call wrote.' },
    actor: { value: 'actor', summary: 'What this actor wrote since a time.' },
    since: { value: 'time', summary: 'With --actor: from this time on, as 2026-01-31T09:30:00Z.' },
    until: { value: 'time', summary: 'With --actor: and before this time.' },
    lines: {
      value: 'n-m',
      summary: 'With --path: what was done to these lines by those who wrote them.',
    },
    path: { value: 'path', summary: 'With --lines, or --text --in=file: the physical path.' },
    version: { value: 'n', summary: 'With --lines: lines of this version; default the newest.' },
    text: {
      value: null,
      summary: 'Each line that has a text now; the text is read from standard input.',
    },
    in: { value: 'where', summary: 'With --text: file, user or everywhere.' },
    user: { value: 'userId', summary: 'Only in the memory of this user.' },
    space: { value: 'spaceId', summary: 'Only in the memory of this space.' },
    'if-version': {
      value: 'n',
      summary:
        'With one --revision, or --lines: only at this version of the file; 0: it is deleted.',
    },
    'on-conflict': {
      value: 'skip|leave|force',
      summary: 'Where others changed the same lines: undo the rest, leave the file, or insist.',
    },
  },
  ask({ flags }) {
    const [kind, ...others] = KINDS.filter((one) => flags.has(one));
    if (kind === undefined || others.length > 0) {
      const message =
        'revert needs one of --revision, --run, --tool-call, --actor, --lines and --text.';
      throw new ConfigError(null, message);
    }
    for (const [flag, kinds] of Object.entries(ONLY_WITH)) {
      if (flags.has(flag) && !kinds.includes(kind)) throw isNotFor(flag, kind);
    }
    const onConflict = conflictOf(flags.get('on-conflict'));
    const wanted = wholeNumberOf('if-version', flags);
    if (kind === 'revision') return revertRevisions(flags.get(kind) ?? '', { onConflict, wanted });
    if (kind === 'lines') return revertLines(flags, { onConflict, wanted });
    if (kind === 'text') return revertText(flags, { onConflict });
    const [runId, toolCallId, actor] = ['run', 'tool-call', 'actor'].map((flag) => flags.get(flag));
    const [since, until, userId, spaceId] = ['since', 'until', 'user', 'space'].map((flag) =>
      flags.get(flag),
    );
    const selection = { runId, toolCallId, actor, since, until, userId, spaceId, onConflict };
    return (api, { dryRun }) => api.ask('POST', 'revert', { ...selection, dryRun });
  },
  toOutcomes(answer) {
    // A receipt has no diffs.
    const files = answer.files.map((file) => ({
      ...file,
      why: toWhy(file),
      diff: answer.dryRun ? file.diff : '',
    }));
    const counts: Record<string, number> = {};
    for (const { outcome } of files) counts[outcome] = (counts[outcome] ?? 0) + 1;
    const isMany = 'counts' in answer && files.length > FILES_LISTED;
    const listed = isMany ? files.slice(0, FILES_LISTED) : files;
    return {
      files: listed,
      counts,
      filesOmitted: files.length - listed.length,
      notes: 'counts' in answer ? toNotes(answer.counts) : [],
    };
  },
});

type OnConflict = 'skip' | 'leave' | 'force' | undefined;

function revertRevisions(
  revision: string,
  { onConflict, wanted }: { onConflict: OnConflict; wanted: number | undefined },
): Ask {
  const revisionIds = revision.split(',');
  if (revisionIds.length > 1) {
    if (wanted !== undefined) {
      throw isNotFor('if-version', 'revision');
    }
    return (api, { dryRun }) => api.ask('POST', 'revert', { revisionIds, onConflict, dryRun });
  }
  const path = `revisions/${encodeURIComponent(revision)}/revert`;
  return (api, { dryRun, preview }) => {
    const ifVersion = wanted ?? versionOf(preview);
    return api.ask('POST', path, { dryRun, onConflict }, { ifVersion });
  };
}

/** Lines are those of the version that the preview has shown. */
function revertLines(
  flags: ReadonlyMap<string, string>,
  { onConflict, wanted }: { onConflict: OnConflict; wanted: number | undefined },
): Ask {
  const path = flags.get('path');
  if (path === undefined) throw new ConfigError(null, '--lines needs --path.');
  const body = {
    path,
    lines: flags.get('lines'),
    version: wholeNumberOf('version', flags),
    onConflict,
  };
  return (api, { dryRun, preview }) => {
    const ifVersion = wanted ?? versionOf(preview);
    return api.ask('POST', 'revert', { ...body, dryRun }, { ifVersion });
  };
}

/** Asks for all pages. The text is read once. */
function revertText(
  flags: ReadonlyMap<string, string>,
  { onConflict }: { onConflict: OnConflict },
): Ask {
  const [where, userId, spaceId, path] = ['in', 'user', 'space', 'path'].map((flag) =>
    flags.get(flag),
  );
  if (where === undefined) {
    throw new ConfigError(null, '--text needs --in=file, --in=user or --in=everywhere.');
  }
  let given: Promise<string> | null = null;
  return async (api, { dryRun }) => {
    const text = await (given ??= readText('Text: '));
    const body = { text, in: where, userId, spaceId, path, onConflict, dryRun };
    return await postPages<RevertWritesAnswer>(api, { route: 'revert', body }, addRevertPage);
  };
}

/** Who wrote the lines, and how many users have them. */
function toNotes(counts: RevertWritesAnswer['counts']): string[] {
  if (counts === undefined || counts.writers.length === 0) return [];
  const lines = counts.users.reduce((sum, one) => sum + one.lines, 0);
  const shown = counts.writers.slice(0, 10).map((one) => `${one.lines} by ${one.actor}`);
  const more = counts.writers.length > shown.length ? ', …' : '';
  const users = counts.users.length === 1 ? '1 memory' : `${counts.users.length} memories`;
  return [`${lines === 1 ? '1 line' : `${lines} lines`} in ${users}: ${shown.join(', ')}${more}.`];
}

type File = Answer['files'][number];

/** Why a file is left, with the places that others changed. */
function toWhy({ why, conflicts }: File): string | null {
  if (conflicts.length === 0) return why;
  const places = conflicts.slice(0, 5).map(({ startLine, endLine, writer }) => {
    const lines = endLine > startLine ? `lines ${startLine}-${endLine}` : `line ${startLine}`;
    return writer === null ? lines : `${lines} by ${writer.actor}`;
  });
  const more = conflicts.length > places.length ? ', …' : '';
  return `${why ?? ''} (${places.join(', ')}${more}) Edit it by hand, or look with --dry-run --on-conflict=force.`;
}

function isNotFor(flag: string, kind: string): ConfigError {
  if (flag === 'if-version') {
    return new ConfigError(null, '--if-version is only for one --revision, or for --lines.');
  }
  const revision =
    '--revision takes no --since, --until, --user, --space, --path, --version or --in.';
  return new ConfigError(
    null,
    kind === 'revision' ? revision : `--${flag} does not go with --${kind}.`,
  );
}

/** The version of the named file that a preview showed; 0 if the file did not exist. */
function versionOf(preview: Answer | null): number | undefined {
  const [file] = preview?.files ?? [];
  return file !== undefined && 'fromVersion' in file ? (file.fromVersion ?? 0) : undefined;
}

function conflictOf(text: string | undefined): OnConflict {
  if (text === undefined || text === 'skip' || text === 'leave' || text === 'force') return text;
  throw new ConfigError(null, '--on-conflict is skip, leave or force.');
}

function wholeNumberOf(flag: string, flags: ReadonlyMap<string, string>): number | undefined {
  const text = flags.get(flag);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ConfigError(null, `--${flag} is a whole number from 0.`);
}
