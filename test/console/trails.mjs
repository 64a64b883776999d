// `npm run screenshots:trails`: the picture at the end of each framework's page. Runs the page's own
// example without a key, and shows what the console has of it: its calls, and one of them in full.
// `npm run screenshots:trails -- langchain mcp` takes some of them.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { outputOf, startService } from '../../examples/scripted-model/fill-transcripts.mjs';
import { findChromium } from '../support/chromium.mjs';
import { toWebp } from './webp.mjs';

const require = createRequire(import.meta.url);
const { ensureBuilt, orExplain, root } = require('../../core/build/prepare.cjs');

const NO_KEY = 'node --import ./examples/scripted-model/no-key.mjs';

/**
 * The commands of each page, which leave their memory in `memory.db`.
 *
 * @type {Record<string, readonly string[]>}
 */
const COMMANDS = {
  langchain: firstFact('langchain/first-fact.mjs'),
  'vercel-ai': firstFact('vercel-ai/first-fact.mjs'),
  openai: firstFact('openai/first-fact.mjs'),
  'openai-agents': firstFact('openai/first-fact-agents.mjs'),
  anthropic: firstFact('anthropic/first-fact.mjs'),
  mcp: ['node examples/mcp/main.mjs memory.db'],
};

/**
 * The commands of the pages that call a running service.
 *
 * @type {Record<string, readonly string[]>}
 */
const CALLING = { python: ['python3 examples/python/main.py'] };

/** @param {string} file */
function firstFact(file) {
  return [`${NO_KEY} examples/${file}`, `${NO_KEY} examples/${file} Drinks?`];
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} name
 */
async function shootTrail(browser, name) {
  const cwd = mkdtempSync(join(tmpdir(), 'memory-service-trail-'));
  for (const command of COMMANDS[name] ?? []) await outputOf(command, { cwd });
  const [apiKey, adminSecret] = [randomUUID(), randomUUID()];
  const { url, stop } = await startService(cwd, {
    SERVICE_DATABASE_URL: 'sqlite:memory.db',
    SERVICE_API_KEY: apiKey,
    SERVICE_ADMIN_SECRET: adminSecret,
  });
  try {
    const env = { SERVICE_URL: url, SERVICE_API_KEY: apiKey };
    for (const command of CALLING[name] ?? []) await outputOf(command, { cwd, env });
    const page = await browser.newPage({ viewport: { width: 1120, height: 500 } });
    await page.addInitScript(
      `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(adminSecret)})`,
    );
    await page.goto(`${url}/admin/activity`);
    await page
      .getByText(/^Wrote /)
      .first()
      .click();
    await page.getByText('Phases').waitFor();
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
    const png = await page.screenshot({ clip: { x: 195, y: 0, width: 925, height: 480 } });
    // Six levels of each colour take a third of the size, and the text stays sharp.
    const webp = await toWebp(page, png, { quality: 1, levels: 6 });
    writeFileSync(join(root, `docs/images/trail-${name}.webp`), webp);
    await page.close();
  } finally {
    stop();
    rmSync(cwd, { recursive: true, force: true });
  }
}

await orExplain(ensureBuilt);
const executablePath = findChromium();
if (executablePath === null) throw new Error('There is no Chromium: run npm test.');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const wanted = process.argv.slice(2);
try {
  for (const name of Object.keys({ ...COMMANDS, ...CALLING })) {
    if (wanted.length === 0 || wanted.includes(name)) await shootTrail(browser, name);
  }
} finally {
  await browser.close();
}
