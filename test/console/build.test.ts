import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { call } from '../support/service.ts';
import { openConsole, PLAIN_HOST, settled } from './support/console.ts';

const DIST = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'dist/console');
/** What the first screen may transfer: the page, its files, and the answers that it shows. */
const MAX_FIRST_SCREEN = 200 * 1024;

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
  for (const [encoding, host] of [
    ['brotli', '127.0.0.1'],
    // On plain http, browsers do not take brotli.
    ['gzip', PLAIN_HOST],
  ] as const) {
    it(`transfers at most 200 KB for its first screen, with ${encoding}`, async () => {
      const { page, service, visit } = await openConsole({ host, path: '/nothing' });
      await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea' });
      const session = await page.context().newCDPSession(page);
      await session.send('Network.enable');
      await session.send('Network.setCacheDisabled', { cacheDisabled: true });
      const transferred: number[] = [];
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        transferred.push(encodedDataLength);
      });
      await visit('/');
      await page.getByText('Latest revisions').waitFor();
      await settled(page);
      const total = transferred.reduce((sum, bytes) => sum + bytes, 0);
      // Page, script, style and answers: it has measured the whole of it.
      expect(transferred.length).toBeGreaterThan(8);
      expect(total).toBeGreaterThan(50 * 1024);
      expect(total).toBeLessThanOrEqual(MAX_FIRST_SCREEN);
    });
  }

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
