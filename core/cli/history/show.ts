import type { AdminFileAnswer } from '../../contracts/admin.ts';
import { toQuery } from '../running-server.ts';
import { createLook, type Given, toFilePath } from './look.ts';
import { toContent } from './text.ts';

/** The flags that choose the content of a file. */
export const POINT_FLAGS = {
  at: { value: 'time', summary: 'As of this time, as 2026-01-31T09:30:00Z.' },
  version: { value: 'n', summary: 'At this version.' },
};

/** The query of {@link POINT_FLAGS}. */
export function pointOf({ flags }: Given) {
  return { at: flags.get('at'), version: flags.get('version') };
}

/** `memory-service show <path>`: prints the content of a file, now or earlier. */
export const show = createLook<AdminFileAnswer>({
  summary: 'Print a file, as it is or as it was.',
  argument: 'path',
  flags: POINT_FLAGS,
  ask: (api, given) => api.ask('GET', `${toFilePath(given.argument)}?${toQuery(pointOf(given))}`),
  print: ({ file }) => toContent(file.content),
});
