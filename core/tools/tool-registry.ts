import type { MemoryServices, ToolDefinition } from '../contracts/tool.ts';
import { MemoryError } from '../errors.ts';
import type { ListedTool } from '../schemas/tools.ts';
import { compileSchema } from '../schemas/validate.ts';

/** A tool, and the check of its arguments. */
export interface RegisteredTool {
  definition: ToolDefinition;
  /** Throws `INVALID_REQUEST` for arguments that don't fit the tool's schema. */
  check: (args: unknown) => unknown;
}

/** The tools that there are, by name. */
export interface ToolRegistry {
  readonly definitions: readonly ToolDefinition[];
  get(name: string): RegisteredTool | undefined;
  /** Adds a tool. Throws when the name is taken. */
  add(definition: ToolDefinition): void;
  remove(name: string): void;
  /** What a caller is told of each tool. */
  list(): readonly ListedTool[];
}

/** Makes a registry without tools. `services` decide which tools can do their work. */
export function createToolRegistry(services: MemoryServices): ToolRegistry {
  const definitions: ToolDefinition[] = [];
  const tools = new Map<string, RegisteredTool>();
  return {
    definitions,
    get: (name) => tools.get(name),
    add(definition) {
      if (tools.has(definition.name)) {
        throw new MemoryError('INVALID_REQUEST', `There is a tool ${definition.name} already.`);
      }
      const check = compileSchema<unknown>(definition.inputSchema, { nullIsAbsent: true });
      tools.set(definition.name, { definition, check });
      definitions.push(definition);
    },
    remove(name) {
      tools.delete(name);
      const index = definitions.findIndex((definition) => definition.name === name);
      if (index >= 0) definitions.splice(index, 1);
    },
    list: () => definitions.map((definition) => describe(definition, services)),
  };
}

function describe(definition: ToolDefinition, services: MemoryServices): ListedTool {
  const { name, title, description, inputSchema, outputSchema, requiresModel, readOnly } =
    definition;
  const available = (definition.unavailable?.(services) ?? null) === null;
  return {
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    requiresModel,
    readOnly,
    destructive: !readOnly && definition.destructive !== false,
    idempotent: readOnly || definition.idempotent === true,
    available,
  };
}
