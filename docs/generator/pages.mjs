import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/**
 * The pages that hold prose, by their path from the root of the repository: those below docs/, and
 * README.md.
 *
 * @param {string} root
 * @returns {string[]}
 */
export function listPages(root) {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.md'));
  return [...docs.sort(), 'README.md'];
}

/**
 * A page's text; `null` when there is none.
 *
 * @param {string} root
 * @param {string} path
 */
export function readPage(root, path) {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}

// The marker, and the fenced block below it, if there is one already.
const SNIPPET =
  /^<!-- snippet: (?<file>[^\s#]+)(?:#(?<region>[\w-]+))? -->\n(?:\n?```\w*\n[\s\S]*?\n```\n)?/gm;

/**
 * The text of a page with the code block below each `<!-- snippet: path#region -->` made anew.
 * Without a region the block is the whole file. Throws when a file or a region is not there.
 *
 * @param {string} root
 * @param {string} page
 * @returns {string}
 */
export function fillSnippets(root, page) {
  const text = readPage(root, page) ?? '';
  return text.replaceAll(SNIPPET, (_match, file, region) => {
    const language = extname(file)
      .slice(1)
      .replace(/^m(?=[jt]s$)/, '');
    const code = readRegion(root, file, region ?? null);
    const marker = region === undefined ? file : `${file}#${region}`;
    return `<!-- snippet: ${marker} -->\n\n\`\`\`${language}\n${code}\n\`\`\`\n`;
  });
}

/**
 * The lines between `// #region <name>` and `// #endregion` (in Python `# #region`), or the whole file.
 * Regions of one name are shown one after the other.
 *
 * @param {string} root
 * @param {string} file
 * @param {string | null} region
 */
function readRegion(root, file, region) {
  const text = readPage(root, file);
  if (text === null) throw new Error(`A page shows ${file}, and there is no such file.`);
  if (region === null) return text.trimEnd();
  const parts = text
    .split(/^ *(?:\/\/|#) #region /m)
    .filter((part) => part.startsWith(`${region}\n`))
    .map((part) => part.slice(region.length + 1).split(/^ *(?:\/\/|#) #endregion$/m));
  if (parts.length === 0) throw new Error(`${file} has no region ${region}.`);
  if (parts.some(({ length }) => length === 1)) {
    throw new Error(`${file} does not end its region ${region}.`);
  }
  return parts.map(([code = '']) => dedent(code)).join('\n\n');
}

/** @param {string} code */
function dedent(code) {
  const lines = code.split('\n');
  const indents = lines
    .filter((line) => line.trim() !== '')
    .map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents);
  const dedented = lines.map((line) => line.slice(indent));
  return dedented.join('\n').trim();
}
