import type { AdminRevision, ListAnswer } from '../../contracts/admin.ts';
import { askList, assertWritten, createLook, LIMIT_FLAG, limitOf } from './look.ts';
import { toColumns, toText } from './text.ts';

/** `memory-service log [<path>]`: lists revisions, newest first. */
export const log = createLook<ListAnswer<AdminRevision>>({
  summary: 'List the revisions of a file, or of all memory, newest first.',
  argument: 'path',
  isArgumentOptional: true,
  flags: {
    user: { value: 'userId', summary: 'Revisions of the memory of this user.' },
    actor: { value: 'actor', summary: 'What this actor wrote.' },
    run: { value: 'runId', summary: 'What this dream run wrote.' },
    trace: { value: 'traceId', summary: 'What was written in this trace; readers names it.' },
    since: { value: 'time', summary: 'From this time on, as 2026-01-31T09:30:00Z.' },
    limit: LIMIT_FLAG,
  },
  async ask(api, given) {
    const { argument, flags } = given;
    const userId = flags.get('user');
    const query = {
      path: argument === '' ? null : argument,
      userId,
      actor: flags.get('actor'),
      runId: flags.get('run'),
      traceId: flags.get('trace'),
      since: flags.get('since'),
    };
    const limit = limitOf(given);
    const answer = await askList<ListAnswer<AdminRevision>>(api, 'revisions', { query, limit });
    if (answer.items.length === 0 && argument !== '') await assertWritten(api, { path: argument });
    if (answer.items.length === 0 && userId !== undefined) await assertWritten(api, { userId });
    return answer;
  },
  print({ items, nextCursor }) {
    const rows = items.map((one) => [
      ...[one.at, one.id, one.path, `v${one.version}`, toAction(one)],
      ...[`+${one.addedLines} -${one.removedLines}`, one.actor, one.tool ?? '-', one.reason ?? ''],
    ]);
    const more = nextCursor === null ? [] : ['There are older ones: see more with --limit.'];
    const none = items.length === 0 ? ['No revisions.'] : [];
    return toText([...toColumns(rows), ...more, ...none]);
  },
});

/** `revert of v2-3`: the versions that it took back, and whether others' changes were kept. */
function toAction({ action, reverts, merged }: AdminRevision): string {
  if (reverts === null) return action;
  // What it took back of the path that the file was moved from is not of these versions.
  const [own = ''] = reverts.replace('~', '').split(';');
  const what = own === '' ? '' : ` of v${own}`;
  return `${action}${what}${merged ? ', merged' : ''}`;
}
