import { describe, expect, it } from 'vitest';
import { ConfigError, createMemoryService, type MemoryServiceConfig } from '../../../core/index.ts';
import { fakeStorage } from '../../support/fake-storage.ts';

const make = (config: object) => () =>
  createMemoryService({ storage: fakeStorage(), ...config } as MemoryServiceConfig);

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

  it('refuses no configuration at all with the same words', () => {
    expect(() => createMemoryService(undefined as unknown as MemoryServiceConfig)).toThrow(
      /storage is missing: pass a driver/,
    );
  });

  it('takes what is allowed, and what is absent or null has its default', () => {
    expect(
      make({ basePath: '/memory', allowedHosts: null, limits: {}, rateLimit: 0, docsPath: null }),
    ).not.toThrow();
    expect(make({ basePath: '', trustProxy: false })).not.toThrow();
  });
});
