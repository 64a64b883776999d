import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fillSnippets } from '../../docs/generator/pages.mjs';

const CODE = [
  "import a from 'a';",
  'export function f() {',
  '  // #region body',
  '  const x = a();',
  '',
  '  if (x) {',
  '    return 1;',
  '  }',
  '  // #endregion',
  '}',
  '',
].join('\n');

async function fill(page: string, files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'memory-docs-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries({ ...files, 'docs/page.md': page })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return fillSnippets(root, 'docs/page.md');
}

describe('fillSnippets', () => {
  it('puts a region below its marker, without the indent of its surroundings', async () => {
    const page = 'Before.\n\n<!-- snippet: examples/a.mjs#body -->\n\nAfter.\n';
    expect(await fill(page, { 'examples/a.mjs': CODE })).toBe(
      'Before.\n\n<!-- snippet: examples/a.mjs#body -->\n\n' +
        '```js\nconst x = a();\n\nif (x) {\n  return 1;\n}\n```\n\nAfter.\n',
    );
  });

  it('puts a whole file below a marker without a region', async () => {
    const page = '<!-- snippet: examples/a.json -->\n';
    const filled = await fill(page, { 'examples/a.json': '{ "a": 1 }\n' });
    expect(filled).toBe('<!-- snippet: examples/a.json -->\n\n```json\n{ "a": 1 }\n```\n');
  });

  it('shows regions of one name one after the other', async () => {
    const two = '// #region x\na();\n// #endregion\nhidden();\n// #region x\nb();\n// #endregion\n';
    const filled = await fill('<!-- snippet: examples/a.mjs#x -->\n', { 'examples/a.mjs': two });
    expect(filled).toContain('```js\na();\n\nb();\n```\n');
  });

  it('knows the comments of Python', async () => {
    const code = 'import a\n\n# #region x\na.b()\n# #endregion\n';
    const filled = await fill('<!-- snippet: examples/a.py#x -->\n', { 'examples/a.py': code });
    expect(filled).toContain('```py\na.b()\n```\n');
  });

  it('replaces a stale block, and changes nothing the second time', async () => {
    const stale = '<!-- snippet: examples/a.mjs#body -->\n\n```js\nold();\n```\n\nAfter.\n';
    const first = await fill(stale, { 'examples/a.mjs': CODE });
    expect(first).not.toContain('old()');
    expect(first).toContain('\n```\n\nAfter.\n');
    expect(await fill(first, { 'examples/a.mjs': CODE })).toBe(first);
  });

  it('leaves a block alone that belongs to no marker', async () => {
    const page = '```sh\nnpm start\n```\n';
    expect(await fill(page, {})).toBe(page);
  });

  it('refuses a file or a region that is not there, or does not end', async () => {
    await expect(fill('<!-- snippet: examples/b.mjs -->\n', {})).rejects.toThrow(/no such file/);
    const page = '<!-- snippet: examples/a.mjs#gone -->\n';
    await expect(fill(page, { 'examples/a.mjs': CODE })).rejects.toThrow(/no region gone/);
    const open = { 'examples/a.mjs': '// #region gone\na();\n' };
    await expect(fill(page, open)).rejects.toThrow(/does not end/);
  });
});
