import type { Influence } from '../../contracts/admin.ts';
import { askList, createLook, LIMIT_FLAG, limitOf } from './look.ts';
import { toColumns, toLine, toText } from './text.ts';

/** `memory-service readers <path> --line=<n>`: lists the calls that were shown a line of a file. */
export const readers = createLook<Influence>({
  summary: 'List who was shown a line of a file, or its whole content.',
  argument: 'path',
  flags: {
    line: { value: 'n', summary: 'The line, also where it stood unchanged in other versions.' },
    version: {
      value: 'n',
      summary: 'The version that the line is counted in; default the newest.',
    },
    limit: LIMIT_FLAG,
  },
  ask(api, given) {
    const { argument: path, flags } = given;
    const query = { path, line: flags.get('line'), version: flags.get('version') };
    return askList(api, 'observability/influence', { query, limit: limitOf(given) });
  },
  print({ line, items, nextCursor }) {
    const rows = items.map((one) => [
      ...[one.at, one.actor, one.tool ?? '-', one.action, one.userId ?? '-'],
      `v${one.version ?? '?'}${one.line === null ? '' : `:${one.line}`}`,
      one.lines === null && line !== null ? 'lines unknown' : 'shown',
      ...[one.toolCallId ?? '-', one.traceId ?? '-'],
    ]);
    return toText([
      ...(line === null
        ? []
        : [toLine(`${line.path} v${line.version}:${line.line}  ${line.text}`)]),
      ...toColumns(rows),
      ...(items.length === 0 ? ['Nobody was shown it.'] : []),
      ...(line?.complete === false
        ? ['Not all of its history is kept: more calls may have been shown the line.']
        : []),
      ...(nextCursor === null ? [] : ['There are more: see them with --limit.']),
    ]);
  },
});
