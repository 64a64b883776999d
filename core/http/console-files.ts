import { randomBytes } from 'node:crypto';
import { extname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type IndexedFile, readFileIndex } from './file-index.ts';

/** One file of the console. */
export interface ConsoleFile {
  content: Buffer | string;
  contentType: string;
  cacheControl: string;
  etag: string | null;
  /** How `content` is compressed; `null` if it is not. */
  contentEncoding: string | null;
  /** Whether another `Accept-Encoding` may get another content. */
  isNegotiated: boolean;
  /** For the page's `<style>` elements; `null` if the file is not a page. */
  styleNonce: string | null;
}

/** The built console, read when the service started. */
export interface ConsoleFiles {
  readonly isBuilt: boolean;
  /**
   * The file at a path below `/admin/`, compared byte for byte. A path without an extension is a
   * view and returns the console's page. `null` if there is no such file. Returns the compressed form
   * of the build, if `acceptEncoding` allows it.
   *
   * `root` is `/admin/` as seen from the page's address. The page names its files below it, because a
   * view may be several folders deep and the content security policy allows no `<base>` element. It
   * is relative: a proxy or a framework may have removed a prefix that the browser sees. `ownsOrigin` tells
   * the page that no app shares its origin.
   */
  find(
    path: string,
    acceptEncoding: string | null,
    root?: string,
    options?: { ownsOrigin?: boolean },
  ): ConsoleFile | null;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** The build writes a packed file in place of a script or style. */
const PACKED = '.gz';

const PAGE = 'index.html';
const NOT_BUILT =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>memory-service</title></head>' +
  '<body><h1>The console is not built</h1><p>This installation has no console files. The admin API ' +
  'below <code>/v1/admin</code> works all the same; its description is at ' +
  '<code>/v1/openapi.json</code>.</p></body></html>';

/** What the bundler tells of the chunks that it wrote. */
const MANIFEST = 'manifest.json';
/** A chunk of a view, by its source. */
const VIEW = /^src\/views\/(\w+)View\.vue$/;

interface Chunk {
  file: string;
  imports?: readonly string[];
}

/** Says that the service owns the page's origin. */
const OWN_ORIGIN = '<meta name="memory-service-origin" content="own">';

/** The placeholder of the nonce in the build (`html.cspNonce` of the bundler). */
const NONCE_MARK = '__CSP_NONCE__';

/** Reads the built console. */
export function readConsoleFiles(directory: string): ConsoleFiles {
  const files = readFileIndex(directory);
  const page = files.get(PAGE)?.content.toString('utf8');
  const preloads = listPreloads(files.get(MANIFEST)?.content.toString('utf8') ?? '{}');

  /** Names the code of the view, so that it is fetched together with the code that asks for it. */
  const toPage = (path: string, root: string, ownsOrigin: boolean): ConsoleFile => {
    const styleNonce = randomBytes(16).toString('base64');
    const links = (preloads.get(path.replace(/\/.*/, '')) ?? [])
      .filter((file) => page?.includes(`"./${file}"`) === false)
      .map((file) => `<link rel="modulepreload" crossorigin href="./${file}">`);
    return {
      content: (page ?? NOT_BUILT)
        .replace('</head>', `${ownsOrigin ? OWN_ORIGIN : ''}${links.join('')}</head>`)
        .replaceAll(/(\s(?:src|href)=")\.\//g, `$1${root}`)
        .replaceAll(NONCE_MARK, styleNonce),
      contentType: 'text/html; charset=utf-8',
      cacheControl: 'no-store',
      etag: null,
      contentEncoding: null,
      isNegotiated: false,
      styleNonce,
    };
  };

  /** The form of a file that is accepted; `null` if there is no such file. */
  const negotiate = (path: string, acceptEncoding: string | null) => {
    const packed = files.get(path + PACKED);
    const isNegotiated = packed !== undefined;
    if (isNegotiated && accepts(acceptEncoding, 'gzip')) {
      return { ...packed, contentEncoding: 'gzip' as const, isNegotiated };
    }
    const plain = files.get(path) ?? unzip(packed);
    return plain === null ? null : { ...plain, contentEncoding: null, isNegotiated };
  };

  return {
    isBuilt: page !== undefined,
    find(path, acceptEncoding, root = './', { ownsOrigin = false } = {}) {
      const extension = extname(path.slice(path.lastIndexOf('/') + 1)).toLowerCase();
      if (extension === '' || path === PAGE) return toPage(path, root, ownsOrigin);
      const form = extension === PACKED ? null : negotiate(path, acceptEncoding);
      if (form === null) return null;
      // The bundler adds a content hash to every file name below assets/.
      const isHashed = path.startsWith('assets/');
      return {
        ...form,
        contentType: CONTENT_TYPES[extension] ?? 'application/octet-stream',
        cacheControl: isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        styleNonce: null,
      };
    },
  };
}

/** For each view by the first segment of its path, the files that its code is in. */
function listPreloads(manifest: string): ReadonlyMap<string, readonly string[]> {
  // eslint-disable-next-line no-restricted-syntax -- a file of this package
  const chunks = JSON.parse(manifest) as Readonly<Record<string, Chunk>>;
  const listFiles = (key: string, found = new Set<string>()): Set<string> => {
    const chunk = chunks[key];
    if (chunk === undefined || found.has(chunk.file)) return found;
    found.add(chunk.file);
    for (const next of chunk.imports ?? []) listFiles(next, found);
    return found;
  };
  return new Map(
    Object.keys(chunks).flatMap((key) => {
      const view = VIEW.exec(key)?.[1]?.toLowerCase();
      return view === undefined ? [] : [[view, [...listFiles(key)]] as const];
    }),
  );
}

/** The content of a zipped file, with a tag of its own. */
function unzip(file: IndexedFile | undefined): Pick<IndexedFile, 'content' | 'etag'> | null {
  if (file === undefined) return null;
  return { content: gunzipSync(file.content), etag: file.etag.replace(/"$/, '-plain"') };
}

/** Whether `Accept-Encoding` takes an encoding: named, or by `*`, and not with `q=0`. */
function accepts(header: string | null, encoding: string): boolean {
  const weights = new Map<string, number>();
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((one) => one.trim());
    const q = parameters.find((one) => one.startsWith('q='))?.slice(2);
    weights.set(name, q === undefined ? 1 : Number(q));
  }
  return (weights.get(encoding) ?? weights.get('*') ?? 0) > 0;
}
