import { describe, expect, it } from 'vitest';
import { ConfigError, createMemoryService, type MemoryServiceConfig } from '../../../core/index.ts';
import { sqlite } from '../../../plugins/storage-sqlite/index.ts';

const make = (config: object) => () =>
  createMemoryService({
    storage: sqlite({ filename: ':memory:' }),
    ...config,
  } as MemoryServiceConfig);

describe('createMemoryService', () => {
  it.each([
    [{ rateLimit: -1 }, 'rateLimit'],
    [{ rateLimit: Number.NaN }, 'rateLimit'],
    [{ basePath: 'memory' }, 'basePath'],
    [{ basePath: '/memory/' }, 'basePath'],
    [{ limits: { maxFileBytes: '1000' } }, 'limits.maxFileBytes'],
    [{ limits: { maxFilesPerUser: 1.5 } }, 'limits.maxFilesPerUser'],
    [{ retention: { eventsDays: -3 } }, 'retention.eventsDays'],
    [{ tools: { delete: 'yes' } }, 'tools.delete'],
    [{ allowedHosts: ['a b'] }, 'allowedHosts'],
    [{ storage: undefined }, 'storage'],
    [{ storage: 'sqlite:memory.db' }, 'storage'],
  ])('refuses %j by the name of its key', (config, key) => {
    let caught: unknown = null;
    try {
      make(config)();
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(ConfigError);
    expect(caught).toMatchObject({ key });
    expect((caught as ConfigError).message).toContain(key);
  });

  it.each([
    [{ limts: {} }, 'limts in createMemoryService() is not known; did you mean limits?'],
    [
      { limits: { maxFileByte: 1 } },
      'limits.maxFileByte in createMemoryService() is not known; did you mean limits.maxFileBytes?',
    ],
    [{ plugin: [] }, 'plugin in createMemoryService() is not known; did you mean plugins?'],
    [{ zebra: 1 }, 'zebra in createMemoryService() is not known'],
    [
      { port: 80 },
      'port is a setting of the memory-service command, not of createMemoryService().',
    ],
    [
      { limits: 5 },
      'limits in createMemoryService() must be an object with maxFileBytes, maxBodyBytes, maxFilesPerUser.',
    ],
  ])('refuses %j, which is not known there', (config, message) => {
    expect(make(config)).toThrow(message);
  });

  it('reports every mistake at once', () => {
    expect(make({ limts: {}, rateLimit: -1, sla: { p95Ms: 0, p99Ms: 5 } })).toThrow(
      [
        'The configuration has 4 mistakes:',
        '  - limts in createMemoryService() is not known; did you mean limits?',
        '  - sla.p99Ms in createMemoryService() is not known; did you mean sla.p95Ms?',
        '  - rateLimit must be a whole number from 0 to 1,000,000, not -1.',
        '  - sla.p95Ms must be a whole number from 1 to 600,000, not 0.',
      ].join('\n'),
    );
  });

  it('refuses no configuration at all with the same words', () => {
    expect(() => createMemoryService(undefined as unknown as MemoryServiceConfig)).toThrow(
      /storage is missing: pass a database/,
    );
  });

  it('takes what is allowed, and what is absent or null has its default', () => {
    expect(
      make({ basePath: '/memory', allowedHosts: null, limits: {}, rateLimit: 0, docsPath: null }),
    ).not.toThrow();
    expect(make({ basePath: '', trustProxy: false })).not.toThrow();
  });
});
