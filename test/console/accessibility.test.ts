import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  lines,
  MINUTE,
  openDreams,
  operation,
  verdicts,
} from '../plugins/dreaming/dream-service.ts';
import { manualClock } from '../support/clock.ts';
import { call } from '../support/service.ts';
import { expectNoProblems, go, openConsole, settled } from './support/console.ts';

// Loaded with the page, once: its builder would read it in again for each look.
const axe = createRequire(import.meta.resolve('@axe-core/playwright')).resolve('axe-core');
const WITH_AXE = {
  // Low: what is drawn costs more than what is looked at.
  context: { reducedMotion: 'reduce', viewport: { width: 1400, height: 600 } },
  script: readFileSync(axe, 'utf8'),
} as const;
/** Some thirty places, on a machine that does ten other things. */
const WHOLE_MS = 900_000;
/** What is open in front of a view. */
const IN_FRONT = '[role=dialog], [role=menu]';

const PATH = 'users/alice/a.md';
const NOTES = '- Tea in the morning\n- Tea in the morning\n- Lives in Porto\n';

/** A memory with something in each view: a review waits, a call missed its file, an operator wrote. */
async function filled() {
  // The dashboard looks at the last day of the browser's clock.
  const clock = manualClock(Date.now() - MINUTE);
  const service = await openDreams({ clock, settings: { dream_mode: 'review' } });
  const { core } = service;
  await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: '# A\n\n[x](y) `z`\n' });
  const written = await call<{ revisionId: string }>(core, 'alice', 'memory_patch', {
    path: 'user/a.md',
    edits: [{ oldText: '# A', newText: '# B' }],
    reason: 'So it is.',
  });
  await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
  await call(core, 'alice', 'memory_read', { path: 'user/gone.md' }).catch(() => undefined);
  await service.write('bob', 'user/preferences.md', NOTES);
  await service.write('carol', 'user/c.md', 'Likes tea.\n');
  service.say(() => ({
    operations: [
      operation({
        kind: 'merge',
        remove: lines('user/preferences.md', NOTES, 2),
        sources: [{ path: 'user/preferences.md', line: 1 }],
      }),
      operation({
        kind: 'reword',
        remove: lines('user/preferences.md', NOTES, 3),
        add: { path: 'user/preferences.md', heading: null, lines: ['- Lives somewhere'] },
      }),
    ],
  }));
  service.judge(verdicts({ 2: 'loses' }));
  const run = await service.dream('bob');
  await service.admin('POST', 'spaces', {
    id: 'acme',
    name: 'Acme Ltd.',
    description: 'Policies.',
    metadata: { contract: 'A-1742' },
  });
  await service.admin('POST', 'spaces', { id: 'former' });
  await service.admin('POST', 'spaces/former/archive', {});
  await service.admin('PUT', 'files/spaces/acme/policies.md', { content: 'Be kind.\n' });
  const key = (await service.admin('POST', 'keys', { name: 'support bot', spaces: ['acme:read'] }))
    .json.id as string;
  const operator = (await service.admin('POST', 'operators', { name: 'vera', role: 'viewer' })).json
    .id as string;
  await service.admin('PUT', 'checks', {
    checks: [{ name: 'no tea', everywhere: { absent: 'tea' } }],
  });
  await service.admin('POST', 'checks/run', {});
  const early = new Date(clock.now()).toISOString();
  clock.advance(MINUTE);
  const edit = { content: '# C\n\n[x](y) `z`\n', reason: 'No: C.' };
  const edited = (await service.admin('PUT', `files/${PATH}`, edit)).json.revisionId as string;
  const ids = {
    early,
    now: new Date(clock.now()).toISOString(),
    edited,
    revision: written.result.revisionId,
    call: written.toolCallId,
    run: run.id,
    key,
    operator,
  };
  return { service, ids };
}

interface Place {
  path: string;
  /** A text that tells that it is there. */
  shown: string;
  act?: (page: Page, write: (content: string) => Promise<unknown>) => Promise<unknown>;
}
type Ids = Awaited<ReturnType<typeof filled>>['ids'];

/** As another operator would. */
const changeElsewhere = `fetch('../v1/admin/spaces/acme', {
  method: 'PUT',
  headers: {
    'content-type': 'application/json',
    'x-admin-secret': sessionStorage.getItem('memory-service.admin-secret'),
  },
  body: JSON.stringify({ name: 'Acme ' + Math.random() }),
}).then(async (answer) => {
  // The browser ends a request only when its answer is read.
  await answer.text();
  if (!answer.ok) throw new Error(answer.status);
})`;

const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole('button', { name }).first().click();

async function previewImport(page: Page): Promise<void> {
  const notes = [{ id: 'm1', memory: 'Likes tea', user_id: 'dora' }];
  await page.getByLabel('File', { exact: true }).setInputFiles({
    name: 'mem0.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(notes)),
  });
  await page.getByRole('button', { name: 'Preview' }).click();
}

/** Each part of the console with its dialogs, panels and menus: one page goes through all of them. */
const places = ({ early, now, revision, edited, call: id, run, key, operator }: Ids): Place[] => [
  // The overview and the files.
  { path: '/', shown: 'Latest revisions' },
  { path: '/files', shown: 'Users by last change' },
  { path: `/files?path=${PATH}&as=rendered`, shown: 'Nearby files, 24 hours' },
  { path: `/files?path=${PATH}&version=1`, shown: 'Restore this version' },
  { path: '/files?new=yes', shown: 'Creates a revision with the actor admin.' },
  { path: `/files?path=${PATH}`, shown: 'Delete this file?', act: press('Delete the file') },
  {
    path: `/files?path=${PATH}`,
    shown: 'Save the result',
    act: async (page, write) => {
      await page.getByRole('button', { name: 'Edit (e)' }).click();
      await page.getByRole('textbox', { name: /^Content of/ }).click();
      await page.keyboard.type('mine ');
      await write(`theirs ${Math.random()}`);
      await page.keyboard.press('Control+s');
      await page.getByText('-# C').or(page.getByText('# C')).first().waitFor();
      await page.getByRole('button', { name: 'Show the result' }).click();
    },
  },
  {
    path: `/files?path=${PATH}`,
    shown: 'Your changes to this file are not saved.',
    act: async (page) => {
      await page.getByRole('button', { name: 'Edit (e)' }).click();
      await page.getByRole('textbox', { name: /^Content of/ }).click();
      await page.keyboard.type('mine ');
      await page.getByRole('link', { name: 'Activity', exact: true }).click();
    },
  },
  { path: `/files?path=${PATH}&as=blame`, shown: 'Nearby files, 24 hours' },
  { path: `/files?path=${PATH}&as=blame&incident=2:1`, shown: 'What they wrote afterwards' },
  {
    path: `/files?path=${PATH}&as=blame&incident=2:1`,
    shown: 'Revert the chosen writes?',
    act: press(/^Revert the \d+ write/),
  },
  { path: '/files?q=%5Bx&in=contents&userId=alice', shown: '1 line' },
  // The users.
  { path: '/users?hygiene=yes', shown: 'checked, the worst first' },
  { path: '/users?user=alice', shown: 'Hygiene of alice' },
  { path: '/users?user=alice&do=erase', shown: 'would be removed' },
  {
    path: '/users?do=erase-prefix',
    shown: 'No user and no space has such an id.',
    act: async (page) => {
      await page.getByLabel('What their ids start with').fill('acme:*');
      await page.keyboard.press('Enter');
    },
  },
  { path: '/users?user=alice&do=export', shown: 'What to export' },
  { path: '/users?do=export-all', shown: 'and shared memory.' },
  { path: '/users?do=import', shown: 'Preview' },
  { path: '/users?do=import', shown: 'would be written', act: previewImport },
  { path: `/revisions?id=${revision}&redact=yes`, shown: 'would lose content' },
  // Spaces, keys and operators.
  { path: '/spaces', shown: 'archived' },
  { path: '/spaces?space=acme', shown: 'Who may use it' },
  { path: '/spaces?space=former', shown: 'nobody can write' },
  { path: '/spaces?do=new', shown: 'Metadata', act: press('Add an entry') },
  { path: '/spaces?space=acme&do=edit', shown: 'Settings of acme' },
  {
    path: '/spaces?space=acme&do=edit',
    shown: 'Take theirs',
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Acme');
      await page.evaluate(changeElsewhere);
      await press(/^Save$/)(page);
    },
  },
  { path: '/spaces?space=acme&do=archive', shown: 'Archive acme?' },
  { path: '/spaces?space=acme&do=export', shown: 'What to export' },
  { path: '/spaces?space=acme&do=erase', shown: 'would be removed' },
  { path: '/search?q=tea', shown: 'searched' },
  { path: '/usage', shown: 'By user and space' },
  { path: '/configuration?show=all', shown: 'What works, and what is missing' },
  { path: '/checks', shown: 'Find the write that made it fail' },
  { path: '/checks?tab=edit', shown: 'What checks can say' },
  { path: '/access', shown: 'support bot' },
  { path: `/access?key=${key}`, shown: 'Calls a minute' },
  { path: `/access?key=${key}&do=rotate`, shown: 'The present key stays valid for' },
  { path: `/access?key=${key}&do=revoke`, shown: 'Revoke support bot?' },
  {
    path: '/access?do=new',
    shown: 'memory_list',
    act: async (page) => {
      await press('Add a space')(page);
      await page.locator('#key-tools').selectOption('named');
    },
  },
  { path: '/access?tab=operators', shown: 'Named operators' },
  { path: '/access?tab=operators&do=new', shown: 'Make the operator' },
  { path: `/access?tab=operators&operator=${operator}&do=remove`, shown: 'Remove vera?' },
  {
    path: '/audit',
    shown: 'You are signed in as admin',
    act: async (page) => {
      await press(/^Signed in as/)(page);
      await page.getByRole('menuitem', { name: 'What you may do' }).click();
    },
  },
  { path: '/audit?action=contents.read', shown: 'Who looked' },
  // Two times of a memory.
  { path: '/compare', shown: 'Whose memory?' },
  { path: `/compare?userId=alice&from=2020-01-01T00:00:00.000Z&file=${PATH}`, shown: 'Whole file' },
  { path: '/compare?userId=alice', shown: 'Before the last dream', act: press(/^From /) },
  {
    path: '/compare?userId=alice',
    shown: 'Compare',
    act: async (page) => {
      await press(/^From /)(page);
      await page.getByRole('menuitem', { name: 'Before a revision…' }).click();
      await page.getByLabel('From, before which revision').waitFor();
    },
  },
  {
    path: `/compare?userId=alice&from=${now}`,
    shown: 'The memory is as it was then already.',
    act: press('Restore the earlier time…'),
  },
  // The revisions and the audit.
  { path: `/revisions?id=${revision}&actor=agent`, shown: 'Copy diff' },
  { path: `/revisions?id=${revision}&show=readers`, shown: 'Tool calls that returned' },
  {
    path: `/revisions?path=${PATH}`,
    shown: 'Whole file',
    act: async (page) => {
      await page.getByRole('checkbox').nth(0).check();
      await page.getByRole('checkbox').nth(1).check();
      await page.getByRole('button', { name: 'Compare' }).click();
    },
  },
  // Someone changed the line since.
  { path: `/revisions?id=${revision}`, shown: 'Keep what is there', act: press('Revert…') },
  { path: '/revisions?prune=yes', shown: 'would be removed', act: press('Count') },
  {
    path: '/revisions?actor=agent&since=2020-01-01T00:00:00.000Z',
    shown: 'would be put back',
    act: press('Revert these…'),
  },
  { path: '/audit', shown: 'files.write' },
  // The activity, its panel and its menus.
  { path: '/activity', shown: 'Wrote a.md' },
  { path: '/activity?rows=each', shown: 'not found' },
  { path: `/activity?call=${id}`, shown: 'Phases' },
  { path: '/activity', shown: 'CSV, filtered rows', act: press('Export') },
  { path: '/activity', shown: 'Folder', act: press(/^Filter$/) },
  { path: '/activity', shown: 'Keyboard shortcuts', act: press('Settings') },
  {
    path: '/activity?userId=alice',
    shown: 'Apply',
    act: press('Change the filter User: alice'),
  },
  { path: '/activity?since=24h', shown: 'Apply', act: press('Time range: Last 24 hours') },
  // The dashboard and the playground.
  { path: '/observability', shown: 'Top accessed files' },
  {
    path: '/observability?userId=alice',
    shown: 'p99',
    act: press('Latency: as a table'),
  },
  {
    path: '/observability?callsSince=2020-01-01T00:00:00.000Z&callsUntil=2100-01-01T00:00:00.000Z',
    shown: 'Calls',
    act: (page) => page.getByRole('dialog').getByText('memory_patch').first().waitFor(),
  },
  { path: '/playground?tool=memory_patch&user=alice&spaces=acme:read', shown: 'Add a space' },
  { path: '/playground?tool=memory_find', shown: 'Arguments as JSON', act: press('JSON') },
  { path: '/playground?show=code', shown: 'A POSIX shell' },
  { path: '/playground?show=wiring', shown: 'Check an API key' },
  // Dreams, the palette and the list of keys.
  { path: '/dreams', shown: '1 waiting' },
  { path: '/dreams?tab=runs', shown: '1 waiting' },
  { path: '/dreams?tab=users', shown: 'Run now' },
  { path: '/dreams?tab=settings', shown: 'Waiting time, days' },
  { path: `/dreams?run=${run}`, shown: 'Full record' },
  { path: `/dreams?run=${run}&status=stale`, shown: 'Show all' },
  {
    path: `/dreams?run=${run}`,
    shown: 'The verifier held this operation back.',
    act: press('Apply operation 2 anyway (a)'),
  },
  { path: `/dreams?run=${run}`, shown: 'was applied.', act: press('Apply operation 1 (a)') },
  {
    path: '/activity',
    shown: 'Commands',
    act: (page) => page.keyboard.press('Control+k'),
  },
  { path: '/activity', shown: 'Move in the tree', act: (page) => page.keyboard.press('?') },
  { path: '/nowhere', shown: 'Overview' },
  // Receipts, last: what they are of is gone then.
  {
    path: '/users?user=alice&do=export',
    shown: 'Saved memory-alice',
    act: press(/^Export$/),
  },
  {
    path: '/users?do=import',
    shown: 'Save the receipt',
    act: async (page) => {
      await previewImport(page);
      await press(/^Import \d+ file/)(page);
    },
  },
  {
    path: '/revisions?actor=agent&since=2020-01-01T00:00:00.000Z&revert=yes',
    shown: ' put back, ',
    act: async (page) => {
      await press(/^Revert \d+ file/)(page);
      await page.getByRole('dialog', { name: 'Reverted' }).waitFor();
    },
  },
  {
    path: `/compare?userId=alice&from=${early}`,
    shown: ' restored, ',
    act: async (page) => {
      await press('Restore the earlier time…')(page);
      await press(/^Restore \d+ file/)(page);
      await page.getByRole('dialog', { name: 'Restored' }).waitFor();
    },
  },
  {
    path: `/revisions?id=${edited}&redact=yes`,
    shown: 'Save the receipt',
    act: async (page) => {
      await page.getByLabel(/^Reason/).fill('Not for everyone.');
      await press(/^Redact$/)(page);
    },
  },
  {
    path: '/users?user=alice&do=erase',
    shown: 'Save the receipt',
    act: async (page) => {
      await page.getByLabel('Type alice to confirm').fill('alice');
      await press(/^Erase$/)(page);
    },
  },
];

describe('no fault of accessibility, light or dark,', () => {
  it('is in any view, dialog, panel or menu', { timeout: WHOLE_MS }, async () => {
    const { service, ids } = await filled();
    const opened = await openConsole({ service, ...WITH_AXE });
    const { page } = opened;
    const write = (content: string) => service.admin('PUT', `files/${PATH}`, { content });
    const faults: Record<string, string[]> = {};
    for (const { path, shown, act } of places(ids)) {
      await leaveOpen(page);
      // What was open in front of the place before is closed: often this is the same view.
      if (!page.url().endsWith(`/admin${path}`)) await go(page, path);
      await act?.(page, write);
      await page.getByText(shown).first().waitFor();
      await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' });
      // What lies behind a dialog, and the frame of every view, is looked at where it is alone.
      const isOpen = (await page.locator(IN_FRONT).count()) > 0;
      const within = isOpen ? IN_FRONT : path === '/' ? 'body' : '#view';
      const found = await findFaults(page, within);
      if (found.length > 0) faults[`${path}, ${shown}`] = found;
    }
    expect(faults).toEqual({});
    expectNoProblems(opened);
  });

  it('is in what a viewer without contents sees, and in a key that is shown once', async () => {
    const { service } = await filled();
    const { json } = await service.admin('POST', 'operators', { name: 'vic', role: 'viewer' });
    const opened = await openConsole({ service, secret: json.token as string, ...WITH_AXE });
    const { page } = opened;
    const faults: Record<string, string[]> = {};
    const look = async (name: string, within: string) => {
      const found = await findFaults(page, within);
      if (found.length > 0) faults[name] = found;
    };
    await go(page, `/files?path=${PATH}`);
    await page.getByText('Your role does not see contents.').waitFor();
    await look('file', '#view');
    await go(page, '/users?user=alice');
    await page.getByText('Your role does not see contents.').waitFor();
    await look('user', IN_FRONT);
    await page.keyboard.press('Escape');
    await go(page, '/access');
    await page.getByText('This needs the role admin.').waitFor();
    await look('access', '#view');
    const admin = await openConsole({ service, path: '/access?do=new', ...WITH_AXE });
    await admin.page.getByLabel('Name', { exact: true }).fill('one key');
    await admin.page.getByRole('button', { name: 'Make the key' }).click();
    await admin.page.getByText('How an agent uses it').waitFor();
    const found = await findFaults(admin.page, IN_FRONT);
    if (found.length > 0) faults['key'] = found;
    expect(faults).toEqual({});
    expectNoProblems(opened);
  });

  it('is in the lock', async () => {
    const { page } = await openConsole({ isUnlocked: false, ...WITH_AXE });
    await page.getByLabel('Admin secret').waitFor();
    expect(await findFaults(page, 'body')).toEqual([]);
  });
});

/** Closes dialogs, menus and an edit that the place before left open. */
async function leaveOpen(page: Page): Promise<void> {
  const dialog = page.locator(IN_FRONT);
  for (let open = await dialog.count(); open > 0; open = await dialog.count()) {
    const last = await dialog.nth(open - 1).elementHandle();
    await page.keyboard.press('Escape');
    // Another one, where it came from, may take its place.
    await last?.waitForElementState('hidden');
    await last?.dispose();
  }
  const cancel = page.getByRole('button', { name: 'Cancel', exact: true });
  if ((await cancel.count()) === 0) return;
  await cancel.click();
  await page.getByRole('button', { name: 'Leave without saving' }).click();
  await cancel.waitFor({ state: 'detached' });
}

/** What axe asks of colours alone: the rest is the same in the dark, and costs little. */
const RULES_OF_COLOUR = ['color-contrast', 'link-in-text-block'];

/**
 * Marks each text in `within` whose look was not seen on this page yet, and counts them. A look is all that the
 * contrast depends on: the size of the text, its colours and those behind it, in light and in dark.
 */
const markNewLooks = (within: string) => `(() => {
  const root = document.documentElement;
  const texts = [...document.querySelectorAll(${JSON.stringify(within)})]
    .flatMap((one) => [one, ...one.querySelectorAll('*')])
    .filter((one) => one.matches('input, textarea, select') ||
      [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== ''));
  const readLooks = () => {
    const grounds = new Map();
    const groundOf = (one) => {
      if (one === null) return '';
      if (!grounds.has(one)) {
        const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(one);
        const isClear = backgroundColor === 'rgba(0, 0, 0, 0)' && backgroundImage === 'none' && opacity === '1' && filter === 'none';
        const below = groundOf(one.parentElement);
        grounds.set(one, isClear ? below : [below, backgroundColor, backgroundImage, opacity, filter].join());
      }
      return grounds.get(one);
    };
    return texts.map((one) => {
      const { color, fontSize, fontWeight, textDecorationLine } = getComputedStyle(one);
      const around = one.closest('a') === null ? '' : getComputedStyle(one.closest('a').parentElement).color;
      return [groundOf(one), color, fontSize, fontWeight, textDecorationLine, around].join();
    });
  };
  const scheme = root.classList.contains('dark') ? 'dark' : 'light';
  const looks = readLooks();
  root.classList.replace(scheme, scheme === 'dark' ? 'light' : 'dark');
  const others = readLooks();
  root.classList.replace(scheme === 'dark' ? 'light' : 'dark', scheme);
  const seen = (window.seenLooks ??= new Set());
  for (const old of document.querySelectorAll('[data-new-look]')) old.removeAttribute('data-new-look');
  let count = 0;
  texts.forEach((one, index) => {
    const look = scheme === 'dark' ? [others[index], looks[index]] : [looks[index], others[index]];
    if (seen.has(look.join())) return;
    seen.add(look.join());
    one.setAttribute('data-new-look', '');
    count += 1;
  });
  return count;
})()`;

/** Looks at the structure of what matches `within`, and at the colours of what is new in it. */
async function findFaults(page: Page, within: string): Promise<string[]> {
  await settled(page);
  const off = RULES_OF_COLOUR.map((rule) => [rule, { enabled: false }] as const);
  const faults = await runAxe(page, within === 'body' ? 'html' : within, {
    rules: Object.fromEntries(off),
  });
  if ((await page.evaluate<number>(markNewLooks(within))) === 0) return faults;
  // The scheme of the place before comes first: a change of it draws everything anew.
  const isDark = (await page.locator('html.dark').count()) > 0;
  for (const colorScheme of isDark ? (['dark', 'light'] as const) : (['light', 'dark'] as const)) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html.${colorScheme}`).waitFor({ state: 'attached' });
    const found = await runAxe(page, '[data-new-look]', { runOnly: RULES_OF_COLOUR });
    faults.push(...found.map((fault) => `${colorScheme}: ${fault}`));
  }
  return faults;
}

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

async function runAxe(page: Page, within: string, options: object): Promise<string[]> {
  const whole = { ...options, resultTypes: ['violations'] };
  const found: unknown = await page.evaluate(
    `axe.run({ include: [${JSON.stringify(within)}] }, ${JSON.stringify(whole)}).then(({ violations }) => violations)`,
  );
  return (found as Violation[]).flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
