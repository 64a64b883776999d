import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const PROJECT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

const MAIN =
  "export const runCommand = (): void => { console.log('ran', process.env['UV_THREADPOOL_SIZE'], process.argv.slice(2)); };\n";

let built: string;
let root: string;

/** A clone in small, which is built already: the real preparation, the real compiler, two source files. */
beforeAll(() => {
  built = root = makeRoot();
  mkdirSync(join(root, 'core/build'), { recursive: true });
  mkdirSync(join(root, 'core/cli'), { recursive: true });
  mkdirSync(join(root, 'node_modules/sqlite3/build/Release'), { recursive: true });
  for (const name of ['prepare.cjs', 'bundle.mjs', 'common-js-types.mjs', 'bootstrap.cjs']) {
    cpSync(join(PROJECT, 'core/build', name), join(root, 'core/build', name));
  }
  for (const name of ['tsconfig.base.json', 'tsconfig.build.json']) {
    cpSync(join(PROJECT, name), join(root, name));
  }
  for (const name of ['typescript', '@types', 'undici-types', 'vite']) {
    symlinkSync(join(PROJECT, 'node_modules', name), join(root, 'node_modules', name));
  }
  write('node_modules/sqlite3/build/Release/node_sqlite3.node', '');
  write('package.json', '{ "type": "module", "engines": { "node": ">=20.19" } }');
  lock({});
  write('node_modules/.package-lock.json', '{ "packages": {} }');
  write('core/service.ts', 'export const old = 1;\n');
  write('core/cli/main.ts', MAIN);
  expect(prepare().stderr).toMatch(
    /^Building the service \(usually 20 to 40 seconds\)\.\n(?: .*\n)*Built in .* s\.\n$/,
  );
});

afterAll(() => rmSync(built, { recursive: true, force: true }));

beforeEach(() => {
  root = makeRoot();
  cpSync(built, root, { recursive: true, verbatimSymlinks: true });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const makeRoot = () => mkdtempSync(join(tmpdir(), 'memory-service-prepare-'));
const write = (name: string, content: string) => writeFileSync(join(root, name), content);
const lock = (packages: object) =>
  write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }));

function prepare(
  script = 'prepare.cjs',
  args: string[] = [],
  env: Record<string, string> = {},
  more: { uid?: number } = {},
) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'core/build', script), ...args],
    {
      cwd: root,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: root, ...env },
      ...more,
    },
  );
  return { status, stdout, stderr };
}

describe('the build', () => {
  it('runs when a source is newer in content, and only then', () => {
    expect(prepare()).toEqual({ status: 0, stdout: '', stderr: '' });
    // Touched, but the same.
    write('core/cli/main.ts', MAIN);
    expect(prepare().stderr).toBe('');
    write('core/cli/main.ts', "export const runCommand = (): void => console.log('new');\n");
    expect(prepare().stderr).toContain('Building');
    expect(readFileSync(join(root, 'dist/core/cli/main.js'), 'utf8')).toMatch(/['"]new['"]/);
  });

  it('joins the modules and TypeBox, so that few files are loaded and no package of types', () => {
    symlinkSync(join(PROJECT, 'node_modules/typebox'), join(root, 'node_modules/typebox'));
    mkdirSync(join(root, 'core/schemas'));
    const schema = "import Type from 'typebox';\nexport const id = Type.String();\n";
    write('core/schemas/id.ts', schema);
    write(
      'core/cli/main.ts',
      "import { Check } from 'typebox/value';\nimport { id } from '../schemas/id.ts';\nexport const runCommand = (): void => { console.log(id, Check(id, 1), Check(id, '1')); };\n",
    );
    const { status, stdout } = prepare('bootstrap.cjs');
    expect([status, stdout]).toEqual([0, "{ type: 'string' } false true\n"]);
    rmSync(join(root, 'node_modules/typebox'));
    const main = "import('./dist/core/cli/main.js').then(({ runCommand }) => runCommand())";
    const alone = spawnSync(process.execPath, ['-e', main], { cwd: root, encoding: 'utf8' });
    expect([alone.stdout, alone.stderr]).toEqual([stdout, '']);
    expect(existsSync(join(root, 'dist/core/schemas/id.js'))).toBe(false);
    expect(existsSync(join(root, 'dist/core/schemas/id.d.ts'))).toBe(true);
  });

  it('leaves nothing of a source that is gone', () => {
    expect(existsSync(join(root, 'dist/core/service.js'))).toBe(true);
    rmSync(join(root, 'core/service.ts'));
    prepare();
    expect(existsSync(join(root, 'dist/core/service.js'))).toBe(false);
  });

  it('that fails shows why, and keeps the last good one', () => {
    const before = readFileSync(join(root, 'dist/core/cli/main.js'), 'utf8');
    write('core/cli/main.ts', 'export const runCommand: number = "x";\n');
    const { status, stderr } = prepare();
    expect(status).toBe(1);
    expect(stderr).toContain("core/cli/main.ts(1,14): error TS2322: Type 'string'");
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(
      'The build failed: mend the errors above, then try again.',
    );
    expect(readFileSync(join(root, 'dist/core/cli/main.js'), 'utf8')).toBe(before);
    expect(readdirSync(root).filter((name) => name.startsWith('.dist'))).toEqual([]);
  });
});

describe('the bootstrap', () => {
  it('becomes the command, in its own process, with its arguments and more threads', () => {
    const { status, stdout } = prepare('bootstrap.cjs', ['start', '--port=0']);
    expect([status, stdout]).toEqual([0, "ran 16 [ 'start', '--port=0' ]\n"]);
    expect(prepare('bootstrap.cjs', [], { UV_THREADPOOL_SIZE: '7' }).stdout).toBe('ran 7 []\n');
  });

  it('refuses an old Node with one line', () => {
    write('package.json', '{ "type": "module", "engines": { "node": ">=99.1" } }');
    expect(prepare('bootstrap.cjs')).toEqual({
      status: 1,
      stdout: '',
      stderr: `memory-service needs Node 99.1 or newer; this is ${process.version}.\n`,
    });
  });
});

describe('npm start', () => {
  it('hands a signal to the service, and waits for its end', async () => {
    const { scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    write(
      'package.json',
      JSON.stringify({
        type: 'module',
        engines: { node: '>=20.19' },
        scripts: { start: scripts['start'] },
      }),
    );
    write(
      'core/cli/main.ts',
      `export function runCommand(): void {
        // Not for ever, when the signal never comes.
        const alive = setTimeout(() => undefined, 30_000);
        process.on('SIGTERM', () => {
          clearTimeout(alive);
          setTimeout(() => console.log('finished'), 100);
        });
        console.log('ready');
      }`,
    );
    prepare();
    const npm = spawn('npm', ['start', '--silent'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let stdout = '';
    npm.stdout.setEncoding('utf8').on('data', (data: string) => {
      if (!stdout.includes('ready') && data.includes('ready')) npm.kill('SIGTERM');
      stdout += data;
    });
    const code = await new Promise((resolve) => npm.on('exit', resolve));
    expect([code, stdout]).toEqual([0, 'ready\nfinished\n']);
  });
});

describe('the install', () => {
  const missing = { 'node_modules/left-out': { version: '1.0.0', resolved: '' } };
  const offline = {
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_fetch_retries: '0',
    npm_config_cache: '',
  };

  it('is left out when everything in the lock file is there, whoever installed it', () => {
    lock({
      '': {},
      'node_modules/left-out': { version: '1.0.0' },
      'node_modules/maybe': { version: '1.0.0', optional: true },
    });
    write(
      'node_modules/.package-lock.json',
      JSON.stringify({ packages: { 'node_modules/left-out': { version: '1.0.0' } } }),
    );
    expect(prepare().stderr).toBe('');
  });

  it('without a network ends with one line that says so', () => {
    lock({ '': { dependencies: { 'left-out': '1.0.0' } }, ...missing });
    write(
      'package.json',
      '{ "type": "module", "engines": { "node": ">=20.19" }, "dependencies": { "left-out": "1.0.0" } }',
    );
    lock({
      '': { dependencies: { 'left-out': '1.0.0' } },
      'node_modules/left-out': { version: '1.0.0', integrity: 'sha512-AAAA' },
    });
    const { status, stderr } = prepare('prepare.cjs', [], {
      ...offline,
      npm_config_cache: join(root, 'cache'),
    });
    expect(status).toBe(1);
    expect(stderr.split('\n')[0]).toMatch(
      /^The first start installs 1 packages \(usually 1 to 2 minutes; .* Later starts take a few seconds\.$/,
    );
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(
      'npm cannot reach its registry: check the network or npm config get registry, then start again.',
    );
  });

  it('compiles native modules with the headers of the running Node, where it has them', () => {
    const prefix = dirname(dirname(process.execPath));
    const headers = join(prefix, 'include/node/node_version.h');
    mkdirSync(join(root, 'native'));
    const script = `node -e "require('fs').writeFileSync('seen', process.env.npm_package_config_node_gyp_nodedir || '')"`;
    const native = { name: 'native', version: '1.0.0', scripts: { install: script } };
    write('native/package.json', JSON.stringify(native));
    const dependencies = { native: 'file:native' };
    write('package.json', JSON.stringify({ engines: { node: '>=20.19' }, dependencies }));
    lock({
      '': { dependencies, engines: { node: '>=20.19' } },
      'node_modules/native': { resolved: 'native', link: true },
      native: { name: 'native', version: '1.0.0', hasInstallScript: true },
    });
    prepare('prepare.cjs', [], { ...offline, npm_config_cache: join(root, 'cache') });
    const seen = readFileSync(join(root, 'native/seen'), 'utf8');
    expect(seen).toBe(existsSync(headers) ? prefix : '');
  });

  it('goes on without the SQLite driver where no compiler is, and says what to install', () => {
    rmSync(join(root, 'node_modules/sqlite3'), { recursive: true });
    const { status, stderr } = prepare('prepare.cjs', [], { PATH: join(root, 'nothing') });
    expect(status).toBe(0);
    expect(stderr).toBe(
      'The SQLite driver is not there: it is compiled, and python3, make, g++ is missing. ' +
        'On Debian or Ubuntu: apt-get install -y python3 make g++, then start again. ' +
        (isBuiltin('node:sqlite')
          ? 'The SQLite of this Node is used instead, if it is 3.51.3 or newer.\n'
          : 'Node 24 and a mysql:// database work without it.\n'),
    );
  });

  it('says that the directory cannot be written', () => {
    lock({ '': {}, ...missing });
    // root writes everywhere: it becomes nobody for this one.
    const isRoot = process.getuid?.() === 0;
    chmodSync(root, 0o555);
    const { status, stderr } = prepare('prepare.cjs', [], {}, isRoot ? { uid: 65_534 } : {});
    chmodSync(root, 0o755);
    expect([status, stderr]).toEqual([
      1,
      `${root} cannot be written by this user: give it the right to, or clone somewhere else.\n`,
    ]);
  });
});
