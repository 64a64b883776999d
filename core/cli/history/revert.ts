import { ConfigError } from '../../config/error.ts';
import type { RevertAnswer, RevertWritesAnswer } from '../../contracts/admin.ts';
import { createUndo } from './undo.ts';

/** The flags of which exactly one selects what is reverted. */
const KINDS = ['revision', 'run', 'tool-call', 'actor'];

/** `memory-service revert --tool-call=<id>`: undoes writes, and keeps what others wrote since. */
export const revert = createUndo<RevertAnswer | RevertWritesAnswer>({
  summary: 'Undo revisions, or the writes of a run, of a tool call or of an actor.',
  flags: {
    revision: { value: 'id', summary: 'This revision, or several: id,id,id.' },
    run: { value: 'id', summary: 'What this dream run wrote.' },
    'tool-call': { value: 'id', summary: 'What this tool call wrote.' },
    actor: { value: 'actor', summary: 'What this actor wrote since a time.' },
    since: { value: 'time', summary: 'With --actor: from this time on, as 2026-01-31T09:30:00Z.' },
    until: { value: 'time', summary: 'With --actor: and before this time.' },
    user: { value: 'userId', summary: 'Only in the memory of this user; not with --revision.' },
    'if-version': {
      value: 'n',
      summary: 'With one --revision: only while the file is at this version; 0: it is deleted.',
    },
    'on-conflict': {
      value: 'skip|leave|force',
      summary: 'Where others changed the same lines: undo the rest, leave the file, or insist.',
    },
  },
  ask({ flags }) {
    const kinds = KINDS.filter((kind) => flags.has(kind));
    if (kinds.length !== 1) {
      throw new ConfigError(
        null,
        'revert needs one of --revision, --run, --tool-call and --actor.',
      );
    }
    const onConflict = conflictOf(flags.get('on-conflict'));
    const [revision, since, until, userId] = ['revision', 'since', 'until', 'user'].map((flag) =>
      flags.get(flag),
    );
    if (revision !== undefined) {
      if ([since, until, userId].some((one) => one !== undefined)) {
        throw new ConfigError(null, '--revision takes no --since, --until or --user.');
      }
      const revisionIds = revision.split(',');
      if (revisionIds.length > 1) {
        if (flags.has('if-version')) throw onlyForOne();
        return (api, { dryRun }) => api.ask('POST', 'revert', { revisionIds, onConflict, dryRun });
      }
      const path = `revisions/${encodeURIComponent(revision)}/revert`;
      const wanted = ifVersionOf(flags.get('if-version'));
      return (api, { dryRun, preview }) => {
        const seen = preview === null ? undefined : versionOf(preview);
        return api.ask('POST', path, { dryRun, onConflict }, { ifVersion: wanted ?? seen });
      };
    }
    if (flags.has('if-version')) throw onlyForOne();
    const [runId, toolCallId, actor] = ['run', 'tool-call', 'actor'].map((flag) => flags.get(flag));
    const selection = { runId, toolCallId, actor, since, until, userId, onConflict };
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
    return { files, counts, filesOmitted: 0 };
  },
});

type File = (RevertAnswer | RevertWritesAnswer)['files'][number];

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

/** The version of the named file that a preview showed; 0 if the file did not exist. */
function versionOf({ files }: RevertAnswer | RevertWritesAnswer): number | undefined {
  const [file] = files;
  return file !== undefined && 'fromVersion' in file ? (file.fromVersion ?? 0) : undefined;
}

function onlyForOne(): ConfigError {
  return new ConfigError(null, '--if-version is only for one --revision.');
}

function conflictOf(text: string | undefined): 'skip' | 'leave' | 'force' | undefined {
  if (text === undefined || text === 'skip' || text === 'leave' || text === 'force') return text;
  throw new ConfigError(null, '--on-conflict is skip, leave or force.');
}

function ifVersionOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ConfigError(null, '--if-version is a whole number from 0.');
}
