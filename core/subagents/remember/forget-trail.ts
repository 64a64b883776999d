import type { ToolCall } from '../../contracts/tool.ts';
import { parseVirtualPath } from '../../files/paths.ts';
import { logAccess } from '../../telemetry/access-rows.ts';
import { FORGET_SPAN } from '../../telemetry/hygiene/forget-findings.ts';
import { formatLines, toLineRanges } from '../../telemetry/shown-lines.ts';
import type { Refusal } from './answer.ts';
import type { SeenMemory } from './look.ts';
import type { RememberDependencies } from './session.ts';

/**
 * Notes that a call was a request to forget, for hygiene: by a span, and by an access row of each file
 * whose lines stand although they were named. Nothing of their text is kept.
 */
export async function noteForgetting(
  { search }: Pick<RememberDependencies, 'search'>,
  { call, memory, refused }: { call: ToolCall; memory: SeenMemory; refused: readonly Refusal[] },
): Promise<void> {
  call.trace.start('revision.write', FORGET_SPAN).end();
  const standing = new Map<string, number[]>();
  for (const { path, line } of refused.flatMap(({ named }) => named)) {
    if (line !== null) standing.set(path, [...(standing.get(path) ?? []), line]);
  }
  const rows = memory.files.flatMap(({ path, version }) => {
    const lines = standing.get(path);
    if (lines === undefined) return [];
    const key = parseVirtualPath(path, call);
    const shown = formatLines(toLineRanges(lines));
    return [{ ...key, action: 'write', outcome: 'error', version, lines: shown } as const];
  });
  if (rows.length > 0) await logAccess(search, { call, rows });
}
