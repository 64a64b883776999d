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
      return (api, { dryRun }) =>
        api.ask('POST', `revisions/${encodeURIComponent(revision)}/revert`, { dryRun });
    }
    const [runId, toolCallId, actor] = ['run', 'tool-call', 'actor'].map((flag) => flags.get(flag));
    const selection = { runId, toolCallId, actor, since, until, userId };
    return (api, { dryRun }) => api.ask('POST', 'revert', { ...selection, dryRun });
  },
  toOutcomes(answer) {
    const files = answer.files.map((file) =>
      'outcome' in file
        ? file
        : {
            ...file,
            outcome: file.unchanged ? 'unchanged' : 'reverted',
            why: null,
            diff: answer.dryRun ? file.diff : '',
            diffOmitted: false,
          },
    );
    const counts: Record<string, number> = {};
    for (const { outcome } of files) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return { files, counts, filesOmitted: 0 };
  },
});
