import type {
  CompleteResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from '@modelcontextprotocol/sdk/types.js';
import type {
  BuiltInTools,
  ListedFile,
  ToolRequest,
  ToolRunner,
} from '../../core/contracts/tool.ts';
import { MemoryError } from '../../core/errors.ts';
import { takeStart } from '../../core/encoding/take-text.ts';

const SCHEME = 'memory://';
const PAGE_SIZE = 100;
/** Where paths start. */
const ROOTS = ['user', 'spaces', 'shared'];

/** What is common to the calls of one request: whose memory it is, and who reads. */
export type Call = Omit<ToolRequest, 'arguments'>;

/** A page of the memory files as resources, without their content. */
export async function listResources(
  runner: ToolRunner,
  call: Call,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const { result } = await runner.execute('memory_list', {
    ...call,
    arguments: { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) },
  });
  const { files, nextCursor } = result as { files: ListedFile[]; nextCursor: string | null };
  return {
    resources: files.map(({ path, size, updatedAt }) => ({
      uri: toUri(path),
      name: path,
      mimeType: toMimeType(path),
      size,
      annotations: { lastModified: updatedAt },
    })),
    ...(nextCursor === null ? {} : { nextCursor }),
  };
}

/** All memory files of the user, and the shared ones. */
export async function listAllFiles(runner: ToolRunner, call: Call): Promise<ListedFile[]> {
  const found: ListedFile[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await runner.execute('memory_list', {
      ...call,
      arguments: { limit: 500, cursor },
    });
    const { files, nextCursor } = page.result as BuiltInTools['memory_list']['result'];
    found.push(...files);
    cursor = nextCursor;
  }
  return found;
}

/** The paths that begin as the one that is being typed, for the `path` of a template. */
export async function completePath(
  runner: ToolRunner,
  call: Call,
  { template, value }: { template: string; value: string },
): Promise<CompleteResult> {
  const known = listResourceTemplates(call).resourceTemplates;
  if (!known.some(({ uriTemplate }) => uriTemplate === template)) {
    throw new MemoryError('INVALID_REQUEST', `There is no template ${takeStart(template, 200)}.`);
  }
  const folder = template.slice(SCHEME.length, template.indexOf('{'));
  const listed = await runner
    .execute('memory_list', {
      ...call,
      arguments: { path: folder + value, limit: PAGE_SIZE },
    })
    .catch((error: unknown) => {
      // What is typed so far may be no path yet.
      const { code } = error as MemoryError;
      if (code === 'INVALID_PATH' || code === 'SPACE_NOT_ALLOWED') return null;
      throw error;
    });
  if (listed === null) return { completion: { values: [] } };
  const { files, nextCursor } = listed.result as BuiltInTools['memory_list']['result'];
  const values = files.map(({ path }) => path.slice(folder.length));
  return { completion: { values, hasMore: nextCursor !== null } };
}

/** The forms of the addresses, for a client that knows a path: of spaces where the call names some. */
export function listResourceTemplates(call: Call | null): ListResourceTemplatesResult {
  const hasSpaces = (call?.context.spaces ?? []).length > 0;
  const ofSpaces = {
    uriTemplate: `${SCHEME}spaces/{+path}`,
    name: 'memory of a space',
    description: 'A memory file of a space, as in memory://spaces/acme/policy.md.',
  };
  return {
    resourceTemplates: [
      {
        uriTemplate: `${SCHEME}user/{+path}`,
        name: 'user memory',
        description: 'A memory file of this user, as in memory://user/profile.md.',
      },
      ...(hasSpaces ? [ofSpaces] : []),
      {
        uriTemplate: `${SCHEME}shared/{+path}`,
        name: 'shared memory',
        description: 'A memory file that all users share.',
      },
    ],
  };
}

/** A memory file's content. It is a read as any other: traced, and in the access log. */
export async function readResource(
  runner: ToolRunner,
  call: Call,
  uri: string,
): Promise<ReadResourceResult> {
  const { result } = await runner.execute('memory_read', {
    ...call,
    arguments: { path: parseUri(uri) },
  });
  const { path, content, version, updatedAt } = result as {
    path: string;
    content: string;
    version: number;
    updatedAt: string;
  };
  return {
    contents: [{ uri, mimeType: toMimeType(path), text: content, _meta: { version, updatedAt } }],
  };
}

/** `user/a b.md` → `memory://user/a%20b.md`. */
export function toUri(path: string): string {
  return SCHEME + path.split('/').map(encodeURIComponent).join('/');
}

/**
 * The virtual path of an address, each segment decoded once. Throws `INVALID_PATH` for another
 * scheme, a malformed escape, and a segment that hides a slash. The rest is for the parser of paths.
 */
export function parseUri(uri: string): string {
  if (!ROOTS.some((root) => uri.startsWith(`${SCHEME}${root}/`))) {
    throw new MemoryError(
      'INVALID_PATH',
      `An address starts with ${SCHEME}user/, ${SCHEME}spaces/ or ${SCHEME}shared/.`,
    );
  }
  return uri.slice(SCHEME.length).split('/').map(decodeSegment).join('/');
}

function decodeSegment(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment);
    if (!decoded.includes('/')) return decoded;
  } catch {
    // Told below.
  }
  throw new MemoryError(
    'INVALID_PATH',
    'An address is percent-encoded as UTF-8, segment by segment.',
  );
}

function toMimeType(path: string): string {
  if (path.endsWith('.md')) return 'text/markdown';
  return path.endsWith('.json') ? 'application/json' : 'text/plain';
}
