import type { ListedTool } from '../schemas/tools.ts';

/** The formats of `GET /v1/tools`, beside its own. */
export const TOOL_FORMATS = ['openai', 'openai-responses', 'anthropic', 'mcp'] as const;

/** One of {@link TOOL_FORMATS}. */
export type ToolFormat = (typeof TOOL_FORMATS)[number];

/** A tool as OpenAI's Chat Completions and Responses APIs, Anthropic's Messages API or MCP take it. */
export function toToolFormat(tool: ListedTool, format: ToolFormat): Record<string, unknown> {
  const { name, title, description, inputSchema, outputSchema } = tool;
  switch (format) {
    case 'openai':
      return { type: 'function', function: { name, description, parameters: inputSchema } };
    case 'openai-responses':
      // Its strict mode wants every property required, which would change what the tool takes.
      return { type: 'function', name, description, parameters: inputSchema, strict: false };
    case 'anthropic':
      return { name, description, input_schema: inputSchema };
    case 'mcp':
      return {
        name,
        title,
        description,
        inputSchema,
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
