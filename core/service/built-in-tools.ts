import type { Settings } from '../config/settings.ts';
import type { ToolDefinition } from '../contracts/tool.ts';
import { memoryContext } from '../tools/memory_context.ts';
import { memoryDelete } from '../tools/memory_delete.ts';
import { memoryFind } from '../tools/memory_find.ts';
import { memoryList } from '../tools/memory_list.ts';
import { memoryMove } from '../tools/memory_move.ts';
import { memoryPatch } from '../tools/memory_patch.ts';
import { memoryRead } from '../tools/memory_read.ts';
import { memoryRemember } from '../tools/memory_remember.ts';
import { memoryWrite } from '../tools/memory_write.ts';

const BUILT_IN: readonly ToolDefinition[] = [
  memoryList,
  memoryRead,
  memoryWrite,
  memoryPatch,
  memoryFind,
  memoryContext,
  memoryRemember,
  memoryDelete,
  memoryMove,
] as ToolDefinition[];

/** The tools of the service itself, as the settings allow them. */
export function builtInTools(settings: Settings['tools']): ToolDefinition[] {
  return BUILT_IN.filter(
    ({ name }) =>
      (name !== 'memory_delete' || settings.delete) && (name !== 'memory_move' || settings.move),
  ).map((definition) => (settings.history ? definition : withoutHistory(definition)));
}

/** A user may have asked to forget: without `tools.history`, no tool knows `asOf`. */
function withoutHistory(definition: ToolDefinition): ToolDefinition {
  const { properties, ...schema } = definition.inputSchema as { properties?: object };
  if (properties === undefined || !('asOf' in properties)) return definition;
  const { asOf: _asOf, ...others } = properties as Record<string, unknown>;
  return { ...definition, inputSchema: { ...schema, properties: others } };
}
