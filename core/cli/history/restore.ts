import { ConfigError } from '../../config/error.ts';
import type { RestoreAnswer } from '../../contracts/admin.ts';
import { createUndo } from './undo.ts';

/** `memory-service restore <id>|--shared --at=<time>`: makes a memory what it was at a time. */
export const restore = createUndo<RestoreAnswer>({
  summary: 'Make the memory of a user or a space, or shared memory, what it was at a time.',
  argument: 'id',
  isArgumentOptional: true,
  flags: {
    at: { value: 'time', summary: 'The time, as 2026-01-31T09:30:00Z.' },
    shared: { value: null, summary: 'Shared memory, instead of that of a user.' },
    space: { value: null, summary: 'The id is that of a space.' },
    path: {
      value: 'path',
      summary: 'Only this file, or this folder: users/<userId>/…/, spaces/<spaceId>/…/, shared/…/.',
    },
  },
  ask({ argument, flags }) {
    const at = flags.get('at');
    if (at === undefined) throw new ConfigError(null, 'restore needs --at=<time>.');
    if ((argument === '') !== flags.has('shared')) {
      throw new ConfigError(null, 'restore needs the id of a user or a space, or --shared.');
    }
    const path = flags.get('path');
    const owners = flags.has('space') ? 'spaces' : 'users';
    const memory = argument === '' ? 'shared' : `${owners}/${encodeURIComponent(argument)}`;
    return (api, { dryRun }) => api.ask('POST', `${memory}/restore`, { at, path, dryRun });
  },
  toOutcomes({ restored, deleted, unchanged, left, files, filesOmitted }) {
    return { files, counts: { restored, deleted, unchanged, left }, filesOmitted };
  },
});
