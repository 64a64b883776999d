import type { XStatic } from 'typebox/schema';
import type { JsonSchema, ToolDefinition } from '../contracts/tool.ts';

/**
 * Types a tool by its schemas: what `run` gets as `args`, and what it and its example answer. The schemas
 * are plain JSON Schema, or made with TypeBox.
 *
 * @example
 * const greet = defineTool({
 *   name: 'memory_greet',
 *   title: 'Greet',
 *   description: 'Greets the user by name.',
 *   inputSchema: {
 *     type: 'object',
 *     properties: { name: { type: 'string' } },
 *     required: ['name'],
 *     additionalProperties: false,
 *   },
 *   outputSchema: {
 *     type: 'object',
 *     properties: { text: { type: 'string' } },
 *     required: ['text'],
 *   },
 *   readOnly: true,
 *   requiresModel: false,
 *   errorCodes: [],
 *   example: { arguments: { name: 'Ada' }, result: { text: 'Hello, Ada' } },
 *   run: async (services, args) => ({ text: `Hello, ${args.name}` }),
 * });
 */
export function defineTool<const Input extends JsonSchema, const Output extends JsonSchema>(
  tool: Omit<ToolDefinition<XStatic<Input>, XStatic<Output>>, 'inputSchema' | 'outputSchema'> & {
    inputSchema: Input;
    outputSchema: Output;
  },
): ToolDefinition {
  // The service calls it with what the schema accepted.
  return tool as unknown as ToolDefinition;
}
