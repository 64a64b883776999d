import { ConfigError } from '../../config/error.ts';
import type { ChangedFile, ListAnswer } from '../../contracts/admin.ts';
import { askList, assertWritten, createLook } from './look.ts';
import { toDiff } from './text.ts';

/** `memory-service diff <userId> --from=<time>`: shows what changed in a user's memory. */
export const diff = createLook<ListAnswer<ChangedFile>>({
  summary: 'Show what changed in the memory of a user between two times.',
  argument: 'userId',
  flags: {
    from: { value: 'time', summary: 'The earlier time, as 2026-01-31T09:30:00Z.' },
    to: { value: 'time', summary: 'The later time; default now.' },
  },
  async ask(api, { argument: userId, flags }) {
    const from = flags.get('from');
    if (from === undefined) throw new ConfigError(null, 'diff needs --from=<time>.');
    const query = { userId, from, to: flags.get('to') };
    const limit = Number.POSITIVE_INFINITY;
    const answer = await askList<ListAnswer<ChangedFile>>(api, 'diff', { query, limit });
    if (answer.items.length === 0) await assertWritten(api, { userId });
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
