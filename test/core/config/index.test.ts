import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ConfigError,
  describeDatabase,
  loadConfig,
  openConfig,
} from '../../../core/config/index.ts';
import { describeAllowed } from '../../../core/config/option.ts';
import { printConfig, printFlags } from '../../../core/config/print.ts';
import { SETTING_KEYS, SETTINGS, flagOf, settingOf } from '../../../core/config/settings.ts';

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'memory-service-config-'));
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const write = (name: string, content: string) => writeFileSync(join(cwd, name), content);

function load(argv: string[] = [], env: Record<string, string> = {}) {
  return loadConfig({ argv, env, cwd });
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).message;
}

describe('precedence', () => {
  it('takes the default where nothing is set', async () => {
    const { values, origins, file } = await load();
    expect(values.port).toBe(8787);
    expect(values.databaseUrl).toBe('sqlite:./data/memory.db');
    expect(values['limits.maxFileBytes']).toBe(262_144);
    expect(values.apiKey).toBeNull();
    expect(origins.port).toEqual({ source: 'default', name: '' });
    expect(file).toBeNull();
  });

  it.each<[string, (text: string) => Buffer]>([
    ['a byte order mark', (text) => Buffer.from(`\uFEFF${text}`, 'utf8')],
    ['line ends of Windows', (text) => Buffer.from(text.replaceAll('\n', '\r\n'), 'utf8')],
    ['both', (text) => Buffer.from(`\uFEFF${text.replaceAll('\n', '\r\n')}`, 'utf8')],
    ['UTF-16, as from PowerShell', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ])('reads .env and the config file with %s', async (_name, encode) => {
    writeFileSync(
      join(cwd, '.env'),
      encode('SERVICE_PORT=1002\nSERVICE_MODEL_NAME="a b"\nSERVICE_LOG_LEVEL=warn\n'),
    );
    writeFileSync(join(cwd, 'memory.config.json'), encode('{\n  "rateLimit": 7\n}\n'));
    const { values } = await load();
    expect(values).toMatchObject({
      port: 1002,
      'model.name': 'a b',
      logLevel: 'warn',
      rateLimit: 7,
    });
  });

  it('lets each source override the one below it: default < file < .env < environment < flag', async () => {
    const seen: [unknown, string][] = [];
    const record = async (argv: string[] = [], env: Record<string, string> = {}) => {
      const { values, origins } = await load(argv, env);
      seen.push([values.port, origins.port.source]);
    };
    await record();
    write('memory.config.json', '{ "port": 1001 }');
    await record();
    write('.env', 'SERVICE_PORT=1002\n');
    await record();
    await record([], { SERVICE_PORT: '1003' });
    await record(['--port', '1004'], { SERVICE_PORT: '1003' });
    expect(seen).toEqual([
      [8787, 'default'],
      [1001, 'file'],
      [1002, '.env'],
      [1003, 'environment'],
      [1004, 'flag'],
    ]);
  });

  it('decides key by key, not source by source', async () => {
    write('memory.config.json', '{ "port": 1001, "limits": { "maxFileBytes": 1000 } }');
    const { values } = await load([], { SERVICE_PORT: '1003', SERVICE_MAX_FILES_PER_USER: '7' });
    expect(values.port).toBe(1003);
    expect(values['limits.maxFileBytes']).toBe(1000);
    expect(values['limits.maxFilesPerUser']).toBe(7);
    expect(values['limits.maxBodyBytes']).toBe(1_048_576);
  });

  it('takes an empty variable for an absent one', async () => {
    write('.env', 'SERVICE_PORT=1002\n');
    const { values } = await load([], { SERVICE_PORT: '' });
    expect(values.port).toBe(1002);
  });

  it('changes no variable of the process', async () => {
    write('.env', 'SERVICE_PORT=1002\nSERVICE_MARKER_OF_THIS_TEST=1\n');
    await load([], {});
    expect(process.env['SERVICE_PORT']).toBeUndefined();
    expect(process.env['SERVICE_MARKER_OF_THIS_TEST']).toBeUndefined();
  });
});

describe('a folder that an export made', () => {
  const mark = (folder: string) => {
    mkdirSync(join(cwd, folder), { recursive: true });
    write(join(folder, '.memory-service.json'), '{"files":[]}');
  };

  it.each([
    'memory.config.mjs',
    'memory.config.ts',
    'memory.config.js',
    'memory.config.json',
    '.env',
  ])('gives no settings: %s there, or in a folder below, is not loaded', async (name) => {
    mark('out');
    mkdirSync(join(cwd, 'out/users/alice'), { recursive: true });
    const ran = join(cwd, 'ran');
    const code = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\nexport default {};\n`;
    const content = name === '.env' ? 'SERVICE_PORT=1\n' : name.endsWith('json') ? '{}' : code;
    for (const folder of ['out', 'out/users/alice']) {
      const there = { argv: [], env: {}, cwd: join(cwd, folder) };
      // Without such a file, the command works there as anywhere.
      expect((await loadConfig(there)).values.port).toBe(8787);
      write(join(folder, name), content);
      const message = await refusal(loadConfig(there));
      expect(message).toContain(`${join(cwd, folder, name)} is not loaded`);
      expect(message).toContain(`memory was exported to ${join(cwd, 'out')}`);
      rmSync(join(cwd, folder, name));
    }
    expect(existsSync(ran)).toBe(false);
  });

  it('gives none by --config, SERVICE_CONFIG, a link, or the name of a plugin', async () => {
    mark('out');
    write('out/a.json', '{}');
    write('out/plugin.mjs', 'export default () => ({});');
    const refused = `${join(cwd, 'out/a.json')} is not loaded`;
    expect(await refusal(load(['--config=out/a.json']))).toContain(refused);
    expect(await refusal(load([], { SERVICE_CONFIG: './out/a.json' }))).toContain(refused);
    symlinkSync(join(cwd, 'out/a.json'), join(cwd, 'memory.config.json'));
    expect(await refusal(load())).toContain('memory.config.json is not loaded');
    rmSync(join(cwd, 'memory.config.json'));
    symlinkSync(join(cwd, 'out'), join(cwd, 'link'));
    expect(await refusal(load(['--config=link/a.json']))).toContain('is not loaded');
    write('memory.config.json', '{ "plugins": ["./out/plugin.mjs"] }');
    expect(await refusal(load().then(openConfig))).toContain(
      `${join(cwd, 'out/plugin.mjs')} is not loaded`,
    );
  });

  it('changes nothing for the folders above and beside it', async () => {
    mark('out');
    mkdirSync(join(cwd, 'beside'));
    write('memory.config.json', '{ "port": 1001 }');
    write('beside/memory.config.json', '{ "port": 1002 }');
    expect((await load()).values.port).toBe(1001);
    expect((await load(['--config=beside/memory.config.json'])).values.port).toBe(1002);
  });
});

describe('config files', () => {
  it.each(['ts', 'mjs', 'js'])('runs memory.config.%s', async (extension) => {
    const type = extension === 'ts' ? ': number' : '';
    write('package.json', '{ "type": "module" }');
    write(`memory.config.${extension}`, `const port${type} = 1234;\nexport default { port };\n`);
    const { values, origins, file } = await load();
    expect(values.port).toBe(1234);
    expect(origins.port).toEqual({ source: 'file', name: `port in memory.config.${extension}` });
    expect(file?.path).toBe(join(cwd, `memory.config.${extension}`));
  });

  it('reads the file that --config names, before the one that SERVICE_CONFIG names', async () => {
    write('a.json', '{ "port": 1 }');
    write('b.json', '{ "port": 2 }');
    expect((await load([], { SERVICE_CONFIG: 'a.json' })).values.port).toBe(1);
    expect((await load(['--config=b.json'], { SERVICE_CONFIG: 'a.json' })).values.port).toBe(2);
  });

  it('refuses a chosen file that is not there', async () => {
    expect(await refusal(load(['--config', 'none.json']))).toBe(
      `--config names ${join(cwd, 'none.json')}, and there is no such file.`,
    );
  });

  it('reads nothing but that file: no rc file, no layers, no package.json', async () => {
    write('.memoryrc', 'port=1');
    write('.memory.configrc', 'port=1');
    write('package.json', '{ "memory": { "port": 1 }, "memory.config": { "port": 1 } }');
    write('base.json', '{ "port": 1 }');
    write('a.mjs', 'export default { host: "127.0.0.1", $test: { port: 1 } };');
    expect(await refusal(load(['--config=a.mjs']))).toContain('$test in a.mjs is not known');
    write('b.mjs', 'export default { host: "127.0.0.1", extends: "./base.json" };');
    expect(await refusal(load(['--config=b.mjs']))).toContain('extends in b.mjs is not known');
    write('memory.config.mjs', 'export default { host: "127.0.0.1" };');
    expect((await load()).values.port).toBe(8787);
  });

  it('names a key that is not known, and the nearest that is', async () => {
    write('memory.config.json', '{ "limits": { "maxFileByte": 1 } }');
    expect(await refusal(load())).toBe(
      'limits.maxFileByte in memory.config.json is not known; did you mean limits.maxFileBytes?',
    );
  });

  it('reports every mistake of the flags, the environment and the file at once', async () => {
    write('memory.config.json', '{ "limts": {}, "rateLimit": -1 }');
    expect(await refusal(load(['--prot=1', '--sla-p95-ms=0'], { SERVICE_PORT: 'x' }))).toBe(
      [
        'The configuration has 5 mistakes:',
        '  - --prot is not known. Did you mean --port?',
        '  - limts in memory.config.json is not known; did you mean limits?',
        '  - SERVICE_PORT must be a whole number from 0 to 65,535, not "x" (in the environment).',
        '  - rateLimit in memory.config.json must be a whole number from 0 to 1,000,000, not -1.',
        '  - --sla-p95-ms must be a whole number from 1 to 600,000, not "0".',
      ].join('\n'),
    );
  });

  it.each([
    ['storage-sqlite', { filename: 'm.db', drivr: 'x', readers: 0 }],
    ['storage-mysql', { url: 'mysql://u:p@127.0.0.1/m', conections: 5 }],
  ])('checks the options of %s: %j', async (plugin, options) => {
    write('memory.config.json', JSON.stringify({ storage: { plugin, options } }));
    const message = await refusal(load().then(openConfig));
    expect(message).toContain(`storage in memory.config.json: ${plugin} refuses: `);
    expect(message).toContain(
      plugin === 'storage-sqlite'
        ? [
            'The configuration has 2 mistakes:',
            '  - drivr in the options of storage-sqlite is not known; did you mean driver?',
            '  - readers of storage-sqlite must be a whole number from 1 to 16, not 0.',
          ].join('\n')
        : 'conections in the options of storage-mysql is not known; did you mean connections?',
    );
  });

  it('says where broken JSON is', async () => {
    write('memory.config.json', '{ "port": }');
    expect(await refusal(load())).toContain(`${join(cwd, 'memory.config.json')} cannot be read`);
  });

  it('says which file throws', async () => {
    write('memory.config.mjs', 'throw new Error("no luck");');
    expect(await refusal(load())).toBe(`${join(cwd, 'memory.config.mjs')} failed: no luck`);
  });

  it('warns of a second file that it does not read', async () => {
    write('memory.config.mjs', 'export default {};');
    write('memory.config.json', '{}');
    expect((await load()).warnings).toEqual([
      'memory.config.json is not read: memory.config.mjs comes first',
    ]);
  });
});

const BASE_URL_ALLOWED =
  'an https:// address, or an http:// one of this machine or a private network';

describe('bad values', () => {
  it.each([
    ['SERVICE_PORT', '65536', 'a whole number from 0 to 65,535'],
    ['SERVICE_PORT', 'abc', 'a whole number from 0 to 65,535'],
    ['SERVICE_PORT', '1e3', 'a whole number from 0 to 65,535'],
    ['SERVICE_PORT', '0x50', 'a whole number from 0 to 65,535'],
    ['SERVICE_PORT', '80.5', 'a whole number from 0 to 65,535'],
    ['SERVICE_PORT', '-1', 'a whole number from 0 to 65,535'],
    ['SERVICE_PORT', 'NaN', 'a whole number from 0 to 65,535'],
    ['SERVICE_SLA_ERROR_RATE', '1.5', 'a number from 0 to 1'],
    ['SERVICE_SLA_ERROR_RATE', 'Infinity', 'a number from 0 to 1'],
    ['SERVICE_TRUST_PROXY', 'maybe', 'true or false'],
    ['SERVICE_LOG_LEVEL', 'verbose', 'one of debug, info, warn, error, silent'],
    ['SERVICE_BASE_PATH', 'memory/', 'a path as in /memory, without a slash at its end'],
    [
      'SERVICE_DATABASE_URL',
      'redis://x',
      'sqlite:<file>, sqlite::memory:, mysql://user:password@host:port/db or postgres://user:password@host:port/db',
    ],
    ['SERVICE_MODEL_BASE_URL', 'file:///etc/passwd', BASE_URL_ALLOWED],
    ['SERVICE_MODEL_BASE_URL', 'http://8.8.8.8/v1', BASE_URL_ALLOWED],
    ['SERVICE_EMBEDDING_BASE_URL', 'https://169.254.169.254/latest', BASE_URL_ALLOWED],
  ])('says that %s=%s is bad, and what is allowed', async (name, value, allowed) => {
    expect(await refusal(load([], { [name]: value }))).toBe(
      `${name} must be ${allowed}, not ${JSON.stringify(value)} (in the environment).`,
    );
  });

  it('names the flag, the file and .env as the operator wrote them', async () => {
    expect(await refusal(load(['--port=x']))).toMatch(/^--port must be /);
    write('memory.config.json', '{ "limits": { "maxFileBytes": "10" } }');
    expect(await refusal(load())).toMatch(
      /^limits\.maxFileBytes in memory\.config\.json must be a whole number from 1 to 67,108,864, not "10"\.$/,
    );
    write('.env', 'SERVICE_MAX_FILE_BYTES=x\n');
    expect(await refusal(load())).toMatch(/^SERVICE_MAX_FILE_BYTES must be .* \(in \.env\)\.$/);
  });

  it('never repeats a secret, nor the password of a database', async () => {
    const secret = 'canary-7f3a\0';
    for (const key of SETTING_KEYS.filter((it) => settingOf(it).isSecret === true)) {
      const message = await refusal(load([], { [settingOf(key).env]: secret }));
      expect(message).not.toContain('canary');
    }
    const url = 'mysql://root:canary-p@ss@db/x y';
    expect(await refusal(load([], { SERVICE_DATABASE_URL: url }))).not.toContain('canary');
  });

  it('keeps every number inside its bounds, whatever the text', async () => {
    const numeric = SETTING_KEYS.filter((key) => 'minimum' in settingOf(key).schema);
    expect(numeric.length).toBeGreaterThan(10);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...numeric),
        fc.oneof(
          fc.string(),
          fc.double().map(String),
          fc.integer().map(String),
          fc.float().map(String),
        ),
        async (key, text) => {
          fc.pre(text !== '');
          const { minimum, maximum } = settingOf(key).schema as {
            minimum: number;
            maximum: number;
          };
          const loaded = await load([], { [settingOf(key).env]: text }).catch(
            (error: unknown) => error,
          );
          if (loaded instanceof ConfigError) return;
          const value = (loaded as Awaited<ReturnType<typeof load>>).values[key] as number;
          expect(Number.isFinite(value)).toBe(true);
          expect(value).toBeGreaterThanOrEqual(minimum);
          expect(value).toBeLessThanOrEqual(maximum);
          expect(value).toBe(Number(text));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('names that are not known', () => {
  it('warns of an unknown SERVICE_ variable and names the nearest known one', async () => {
    const { warnings } = await load([], {
      SERVICE_PROT: '1',
      SERVICE_QWERTYUIOPASDF: '1',
      OTHER: '1',
    });
    expect(warnings).toEqual([
      'SERVICE_PROT is not known and has no effect; did you mean SERVICE_PORT?',
      'SERVICE_QWERTYUIOPASDF is not known and has no effect',
    ]);
  });

  it('refuses an unknown flag and names the nearest known one', async () => {
    expect(await refusal(load(['--prot', '1']))).toBe('--prot is not known. Did you mean --port?');
    expect(await refusal(load(['--verbose']))).toBe(
      '--verbose is not known. memory-service --help lists the flags.',
    );
  });

  it('refuses a flag without its value', async () => {
    expect(await refusal(load(['--port']))).toBe('--port needs a value, as in --port=….');
    expect(await refusal(load(['--host', '--port', '1']))).toContain('--host needs a value');
  });

  it('refuses a secret on the command line', async () => {
    expect(await refusal(load(['--admin-secret', 'x']))).toContain('set SERVICE_ADMIN_SECRET');
  });
});

describe('flags', () => {
  it('has one for every setting that is no secret, in each form', async () => {
    for (const key of SETTING_KEYS.filter((it) => settingOf(it).isSecret !== true)) {
      const sample = sampleOf(key);
      const forms = [[`--${flagOf(key)}=${sample}`], [`--${flagOf(key)}`, sample]];
      const isSwitch = describeAllowed(settingOf(key)) === 'true or false';
      for (const argv of isSwitch ? [forms[0] ?? []] : forms) {
        const { origins } = await load(argv);
        expect(origins[key]).toEqual({ source: 'flag', name: `--${flagOf(key)}` });
      }
    }
  });

  it('reads switches with and without a value', async () => {
    expect((await load(['--trust-proxy'])).values.trustProxy).toBe(true);
    expect((await load(['--trust-proxy=false'])).values.trustProxy).toBe(false);
    expect((await load(['--no-trust-proxy'], { SERVICE_TRUST_PROXY: '1' })).values.trustProxy).toBe(
      false,
    );
  });

  it('has a line of help for each', () => {
    const help = printFlags().join('\n');
    for (const key of SETTING_KEYS) {
      expect(help.includes(`--${flagOf(key)} `)).toBe(settingOf(key).isSecret !== true);
    }
  });
});

describe('the table of settings', () => {
  it('has a default that its own schema allows', async () => {
    for (const key of SETTING_KEYS) {
      const { default: byDefault, env } = settingOf(key);
      if (byDefault === null || byDefault === '') continue;
      const { values } = await load([], { [env]: String(byDefault) });
      expect(values[key]).toEqual(byDefault);
    }
  });

  it('has every variable of the contract, with its default', () => {
    const contract: Record<string, unknown> = {
      SERVICE_HOST: '127.0.0.1',
      SERVICE_PORT: 8787,
      SERVICE_BASE_PATH: '',
      SERVICE_ALLOWED_HOSTS: null,
      SERVICE_TRUST_PROXY: false,
      SERVICE_DATABASE_URL: 'sqlite:./data/memory.db',
      SERVICE_API_KEY: null,
      SERVICE_ADMIN_SECRET: null,
      SERVICE_DOCS_PATH: null,
      SERVICE_DREAM_ENABLED: false,
      SERVICE_MODEL_PROVIDER: null,
      SERVICE_MODEL_BASE_URL: null,
      SERVICE_MODEL_API_KEY: null,
      SERVICE_MODEL_NAME: null,
      SERVICE_EMBEDDING_PROVIDER: null,
      SERVICE_EMBEDDING_BASE_URL: null,
      SERVICE_EMBEDDING_API_KEY: null,
      SERVICE_EMBEDDING_NAME: null,
      SERVICE_EMBEDDING_DIMENSIONS: null,
      SERVICE_EMBEDDING_QUESTION_PREFIX: null,
      SERVICE_EMBEDDING_PASSAGE_PREFIX: null,
      SERVICE_MAX_FILE_BYTES: 262_144,
      SERVICE_MAX_BODY_BYTES: 1_048_576,
      SERVICE_MAX_FILES_PER_USER: 5_000,
      SERVICE_SHARED_WRITES: false,
      SERVICE_RATE_LIMIT: 0,
      SERVICE_SLA_P95_MS: 250,
      SERVICE_SLA_ERROR_RATE: 0.01,
      SERVICE_SLOW_CALL_MS: 1_000,
      SERVICE_RETENTION_EVENTS_DAYS: 30,
      SERVICE_RETENTION_ACCESS_LOG_DAYS: 0,
      SERVICE_RETENTION_REVISIONS_DAYS: 0,
      SERVICE_RETENTION_DREAMS_DAYS: 90,
      SERVICE_LOG_LEVEL: 'info',
    };
    const actual = Object.fromEntries(Object.values(SETTINGS).map((it) => [it.env, it.default]));
    expect(actual).toMatchObject(contract);
  });
});

describe('--print-config', () => {
  it('shows each key, what holds, and where it came from', async () => {
    write('memory.config.json', '{ "rateLimit": 60, "plugins": ["./a.mjs"] }');
    write('.env', 'SERVICE_HOST=localhost\n');
    const printed = await printConfig(await load(['--base-path=/m'], { SERVICE_PORT: '9000' }));
    const row = (key: string) =>
      printed
        .split('\n')
        .find((line) => line.startsWith(`${key} `))
        ?.split(/ {2,}/);
    expect(row('port')).toEqual(['port', '9000', 'environment SERVICE_PORT']);
    expect(row('host')).toEqual(['host', 'localhost', '.env SERVICE_HOST']);
    expect(row('basePath')).toEqual(['basePath', '/m', 'flag --base-path']);
    expect(row('rateLimit')).toEqual(['rateLimit', '60', 'file memory.config.json']);
    expect(row('plugins')).toEqual(['plugins', './a.mjs', 'file memory.config.json']);
    expect(row('logLevel')).toEqual(['logLevel', 'info', 'default']);
    for (const key of SETTING_KEYS) expect(row(key)).toHaveLength(3);
  });

  it.each([
    ['{}', [], 'sqlite, driver sqlite3 6.0.1, <cwd>/data/memory.db', 'default'],
    [
      '{}',
      ['--database-url=sqlite:m.db'],
      'sqlite, driver sqlite3 6.0.1, <cwd>/m.db',
      'flag --database-url',
    ],
    ['{}', ['--database-url=mysql://u:p@db/m'], 'mysql, driver mysql2', 'flag --database-url'],
    ['{}', ['--database-url=postgresql://u:p@db/m'], 'postgres, driver pg', 'flag --database-url'],
    [
      '{ "storage": { "plugin": "storage-sqlite", "options": { "filename": "f.db", "driver": "better-sqlite3" } } }',
      [],
      'sqlite, driver better-sqlite3, <cwd>/f.db',
      'file memory.config.json',
    ],
  ])('shows the driver and the file of the database: %s %j', async (file, argv, value, origin) => {
    write('memory.config.json', file);
    const rows = (await printConfig(await load(argv)))
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows.filter(([key]) => key === 'storage')).toEqual([
      ['storage', value.replace('<cwd>', cwd), origin],
    ]);
    expect(rows.some(([key]) => key === 'databaseUrl')).toBe(origin !== 'file memory.config.json');
  });

  it('shows the driver of an imported storage', async () => {
    const plugin = new URL('../../../plugins/storage-sqlite/index.ts', import.meta.url).href;
    write(
      'memory.config.ts',
      `import { sqlite } from '${plugin}';
      export default { storage: sqlite({ filename: 'i.db', driver: 'better-sqlite3' }) };`,
    );
    const printed = await printConfig(await load());
    expect(printed).toContain(`sqlite, driver better-sqlite3, ${join(cwd, 'i.db')}`);
  });

  it('leaves out what another source replaces', async () => {
    const model = { plugin: 'model-openai', options: { baseUrl: 'http://127.0.0.1', name: 'a' } };
    const storage = { plugin: 'storage-sqlite', options: { filename: 'f.db' } };
    write('memory.config.json', JSON.stringify({ model, storage }));
    const keys = async (argv: string[]) =>
      (await printConfig(await load(argv))).split('\n').map((line) => line.split(' ')[0]);
    expect(await keys([])).toEqual(expect.arrayContaining(['model', 'storage', 'embedder.name']));
    expect(await keys([])).not.toContain('model.name');
    const replaced = await keys(['--model-provider=openai', '--database-url=sqlite:m.db']);
    expect(replaced).toEqual(expect.arrayContaining(['model.name', 'databaseUrl']));
    expect(replaced).not.toContain('model');
  });

  it('shows the proxies of the environment, and of .env, without their passwords', async () => {
    write('.env', 'http_proxy=proxy.example:3128\nNO_PROXY=localhost, .internal\n');
    const printed = await printConfig(
      await load([], { HTTPS_PROXY: 'http://u:canary@proxy.example:3129' }),
    );
    expect(printed).toMatch(
      /^proxy +http:\/\/u:\*{8}@proxy\.example:3129\/ +environment HTTPS_PROXY$/m,
    );
    expect(printed).toMatch(/^proxy +http:\/\/proxy\.example:3128\/ +environment HTTP_PROXY$/m);
    expect(printed).toMatch(/^no proxy +localhost, \.internal +environment NO_PROXY$/m);
    expect(printed).not.toContain('canary');
    const socks = await load([], { ALL_PROXY: 'socks5://u:canary@p' });
    expect(socks.warnings.join()).toMatch(/^ALL_PROXY has no effect/);
    expect(await printConfig(socks)).not.toContain('canary');
  });

  it('masks what a URL carries behind its address', async () => {
    const printed = await printConfig(
      await load([], {
        SERVICE_MODEL_PROVIDER: 'openai',
        SERVICE_MODEL_BASE_URL: 'https://models.example/v1?key=canary&api-version=1',
        SERVICE_DATABASE_URL: 'mysql://db:3306/m?password=canary',
      }),
    );
    expect(printed).toContain('https://models.example/v1?key=********&api-version=1');
    expect(printed).not.toContain('canary');
    const message = await refusal(load(['--model-base-url=ftp://u:canary@x/?token=canary']));
    expect(message).not.toContain('canary');
  });

  it('masks every secret, and the password of a database', async () => {
    const env: Record<string, string> = {
      SERVICE_DATABASE_URL: 'mysql://u:canary-pa@ss@db:3306/m',
    };
    for (const key of SETTING_KEYS.filter((it) => settingOf(it).isSecret === true)) {
      env[settingOf(key).env] = `canary-${key}`;
    }
    const printed = await printConfig(await load([], env));
    expect(printed).not.toContain('canary');
    expect(printed).toContain('mysql://u:********@db:3306/m');
    expect(printed.match(/\*{8}/g)?.length).toBeGreaterThanOrEqual(5);
  });
});

describe('factories by name', () => {
  const storage = 'export default (options) => ({ name: "toy", describe() {}, options });';

  it('finds a file beside the config file, a package, and calls it with its options', async () => {
    mkdirSync(join(cwd, 'etc'));
    write('etc/toy.mjs', storage);
    mkdirSync(join(cwd, 'etc/node_modules/toy-plugin'), { recursive: true });
    write(
      'etc/node_modules/toy-plugin/package.json',
      '{ "type": "module", "exports": { "import": "./main.js" } }',
    );
    write(
      'etc/node_modules/toy-plugin/main.js',
      'export const toyPlugin = (options) => ({ name: "toy-plugin", apiVersion: 2, options, setup() {} }); export const other = 1;',
    );
    write(
      'etc/c.json',
      JSON.stringify({
        storage: { plugin: './toy.mjs', options: { a: 1 } },
        plugins: ['toy-plugin', { plugin: 'toy-plugin', options: { b: 2 } }],
      }),
    );
    const { service, database } = await openConfig(await load(['--config', 'etc/c.json']));
    expect(service.storage).toMatchObject({ name: 'toy', options: { a: 1 } });
    expect(database.name).toBe('toy');
    expect(service.plugins).toMatchObject([
      { name: 'toy-plugin', options: undefined },
      { name: 'toy-plugin', options: { b: 2 } },
      { name: 'mcp' },
      { name: 'dreaming' },
      { name: 'memory-stores' },
    ]);
  });

  it('brings the default plugins along, unless the config file brings them with options of its own', async () => {
    const plain = await openConfig(await load());
    expect(plain.service.plugins).toMatchObject([
      { name: 'mcp', options: {} },
      { name: 'dreaming', options: {} },
      { name: 'memory-stores' },
    ]);
    const plugins = [{ plugin: 'mcp', options: { readOnly: true } }];
    write('memory.config.json', JSON.stringify({ plugins }));
    const own = await openConfig(await load());
    expect(own.service.plugins).toMatchObject([
      { name: 'mcp', options: { readOnly: true } },
      { name: 'dreaming', options: {} },
      { name: 'memory-stores' },
    ]);
  });

  it('keeps an imported factory’s product as it is', async () => {
    write(
      'memory.config.mjs',
      'export const storage = { name: "own", describe() {}, get files() { return "live"; } };\nglobalThis.ownStorage = storage;\nexport default { storage };',
    );
    const { service } = await openConfig(await load());
    expect(service.storage).toBe((globalThis as { ownStorage?: unknown }).ownStorage);
  });

  it('lets a database of a stronger source replace the storage of the file', async () => {
    write('memory.config.mjs', 'export default { storage: { name: "own", describe() {} } };');
    const { service } = await openConfig(
      await load([], { SERVICE_DATABASE_URL: 'sqlite::memory:' }),
    );
    expect(service.storage.name).toBe('sqlite');
  });

  it.each([
    ['./none.mjs', 'storage in memory.config.json names the plugin ./none.mjs, and there is none'],
    [
      'no-such-package',
      'storage in memory.config.json names the plugin no-such-package, and there is none',
    ],
    ['./broken.mjs', 'names the plugin ./broken.mjs, and it cannot be loaded'],
    [
      './needy.mjs',
      'The plugin ./needy.mjs needs the package no-such-sdk: npm install no-such-sdk',
    ],
    ['./many.mjs', 'The plugin ./many.mjs exports no factory'],
    ['./wrong.mjs', 'must be a database, and what ./wrong.mjs makes is none'],
    ['./angry.mjs', './angry.mjs refuses: filename is missing'],
  ])('says what is wrong with %s', async (plugin, message) => {
    write('broken.mjs', 'throw new Error("no luck");');
    write('needy.mjs', 'import "no-such-sdk";');
    write('many.mjs', 'export const a = () => 1; export const b = () => 2;');
    write('wrong.mjs', 'export default () => ({ name: "x" });');
    write('angry.mjs', 'export default () => { throw new Error("filename is missing"); };');
    write('memory.config.json', JSON.stringify({ storage: { plugin } }));
    expect(await refusal(load().then(openConfig))).toContain(message);
  });

  it('refuses storage and databaseUrl in one file', async () => {
    write('memory.config.json', '{ "storage": { "plugin": "x" }, "databaseUrl": "sqlite:a.db" }');
    expect(await refusal(load())).toContain('gives storage and databaseUrl');
  });

  it('says that a search waits for the embedder no longer than a call can, and shows it', async () => {
    const own = await load(['--search-embed-timeout-ms=14001']);
    const warning =
      '--search-embed-timeout-ms is 14001 and counts as 14000: a call ends after 15000';
    expect(own.warnings).toEqual([warning]);
    expect(await printConfig(own)).toContain(`Warning: ${warning}.`);
    expect((await load(['--search-embed-timeout-ms=14000'])).warnings).toEqual([]);
  });

  it('says that a model has no effect without its provider', async () => {
    const { warnings } = await load([], { SERVICE_MODEL_NAME: 'm' });
    expect(warnings).toEqual(['SERVICE_MODEL_NAME has no effect without SERVICE_MODEL_PROVIDER']);
  });

  it('refuses a provider that is not there, by the name of its variable', async () => {
    const loaded = await load([], { SERVICE_MODEL_PROVIDER: 'no-such-provider' });
    expect(await refusal(openConfig(loaded))).toContain(
      'SERVICE_MODEL_PROVIDER names the plugin no-such-provider',
    );
  });
});

describe('where memory is kept', () => {
  it.each([
    ['sqlite:a/b.db', 'a/b.db'],
    ['sqlite:./a.db', 'a.db'],
    ['sqlite://a.db', 'a.db'],
    ['sqlite:/var/a.db', '/var/a.db'],
    ['sqlite:///var/a.db', '/var/a.db'],
    ['sqlite::memory:', null],
    ['mysql://u:p@h/d', null],
    ['postgres://u:p@h/d', null],
  ])('%s: %s', async (url, expected) => {
    const database = describeDatabase(await load([], { SERVICE_DATABASE_URL: url }));
    expect(database.name).toBe(url.slice(0, url.indexOf(':')));
    expect(database.isEmbedded).toBe(url.startsWith('sqlite:'));
    expect(database.filename).toBe(expected === null ? null : resolve(cwd, expected));
  });

  it('is known of a factory by name, and of a storage that says its file', async () => {
    const options = { filename: 'x.db', driver: 'better-sqlite3' };
    write('a.json', JSON.stringify({ storage: { plugin: 'storage-sqlite', options } }));
    expect(describeDatabase(await load(['--config=a.json']))).toEqual({
      name: 'sqlite',
      isEmbedded: true,
      filename: join(cwd, 'x.db'),
      driver: 'better-sqlite3',
    });
    write(
      'b.mjs',
      'export default { storage: { name: "sqlite", filename: "/y.db", describe() {} } };',
    );
    expect(describeDatabase(await load(['--config=b.mjs'])).filename).toBe('/y.db');
    write(
      'own.mjs',
      'export default { storage: { name: "own", filename: "/z.db", driver: "own-package", limits: { writers: "one" } } };',
    );
    expect(describeDatabase(await load(['--config=own.mjs']))).toEqual({
      name: 'own',
      isEmbedded: true,
      filename: '/z.db',
    });
    write('c.mjs', 'export default { storage: { name: "sqlite", describe() {} } };');
    expect(describeDatabase(await load(['--config=c.mjs'])).filename).toBeNull();
  });

  it('is a MySQL where the URL says so, and its options are checked before it is reached', async () => {
    const loaded = await load([], { SERVICE_DATABASE_URL: 'mysql://u:p@h/d' });
    const opened = await openConfig(loaded);
    expect(opened.service.storage.name).toBe('mysql');
    expect(opened.database).toEqual({ name: 'mysql', isEmbedded: false, filename: null });
    const wrong = await load([], { SERVICE_DATABASE_URL: 'mysql://u:canary@h/d?ssl-mode=on' });
    const message = await refusal(openConfig(wrong));
    expect(message).toMatch(
      /^SERVICE_DATABASE_URL: storage-mysql refuses: tls of storage-mysql must be one of .* \(ssl-mode in a URL\), not "on"\.$/,
    );
    expect(message).not.toContain('canary');
  });
});

describe('what the service gets', () => {
  it('accepts the loopback names and the host by default, and nothing else', async () => {
    const hosts = async (env: Record<string, string>) =>
      (await openConfig(await load([], { SERVICE_DATABASE_URL: 'sqlite::memory:', ...env })))
        .service.allowedHosts;
    expect(await hosts({})).toEqual(['localhost', '127.0.0.1', '::1']);
    expect(await hosts({ SERVICE_HOST: '0.0.0.0' })).toEqual(['localhost', '127.0.0.1', '::1']);
    expect(await hosts({ SERVICE_HOST: 'memory.internal' })).toContain('memory.internal');
    expect(await hosts({ SERVICE_ALLOWED_HOSTS: 'a.example, b.example' })).toEqual([
      'a.example',
      'b.example',
    ]);
  });

  it('refuses a docs path that is no directory', async () => {
    const loaded = await load([], {
      SERVICE_DOCS_PATH: 'none',
      SERVICE_DATABASE_URL: 'sqlite::memory:',
    });
    expect(await refusal(openConfig(loaded))).toContain('SERVICE_DOCS_PATH must be a directory');
  });
});

function sampleOf(key: (typeof SETTING_KEYS)[number]): string {
  const { default: byDefault } = settingOf(key);
  if (byDefault !== null && byDefault !== '') return String(byDefault);
  const samples: Record<string, string> = {
    basePath: '/memory',
    allowedHosts: 'example.com',
    docsPath: 'docs',
    operatorRoles: 'alice@example.com:admin',
    mcpResourceMetadata: 'https://gateway.example/metadata',
    'model.baseUrl': 'https://models.example',
    'embedder.baseUrl': 'https://models.example',
    'embedder.dimensions': '384',
    'embedder.maxTokens': '256',
  };
  return samples[key] ?? 'openai';
}
