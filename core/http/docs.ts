import { type IndexedFile, readFileIndex } from './file-index.ts';

/** A page of the docs, as lists show it. */
export interface DocsPage {
  /** `concepts/files`: without the extension. */
  path: string;
  title: string;
  /** Below the service's own base path. */
  url: string;
}

/** The docs, read when the service started. */
export interface Docs {
  readonly pages: readonly DocsPage[];
  /**
   * The page's markdown by its path with extension (`concepts/files.md`), compared byte for byte.
   */
  find(path: string): IndexedFile | null;
  /** The docs' index for agents: see llmstxt.org. */
  readonly llmsText: string;
}

/** Reads the markdown below a directory. Dot files and links are left out. */
export function readDocs(directory: string, basePath: string): Docs {
  const files = readFileIndex(directory, { extension: '.md' });
  const pages = [...files.values()].map((file): DocsPage => {
    const path = file.path.slice(0, -'.md'.length);
    const url = file.path.split('/').map(encodeURIComponent).join('/');
    return { path, title: titleOf(file), url: `${basePath}/v1/docs/${url}` };
  });
  return {
    pages,
    find: (path) => files.get(path) ?? null,
    llmsText: toLlmsText(pages, basePath),
  };
}

/** The first heading outside front matter and code; the path where there is none. */
function titleOf({ path, content }: IndexedFile): string {
  let isCode = false;
  for (const line of content.toString('utf8').split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    else if (!isCode && line.startsWith('# ')) return line.slice(2).trim();
  }
  return path;
}

function toLlmsText(pages: readonly DocsPage[], basePath: string): string {
  // Pages at the top level come first, since they lead to the others.
  const isTop = ({ path }: DocsPage) => !path.includes('/');
  const sorted = [...pages.filter(isTop), ...pages.filter((page) => !isTop(page))];
  const links = sorted.map(({ title, url }) => `- [${title.replaceAll(/[[\]]/g, '')}](${url})`);
  return [
    '# memory-service',
    '',
    '> Durable memory files for agents: a revision for every write, an access log for every read,',
    '> tools over HTTP, an admin API and a console.',
    '',
    '## Docs',
    '',
    ...links,
    '',
    '## API',
    '',
    `- [OpenAPI 3.1](${basePath}/v1/openapi.json)`,
    '',
  ].join('\n');
}
