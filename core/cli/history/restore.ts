import { ConfigError } from '../../config/error.ts';
import type { RestoreAnswer } from '../../contracts/admin.ts';
import { createUndo } from './undo.ts';

/** `memory-service restore <userId> --at=<time>`: makes a memory what it was at a time. */
export const restore = createUndo<RestoreAnswer>({
  summary: 'Make the memory of a user what it was at a time, by new revisions.',
  argument: 'userId',
  flags: {
    at: { value: 'time', summary: 'The time, as 2026-01-31T09:30:00Z.' },
    path: { value: 'path', summary: 'Only this file, or this folder: users/<userId>/…/.' },
  },
  ask({ argument, flags }) {
    const at = flags.get('at');
    if (at === undefined) throw new ConfigError(null, 'restore needs --at=<time>.');
    const path = flags.get('path');
    return (api, { dryRun }) =>
      api.ask('POST', `users/${encodeURIComponent(argument)}/restore`, { at, path, dryRun });
  },
  toOutcomes({ restored, deleted, unchanged, left, files, filesOmitted }) {
    return { files, counts: { restored, deleted, unchanged, left }, filesOmitted };
  },
});
