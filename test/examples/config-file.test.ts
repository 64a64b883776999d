import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { root, run, serve, temporaryDirectory } from './run-example.ts';

const COMMAND = 'dist/core/cli/bin.cjs';
const FILES = ['memory.config.mjs', 'memory.config.json'];

describe.each(FILES)('%s', (name) => {
  const config = join(root, 'examples/config-file', name);

  it('is what --print-config shows, with its name as the origin', async () => {
    const cwd = await temporaryDirectory();
    const { code, stdout } = await run([COMMAND, '--config', config, '--print-config'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`limits\\.maxFilesPerUser\\s+1000\\s+file ${name}`));
    expect(stdout).toMatch(new RegExp(`tools\\.delete\\s+true\\s+file ${name}`));
    expect(stdout).toMatch(/port\s+8787\s+default/);
  });

  it('starts a service with its plugin and its tools', async () => {
    const cwd = await temporaryDirectory();
    const { url } = await serve([COMMAND, '--config', config, '--port', '0'], { cwd });
    const secrets = await readFile(join(cwd, 'data/secrets.json'), 'utf8');
    const { apiKey } = JSON.parse(secrets) as { apiKey: string };
    const response = await fetch(`${url}/v1/tools`, { headers: { 'x-api-key': apiKey } });
    const { tools } = (await response.json()) as { tools: { name: string }[] };
    const names = tools.map((tool) => tool.name);
    expect(names).toContain('memory_note');
    expect(names).toContain('memory_delete');
    expect(names).not.toContain('memory_move');
  });
});

describe('the schema of memory.config.json', () => {
  it('allows the example, and says where a value or a key is wrong', async () => {
    const file = join(root, 'examples/config-file/memory.config.json');
    const example = JSON.parse(await readFile(file, 'utf8')) as { $schema: string };
    const schema = await readFile(join(file, '..', example.$schema), 'utf8');
    const check = new Ajv({ strict: false }).compile(JSON.parse(schema) as object);
    expect([check(example), check.errors]).toEqual([true, null]);
    for (const [wrong, place] of [
      [{ port: 'many' }, '/port'],
      [{ limits: { maxFiles: 3 } }, '/limits'],
      [{ unknown: true }, ''],
      [{ storage: { options: {} } }, '/storage'],
    ] as const) {
      expect(check({ ...example, ...wrong })).toBe(false);
      expect(check.errors?.map(({ instancePath }) => instancePath)).toContain(place);
    }
  });
});
