import type { JsonSchema } from '../contracts/tool.ts';
import { toPortableSchema } from '../schemas/portable-schema.ts';
import { toStrictSchema } from '../schemas/strict-schema.ts';
import type { ListedTool } from '../schemas/tools.ts';

/** The formats of `GET /v1/tools`, beside the service's own. */
export const TOOL_FORMATS = ['openai', 'openai-responses', 'anthropic', 'mcp'] as const;

/** One of {@link TOOL_FORMATS}. */
export type ToolFormat = (typeof TOOL_FORMATS)[number];

/** Whether a format has a strict mode; OpenAI's two formats do. */
export function hasStrictMode(format: ToolFormat | undefined): boolean {
  return format === 'openai' || format === 'openai-responses';
}

/**
 * A tool in the format of OpenAI's Chat Completions or Responses API, Anthropic's Messages API or
 * MCP. With `strict`, in the form that OpenAI's strict mode accepts; plugin tools that cannot be
 * expressed in it get `strict: false`.
 */
export function toToolFormat(
  tool: ListedTool,
  format: ToolFormat,
  { strict: isAsked = false }: { strict?: boolean | undefined } = {},
): Record<string, unknown> {
  const { name, title, description, inputSchema, outputSchema } = tool;
  const strictSchema: JsonSchema | null = isAsked ? toStrictSchema(inputSchema) : null;
  const strict = strictSchema !== null;
  const parameters = strictSchema ?? inputSchema;
  switch (format) {
    case 'openai':
      return { type: 'function', function: { name, description, parameters, strict } };
    case 'openai-responses':
      // If `strict` is absent, the API tries strict mode.
      return { type: 'function', name, description, parameters, strict };
    case 'anthropic':
      return { name, description, input_schema: inputSchema };
    case 'mcp':
      return {
        name,
        title,
        description,
        inputSchema: toPortableSchema(inputSchema),
        outputSchema,
        annotations: {
          title,
          readOnlyHint: tool.readOnly,
          destructiveHint: tool.destructive,
          idempotentHint: tool.idempotent,
          openWorldHint: false,
        },
      };
  }
}
