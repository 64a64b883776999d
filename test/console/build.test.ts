import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

const DIST = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'dist/console');
const MAX_FIRST_ROUTE = 230 * 1024;

interface Chunk {
  file: string;
  css?: string[];
  imports?: string[];
  isEntry?: boolean;
}
const manifest = JSON.parse(readFileSync(join(DIST, 'manifest.json'), 'utf8')) as Record<
  string,
  Chunk
>;

/** Files that are there before the first route shows: the entry and what it imports. */
function firstRoute(): string[] {
  const files = new Set(['index.html']);
  const add = (key: string): void => {
    const chunk = manifest[key];
    if (chunk === undefined || files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const next of chunk.imports ?? []) add(next);
  };
  for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry === true) add(key);
  return [...files];
}

describe('the built console', () => {
  it('loads at most 230 KB gzipped for its first route', () => {
    const files = firstRoute();
    expect(files.length).toBeGreaterThan(2);
    const sizes = files.map((file) => gzipSync(readFileSync(join(DIST, file))).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_FIRST_ROUTE);
  });

  it('loads charts, the editor and the markdown renderer late', () => {
    const late = ['ChartCanvas', 'CodeEditor', 'RenderedMarkdown', 'DiffView'];
    const first = firstRoute();
    for (const name of late) {
      const chunk = Object.values(manifest).find(({ file }) => file.includes(`/${name}-`));
      expect(chunk, name).toBeDefined();
      expect(first).not.toContain(chunk?.file);
    }
  });

  it('holds no script or style in its page, and names files of its own alone', () => {
    const page = readFileSync(join(DIST, 'index.html'), 'utf8');
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|<style|\son\w+=|\sstyle=/);
    const addresses = [...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    expect(addresses.length).toBeGreaterThan(2);
    for (const address of addresses) expect(address).toMatch(/^\.\//);
  });
});
