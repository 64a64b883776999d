import path from 'node:path';
import type { Storage } from '../../../core/contracts/storage.ts';
import { temporaryDirectory } from '../../support/service.ts';
import { type DreamService, lines, operation } from './dream-service.ts';
import { sqlite } from '../../support/databases.ts';

/** What is in `user/tea.md`. */
export const TEA = '- Likes tea a lot.\n- Likes tea a lot.\n- Has a cat.\n';
const A = '# Inbox\n\n- Uses Vim at work.\n- Decided on Kafka in 2024.\n';
const B = '# Projects\n\n- Decided on Redis in 2023.\n';

/** Memory of three files, by virtual path: as it is, and as {@link proposal} makes it. */
export const BEFORE: Readonly<Record<string, string>> = {
  'user/tea.md': TEA,
  'user/inbox.md': A,
  'user/projects.md': B,
};
export const AFTER: Readonly<Record<string, string>> = {
  'user/tea.md': '- Likes tea a lot.\n- Has a cat.\n',
  'user/inbox.md': '# Inbox\n\n- Uses Vim at work.\n',
  'user/projects.md': `${B}- Decided on Kafka in 2024.\n`,
};

/** Changes all three: a line goes from `a.md` to `b.md`, which is written before it. */
export const proposal = () => ({
  operations: [
    operation({
      kind: 'merge',
      remove: lines('user/tea.md', TEA, 1, 2),
      add: { path: 'user/tea.md', heading: null, lines: ['- Likes tea a lot.'] },
    }),
    operation({
      kind: 'move',
      remove: lines('user/inbox.md', A, 4),
      add: {
        path: 'user/projects.md',
        heading: 'Projects',
        lines: ['- Decided on Kafka in 2024.'],
      },
    }),
  ],
});

/** Writes the three files, and has the model propose. */
export async function writeThree(service: DreamService, userId = 'alice'): Promise<void> {
  for (const [file, content] of Object.entries(BEFORE)) await service.write(userId, file, content);
  service.say(proposal);
}

/** The three files as they are now. */
export async function readThree(service: DreamService, userId = 'alice') {
  const read = async (file: string) => [file, await service.read(userId, file)] as const;
  return Object.fromEntries(await Promise.all(Object.keys(BEFORE).map(read)));
}

/** A storage that others can open, too, with something that happens around its writes of memory. */
export interface WatchedStorage {
  readonly filename: string;
  readonly storage: Storage;
  /** Called before each write of memory. */
  beforeWrite: (paths: readonly string[]) => Promise<void>;
  /** Called after each write of memory has been committed, before its answer. Throwing loses that. */
  afterWrite: (paths: readonly string[]) => Promise<void>;
}

export async function watchedStorage(): Promise<WatchedStorage> {
  const filename = path.join(await temporaryDirectory(), 'memory.db');
  const real = sqlite({ filename });
  const watched: WatchedStorage = {
    filename,
    beforeWrite: async () => undefined,
    afterWrite: async () => undefined,
    storage: {
      ...real,
      async mutate(request, decide) {
        const paths = request.files.map((file) => `user/${file.path}`);
        await watched.beforeWrite(paths);
        const result = await real.mutate(request, decide);
        await watched.afterWrite(paths);
        return result;
      },
    },
  };
  return watched;
}
