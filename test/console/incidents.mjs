// `npm run screenshots:incidents`: the pictures of docs/guides/four-incidents.md and tests-for-memory.md. Plays the
// incidents of the example, and shows for each what an operator sees before the last click; then a check that fails.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import {
  KEY,
  model,
  playAfterDream,
  playAllergy,
  playDiet,
  playKey,
  playSentence,
  SENTENCE,
} from '../../examples/undo-by-line/story.mjs';
import { findChromium } from '../support/chromium.mjs';
import { toWebp } from './webp.mjs';

const require = createRequire(import.meta.url);
const { ensureBuilt, orExplain, root } = require('../../core/build/prepare.cjs');

const ADMIN_SECRET = randomUUID() + randomUUID();

/** @typedef {import('playwright-core').Page} Page */

async function startService() {
  const { createMemoryService } = await import('memory-service');
  const { dreaming } = await import('memory-service/plugins/dreaming');
  const { sqlite } = await import('memory-service/plugins/storage-sqlite');
  const dreams = dreaming();
  const service = createMemoryService({
    storage: sqlite({ filename: ':memory:' }),
    adminSecret: ADMIN_SECRET,
    model,
    plugins: [dreams],
  });
  await service.ready();
  const server = service.app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const url = `http://127.0.0.1:${port}`;
  return {
    service,
    dreams,
    url,
    /** @type {(method: string, path: string, body?: object) => Promise<any>} */
    async ask(method, path, body = {}) {
      const response = await fetch(`${url}/v1/admin/${path}`, {
        method,
        headers: { 'x-admin-secret': ADMIN_SECRET, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(await response.text());
      return response.json();
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await service.close();
    },
  };
}

const CHECKS = `checks:
  - name: Nora's allergy is found
    user: nora
    ask: What should I not cook for Nora?
    expect: { line: 'Allergic to peanuts', within: 3 }
  - name: no keys anywhere
    everywhere: { absent: { secret: true } }
  - name: profiles stay short
    each_user: { path: user/profile.md, max_bytes: 8192 }
`;

/**
 * Writes the profile of a user, as an agent does.
 *
 * @param {import('memory-service').MemoryService} service
 * @param {string} content
 * @param {string} reason
 */
async function writeProfile({ tools }, content, reason) {
  await tools.execute('memory_write', {
    context: { userId: 'nora', actor: 'meal-planner' },
    arguments: { path: 'user/profile.md', content, reason },
  });
}

/**
 * Waits for what is shown, and keeps a picture of the dialog, or of another part of the page.
 *
 * @param {Page} page
 * @param {string} name
 * @param {import('playwright-core').Locator} shown
 * @param {import('playwright-core').Locator} [part]
 */
async function shoot(page, name, shown, part = page.getByRole('dialog')) {
  await shown.waitFor();
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
  const box = await part.boundingBox();
  if (box === null) throw new Error(`${name}: it is not shown.`);
  const png = await page.screenshot({ clip: box });
  // Sixteen levels of each colour take half of the size, and the text stays sharp.
  const webp = await toWebp(page, png, { quality: 1, levels: 16 });
  writeFileSync(join(root, `docs/images/${name}.webp`), webp);
}

await orExplain(ensureBuilt);
const executablePath = findChromium();
if (executablePath === null) throw new Error('There is no Chromium: run npm test.');
const { service, dreams, url, ask, stop } = await startService();
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: 1000, height: 820 } });
  page.setDefaultTimeout(60_000);
  await page.addInitScript(
    `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(ADMIN_SECRET)})`,
  );
  const button = (/** @type {string | RegExp} */ name) => page.getByRole('button', { name });

  await ask('PUT', 'checks', { text: CHECKS });
  await writeProfile(service, '# Nora\n\n- Allergic to peanuts.\n- Likes soup.\n', 'Nora said so.');
  await ask('POST', 'checks/run');
  await writeProfile(service, '# Nora\n\n- Likes soup and curry.\n', 'Shortened the profile.');
  await writeProfile(
    service,
    '# Nora\n\n- Likes soup and curry.\n- Cooks on Sundays.\n',
    'Nora said so.',
  );
  await ask('POST', 'checks/run');
  await page.setViewportSize({ width: 1000, height: 560 });
  await page.goto(`${url}/admin/checks`);
  await button('Find the write that made it fail').click();
  const write = page.getByRole('link', { name: /version 2/ });
  await shoot(page, 'check-red', write, page.getByRole('main'));
  await write.click();
  await shoot(
    page,
    'check-write',
    page.getByText('Shortened the profile.').first(),
    page.getByRole('main'),
  );
  await page.setViewportSize({ width: 1000, height: 820 });

  await playAllergy(service);
  await page.goto(`${url}/admin/files?path=users/anna/health.md`);
  await button('Blame').click();
  await button('Undo line 4…').click();
  await shoot(page, 'incident-line', button('Write 1 file'));

  await playDiet(service);
  const { id } = await ask('POST', 'dream/users/anna/run');
  await dreams.settle();
  await ask('POST', `dream/runs/${id}/apply`, { operations: [1] });
  await playAfterDream(service);
  await page.goto(`${url}/admin/dreams?run=${id}`);
  await button('Revert the run').click();
  await shoot(page, 'incident-dream', button('Revert 1 file'));

  await playKey(service);
  await page.goto(`${url}/admin/files?in=history`);
  await page.getByLabel('Search history').fill(KEY);
  await page.keyboard.press('Enter');
  await button('Redact everywhere…').click();
  await page.getByText(/^It would be taken out of/).waitFor();
  await page.getByLabel('Reason').fill('a key was written');
  await shoot(page, 'incident-key', button('Redact'));

  await playSentence(service);
  await page.goto(`${url}/admin/files?in=history`);
  await page.getByLabel('Search history').fill(SENTENCE);
  await page.keyboard.press('Enter');
  await button('Take out of all memories…').click();
  await shoot(page, 'incident-sentence', button('Write 4,000 files'));
} finally {
  await browser.close();
  await stop();
}
