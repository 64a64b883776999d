// `npm run screenshots`: the console as it is with the demo's memory, view by view, light, dark, 1024
// and 390 wide, full, crowded, empty and failing. All of them go to .cache/screenshots; those that the docs show
// go to docs/images as well. `npm run screenshots -- dreams files` takes those whose names begin so.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from '../support/chromium.mjs';
import { toWebp } from './webp.mjs';

const require = createRequire(import.meta.url);
const { ensureBuilt, orExplain, root } = require('../../core/build/prepare.cjs');

const OUTPUT = join(root, '.cache/screenshots');
const DOCS = join(root, 'docs/images');
/** Shown in the docs and the README. */
const CHOSEN = [
  'overview.light',
  'files.light',
  'revision.light',
  'activity-call.dark',
  'observability.light',
  'playground.light',
  'dream-review.dark',
  'spaces.light',
  'access.light',
];

const LAUNCH = encodeURIComponent('{"query":"when is the launch"}');
const PACKS = 'users/maya.chen/projects/offline-packs.md';

/** @typedef {import('playwright-core').Page} Page */
/** @type {{ name: string, path: string, act?: (page: Page) => Promise<unknown> }[]} */
const VIEWS = [
  { name: 'overview', path: '/' },
  { name: 'files', path: `/files?path=${PACKS}` },
  { name: 'files-none', path: '/files' },
  { name: 'files-rendered', path: '/files?path=shared/brand/voice.md&as=rendered' },
  { name: 'files-blame', path: `/files?path=${PACKS}&as=blame` },
  { name: 'files-version', path: `/files?path=${PACKS}&version=3` },
  {
    name: 'files-edit',
    path: `/files?path=${PACKS}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Edit (e)' }).click();
      await page.getByRole('textbox', { name: /^Content of/ }).waitFor();
    },
  },
  {
    name: 'files-conflict',
    path: '/files?path=users/diego.alvarez/profile.md',
    act: async (page) => {
      await page.getByRole('button', { name: 'Edit (e)' }).click();
      await page.getByRole('textbox', { name: /^Content of/ }).click();
      await page.keyboard.press('Control+End');
      await page.keyboard.type('- Prefers the morning for calls');
      await page.evaluate(writeElsewhere);
      await page.keyboard.press('Control+s');
      await page.getByRole('button', { name: 'Show the result' }).click();
      await page.getByRole('textbox', { name: 'Result' }).waitFor();
    },
  },
  { name: 'files-new', path: '/files?new=yes' },
  { name: 'files-contents', path: '/files?q=launch&in=contents' },
  { name: 'search', path: '/search?q=launch' },
  {
    name: 'search-history',
    path: '/search',
    act: async (page) => {
      await page.getByLabel('In all versions, exactly as typed').check();
      await page.locator('[data-search]').fill('14 May');
      await page.keyboard.press('Enter');
      await page.getByText('Versions with the text').waitFor();
    },
  },
  { name: 'usage', path: '/usage?since=30d' },
  { name: 'checks', path: '/checks' },
  { name: 'checks-edit', path: '/checks?tab=edit' },
  { name: 'configuration', path: '/configuration' },
  { name: 'configuration-all', path: '/configuration?show=all' },
  { name: 'spaces', path: '/spaces' },
  { name: 'spaces-panel', path: '/spaces?space=trailmark' },
  { name: 'spaces-new', path: '/spaces?do=new' },
  {
    name: 'spaces-conflict',
    path: '/spaces?space=trailmark&do=edit',
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Trailmark, all teams');
      await page.evaluate(changeSpace);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Take theirs').waitFor();
    },
  },
  { name: 'access', path: '/access' },
  {
    name: 'access-new',
    path: '/access?do=new',
    act: async (page) => {
      await page.getByRole('button', { name: 'Add a space' }).click();
    },
  },
  { name: 'access-operators', path: '/access?tab=operators' },
  {
    name: 'access-rights',
    path: '/audit',
    act: async (page) => {
      await page.getByRole('button', { name: /^Signed in as/ }).click();
      await page.getByRole('menuitem', { name: 'What you may do' }).click();
    },
  },
  { name: 'users', path: '/users' },
  { name: 'users-hygiene', path: '/users?hygiene=yes' },
  { name: 'users-panel', path: '/users?user=maya.chen' },
  {
    name: 'users-erase',
    path: '/users?user=maya.chen&do=erase',
    act: async (page) => {
      await page.getByText('would be removed').waitFor();
    },
  },
  {
    name: 'users-erased',
    path: '/users',
    act: async (page) => {
      await page.evaluate(writeFormer);
      await page.goto(new URL('?user=former.customer&do=erase', page.url()).href);
      await page.getByLabel('Type former.customer to confirm').fill('former.customer');
      await page.getByRole('button', { name: 'Erase', exact: true }).click();
      await page.getByText(/rows removed/).waitFor();
      await page.getByText('What stays, and where').click();
    },
  },
  { name: 'users-export', path: '/users?do=export-all' },
  {
    name: 'users-exported',
    path: '/users?user=maya.chen&do=export',
    act: async (page) => {
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Export', exact: true }).click();
      await dialog.getByText('Saved memory').waitFor();
    },
  },
  { name: 'users-import', path: '/users?do=import' },
  {
    name: 'users-import-preview',
    path: '/users?do=import',
    act: async (page) => {
      await page.getByLabel('File', { exact: true }).setInputFiles({
        name: 'mem0.json',
        mimeType: 'application/json',
        buffer: Buffer.from(JSON.stringify(FOREIGN)),
      });
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText('would be written').waitFor();
    },
  },
  { name: 'revisions', path: '/revisions' },
  {
    name: 'revision',
    path: '/revisions?actor=dream-agent',
    act: async (page) => {
      await page
        .getByRole('button', { name: /of users\/maya\.chen\/projects/ })
        .last()
        .click();
      await page.getByText('Copy diff').waitFor();
    },
  },
  {
    name: 'revision-readers',
    path: `/revisions?path=${PACKS}&action=create`,
    act: async (page) => {
      await page.getByRole('button', { name: /^Open version/ }).click();
      await page.getByRole('button', { name: 'Who read it' }).click();
      await page.getByText('Tool calls that returned').waitFor();
    },
  },
  {
    name: 'revision-compare',
    path: `/revisions?path=${PACKS}`,
    act: async (page) => {
      await page.getByRole('checkbox').first().check();
      await page.getByRole('checkbox').last().check();
      await page.getByRole('button', { name: 'Compare' }).click();
      await page.getByRole('article', { name: 'Comparison' }).waitFor();
    },
  },
  {
    name: 'revision-revert',
    path: '/revisions?action=update&userId=maya.chen',
    act: async (page) => {
      await page
        .getByRole('button', { name: /^Open version/ })
        .first()
        .click();
      await page.getByRole('button', { name: 'Revert…' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'revision-redact',
    path: `/revisions?path=${PACKS}&action=create`,
    act: async (page) => {
      await page.getByRole('button', { name: /^Open version/ }).click();
      await page.getByRole('button', { name: 'Redact…' }).click();
      await page.getByText('would lose content').waitFor();
      await page.getByText('Where the text may be besides').click();
    },
  },
  {
    name: 'revision-none',
    path: '/revisions?actor=nobody',
  },
  {
    name: 'prune',
    path: '/revisions?prune=yes',
    act: async (page) => {
      await page.getByLabel('Older than (days)').fill('14');
      await page.getByRole('button', { name: 'Count' }).click();
      await page.getByText('would be removed').waitFor();
    },
  },
  {
    name: 'incident',
    path: `/files?path=${PACKS}&as=blame`,
    act: async (page) => {
      await page.getByRole('link', { name: 'Follow line 3' }).press('Enter');
      await page.getByRole('region', { name: 'What they wrote afterwards' }).waitFor();
    },
  },
  {
    name: 'incident-revert',
    path: `/files?path=${PACKS}&as=blame`,
    act: async (page) => {
      await page.getByRole('link', { name: 'Follow line 3' }).press('Enter');
      await page.getByRole('button', { name: /^Revert the \d+ write/ }).click();
      await page.getByText('left as').waitFor();
    },
  },
  { name: 'compare-none', path: '/compare' },
  {
    name: 'compare',
    path: '/compare?userId=maya.chen',
    act: async (page) => {
      await chooseWeek(page);
      await page
        .getByRole('button', { name: /^Compare users/ })
        .first()
        .click();
      await page.getByRole('region', { name: /^Diff: / }).waitFor();
    },
  },
  {
    name: 'compare-restore',
    path: '/compare?userId=maya.chen',
    act: async (page) => {
      await chooseWeek(page);
      await page.getByRole('button', { name: 'Restore the earlier time…' }).click();
      await page.getByText('left as').waitFor();
    },
  },
  {
    name: 'compare-times',
    path: '/compare?userId=maya.chen',
    act: (page) => page.getByRole('button', { name: /^From / }).click(),
  },
  { name: 'activity', path: '/activity' },
  { name: 'activity-none', path: '/activity?actor=nobody' },
  {
    name: 'activity-filter',
    path: '/activity?since=24h',
    act: (page) => page.getByRole('button', { name: /^Time range/ }).click(),
  },
  {
    name: 'activity-export',
    path: '/activity',
    act: (page) => page.getByRole('button', { name: 'Export', exact: true }).click(),
  },
  { name: 'activity-each', path: '/activity?rows=each&outcome=not_found' },
  {
    name: 'activity-call',
    path: '/activity?tool=memory_remember&action=write',
    act: async (page) => {
      await page
        .getByText(/^Wrote 2 files/)
        .first()
        .click();
      await page.getByText('Phases').waitFor();
    },
  },
  { name: 'observability', path: '/observability?since=30d' },
  {
    name: 'observability-below',
    path: '/observability?since=30d',
    act: async (page) => {
      const live = page.getByRole('region', { name: 'Live events', exact: true });
      await live.getByText('live', { exact: true }).waitFor();
      await page.evaluate(callTools);
      await live.getByText('memory_read').first().waitFor();
      await live.scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'observability-table',
    path: '/observability?since=30d',
    act: async (page) => {
      await page.getByRole('button', { name: 'Latency: as a table' }).click();
      await page.getByRole('region', { name: 'Latency, as a table' }).scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'observability-calls',
    path: `/observability?since=30d&callsSince=${new Date(Date.now() - 30 * 86_400_000).toISOString()}&callsUntil=${new Date().toISOString()}&callsOf=refused`,
    act: async (page) => {
      await page.getByRole('list', { name: 'Calls behind the point' }).waitFor();
    },
  },
  {
    name: 'hygiene',
    path: '/observability?since=30d&userId=lena.fischer',
    act: (page) => page.getByRole('region', { name: 'Hygiene' }).scrollIntoViewIfNeeded(),
  },
  {
    name: 'playground',
    path: `/playground?tool=memory_find&user=maya.chen&args=${LAUNCH}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
      await page.getByRole('region', { name: 'the answer' }).waitFor();
    },
  },
  {
    name: 'playground-why',
    path: `/playground?tool=memory_find&user=maya.chen&args=${LAUNCH}&why=users%2Fmaya.chen%2Fpreferences.md`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Explain' }).click();
      await page.getByText('Words of the question:').waitFor();
    },
  },
  {
    name: 'playground-code',
    path: `/playground?tool=memory_find&user=maya.chen&show=code&args=${LAUNCH}`,
  },
  {
    name: 'playground-refused',
    path: '/playground?tool=memory_read&user=maya.chen&args=%7B%22path%22%3A%22user%2Fnowhere.md%22%7D',
    act: async (page) => {
      await page.getByRole('button', { name: 'Run (Ctrl Enter)' }).click();
      await page.getByRole('region', { name: 'the answer' }).waitFor();
    },
  },
  { name: 'playground-schema', path: '/playground?tool=memory_patch&show=schema' },
  { name: 'playground-wiring', path: '/playground?show=wiring' },
  { name: 'dreams', path: '/dreams' },
  { name: 'dreams-runs', path: '/dreams?tab=runs' },
  { name: 'dreams-users', path: '/dreams?tab=users' },
  { name: 'dreams-spaces', path: '/dreams?tab=spaces' },
  { name: 'dreams-settings', path: '/dreams?tab=settings' },
  {
    name: 'dream-review',
    path: '/dreams',
    act: async (page) => {
      await page
        .getByRole('button', { name: /^Open the run of/ })
        .first()
        .click();
      await page.getByText('Full record').waitFor();
    },
  },
  {
    name: 'dream-run',
    path: '/dreams?tab=runs&show=wrote',
    act: async (page) => {
      await page
        .getByRole('button', { name: /^Open the run of/ })
        .first()
        .click();
      await page.getByText('Full record').waitFor();
    },
  },
  { name: 'audit', path: '/audit' },
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
  {
    name: 'shortcuts',
    path: '/',
    act: async (page) => {
      await page.getByText('Latest revisions').waitFor();
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'settings',
    path: '/activity',
    act: (page) => page.getByRole('button', { name: 'Settings' }).click(),
  },
  {
    name: 'lock',
    path: '/',
    act: async (page) => {
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('menuitem', { name: 'Lock' }).click();
      await page.getByLabel('Admin secret').waitFor();
    },
  },
  {
    name: 'lock-wait',
    path: '/',
    act: async (page) => {
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('menuitem', { name: 'Lock' }).click();
      await page.getByLabel('Admin secret').fill('not the secret');
      await refuseSecrets(page, async () => {
        await page.keyboard.press('Enter');
        await page.getByRole('timer').waitFor();
      });
    },
  },
  {
    name: 'lock-kept',
    path: '/',
    act: (page) =>
      refuseSecrets(page, async () => {
        await page.reload();
        await page.getByRole('timer').waitFor();
      }),
  },
];

/** @param {Page} page */
async function chooseWeek(page) {
  await page.getByRole('button', { name: /^From / }).click();
  await page.getByRole('menuitem', { name: 'A week ago' }).click();
  await page
    .getByRole('button', { name: /^Compare users/ })
    .first()
    .waitFor();
}

/**
 * The service as it is for an address with ten wrong secrets; the real one stays open for other views.
 *
 * @param {Page} page
 * @param {() => Promise<unknown>} work
 */
async function refuseSecrets(page, work) {
  const status = /\/v1\/admin\/(status|me)\b/;
  const message = 'Too many wrong secrets from this address.';
  await page.route(status, (route) =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '42' },
      json: { error: { code: 'RATE_LIMITED', message, retryable: true } },
    }),
  );
  await work();
  await page.unroute(status);
}

/** An export of another program, with one item that an import does not take. */
const FOREIGN = [
  ...['Likes tea in the morning', 'Works from Porto on Fridays', 'Has a dog named Bolt'].map(
    (memory, index) => ({ id: `m${index}`, memory, user_id: `customer-${index}@example.com` }),
  ),
  { id: 'm9', memory: '', user_id: 'customer-9@example.com' },
];

/** What an empty and a failing service are looked at in. */
const PLACES = [
  '/',
  '/files',
  '/search?q=launch',
  '/users',
  '/revisions',
  '/compare?userId=maya.chen',
  '/activity',
  '/observability',
  '/usage',
  '/playground',
  '/dreams',
  '/dreams?tab=runs',
  '/dreams?tab=users',
  '/checks',
  '/checks?tab=edit',
  '/configuration',
  '/audit',
  '/spaces',
  '/access',
  '/access?tab=operators',
];

const LONG_USER = 'customer-0007.with-a-rather-long-name.of-a-tenant@subsidiary.example.com';
const LONG_FILE = `users/${LONG_USER}/projects/a-folder-with-a-long-name/of-another-folder/notes-of-the-meeting-about-the-launch.md`;

/** Where there is more, and longer, than fits. */
const CROWDED_PLACES = [
  ['overview', '/'],
  ['files', '/files?folder=users/'],
  ['file', `/files?path=${LONG_FILE}`],
  ['file-blame', `/files?path=${LONG_FILE}&as=blame`],
  ['search', '/search?q=line'],
  ['users', '/users'],
  ['users-hygiene', '/users?hygiene=yes'],
  ['users-panel', `/users?user=${LONG_USER}`],
  ['users-erase', `/users?user=${LONG_USER}&do=erase`],
  ['revisions', '/revisions'],
  ['revisions-file', `/revisions?path=${LONG_FILE}`],
  ['compare', `/compare?userId=${LONG_USER}&from=2020-01-01T00:00:00.000Z`],
  ['activity', '/activity'],
  ['activity-each', '/activity?rows=each'],
  ['observability', '/observability'],
  ['usage', '/usage'],
  ['configuration', '/configuration?show=all'],
  ['dreams-users', '/dreams?tab=users'],
  ['playground', `/playground?tool=memory_write&user=${LONG_USER}`],
  ['audit', '/audit'],
];

/** @type {{ name: string, context: import('playwright-core').BrowserContextOptions }[]} */
const LOOKS = [
  { name: 'light', context: { colorScheme: 'light', viewport: { width: 1440, height: 900 } } },
  { name: 'dark', context: { colorScheme: 'dark', viewport: { width: 1440, height: 900 } } },
  { name: 'middle', context: { colorScheme: 'light', viewport: { width: 1024, height: 768 } } },
  { name: 'narrow', context: { colorScheme: 'light', viewport: { width: 390, height: 844 } } },
];

/** The service at once, as seen by another client: someone else writes. */
const writeElsewhere = `fetch('../v1/admin/files/users/diego.alvarez/profile.md', {
  method: 'PUT',
  headers: {
    'content-type': 'application/json',
    'x-admin-secret': sessionStorage.getItem('memory-service.admin-secret'),
  },
  body: JSON.stringify({
    content: '# Diego \\u00c1lvarez\\n\\n- Design, icons and onboarding, team ' + (1 + (Date.now() % 97)) + '\\n- Bogot\\u00e1 (UTC\\u22125)\\n- Prefers voice notes to long texts\\n',
  }),
})`;

/** As another operator would, meanwhile. */
const changeSpace = `fetch('../v1/admin/spaces/trailmark', {
  method: 'PUT',
  headers: {
    'content-type': 'application/json',
    'x-admin-secret': sessionStorage.getItem('memory-service.admin-secret'),
  },
  body: JSON.stringify({ name: 'Trailmark ' + Date.now(), quota: 500 }),
})`;

/** A user who may be erased in each look. */
const writeFormer = `fetch('../v1/admin/playground/memory_write', {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'x-admin-secret': sessionStorage.getItem('memory-service.admin-secret'),
  },
  body: JSON.stringify({
    context: { userId: 'former.customer' },
    arguments: { path: 'user/profile.md', content: '# Former customer' },
  }),
})`;

/** What agents would do meanwhile, as the Playground does it. */
const callTools = `(async () => {
  const calls = [
    ['memory_find', 'maya.chen', { query: 'offline packs' }],
    ['memory_read', 'maya.chen', { path: 'user/profile.md' }],
    ['memory_context', 'priya.nair', { query: 'trail score' }],
    ['memory_read', 'jonas.weber', { path: 'user/projects/roadmap-2025.md' }],
    ['memory_list', 'lena.fischer', {}],
    ['memory_read', 'lena.fischer', { path: 'user/customers/alpine-club.md' }],
  ];
  for (const [name, userId, args] of calls) {
    await fetch('../v1/admin/playground/' + name, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-admin-secret': sessionStorage.getItem('memory-service.admin-secret'),
      },
      body: JSON.stringify({ context: { userId }, arguments: args }),
    });
  }
})()`;

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

/**
 * Hundreds of users with long names, texts and reasons, many of whose calls fail.
 *
 * @param {Awaited<ReturnType<typeof serve>>} service
 */
async function crowd({ url, adminSecret }) {
  const headers = { 'content-type': 'application/json', 'x-admin-secret': adminSecret };
  /** @type {(tool: string, userId: string, args: object) => Promise<unknown>} */
  const call = async (tool, userId, args) => {
    const body = JSON.stringify({ context: { userId }, arguments: args });
    const at = `${url}/../v1/admin/playground/${tool}`;
    return (await fetch(new URL(at), { method: 'POST', headers, body })).text();
  };
  const line = '- A line that is much longer than what fits beside a column, '.repeat(12);
  for (let n = 0; n < 400; n += 8) {
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const user = `tenant-${String(n + index).padStart(4, '0')}@example.com`;
        await call('memory_write', user, { path: 'user/profile.md', content: `# ${user}\n` });
        await call('memory_read', user, { path: `user/missing-${n}.md` });
      }),
    );
  }
  const path = LONG_FILE.replace(`users/${LONG_USER}/`, 'user/');
  for (let n = 1; n <= 12; n += 1) {
    const content = `# Notes\n\n${line}\n${'word'.repeat(200)}\n${'- one more line\n'.repeat(20 * n)}`;
    const reason = 'A reason that says at length why the agent wrote what it wrote. '.repeat(5);
    await call('memory_write', LONG_USER, { path, content, reason });
    await call('memory_write', LONG_USER, { path: `user/log/${n}.md`, content });
  }
  await call('memory_find', LONG_USER, { query: 'line' });
}

/**
 * Spaces, keys and operators of the demo's company.
 *
 * @param {Awaited<ReturnType<typeof serve>>} service
 */
async function share({ url, adminSecret }) {
  const headers = { 'content-type': 'application/json', 'x-admin-secret': adminSecret };
  /** @type {(method: string, path: string, body: object) => Promise<void>} */
  const ask = async (method, path, body) => {
    const at = new URL(`${url}/../v1/admin/${path}`);
    const answer = await fetch(at, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  };
  const spaces = [
    { id: 'trailmark', name: 'Trailmark', description: 'What every team agrees on.', dream: true },
    { id: 'team:maps', name: 'Maps team', metadata: { lead: 'maya.chen' } },
    { id: 'team:growth', name: 'Growth team', metadata: { lead: 'lena.fischer' } },
    { id: 'customer:alpine-club', name: 'Alpine Club', metadata: { contract: 'A-1742' } },
    { id: 'customer:nordic-huts', name: 'Nordic Huts' },
    { id: 'summer-campaign', name: 'Summer campaign' },
  ];
  for (const { id, ...settings } of spaces) {
    await ask('POST', 'spaces', { id, ...settings });
    for (const name of ['policies.md', 'people.md', 'glossary.md'].slice(id.length % 3)) {
      const content = `# ${settings.name}\n\n- Ask the lead before you change this.\n`;
      await ask('PUT', `files/spaces/${id}/${name}`, { content });
    }
  }
  await ask('POST', 'spaces/summer-campaign/archive', {});
  const keys = [
    { name: 'support bot', spaces: ['customer:*:read'], tools: ['read'], rateLimit: 600 },
    { name: 'maps assistant', users: ['maya.chen', 'jonas.weber'], spaces: ['team:maps:write'] },
    { name: 'growth assistant', spaces: ['team:growth:write', 'trailmark:read'] },
    { name: 'nightly import', tools: ['write'], actor: 'importer' },
    { name: 'evaluation', expiresAt: new Date(Date.now() + 3 * 86_400_000).toISOString() },
  ];
  for (const key of keys) await ask('POST', 'keys', key);
  const operators = [
    { name: 'anna', role: 'operator' },
    { name: 'ben', role: 'viewer', contents: true },
    { name: 'vera', role: 'viewer' },
  ];
  for (const operator of operators) await ask('POST', 'operators', operator);
  const checks = [
    {
      name: 'the launch is known',
      user: 'maya.chen',
      ask: 'when is the launch',
      expect: { line: '28 May' },
    },
    { name: 'no key in memory', everywhere: { absent: { secret: true } } },
    { name: 'nobody remembers the old launch', everywhere: { absent: '14 May' } },
  ];
  await ask('PUT', 'checks', { checks });
  await ask('POST', 'checks/run', {});
}

await orExplain(ensureBuilt);
const executablePath = findChromium();
if (executablePath === null) throw new Error('There is no Chromium: run npm test.');
mkdirSync(OUTPUT, { recursive: true });
mkdirSync(DOCS, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const wanted = process.argv.slice(2);
const isWanted = (/** @type {string} */ name) =>
  wanted.length === 0 || wanted.some((one) => name.startsWith(one));

/**
 * @param {Page} page
 * @param {string} url
 * @param {string} file
 * @param {(page: Page) => Promise<unknown>} [act]
 */
async function shoot(page, url, file, act) {
  if (!isWanted(file)) return;
  try {
    await page.goto(url);
    // Not the network, which the live stream keeps busy: what loads says so.
    await page.locator('h1').first().waitFor({ state: 'attached' });
    await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
    await act?.(page);
    await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
    await page.screenshot({ path: join(OUTPUT, `${file}.png`) });
  } catch (error) {
    process.stderr.write(`${file}: ${String(error).split('\n').slice(0, 3).join(' ')}\n`);
  }
}

/**
 * A page of the console, in one look.
 *
 * @param {Awaited<ReturnType<typeof serve>>} service
 * @param {import('playwright-core').BrowserContextOptions} options
 */
async function open(service, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('dialog', (dialog) => void dialog.accept());
  await page.addInitScript(
    `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(service.adminSecret)})`,
  );
  return page;
}

/**
 * The same picture in WebP, which is a third of the size.
 *
 * @param {Page} page
 * @param {string} name
 */
async function publish(page, name) {
  const source = join(OUTPUT, `${name}.png`);
  if (!existsSync(source)) return;
  const bytes = await toWebp(page, readFileSync(source), { quality: 0.66 });
  writeFileSync(join(DOCS, `console-${name.split('.')[0]}.webp`), bytes);
}

const nameOf = (/** @type {string} */ path) =>
  path === '/'
    ? 'overview'
    : path.slice(1).replace(/\?(?:tab=(\w+))?.*/, (_all, tab) => (tab ? `-${tab}` : ''));
const full = await serve(['--demo']);
const [empty, crowded] = await Promise.all([serve([]), serve([])]);
await crowd(crowded);
await share(full);
try {
  for (const { name: look, context } of LOOKS) {
    const page = await open(full, context);
    for (const { name, path, act } of VIEWS) {
      await shoot(page, full.url + path, `${name}.${look}`, act);
    }
    await page.context().close();
    const blank = await open(empty, context);
    for (const path of PLACES) {
      await shoot(blank, empty.url + path, `empty-${nameOf(path)}.${look}`);
    }
    await blank.context().close();
    const many = await open(crowded, context);
    for (const [name, path] of CROWDED_PLACES) {
      await shoot(many, crowded.url + path, `crowded-${name}.${look}`);
    }
    await many.context().close();
    const failing = await open(full, context);
    // Who asks, alone, is answered: with it the console opens.
    await failing.route(/\/v1\/admin\/(?!me\/)/, (route) =>
      route.fulfill({
        status: 500,
        json: {
          error: {
            code: 'INTERNAL',
            message: 'The service met an error of its own.',
            retryable: false,
            traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
          },
        },
      }),
    );
    for (const path of PLACES) {
      await shoot(failing, full.url + path, `failing-${nameOf(path)}.${look}`);
    }
    await failing.context().close();
  }
  const page = await browser.newPage();
  for (const name of CHOSEN.filter(isWanted)) await publish(page, name);
} finally {
  await browser.close();
  await Promise.all([full.stop(), empty.stop(), crowded.stop()]);
}
