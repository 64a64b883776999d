import type { Plugin } from '../../core/contracts/plugin.ts';
import { checkToolPrefix } from '../../core/schemas/tool-prefix.ts';
import { mcpRoute } from './http.ts';
import type { McpOptions } from './options.ts';

export type { McpOptions } from './options.ts';
export { serveStdio } from './stdio.ts';
export type { StdioOptions } from './stdio.ts';

/**
 * The tools and the memory files over the Model Context Protocol, at `/v1/mcp`. Needs the package
 * `@modelcontextprotocol/sdk`, which is imported at the first request.
 *
 * @example
 * createMemoryService({ storage, apiKey, plugins: [mcp({ readOnly: true })] });
 */
export function mcp(options: McpOptions = {}): Plugin {
  return {
    name: 'mcp',
    apiVersion: 2,
    options,
    optionsSchema: {
      type: 'object',
      properties: {
        tools: { type: 'array', items: { type: 'string' }, minItems: 1 },
        toolPrefix: { type: 'string', maxLength: 32 },
        readOnly: { type: 'boolean' },
        actor: { type: 'string', minLength: 1, maxLength: 64 },
      },
      additionalProperties: false,
    },
    setup(host) {
      checkToolPrefix(options.toolPrefix ?? '');
      return { routes: [mcpRoute(host.tools, options, host.settings)] };
    },
  };
}
