import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../core/errors.ts';
import { SETTING_KEYS, settingOf } from '../../core/config/settings.ts';
import { toAnchor } from '../../docs/generator/http-api.mjs';
import { fillSnippets, listPages } from '../../docs/generator/pages.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = listPages(root);
const isMade = (page: string) => page.startsWith('docs/reference/');
const prose = pages.filter((page) => !isMade(page));
/** The name of a user's own configuration file. */
const OWN_CONFIG = 'memory.config.ts';
const sourceNames = new Set(
  ['core', 'plugins', 'adapters', 'console/src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      posix.basename(path),
    ),
  ),
);
const read = (page: string) => readFileSync(join(root, page), 'utf8');

/** A page's text without its code blocks. */
const wordsOf = (page: string) => read(page).replaceAll(/^```[\s\S]*?^```$/gm, '');

const linksOf = (page: string) =>
  [...wordsOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

const anchorsOf = (page: string) =>
  [...wordsOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => toAnchor(heading));

/** Variables that other programs read, too. */
const OF_OTHERS = [
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'SQLITE_TMPDIR',
  'XDG_STATE_HOME',
];

describe.each(pages)('%s', (page) => {
  it('has one title, and it comes first', () => {
    const titles = wordsOf(page).match(/^# .+$/gm) ?? [];
    expect(titles).toHaveLength(1);
    expect(read(page).startsWith(`${titles[0] ?? ''}\n`)).toBe(true);
  });

  it('links to pages and headings that are there', () => {
    for (const link of linksOf(page)) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : posix.join(dirname(page), path);
      expect(existsSync(join(root, target)), `${link}: no such file`).toBe(true);
      if (anchor === undefined || statSync(join(root, target)).isDirectory()) continue;
      expect(anchorsOf(target), `${link}: no such heading`).toContain(anchor);
    }
  });

  it('names error codes and settings that exist', () => {
    const settings = SETTING_KEYS.map((key) => settingOf(key).env as string);
    const known = new Set([
      ...Object.keys(ERROR_CODES),
      ...settings,
      'SERVICE_CONFIG',
      'MEMORY_COPY_TO',
    ]);
    const named = wordsOf(page).match(/\b[A-Z]+(?:_[A-Z0-9]+)+\b/g) ?? [];
    // OpenTelemetry's own are in its specification.
    const own = named.filter((name) => !name.startsWith('OTEL_') && !OF_OTHERS.includes(name));
    expect(own.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe.each(prose)('%s', (page) => {
  it('shows code that is a file below examples/, as it is there now', () => {
    expect(fillSnippets(root, page), 'npm run docs makes it anew').toBe(read(page));
    const lines = read(page)
      .split('\n')
      .filter((line) => line !== '');
    const fences = lines.flatMap((line, index) => (line.startsWith('```') ? [index] : []));
    for (const opening of fences.filter((_, index) => index % 2 === 0)) {
      // Commands to type, pictures, and memory itself, stand on their own; code does not.
      if (['```sh', '```text', '```diff', '```markdown'].includes(lines[opening] ?? '')) continue;
      expect(lines[opening - 1], 'a code block without a marker').toMatch(/^<!-- snippet: /);
    }
  });

  it('names routes that there are', () => {
    const named = wordsOf(page).matchAll(/`(GET|PUT|POST|DELETE) (\/[^\s`?]+)/g);
    const unknown = [...named].filter(([, method = '', path = '']) => !isRoute(method, path));
    expect(unknown.map(([match]) => match)).toEqual([]);
  });

  it('names files of the repository that are there', () => {
    const named = [...wordsOf(page).matchAll(/`(?:npm test -- )?([\w./{},-]+)`/g)]
      .flatMap(([, path = '']) => expandBraces(path))
      .filter((path) => /^(?:core|plugins|adapters|console|docs|examples|test)\//.test(path));
    const files = [...wordsOf(page).matchAll(/`([\w-]+\.(?:ts|vue))`/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((path) => !isThere(path))).toEqual([]);
    expect(files.filter((name) => !sourceNames.has(name) && name !== OWN_CONFIG)).toEqual([]);
  });
});

describe('the page on a framework', () => {
  it.each([...['langchain', 'vercel-ai', 'openai', 'openai-agents', 'anthropic', 'mcp', 'python']])(
    'ends with the trail of its own example: %s',
    (name) => {
      const page = read(`docs/guides/${name.replace('openai-agents', 'openai')}.md`);
      const end = page.slice(page.indexOf('\n## The trail in the console\n'));
      expect(end.match(/^## /gm)).toHaveLength(1);
      const picture = `images/trail-${name}.webp`;
      expect(end).toContain(`](../${picture})`);
      expect(statSync(join(root, 'docs', picture)).size).toBeLessThan(35_000);
    },
  );
});

describe('docs', () => {
  it('are all in the index', () => {
    const listed = linksOf('docs/index.md').map((link) => `docs/${link}`);
    const others = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/index.md');
    expect(listed.toSorted()).toEqual(others.toSorted());
  });

  it('link to docs alone, since /v1/docs serves nothing else', () => {
    const outside = pages
      .filter((page) => page.startsWith('docs/'))
      .flatMap((page) => linksOf(page).map((link) => posix.join(dirname(page), link)))
      .filter((target) => !target.startsWith('docs/') && !target.startsWith('#'));
    expect(outside).toEqual([]);
  });
});

/** A file, a folder, or the start of a test's name, which vitest takes too. */
function isThere(path: string): boolean {
  if (existsSync(join(root, path))) return true;
  const folder = join(root, dirname(path));
  return (
    path.startsWith('test/') &&
    existsSync(folder) &&
    readdirSync(folder).some((name) => name.startsWith(`${posix.basename(path)}.`))
  );
}

/** `a/{b,c}.ts` → `a/b.ts`, `a/c.ts`. */
function expandBraces(path: string): string[] {
  const [braces, inner] = /\{([^{}]*)\}/.exec(path) ?? [];
  if (braces === undefined || inner === undefined) return [path];
  return inner.split(',').flatMap((choice) => expandBraces(path.replace(braces, choice)));
}

/** Whether the reference has that route; `<id>` stands for a parameter, as any text does. */
function isRoute(method: string, path: string): boolean {
  const headings = wordsOf('docs/reference/http-api.md').matchAll(/^### ([A-Z]+) (\S+)$/gm);
  return [...headings].some(([, routeMethod, template = '']) => {
    // {path} is the rest of a path, any other parameter one segment of it.
    const pattern = template.replaceAll(/\{(\w+)\}/g, (_, name) =>
      name === 'path' ? '.+' : '[^/]+',
    );
    return routeMethod === method && new RegExp(`^${pattern}$`).test(path);
  });
}
