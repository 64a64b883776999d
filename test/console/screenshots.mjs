// `npm run screenshots`: the console as it is with the demo's memory, view by view, light, dark and
// narrow, full, empty and failing. All of them go to .cache/screenshots; those that the docs show
// go to docs/images as well.

import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from '../support/chromium.mjs';

const require = createRequire(import.meta.url);
const { ensureBuilt, orExplain, root } = require('../../core/cli/prepare.cjs');

const OUTPUT = join(root, '.cache/screenshots');
const DOCS = join(root, 'docs/images');
/** Shown in the docs and the README. */
const CHOSEN = ['files.light', 'revision.light', 'activity-call.dark', 'observability.light'];

const LAUNCH = encodeURIComponent('{"query":"when is the launch"}');
const PACKS = 'users/maya.chen/projects/offline-packs.md';

/** @type {{ name: string, path: string, act?: (page: import('playwright-core').Page) => Promise<unknown> }[]} */
const VIEWS = [
  { name: 'overview', path: '/' },
  { name: 'files', path: `/files?path=${PACKS}` },
  { name: 'files-rendered', path: '/files?path=shared/brand/voice.md&as=rendered' },
  { name: 'files-version', path: `/files?path=${PACKS}&version=3` },
  {
    name: 'files-edit',
    path: '/files?path=users/maya.chen/profile.md',
    act: async (page) => {
      await page.getByRole('button', { name: 'Edit (e)' }).click();
      await page.getByRole('textbox', { name: /^Content of/ }).waitFor();
    },
  },
  { name: 'revisions', path: '/revisions' },
  {
    name: 'revision',
    path: '/revisions?actor=dream-agent',
    act: async (page) => {
      await page.getByRole('button', { name: /of users\/maya\.chen\/projects/ }).click();
      await page.getByText('Copy diff').waitFor();
    },
  },
  { name: 'prune', path: '/revisions?prune=yes' },
  { name: 'activity', path: '/activity' },
  { name: 'activity-each', path: '/activity?rows=each&outcome=not_found' },
  {
    name: 'activity-call',
    path: '/activity?tool=memory_context',
    act: async (page) => {
      await page
        .getByText(/into a context/)
        .first()
        .click();
      await page.getByText('Phases').waitFor();
    },
  },
  { name: 'observability', path: '/observability?since=30d' },
  { name: 'hygiene', path: '/observability?since=30d&userId=maya.chen' },
  {
    name: 'playground',
    path: `/playground?tool=memory_find&user=maya.chen&args=${LAUNCH}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
      await page.getByRole('region', { name: 'the answer' }).waitFor();
    },
  },
  {
    name: 'playground-code',
    path: `/playground?tool=memory_find&user=maya.chen&show=code&args=${LAUNCH}`,
  },
  { name: 'playground-wiring', path: '/playground?show=wiring' },
  { name: 'dreams', path: '/dreams' },
  {
    name: 'palette',
    path: '/',
    act: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder(/^Go to a view/).fill('maya');
      await page
        .getByRole('option', { name: /maya\.chen/ })
        .first()
        .waitFor();
    },
  },
];
const EMPTY = ['/', '/files', '/revisions', '/activity', '/observability', '/dreams'];

/** @type {{ name: string, context: import('playwright-core').BrowserContextOptions }[]} */
const LOOKS = [
  { name: 'light', context: { colorScheme: 'light', viewport: { width: 1440, height: 900 } } },
  { name: 'dark', context: { colorScheme: 'dark', viewport: { width: 1440, height: 900 } } },
  { name: 'narrow', context: { colorScheme: 'light', viewport: { width: 390, height: 844 } } },
];

/**
 * Starts the command and waits until it is ready.
 *
 * @param {string[]} args
 */
async function serve(args) {
  const cwd = mkdtempSync(join(tmpdir(), 'memory-service-screenshots-'));
  const bin = join(root, 'dist/core/cli/bin.cjs');
  const child = spawn(process.execPath, [bin, 'start', '--port=0', ...args], {
    cwd,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (data) => {
      output += String(data);
      const found = /ready: (\S+)/.exec(output);
      if (found !== null) resolve(found[1]);
    });
    child.on('exit', (code) => reject(new Error(`The service ended with ${code}.`)));
  });
  const { adminSecret } = JSON.parse(readFileSync(join(cwd, 'data/secrets.json'), 'utf8'));
  return {
    url: String(url),
    adminSecret: String(adminSecret),
    stop: async () => {
      child.removeAllListeners('exit');
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
      rmSync(cwd, { recursive: true, force: true });
    },
  };
}

await orExplain(ensureBuilt);
const executablePath = findChromium();
if (executablePath === null) throw new Error('There is no Chromium: run npm test.');
mkdirSync(OUTPUT, { recursive: true });
mkdirSync(DOCS, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const [full, empty] = [await serve(['--demo']), await serve([])];

/**
 * @param {typeof full} service
 * @param {import('playwright-core').BrowserContextOptions} context
 * @param {string} file
 * @param {string} path
 * @param {(page: import('playwright-core').Page) => Promise<unknown>} [act]
 */
async function shoot(service, context, file, path, act) {
  const opened = await browser.newContext(context);
  const page = await opened.newPage();
  await page.addInitScript(
    `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(service.adminSecret)})`,
  );
  if (file.startsWith('failing')) {
    await page.route('**/v1/admin/revisions?**', (route) => route.abort());
  }
  await page.goto(service.url + path);
  // Not the network, which the live stream keeps busy: what loads says so.
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
  await act?.(page);
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
  await page.screenshot({ path: join(OUTPUT, `${file}.png`) });
  await opened.close();
}

try {
  for (const { name: look, context } of LOOKS) {
    for (const { name, path, act } of VIEWS) {
      await shoot(full, context, `${name}.${look}`, path, act).catch((error) => {
        process.stderr.write(`${name}.${look}: ${String(error.message).split('\n')[0]}\n`);
      });
    }
    for (const path of EMPTY) {
      await shoot(empty, context, `empty${path.replace('/', '-')}.${look}`, path);
    }
    await shoot(full, context, `failing-revisions.${look}`, '/revisions');
  }
  for (const name of CHOSEN) {
    copyFileSync(join(OUTPUT, `${name}.png`), join(DOCS, `console-${name.split('.')[0]}.png`));
  }
} finally {
  await browser.close();
  await Promise.all([full.stop(), empty.stop()]);
}
