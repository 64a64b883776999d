import type * as server from '@modelcontextprotocol/sdk/server/index.js';
import type * as stdio from '@modelcontextprotocol/sdk/server/stdio.js';
import type * as types from '@modelcontextprotocol/sdk/types.js';
import type * as validation from '@modelcontextprotocol/sdk/validation/ajv';
import { importPeer } from '../../core/packages/import-peer.ts';

const PACKAGE = '@modelcontextprotocol/sdk';

/** The parts of the SDK that are used here. */
export type McpSdk = typeof server & typeof stdio & typeof types & typeof validation;

/**
 * Imports the SDK when it is first needed: it is an optional peer. Rejects with `INVALID_REQUEST` and
 * what to install when it is not there or too old.
 */
export function importSdk(): Promise<McpSdk> {
  return importPeer('MCP', {
    packages: [PACKAGE],
    async load() {
      const parts = await Promise.all([
        import('@modelcontextprotocol/sdk/server/index.js'),
        import('@modelcontextprotocol/sdk/server/stdio.js'),
        import('@modelcontextprotocol/sdk/types.js'),
        import('@modelcontextprotocol/sdk/validation/ajv'),
      ]);
      return Object.assign({}, ...parts) as McpSdk;
    },
    parts: ['Server', 'StdioServerTransport', 'McpError', 'AjvJsonSchemaValidator'],
    status: 503,
  });
}
