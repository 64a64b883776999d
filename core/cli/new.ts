import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config/error.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import type { Command, CommandContext } from './command.ts';
import { writeOutput } from './streams.ts';

/** What can be begun: the folder of the package that is copied, and how it is tested. */
const KINDS: Readonly<Record<string, { from: string; test: string }>> = {
  plugin: {
    from: 'examples/plugin-template',
    // Node 20 takes no pattern, and later versions take no folder. The shell expands this pattern.
    test: 'tsc && node --test dist/*.test.js',
  },
};

/**
 * `memory-service new`: makes a folder with a plugin that works, and its test. It changes nothing
 * else.
 */
export const newCommand: Command = {
  summary: 'Make a folder with a plugin to begin with, and its test.',
  argument: 'plugin',
  flags: { name: { value: 'name', summary: 'The name of the folder; default my-<kind>.' } },
  run,
};

async function run({ argument, flags, cwd }: CommandContext): Promise<void> {
  const kind = Object.hasOwn(KINDS, argument ?? '') ? KINDS[argument ?? ''] : undefined;
  if (kind === undefined) {
    const known = Object.keys(KINDS).join(' or ');
    throw new ConfigError(null, `new takes ${known}, as in memory-service new plugin.`);
  }
  const name = flags.get('name') ?? `my-${argument}`;
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(name)) {
    const rule = '1 to 64 characters of a-z, 0-9 and -, the first a letter';
    throw new ConfigError(null, `--name is not valid: it has ${rule}.`);
  }
  const folder = join(cwd, name);
  if (existsSync(folder)) {
    throw new ConfigError(null, `${name} exists already. Choose another --name.`);
  }
  const { directory, version } = findPackageRoot();
  await mkdir(folder);
  const files = await readdir(join(directory, kind.from));
  for (const file of files.filter((one) => one !== 'README.md')) {
    await copyFile(join(directory, kind.from, file), join(folder, file));
  }
  await writeJson(join(folder, 'package.json'), toManifest({ name, version, ...kind }));
  await writeJson(join(folder, 'tsconfig.json'), TSCONFIG);
  writeOutput(`Made ${name}. Next:\n\n  cd ${name}\n  npm install\n  npm test\n`);
}

function toManifest(made: { name: string; version: string; test: string }): object {
  const { name, version, test } = made;
  return {
    name,
    version: '0.1.0',
    type: 'module',
    private: true,
    exports: './dist/plugin.js',
    scripts: { test },
    devDependencies: {
      '@types/node': '^20.19.0',
      'memory-service': `^${version}`,
      typescript: '>=5.8',
    },
    allowScripts: { sqlite3: true },
  };
}

const TSCONFIG = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    types: ['node'],
    strict: true,
    declaration: true,
    skipLibCheck: true,
    rootDir: '.',
    outDir: 'dist',
  },
  include: ['*.ts'],
};

async function writeJson(file: string, value: object): Promise<void> {
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
}
