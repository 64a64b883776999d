import { createRequire } from 'node:module';
import type { Database } from 'sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MemoryError } from '../../../core/errors.ts';
import { compileQuery } from '../../../core/http/query.ts';
import { asAdmin, asAgent, type LiveServer, serveCore } from './serve.ts';

/** What would change a statement that is put together from text, and what LIKE reads as more. */
const toHostile = (canary: string): string[] => [
  canary,
  `${canary}' or '1'='1`,
  `${canary}'; drop table svc_file; --`,
  `${canary}") or ("1"="1`,
  `${canary}\` union select content from svc_content --`,
  `1 ${canary} or 1=1`,
  `(select content from svc_content limit 1) ${canary}`,
  `_${canary}%`,
  `${canary}\\' or 1=1 /*`,
  `*/ ${canary} /*`,
  `:${canary} $1 ?1 ??`,
  `path desc, ${canary}`,
  `asc nulls first ${canary}`,
  `${canary}\n-- `,
  `0x27${canary}`,
  `{"$gt":"${canary}"}`,
  `users/alice/${canary}' or path > '`,
];

/** Every statement that SQLite is given, by Knex and by the stores. */
function recordStatements(): Set<string> {
  const { Database: Native } = createRequire(import.meta.url)('sqlite3') as {
    Database: { prototype: Database };
  };
  const texts = new Set<string>();
  const prototype = Native.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of ['all', 'run', 'exec', 'get', 'each', 'prepare']) {
    const original = prototype[name] as (...args: unknown[]) => unknown;
    prototype[name] = function (this: unknown, ...args: unknown[]) {
      // Rows are written together, as many as wait at that moment.
      texts.add(String(args[0]).replace(/(\([?, ]+\))(?:, \1)+/g, '$1'));
      return original.apply(this, args);
    };
    onTestFinished(() => {
      prototype[name] = original;
    });
  }
  return texts;
}

/** What a route does not answer without. */
const REQUIRED: Readonly<Record<string, string>> = {
  userId: 'alice',
  revisionId: '01890000-0000-7000-8000-000000000000',
};

interface Parameter {
  path: string;
  parameter: string;
  /** The parameters that the path needs beside this one: ends in `&`. */
  others: string;
}

/** The routes of the admin API that take parameters, with a real path where they need one. */
function listParameters({ routes }: LiveServer): Parameter[] {
  return routes.flatMap(({ method, path, auth, querySchema }) => {
    if (method !== 'GET' || auth !== 'admin' || querySchema === undefined) return [];
    // It does not end, and takes the filters of the list of events.
    if (path.endsWith('/stream')) return [];
    const { properties, required = [] } = querySchema as {
      properties: Record<string, unknown>;
      required?: string[];
    };
    const real = path.replace('*path', 'users/alice/a.md');
    return Object.keys(properties).map((parameter) => {
      const others = required.filter((name) => name !== parameter);
      return {
        path: real,
        parameter,
        others: others.map((name) => `${name}=${REQUIRED[name]}&`).join(''),
      };
    });
  });
}

async function serveFilled(): Promise<LiveServer> {
  const service = await serveCore();
  for (const userId of ['alice', 'bob']) {
    for (const name of ['a.md', 'notes/b.md']) {
      const body = {
        context: { userId },
        arguments: { path: `user/${name}`, content: `of ${userId}` },
      };
      await service.request('POST', '/v1/tools/memory_write/execute', { body, headers: asAgent });
    }
  }
  return service;
}

const admin = (service: LiveServer, path: string) =>
  service.request('GET', path, { headers: asAdmin });

async function listVersions(service: LiveServer): Promise<string[]> {
  const { json } = await admin(service, '/v1/admin/files');
  const items = json.items as { path: string; version: number }[];
  return items.map(({ path, version }) => `${path} ${version}`);
}

describe('SQL in a parameter (T6)', () => {
  it('is text like any other: no statement holds it, and their number does not grow', async () => {
    const statements = recordStatements();
    const service = await serveFilled();
    const parameters = listParameters(service);
    expect(parameters.length).toBeGreaterThan(40);
    const before = await listVersions(service);

    async function sendAll(corpus: readonly string[]): Promise<void> {
      for (const { path, parameter, others } of parameters) {
        for (const text of corpus) {
          const target = `${path}?${others}${parameter}=${encodeURIComponent(text)}`;
          const { status, json } = await admin(service, target);
          expect([200, 400, 404], target).toContain(status);
          // It fits nothing that there is, but what the audit says of the same texts.
          const isOfAudit = path === '/v1/admin/audit';
          if (status === 200 && json?.items !== undefined && !isOfAudit) {
            expect(json.items, target).toEqual([]);
          }
        }
      }
      for (const text of corpus) {
        for (const [tool, args] of [
          ['memory_list', { path: `user/${text}` }],
          ['memory_list', { cursor: text }],
          ['memory_read', { path: `user/${text}` }],
          ['memory_find', { query: text, path: `user/${text}` }],
          ['memory_find', { query: text }],
          ['memory_context', { query: text }],
        ] as const) {
          const body = { context: { userId: 'alice' }, arguments: args };
          const target = `/v1/tools/${tool}/execute`;
          const { status } = await service.request('POST', target, { body, headers: asAgent });
          expect([200, 400, 404], `${tool} ${JSON.stringify(args)}`).toContain(status);
        }
      }
    }
    await sendAll(toHostile('zq7x'));
    // What is written behind the answers has its statements too.
    await service.core.queue.flush();
    await service.core.indexer.drain();
    const known = new Set(statements);
    await sendAll(toHostile('kw4v'));

    expect([...statements].filter((sql) => !known.has(sql))).toEqual([]);
    expect([...statements].filter((sql) => /zq7x|kw4v/.test(sql))).toEqual([]);
    expect(statements.size).toBeLessThan(300);
    expect(service.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await listVersions(service)).toEqual(before);
  });

  it('is refused as a name of a parameter, and as a sort or an order', async () => {
    const service = await serveFilled();
    const lists = new Map(listParameters(service).map(({ path, others }) => [path, others]));
    for (const [path, others] of lists) {
      for (const text of toHostile('zq7x')) {
        const unknown = await admin(service, `${path}?${others}${encodeURIComponent(text)}=1`);
        expect(unknown.status).toBe(400);
        expect(unknown.json.error.details.issues[0].message).toBe('is not known');
        for (const parameter of ['sort', 'order']) {
          const target = `${path}?${others}${parameter}=${encodeURIComponent(text)}`;
          expect((await admin(service, target)).status, target).toBe(400);
        }
      }
    }
  });

  it.each(['%', '_', '%25', 'users/%', 'users/_lice/', '*', '?'])(
    'and a pattern finds what holds it alone: %s',
    async (pattern) => {
      const service = await serveFilled();
      for (const [path, parameter] of [
        ['/v1/admin/files', 'q'],
        ['/v1/admin/files', 'prefix'],
        ['/v1/admin/users', 'q'],
        ['/v1/admin/access-logs', 'prefix'],
      ] as const) {
        const answer = await admin(service, `${path}?${parameter}=${encodeURIComponent(pattern)}`);
        if (answer.status === 200) expect(answer.json.items).toEqual([]);
        else expect(answer.status).toBe(400);
      }
      expect((await admin(service, '/v1/admin/files?q=LICE/A')).json.items).toHaveLength(1);
    },
  );
});

describe('a query string', () => {
  const parse = compileQuery({
    type: 'object',
    properties: {
      text: { type: 'string' },
      limit: { type: 'integer' },
      ratio: { type: 'number' },
      all: { type: 'boolean' },
    },
    additionalProperties: false,
  });
  const refusal = (querystring: string) => {
    try {
      return JSON.stringify(parse(querystring));
    } catch (error) {
      const { code, details } = error as MemoryError;
      const [{ path, message } = {}] = (details?.['issues'] ?? []) as Record<string, string>[];
      return `${code} ${path}: ${message}`;
    }
  };

  it('is decoded once, with numbers and truth values where they are declared', () => {
    expect(parse('')).toEqual({});
    expect(parse('text=a+b%2Bc%2520%26%3D&limit=-12&ratio=1.50&all=true')).toEqual({
      text: 'a b+c%20&=',
      limit: -12,
      ratio: 1.5,
      all: true,
    });
    expect(parse('&te%78t=a=b&&all=false&')).toEqual({ text: 'a=b', all: false });
    expect([parse('text'), parse('text=')]).toEqual([{ text: '' }, { text: '' }]);
    expect(parse('text=12')).toEqual({ text: '12' });
    expect(parse('text=true')).toEqual({ text: 'true' });
    expect(parse('ratio=-123456789012345.5')).toEqual({ ratio: -123456789012345.5 });
    expect(parse('ratio=0.123456789012345')).toEqual({ ratio: 0.123456789012345 });
  });

  it.each(['1e3', '0x10', '1.', '.5', ' 1', '', '--1', '1234567890123456', '1.1234567890123456'])(
    'has no number in another form: %j',
    (text) => {
      expect(refusal(`ratio=${encodeURIComponent(text)}`)).toBe(
        'INVALID_REQUEST /ratio: must be a number',
      );
    },
  );

  it('is refused with the parameter that is wrong', () => {
    expect(refusal('limit=1.5')).toBe('INVALID_REQUEST /limit: must be an integer');
    expect(refusal('limit=many')).toBe('INVALID_REQUEST /limit: must be an integer');
    expect(refusal('all=1')).toBe('INVALID_REQUEST /all: must be a boolean');
    expect(refusal('text=a&text=a')).toBe('INVALID_REQUEST /text: is given more than once');
    expect(refusal('other=a')).toBe('INVALID_REQUEST /other: is not known');
    expect(refusal('=a')).toBe('INVALID_REQUEST /: is not known');
    expect(refusal('__proto__=a')).toBe('INVALID_REQUEST /__proto__: is not known');
    expect(refusal('text=%e9')).toBe('INVALID_REQUEST /text: has a malformed escape');
    expect(refusal('%=a')).toBe('INVALID_REQUEST : has a malformed escape');
    expect(() => parse('%=a')).toThrow('The query string has a malformed escape.');
    const long = 'k'.repeat(300);
    const cut = 'k'.repeat(100);
    expect(refusal(`${long}=%`)).toBe(`INVALID_REQUEST /${cut}: has a malformed escape`);
    expect(refusal(`${long}&${long}`)).toBe(`INVALID_REQUEST /${cut}: is given more than once`);
  });

  it('of a route without parameters is empty', () => {
    expect(compileQuery()('')).toEqual({});
    expect(() => compileQuery()('a=b')).toThrow('/a is not known.');
  });
});
