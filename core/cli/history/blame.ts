import type { AdminFileAnswer, BlamedLines } from '../../contracts/admin.ts';
import { toQuery } from '../running-server.ts';
import { createLook, toFilePath } from './look.ts';
import { POINT_FLAGS, pointOf } from './show.ts';
import { toColumns, toLine, toText } from './text.ts';

/** `memory-service blame <path>`: says of each line of a file who wrote it. */
export const blame = createLook<AdminFileAnswer>({
  summary: 'Say who wrote each line of a file, when and with which tool.',
  argument: 'path',
  flags: {
    ...POINT_FLAGS,
    reads: { value: null, summary: 'Also say what each writer had read before.' },
  },
  ask(api, given) {
    const query = toQuery({ ...pointOf(given), blame: 'true' });
    return api.ask('GET', `${toFilePath(given.argument)}?${query}`);
  },
  print({ file, blame: ranges = [], blameEnd = null }, { flags }) {
    const content = file.content.replace(/\n$/, '').split('\n');
    const numbered = ranges.flatMap((range) =>
      content.slice(range.startLine - 1, range.endLine).map((line, index) => ({
        number: range.startLine + index,
        row: [...toWriter(range), String(range.startLine + index), line],
      })),
    );
    const lines = toColumns(numbered.map(({ row }) => row));
    const readsAt = new Map(ranges.map((range) => [range.startLine, toReads(range)]));
    const text = lines.flatMap((line, index) => {
      const reads = readsAt.get(numbered[index]?.number ?? 0) ?? null;
      return flags.has('reads') && reads !== null ? [`  ${reads}`, line] : [line];
    });
    const more = blameEnd === null ? [] : [`The file is too long to blame after line ${blameEnd}.`];
    return toText([...text, ...more]);
  },
});

function toWriter(lines: BlamedLines): string[] {
  const { revisionId, version, actor, at, before, tool, putBackBy } = lines;
  if (revisionId === null) return ['-', '-', before === null ? '-' : `before ${before}`, '-'];
  const back = putBackBy === undefined ? '' : ` (put back by v${putBackBy.version})`;
  return [`v${version}${back}`, actor ?? '-', at ?? '-', tool ?? '-'];
}

/** What the writer of these lines had read; `null` where that is said elsewhere, or was nothing. */
function toReads({ afterReading }: BlamedLines): string | null {
  if (afterReading === null) return 'what its writer had read was not looked up';
  if (afterReading === undefined || afterReading.length === 0) return null;
  const files = afterReading.map(({ path, probably }) => (probably ? `${path} (probably)` : path));
  return toLine(`written after reading ${files.join(', ')}`);
}
