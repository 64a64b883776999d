import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig as readYaml } from 'c12';
import { describe, expect, it } from 'vitest';
import { decideSecrets } from '../../core/cli/secrets.ts';
import { describeDatabase, loadConfig } from '../../core/config/index.ts';
import { SETTING_KEYS, settingOf } from '../../core/config/settings.ts';
import { checkHost } from '../../core/http/middleware/host.ts';
import { root, temporaryDirectory } from './run-example.ts';

interface Service {
  build?: { context: string; dockerfile: string };
  environment: Record<string, string>;
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: object;
  volumes?: string[];
}

const folder = join(root, 'examples/docker');
const { config: compose } = await readYaml<{
  services: Record<string, Service>;
  volumes: Record<string, object>;
}>({ cwd: folder, configFile: 'compose.yaml', rcFile: false, globalRc: false, packageJson: false });
const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8');
const memory = compose.services['memory'] as Service;
const database = compose.services['database'] as Service;
const known = new Set<string>(SETTING_KEYS.map((key) => settingOf(key).env));

/** What an operator exports: secrets as the README makes them. */
const given: Record<string, string> = {
  SERVICE_API_KEY: '3f'.repeat(3) + '9c27b1e08d5a46f2b7c0a1d4e8f36b59',
  SERVICE_ADMIN_SECRET: 'e1'.repeat(3) + '74d2c9a05b8f13e6d7a4b0c2f9158e6a',
  DATABASE_PASSWORD: '5b0d6f2a9c4e81735b0d6f2a9c4e8173',
};

/** `${NAME:?message}` and `${NAME:-default}`, as compose fills them in. */
function fill(value: string): string {
  return value.replaceAll(/\$\{(\w+)(?::([?-])([^}]*))?\}/g, (_match, name: string, kind, rest) => {
    const found = given[name] ?? (kind === '-' ? (rest as string) : undefined);
    if (found === undefined) throw new Error(`${name} is not set`);
    return found;
  });
}

/** The variables that the image sets. */
function imageEnvironment(): Record<string, string> {
  const [, block = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
  return Object.fromEntries(
    block.split(/\s*\\?\n?\s+/).map((pair) => pair.split('=') as [string, string]),
  );
}

describe('the compose file', () => {
  it('names settings that there are, and holds no secret itself', () => {
    for (const [name, value] of Object.entries({ ...imageEnvironment(), ...memory.environment })) {
      if (name.startsWith('SERVICE_')) expect(known).toContain(name);
      if (/KEY|SECRET|PASSWORD/.test(name)) expect(value).toMatch(/^\$\{\w+:\?/);
    }
    expect(database.environment['MARIADB_PASSWORD']).toBe('${DATABASE_PASSWORD:?set it}');
  });

  it('gives a configuration with which the service would start on the database beside it', async () => {
    const filled = Object.entries(memory.environment).map(([name, value]) => [name, fill(value)]);
    const env = { ...imageEnvironment(), ...(Object.fromEntries(filled) as object) };
    const cwd = await temporaryDirectory();
    const loaded = await loadConfig({ argv: [], env, cwd });
    expect(loaded.warnings).toEqual([]);
    const { host, port, databaseUrl, allowedHosts } = loaded.values;
    expect(describeDatabase(loaded)).toMatchObject({ name: 'mysql', filename: null });
    const url = new URL(databaseUrl);
    expect([url.hostname, url.username, url.password, url.pathname]).toEqual([
      'database',
      database.environment['MARIADB_USER'],
      given['DATABASE_PASSWORD'],
      `/${database.environment['MARIADB_DATABASE']}`,
    ]);
    // Neither generated nor refused: nothing is written in a container that is read-only.
    const file = join(cwd, 'secrets.json');
    const secrets = await decideSecrets(loaded.values, { host, database: 'mysql', file });
    expect([secrets.file, secrets.warnings]).toEqual([null, []]);
    expect(memory.ports).toEqual([`127.0.0.1:${port}:${port}`]);

    const check = checkHost(allowedHosts);
    const [, probe = ''] = /fetch\('([^']+)'\)/.exec(dockerfile) ?? [];
    for (const asked of [probe, `http://localhost:${port}/`, `http://memory:${port}/`]) {
      const { host: name, pathname } = new URL(asked);
      const head = {
        header: (key: string) => (key === 'host' ? name : null),
        count: (key: string) => (key === 'host' ? 1 : 0),
        address: '127.0.0.1',
        target: pathname,
      };
      expect(() => check(head)).not.toThrow();
    }
    expect([new URL(probe).port, new URL(probe).pathname]).toEqual([String(port), '/readyz']);
  });

  it('waits for a healthy database, and keeps its data', () => {
    expect(memory.depends_on).toEqual({ database: { condition: 'service_healthy' } });
    expect(database.healthcheck).toBeDefined();
    const [volume = ''] = (database.volumes ?? []).map((mount) => mount.split(':')[0]);
    expect(Object.keys(compose.volumes)).toContain(volume);
    const { context = '', dockerfile: path = '' } = memory.build ?? {};
    expect(join(folder, context)).toBe(root.replace(/\/$/, ''));
    expect(existsSync(join(folder, context, path))).toBe(true);
  });
});

describe('the image', () => {
  it('copies what is there, starts the package’s command, and runs as no root', () => {
    const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    const command = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]';
    expect(JSON.parse(command)).toEqual(['node', bin['memory-service']?.slice(2), 'start']);
    expect(dockerfile).toMatch(/^USER node$/m);
    const [, first = ''] = /^COPY ((?:[\w.-]+ )+)\.\/$/m.exec(dockerfile) ?? [];
    const copied = first.trim().split(' ');
    const ignored = readFileSync(join(folder, 'Dockerfile.dockerignore'), 'utf8').split('\n');
    const kept = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    for (const name of copied) expect(kept).toContain(name);
    for (const name of kept) {
      if (!name.includes('*')) expect([name, existsSync(join(root, name))]).toEqual([name, true]);
    }
    expect(ignored).toContain('**');
    expect(ignored).toContain('**/.env');
  });
});
