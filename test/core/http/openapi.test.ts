import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../../core/errors.ts';
import { parsePhysicalPath } from '../../../core/files/paths.ts';
import { toPascalCase } from '../../../core/http/openapi-components.ts';
import { dreaming } from '../../../plugins/dreaming/index.ts';
import { mcp } from '../../../plugins/mcp/index.ts';
import { serveCore } from './serve.ts';

type Operation = {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; schema: object }[];
  requestBody?: { content: { 'application/json': { schema: object } } };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
};

describe('the OpenAPI description', () => {
  it('has each route of the table, with its authentication, and each tool', async () => {
    const { request, routes, core } = await serveCore();
    const { json, status, headers } = await request('GET', '/v1/openapi.json');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(json.openapi).toBe('3.1.0');
    for (const { method, path, auth } of routes) {
      if (path.endsWith('/')) continue;
      const template = path.replaceAll(/[:*](\w+)/g, '{$1}');
      const operation: Operation | undefined = json.paths[template]?.[method.toLowerCase()];
      expect(operation, `${method} ${path}`).toBeDefined();
      const scheme = { none: [], tools: ['apiKey', 'apiKeyHeader'], admin: ['adminSecret'] }[auth];
      expect(operation?.security.flatMap(Object.keys)).toEqual(scheme);
    }
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, inputSchema, outputSchema, example } of core.tools.definitions) {
      const { post } = json.paths[`/v1/tools/${name}/execute`];
      const { components } = json;
      const noun = toPascalCase(name.replace('memory_', ''));
      const at = (schema: object) => ({ components, ...schema });
      // By what they take, since OpenAPI also says that an optional argument may be null.
      const body = post.requestBody.content['application/json'];
      const check = ajv.compile(at(body.schema));
      expect(check(body.example), name).toBe(true);
      const { userId } = body.example.context;
      expect(check({ context: { userId }, arguments: { surprise: 1 } })).toBe(false);
      const { properties } = components.schemas[`${noun}Arguments`];
      expect(Object.keys(properties)).toEqual(
        Object.keys((inputSchema as { properties: object }).properties),
      );
      const result = components.schemas[`${noun}Result`];
      expect(ajv.compile(at(result))(example.result)).toBe(true);
      expect(result.required).toEqual((outputSchema as { required: string[] }).required);
    }
  });

  it('names each object of a body or an answer, once, as generated classes are called', async () => {
    const { request } = await serveCore();
    const { json } = await request('GET', '/v1/openapi.json');
    const { schemas } = json.components;
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining([
        'WriteArguments',
        'WriteResult',
        'AdminFile',
        'ToolContext',
        'Error',
      ]),
    );
    for (const [name, { title }] of Object.entries<{ title: string }>(schemas)) {
      expect([name, title]).toEqual([name, name]);
      expect(name).toMatch(/^[A-Z][A-Za-z]+\d?$/);
    }
    const anonymous = (schema: unknown, isNamed: boolean): unknown[] => {
      if (typeof schema !== 'object' || schema === null) return [];
      if (!isNamed && 'enum' in schema && Array.isArray(schema.enum)) return [schema];
      if (!isNamed && 'properties' in schema && 'type' in schema && schema.type === 'object') {
        return [schema];
      }
      return Object.values(schema).flatMap((one) => anonymous(one, false));
    };
    expect(anonymous(json.paths, false)).toEqual([]);
    for (const schema of Object.values(schemas)) expect(anonymous(schema, true)).toEqual([]);
  });

  it('tells the pattern of a user id and of a physical path, and which body may be left out', async () => {
    const { request } = await serveCore();
    const { json } = await request('GET', '/v1/openapi.json');
    const userId = new RegExp(json.components.schemas.ToolContext.properties.userId.pattern, 'u');
    for (const id of ['alice', 'a', '0@b|c:+=~-', 'x'.repeat(128)]) expect(id).toMatch(userId);
    for (const id of ['', '-a', 'a b', 'á', 'x'.repeat(129)]) expect(id).not.toMatch(userId);
    const [parameter] = json.paths['/v1/admin/files/{path}'].get.parameters;
    const path = new RegExp(parameter.schema.pattern, 'u');
    for (const text of ['shared/a', 'users/alice/a b/.c.md', `shared/${'é'.repeat(64)}`]) {
      expect(text).toMatch(path);
      expect(() => parsePhysicalPath(text)).not.toThrow();
    }
    for (const text of [
      'users/alice',
      'user/a',
      'shared/..',
      'shared/a./b',
      'shared/ a',
      'shared//a',
    ]) {
      expect(text).not.toMatch(path);
      expect(() => parsePhysicalPath(text)).toThrow();
    }
    const { post } = json.paths['/v1/admin/users/{userId}/restore'] ?? {};
    expect(post?.requestBody.required ?? true).toBe(true);
    const retention = json.paths['/v1/tools/{name}/execute'].post.requestBody;
    expect(retention.required).toBe(true);
  });

  it('has valid schemas, unique operation ids, and a parameter for each name in a path', async () => {
    const { request } = await serveCore();
    const { json } = await request('GET', '/v1/openapi.json');
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const ids: string[] = [];
    for (const [path, item] of Object.entries<Record<string, Operation>>(json.paths)) {
      for (const operation of Object.values(item)) {
        ids.push(operation.operationId);
        const named = operation.parameters.filter(({ in: place }) => place === 'path');
        expect(named.map(({ name }) => name)).toEqual(
          [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        );
        const schemas = [
          ...operation.parameters.map(({ schema }) => schema),
          ...(operation.requestBody === undefined
            ? []
            : Object.values(operation.requestBody.content).map(({ schema }) => schema)),
          ...Object.entries(operation.responses)
            .filter(([status]) => status.startsWith('2'))
            .flatMap(([, { content = {} }]) => Object.values(content).map(({ schema }) => schema)),
        ];
        for (const schema of schemas) expect(ajv.validateSchema(schema), path).toBe(true);
        for (const [status, { description }] of Object.entries(operation.responses)) {
          if (status.startsWith('2') || status === '304') continue;
          for (const code of description.split(', ')) {
            expect(Object.keys(ERROR_CODES)).toContain(code);
          }
        }
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('describes each tag and operation, and says what each array holds', async () => {
    const { core, request } = await serveCore({ plugins: [dreaming(), mcp()] });
    await core.ready();
    const { json } = await request('GET', '/v1/openapi.json');
    expect(json.tags.map(({ name }: { name: string }) => name)).toContain('Dreams');
    const operations = Object.values<Record<string, object>>(json.paths).flatMap(Object.values);
    for (const described of [...json.tags, ...operations]) {
      expect(described).toMatchObject({ description: expect.stringMatching(/\.$/) });
    }
    const arrays = (schema: unknown): object[] => {
      if (typeof schema !== 'object' || schema === null) return [];
      const { type } = schema as { type?: unknown };
      const isArray = [type].flat().includes('array');
      return [...(isArray ? [schema] : []), ...Object.values(schema).flatMap(arrays)];
    };
    expect(arrays(json).length).toBeGreaterThan(30);
    for (const array of arrays(json)) expect(array).toHaveProperty('items');
  });

  it('tells of a full disk wherever something is written, and nowhere else', async () => {
    const { request, core } = await serveCore();
    const { json } = await request('GET', '/v1/openapi.json');
    const reading = core.tools.definitions
      .filter(({ readOnly }) => readOnly)
      .map(({ name }) => `/v1/tools/${name}/execute`);
    for (const [path, item] of Object.entries<Record<string, Operation>>(json.paths)) {
      for (const [method, { responses }] of Object.entries(item)) {
        const isWrite = method !== 'get' && !reading.includes(path);
        const described = responses['507']?.description;
        expect(described, `${method} ${path}`).toBe(isWrite ? 'STORAGE_FULL' : undefined);
      }
    }
  });

  it('describes the error body that is sent', async () => {
    const { request } = await serveCore();
    const { json } = await request('GET', '/v1/openapi.json');
    const { components } = json;
    const validate = new Ajv2020({ strict: false }).compile({
      components,
      $ref: '#/components/schemas/Error',
    });
    for (const path of ['/nothing', '/v1/admin/users', '/v1/tools', '/v1/docs/nothing.md']) {
      const answer = await request('GET', path);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(validate(answer.json), path).toBe(true);
    }
  });
});
