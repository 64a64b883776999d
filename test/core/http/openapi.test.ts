import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../../core/errors.ts';
import { serveCore } from './serve.ts';

type Operation = {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; schema: object }[];
  requestBody?: { content: { 'application/json': { schema: object } } };
  responses: Record<string, { description: string; content: Record<string, { schema: object }> }>;
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
    for (const { name, inputSchema, outputSchema } of core.tools.definitions) {
      const { post } = json.paths[`/v1/tools/${name}/execute`];
      const body = post.requestBody.content['application/json'].schema;
      expect(body.properties.arguments).toEqual(inputSchema);
      const result = post.responses['200'].content['application/json'].schema;
      expect(result.properties.result).toEqual(outputSchema);
    }
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
            .flatMap(([, { content }]) => Object.values(content).map(({ schema }) => schema)),
        ];
        for (const schema of schemas) expect(ajv.validateSchema(schema), path).toBe(true);
        for (const [status, { description }] of Object.entries(operation.responses)) {
          if (status.startsWith('2')) continue;
          for (const code of description.split(', ')) {
            expect(Object.keys(ERROR_CODES)).toContain(code);
          }
        }
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
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
    const validate = new Ajv2020({ strict: false }).compile(json.components.schemas.Error);
    for (const path of ['/nothing', '/v1/admin/users', '/v1/tools', '/v1/docs/nothing.md']) {
      const answer = await request('GET', path);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(validate(answer.json), path).toBe(true);
    }
  });
});
