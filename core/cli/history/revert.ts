import { ConfigError } from '../../config/error.ts';
import type { RevertAnswer, RevertWritesAnswer } from '../../contracts/admin.ts';
import { createUndo } from './undo.ts';

/** The flags of which exactly one selects what is reverted. */
const KINDS = ['revision', 'run', 'tool-call', 'actor'];

/** `memory-service revert --tool-call=<id>`: undoes writes where nobody wrote since. */
export const revert = createUndo<RevertAnswer | RevertWritesAnswer>({
  summary: 'Undo a revision, or the writes of a run, of a tool call or of an actor.',
  flags: {
    revision: { value: 'id', summary: 'This revision alone.' },
    run: { value: 'id', summary: 'What this dream run wrote.' },
    'tool-call': { value: 'id', summary: 'What this tool call wrote.' },
    actor: { value: 'actor', summary: 'What this actor wrote since a time.' },
    since: { value: 'time', summary: 'With --actor: from this time on, as 2026-01-31T09:30:00Z.' },
    until: { value: 'time', summary: 'With --actor: and before this time.' },
    user: { value: 'userId', summary: 'Only in the memory of this user; not with --revision.' },
    'if-version': {
      value: 'n',
      summary: 'With --revision: at this version, also if others wrote since; 0: it is deleted.',
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
    const [revision, since, until, userId] = ['revision', 'since', 'until', 'user'].map((flag) =>
      flags.get(flag),
    );
    if (revision !== undefined) {
      if ([since, until, userId].some((one) => one !== undefined)) {
        throw new ConfigError(null, '--revision takes no --since, --until or --user.');
      }
      const path = `revisions/${encodeURIComponent(revision)}/revert`;
      const wanted = ifVersionOf(flags.get('if-version'));
      return (api, { dryRun, preview }) => {
        const seen = preview === null ? undefined : versionOf(preview);
        return api.ask('POST', path, { dryRun }, { ifVersion: wanted ?? seen });
      };
    }
    if (flags.has('if-version')) {
      throw new ConfigError(null, '--if-version is only for --revision.');
    }
    const [runId, toolCallId, actor] = ['run', 'tool-call', 'actor'].map((flag) => flags.get(flag));
    const selection = { runId, toolCallId, actor, since, until, userId };
    return (api, { dryRun }) => api.ask('POST', 'revert', { ...selection, dryRun });
  },
  toOutcomes(answer) {
    // A receipt has no diffs.
    const files = answer.files.map((file) => ({
      ...file,
      why: toWhy(file, answer.files.length),
      diff: answer.dryRun ? file.diff : '',
    }));
    const counts: Record<string, number> = {};
    for (const { outcome } of files) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return { files, counts, filesOmitted: 0 };
  },
});

type File = (RevertAnswer | RevertWritesAnswer)['files'][number];

/** Why a file is left, and how a revert of one revision is done all the same. */
function toWhy(file: File, files: number): string | null {
  const isOverridable = 'fromVersion' in file && file.outcome === 'changed_since' && files === 1;
  if (!isOverridable) return file.why;
  return `${file.why ?? ''} Edit it by hand, or look with --dry-run --if-version=${file.fromVersion ?? 0} what the revert would take out.`;
}

/** The version of the named file that a preview showed; 0 if the file did not exist. */
function versionOf({ files }: RevertAnswer | RevertWritesAnswer): number | undefined {
  const [file] = files;
  return file !== undefined && 'fromVersion' in file ? (file.fromVersion ?? 0) : undefined;
}

function ifVersionOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ConfigError(null, '--if-version is a whole number from 0.');
}
