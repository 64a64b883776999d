import { examineInSteps, type ExaminedOperation } from '../../core/edits/engine.ts';
import { GUARDS } from '../../core/edits/guards.ts';
import { nameLines } from '../../core/edits/numbered.ts';
import { repairLines, repairPaths } from '../../core/edits/repair.ts';
import { atOnce } from '../../core/time/pause.ts';
import { DREAM_KINDS, parseEdits, REMEMBER_KINDS } from '../../core/edits/operations.ts';
import type { EditedMemory } from '../../core/edits/edited-memory.ts';

export const EDIT_LIMITS = { maxFileBytes: 262_144, mayCreate: true };

/** Memory of these files; `times` gives a time for each line of a file. */
export function memoryOf(
  files: Readonly<Record<string, string>>,
  { fact, times = {} }: { fact?: string; times?: Readonly<Record<string, readonly number[]>> } = {},
): EditedMemory {
  const edited = Object.entries(files).map(([path, content]) => ({
    path,
    version: 1,
    content,
    ...(times[path] === undefined ? {} : { times: times[path] }),
  }));
  const paths = new Set(Object.keys(files));
  return { files: edited, paths, ...(fact === undefined ? {} : { fact }) };
}

/**
 * A line as a model names it: by its id, `a3` or `a3| - text`, or quoted, `user/a.md: - text`, or with its number
 * `user/a.md:3: - text`.
 */
function line(quoted: string): object | string {
  if (/^[a-z]+\d+(?:$|[ |])/i.test(quoted)) return quoted;
  const [, path = '', number, text = ''] = /^([^:]+):(\d+)?:? (.*)$/s.exec(quoted) ?? [];
  return { path, line: Number(number ?? 0), text };
}

/** An operation as a model proposes it, with what is left out empty. */
export function edit(
  kind: string,
  {
    remove = [],
    add = null,
    sources = [],
  }: { remove?: string[]; add?: object | null; sources?: string[] },
): object {
  const added = add === null ? null : { heading: null, ...add };
  return { kind, reason: '', remove: remove.map(line), add: added, sources: sources.map(line) };
}

/** What the engine makes of proposed operations; `off` names guards that are left out. */
export function examineAll(
  memory: EditedMemory,
  operations: readonly object[],
  off: readonly string[] = [],
): ExaminedOperation[] {
  const kinds = memory.fact === undefined ? DREAM_KINDS : REMEMBER_KINDS;
  const shown = nameLines(memory.files);
  const parsed =
    parseEdits(JSON.stringify({ operations }), kinds, { ...memory, files: shown })?.operations ??
    [];
  const guards = Object.fromEntries(Object.entries(GUARDS).filter(([name]) => !off.includes(name)));
  const mended = atOnce(repairLines(repairPaths(parsed, memory), memory));
  return atOnce(examineInSteps(memory, mended, { limits: EDIT_LIMITS, guards }));
}
