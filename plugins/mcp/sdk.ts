import type * as server from '@modelcontextprotocol/sdk/server/index.js';
import type * as stdio from '@modelcontextprotocol/sdk/server/stdio.js';
import type * as types from '@modelcontextprotocol/sdk/types.js';
import type * as validation from '@modelcontextprotocol/sdk/validation/ajv';
import { MemoryError } from '../../core/errors.ts';

const PACKAGE = '@modelcontextprotocol/sdk';

/** The parts of the SDK that are used here. */
export type McpSdk = typeof server & typeof stdio & typeof types & typeof validation;

/**
 * Imports the SDK when it is first needed: it is an optional peer. Rejects with `INVALID_REQUEST` and
 * what to install when it is not there.
 */
export async function importSdk(): Promise<McpSdk> {
  try {
    const parts = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
      import('@modelcontextprotocol/sdk/validation/ajv'),
    ]);
    return Object.assign({}, ...parts) as McpSdk;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new MemoryError(
      'INVALID_REQUEST',
      `MCP needs a package that is not installed: npm install ${PACKAGE}`,
      {
        ...{ cause, status: 503, details: { package: PACKAGE } },
        action: `Run npm install ${PACKAGE} beside memory-service, and start the service again.`,
      },
    );
  }
}
