import { ConfigError } from '../../config/error.ts';
import type { ChangedFile, ListAnswer } from '../../contracts/admin.ts';
import { askList, assertWritten, createLook } from './look.ts';
import { toDiff } from './text.ts';

/** `memory-service diff <id>|--shared --from=<time>`: shows what changed in a memory. */
export const diff = createLook<ListAnswer<ChangedFile>>({
  summary: 'Show what changed in a memory between two times.',
  argument: 'id',
  isArgumentOptional: true,
  flags: {
    shared: { value: null, summary: 'Shared memory, instead of that of a user.' },
    space: { value: null, summary: 'The id is that of a space.' },
    from: { value: 'time', summary: 'The earlier time, as 2026-01-31T09:30:00Z.' },
    to: { value: 'time', summary: 'The later time; default now.' },
  },
  async ask(api, { argument: id, flags }) {
    if ((id === '') !== flags.has('shared')) {
      throw new ConfigError(null, 'diff needs the id of a user or a space, or --shared.');
    }
    const from = flags.get('from');
    if (from === undefined) throw new ConfigError(null, 'diff needs --from=<time>.');
    const memory =
      id === ''
        ? ({ shared: 'true' } as const)
        : flags.has('space')
          ? { spaceId: id }
          : { userId: id };
    const query = { ...memory, from, to: flags.get('to') };
    const limit = Number.POSITIVE_INFINITY;
    const answer = await askList<ListAnswer<ChangedFile>>(api, 'diff', { query, limit });
    if (answer.items.length === 0) await assertWritten(api, memory);
    return answer;
  },
  print: ({ items }) =>
    items.length === 0
      ? 'Nothing changed.\n'
      : items
          .map(({ path, change, diff: text }) =>
            change === 'unknown'
              ? `# ${path}: its history of one of these times is pruned\n`
              : toDiff(text),
          )
          .join(''),
});
