import type { RouteRole } from '../contracts/access.ts';
import type { RouteDefinition } from '../contracts/route.ts';
import type { JsonSchema, ToolDefinition } from '../contracts/tool.ts';
import { ERROR_CODES, type ErrorCode } from '../errors.ts';
import { PATH_PATTERNS } from '../files/paths.ts';
import {
  type Components,
  createComponents,
  toPascalCase,
  withNulls,
} from './openapi-components.ts';

/** The sources of the description. Routes and tools may be added until the service has started. */
export interface OpenApiSource {
  version: string;
  basePath: string;
  routes: () => readonly RouteDefinition[];
  tools: () => readonly ToolDefinition[];
}

type Json = Record<string, unknown>;

/** Codes that any route can answer with. */
const ALWAYS: readonly ErrorCode[] = ['INVALID_REQUEST', 'HOST_NOT_ALLOWED', 'INTERNAL'];
const WITH_BODY: readonly ErrorCode[] = [
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
];
const WITH_STORAGE: readonly ErrorCode[] = [
  'STORAGE_UNAVAILABLE',
  'STORAGE_DAMAGED',
  'SHUTTING_DOWN',
];
const WITH_WRITE: readonly ErrorCode[] = ['STORAGE_FULL'];
const WITH_AUTH: Record<RouteDefinition['auth'], readonly ErrorCode[]> = {
  none: [],
  tools: ['UNAUTHORIZED', 'TOOLS_DISABLED', ...WITH_STORAGE],
  admin: ['UNAUTHORIZED', 'ROLE_NOT_ALLOWED', 'RATE_LIMITED', 'ADMIN_DISABLED', ...WITH_STORAGE],
};

/**
 * Builds the OpenAPI 3.1 description from the route definitions, on first use. Each tool has its
 * own path with its exact schemas, beside the generic path.
 */
export function createOpenApi(source: OpenApiSource): () => object {
  let built: { document: object; size: number } | null = null;
  return () => {
    const routes = source.routes();
    const tools = source.tools();
    const size = routes.length + tools.length;
    if (built?.size !== size) built = { document: describe(source, routes, tools), size };
    return built.document;
  };
}

function describe(
  { version, basePath }: OpenApiSource,
  routes: readonly RouteDefinition[],
  tools: readonly ToolDefinition[],
): object {
  const paths: Record<string, Json> = {};
  const components = createComponents();
  for (const route of routes) {
    // The console's path with a trailing slash is the same page.
    if (route.path.length > 1 && route.path.endsWith('/')) continue;
    const path = toTemplate(route.path);
    (paths[path] ??= {})[route.method.toLowerCase()] = toOperation(route, components);
    if (route.path !== EXECUTE_PATH) continue;
    for (const tool of tools) {
      paths[path.replace('{name}', tool.name)] = { post: toToolOperation(route, tool, components) };
    }
  }
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'memory-service',
      version,
      description: 'Agent memory that you can read, diff, blame and undo.',
      contact: { name: 'the memory-service authors' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: toTags(routes),
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'SERVICE_API_KEY' },
        apiKeyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        adminSecret: {
          type: 'apiKey',
          in: 'header',
          name: 'x-admin-secret',
          description: 'SERVICE_ADMIN_SECRET',
        },
      },
    },
  };
}

function toTags(routes: readonly RouteDefinition[]): Json[] {
  const descriptions = new Map<string, string | undefined>();
  for (const { tag, tagDescription } of routes) {
    descriptions.set(tag, descriptions.get(tag) ?? tagDescription);
  }
  return [...descriptions].map(([name, description]) => ({
    name,
    ...(description === undefined ? {} : { description }),
  }));
}

const EXECUTE_PATH = '/v1/tools/:name/execute';

const SECURITY: Record<RouteDefinition['auth'], readonly Json[]> = {
  none: [],
  tools: [{ apiKey: [] }, { apiKeyHeader: [] }],
  admin: [{ adminSecret: [] }],
};

const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  title: 'Error',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      title: 'ErrorDetail',
      required: ['code', 'message', 'retryable', 'action'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', title: 'ErrorCode', enum: Object.keys(ERROR_CODES) },
        message: { type: 'string' },
        details: { type: 'object' },
        retryable: { type: 'boolean' },
        action: { type: 'string', description: 'What to do.' },
        traceId: { type: 'string' },
        toolCallId: { type: 'string' },
      },
    },
  },
};

function toOperation(
  route: RouteDefinition,
  components: Components,
  {
    isWrite = route.method !== 'GET',
    id = toOperationId(route.method, route.path),
    title = toPascalCase(id),
  } = {},
): Json {
  const { path, tag, summary, bodySchema, resultSchema, contentType } = route;
  const status = String(route.status ?? 200);
  const media = contentType ?? 'application/json';
  const schema =
    resultSchema === null ? { type: 'string' } : components.hoist(resultSchema, `${title}Answer`);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...toDescription(route),
    security: SECURITY[route.auth],
    parameters: [
      ...toPathParameters(path),
      ...toQueryParameters(route.querySchema, { title, components }),
    ],
    ...(bodySchema === undefined ? {} : { requestBody: toBody(bodySchema, { title, components }) }),
    ...(route.streamedBody === undefined ? {} : { requestBody: toBytes(route.streamedBody) }),
    responses: {
      [status]: { description: summary, content: { [media]: { schema } } },
      ...toOtherStatuses(route),
      ...toErrors(route, isWrite, components),
    },
  };
}

function toToolOperation(
  route: RouteDefinition,
  tool: ToolDefinition,
  components: Components,
): Json {
  const body = route.bodySchema as { properties: Json; required: string[] };
  const result = route.resultSchema as { properties: Json };
  const { name, title, description, inputSchema, outputSchema, example } = tool;
  // `memory_write` has `WriteArguments`, `WriteBody`, `WriteResult` and `WriteAnswer`.
  const noun = toPascalCase(name.replace(/^memory_/, ''));
  const { required = [] } = inputSchema as { required?: unknown[] };
  const needsArguments = required.length > 0;
  const toolArguments = components.hoist(withNulls(inputSchema), `${noun}Arguments`);
  const toolResult = components.hoist(outputSchema, `${noun}Result`);
  const ofTool: RouteDefinition = {
    ...route,
    path: route.path.replace(':name', name),
    summary: title,
    description,
    bodySchema: {
      ...body,
      required: needsArguments ? [...body.required, 'arguments'] : body.required,
      properties: { ...body.properties, arguments: toolArguments },
    },
    resultSchema: { ...result, properties: { ...result.properties, result: toolResult } },
    errorCodes: [...route.errorCodes, ...tool.errorCodes],
  };
  const shape = { isWrite: !tool.readOnly, id: name, title: noun };
  const operation = toOperation(ofTool, components, shape);
  const requestBody = operation['requestBody'] as { content: Record<string, Json> };
  const json = requestBody.content['application/json'];
  if (json !== undefined) {
    json['example'] = { context: { userId: 'alice' }, arguments: example.arguments };
  }
  return operation;
}

function toBody(
  schema: JsonSchema,
  { title, components }: { title: string; components: Components },
): Json {
  const named = components.hoist(schema, `${title}Body`);
  return {
    required: !isOptional(schema),
    content: { 'application/json': { schema: named } },
  };
}

/** A missing body is read as an empty object. */
function isOptional(schema: JsonSchema): boolean {
  const { required = [], type, if: condition } = schema as { required?: unknown[] } & Json;
  return type === 'object' && condition === undefined && required.length === 0;
}

function toOtherStatuses({ otherStatuses = {} }: RouteDefinition): Json {
  return Object.fromEntries(
    Object.entries(otherStatuses).map(([status, description]) => [status, { description }]),
  );
}

/** In OpenAPI 3.1 an empty schema stands for bytes. */
const NEEDS: Record<RouteRole, string> = {
  viewer: 'Any operator may do this.',
  contents: 'It shows contents: a viewer needs contents.',
  operator: 'It needs the role operator.',
  admin: 'It needs the role admin.',
};

/** What the route does, and who may do it. */
function toDescription({ description, auth, role = 'admin' }: RouteDefinition): Json {
  const texts = [description, auth === 'admin' ? NEEDS[role] : undefined];
  const text = texts.filter((one) => one !== undefined).join(' ');
  return text === '' ? {} : { description: text };
}

function toBytes(mediaTypes: readonly string[]): Json {
  const content = Object.fromEntries(mediaTypes.map((type) => [type, { schema: {} }]));
  return { required: true, content };
}

function codesOf(route: RouteDefinition, isWrite: boolean): readonly ErrorCode[] {
  return [
    ...ALWAYS,
    ...WITH_AUTH[route.auth],
    ...(isWrite ? WITH_WRITE : []),
    ...(route.bodySchema === undefined ? [] : WITH_BODY),
    ...route.errorCodes,
  ];
}

function toErrors(route: RouteDefinition, isWrite: boolean, components: Components): Json {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of codesOf(route, isWrite)) {
    const { status } = ERROR_CODES[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
    // With `If-Match`, the same conflict is a failed precondition.
    if (code === 'VERSION_CONFLICT') byStatus.set(412, new Set([code]));
  }
  // Node refuses headers that are too large before routing.
  byStatus.set(431, new Set(['INVALID_REQUEST']));
  const schema = components.hoist(route.errorBody?.schema ?? ERROR_SCHEMA, 'Error');
  const responses: Json = {};
  for (const [status, of] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[String(status)] = {
      description: [...of].sort().join(', '),
      content: { 'application/json': { schema } },
    };
  }
  return responses;
}

/** `/v1/admin/files/*path` → `/v1/admin/files/{path}`. */
function toTemplate(path: string): string {
  return path.replaceAll(/[:*](\w+)/g, '{$1}');
}

function toPathParameters(path: string): Json[] {
  return [...path.matchAll(/([:*])(\w+)/g)].map(([, kind, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: PARAMETERS[path.startsWith('/v1/admin/files/') ? 'physicalPath' : String(name)] ?? {
      type: 'string',
    },
    ...(kind === '*' ? { description: 'The rest of the path, slashes included.' } : {}),
  }));
}

/** Parameters with their own rules, on any route. */
const PARAMETERS: Record<string, Json> = {
  userId: PATH_PATTERNS['user-id'],
  physicalPath: PATH_PATTERNS['physical-path'],
};

function toQueryParameters(
  schema: JsonSchema | undefined,
  { title, components }: { title: string; components: Components },
): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property;
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: PARAMETERS[name] ?? components.hoist(rest, title + toPascalCase(name)),
    };
  });
}

/** `GET /v1/admin/files/*path` → `get_admin_files_path`. */
function toOperationId(method: string, path: string): string {
  const words = path.replace(/^\/v1\//, '').match(/\w+/g) ?? [];
  return [method.toLowerCase(), ...words].join('_');
}
