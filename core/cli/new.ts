import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config/error.ts';
import { findPackageRoot } from '../packages/package-root.ts';
import type { Command, CommandContext } from './command.ts';
import { writeOutput } from './streams.ts';

/** What is copied to begin with, and the packages that it imports. */
interface Template {
  from: string;
  dependencies?: Record<string, string>;
}

/** By kind, which is also the name of its main file. */
const TEMPLATES: Readonly<Record<string, Template>> = {
  plugin: { from: 'examples/plugin-template' },
  database: { from: 'examples/database-template', dependencies: { sqlite3: '^6.0.1' } },
};

/**
 * `memory-service new`: makes a folder with a plugin or a database driver that works, and its test. It
 * changes nothing else.
 */
export const newCommand: Command = {
  summary: 'Make a folder with a plugin or a database driver to begin with, and its test.',
  argument: 'plugin|database',
  flags: { name: { value: 'name', summary: 'The name of the folder; default my-<kind>.' } },
  run,
};

async function run({ argument, flags, cwd }: CommandContext): Promise<void> {
  const kind = argument ?? '';
  const template = Object.hasOwn(TEMPLATES, kind) ? TEMPLATES[kind] : undefined;
  if (template === undefined) {
    const known = Object.keys(TEMPLATES).join(' or ');
    throw new ConfigError(null, `new takes ${known}, as in memory-service new plugin.`);
  }
  const name = flags.get('name') ?? `my-${kind}`;
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
  const source = join(directory, template.from);
  for (const file of await readdir(source)) {
    await copyFile(join(source, file), join(folder, file));
  }
  const manifest = toManifest({ name, version, main: `./dist/${kind}.js` }, template);
  await writeJson(join(folder, 'package.json'), manifest);
  await writeJson(join(folder, 'tsconfig.json'), TSCONFIG);
  writeOutput(`Made ${name}. Next:\n\n  cd ${name}\n  npm install\n  npm test\n`);
}

function toManifest(
  { name, version, main }: { name: string; version: string; main: string },
  { dependencies }: Template,
): object {
  return {
    name,
    version: '0.1.0',
    type: 'module',
    private: true,
    exports: main,
    // Node 20 takes no pattern, and later versions take no folder. The shell expands this pattern.
    scripts: { test: 'tsc && node --test dist/*.test.js' },
    dependencies,
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
