import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../support/service.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const execute = promisify(execFile);

/** The plugin as it is built, in a directory from which no package is found. */
async function copyAlone(): Promise<string> {
  const directory = await temporaryDirectory();
  const plugin = (await readdir(join(root, 'plugins/exporter-otlp'))).map(
    (name) => `plugins/exporter-otlp/${name}`,
  );
  const core = [
    'errors',
    'encoding/foreign-json',
    'encoding/take-text',
    'network/proxy',
    'packages/import-peer',
  ];
  for (const file of [...plugin, ...core.map((name) => `core/${name}.ts`)]) {
    const { outputText } = ts.transpileModule(await readFile(join(root, file), 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    });
    const path = join(directory, file.replace(/\.ts$/, '.js'));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, outputText);
  }
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  return directory;
}

it.each([
  ['http/protobuf', 'proto'],
  ['http/json', 'http'],
])(
  'without OpenTelemetry the plugin loads, and opening it for %s says what to install',
  async (protocol, end) => {
    const directory = await copyAlone();
    const script = `
      import { otlp } from './plugins/exporter-otlp/index.js';
      const exporter = otlp({ protocol: '${protocol}' });
      await exporter.open({}).catch((error) => console.log(error.code, error.message));
      console.log(exporter.activeContext(), exporter.runWithin(null, () => 'done'));
      await exporter.close();
    `;
    await writeFile(join(directory, 'try.js'), script);
    const { stdout } = await execute(process.execPath, ['try.js'], { cwd: directory });
    expect(stdout.trim().split('\n')).toEqual([
      'INVALID_REQUEST The OpenTelemetry exporter needs packages that are not installed: ' +
        'npm install @opentelemetry/api @opentelemetry/resources @opentelemetry/sdk-trace-node ' +
        `@opentelemetry/exporter-trace-otlp-${end}`,
      'null done',
    ]);
  },
);
