import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Download,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import type { CoreConfig } from '../../../core/service.ts';
import { ADMIN_SECRET, type LiveServer, serveCore } from '../../core/http/serve.ts';
import { findChromium } from '../../support/chromium.mjs';

/** A page of the console, and what went wrong in it. */
export interface ConsolePage {
  page: Page;
  service: LiveServer;
  /** Errors of scripts, refusals of the policy, and requests to other places. */
  problems: readonly string[];
  /** Goes to a view, by its address below `/admin`. */
  visit(path: string): Promise<void>;
}

export interface ConsoleOptions {
  path?: string;
  service?: LiveServer;
  config?: Partial<CoreConfig>;
  /** Default: the secret is there, as if it had been kept for this tab. */
  isUnlocked?: boolean;
  /** Default: that of the configuration. */
  secret?: string;
  /**
   * Of a context of the test's own, which a test also needs that sets a clock or gives permissions. By
   * default all tests of a worker share one.
   */
  context?: BrowserContextOptions;
  /** Code that each page runs before its own. */
  script?: string;
  basePath?: string;
  /** The name that the browser takes the service by; one that is not loopback is plain http. */
  host?: string;
}

/** Leads to this machine, and is no secure context: what a browser keeps for those is not there. */
export const PLAIN_HOST = 'memory.test';

/** What takes longer hangs, also on a machine that does ten other things. */
const PATIENCE_MS = 60_000;
vi.setConfig({ testTimeout: 3 * PATIENCE_MS });

/** What pages have asked for and not got yet. */
const asked = new WeakMap<Page, Set<Request>>();

/** Of all files of a worker: it ends with it. */
let browser: Browser | null = null;

async function sharedBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null) throw new Error('There is no Chromium: run npm test.');
  // As root in a container there are no user namespaces for Chromium's sandbox.
  const args = ['--no-sandbox', `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`];
  browser ??= await chromium.launch({ executablePath, args });
  return browser;
}

const SIZE = { viewport: { width: 1400, height: 900 } };
/** It has the console's code, which takes longer to load and compile than most tests take. */
let context: BrowserContext | null = null;

/**
 * Opens a page with nothing that another one has stored for this origin; it is closed when the test
 * ends.
 */
async function openPage(origin: string, own?: BrowserContextOptions): Promise<Page> {
  const started = await sharedBrowser();
  if (own !== undefined) {
    const context = await started.newContext({ ...SIZE, ...own });
    onTestFinished(() => context.close());
    return await context.newPage();
  }
  const shared = (context ??= await started.newContext(SIZE));
  const page = await shared.newPage();
  onTestFinished(async () => {
    for (const opened of shared.pages()) await opened.close();
  });
  const session = await shared.newCDPSession(page);
  const storageTypes = 'cookies,local_storage,indexeddb,cache_storage,service_workers';
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes });
  await session.detach();
  return page;
}

/** Opens the built console in headless Chromium, on a real service and a real SQLite. */
export async function openConsole(options: ConsoleOptions = {}): Promise<ConsolePage> {
  const {
    path = '/',
    isUnlocked = true,
    secret = ADMIN_SECRET,
    basePath = '',
    host = '127.0.0.1',
  } = options;
  const service = options.service ?? (await serveCore(options.config));
  const origin = `http://${host}:${service.port}`;
  const page = await openPage(origin, options.context);
  page.setDefaultTimeout(PATIENCE_MS);
  const problems: string[] = [];
  trackRequests(page);
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    if (/Content Security Policy|\[Vue warn\]|Unhandled/i.test(text)) problems.push(text);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:') && !url.startsWith('blob:')) {
      problems.push(`request: ${url}`);
    }
  });
  page.on('dialog', (dialog) => {
    if (dialog.type() !== 'beforeunload') problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  if (isUnlocked) {
    await page.addInitScript(
      `sessionStorage.setItem('memory-service.admin-secret', ${JSON.stringify(secret)})`,
    );
  }
  if (options.script !== undefined) await page.addInitScript(options.script);
  const visit = async (to: string) => {
    await page.goto(`${origin}${basePath}/admin${to}`);
  };
  await visit(path);
  return { page, service, problems, visit };
}

/** Goes to a view within the page, as a link does: the application is not loaded again. */
export async function go(page: Page, path: string): Promise<void> {
  await page.locator('#view').waitFor();
  await settled(page);
  await page.evaluate(
    `history.pushState(null, '', location.pathname.replace(/\\/admin(?:\\/.*)?$/, '/admin') + ${JSON.stringify(path)});
    dispatchEvent(new PopStateEvent('popstate', { state: null }));`,
  );
  await settled(page);
  await page.locator('h1').first().waitFor({ state: 'attached' });
}

/** Waits until a page has all that it asked for, code of views too, and has drawn it. */
export async function settled(page: Page): Promise<void> {
  const open = asked.get(page);
  const frames =
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';
  const until = Date.now() + PATIENCE_MS;
  let isQuiet = false;
  while (!isQuiet) {
    if (Date.now() > until) {
      const left = [...(open ?? [])].map((one) => `${one.method()} ${one.url()}`);
      throw new Error(`The page still waits for ${left.join(', ')}.`);
    }
    isQuiet = open?.size === 0;
    await page.evaluate(frames);
    isQuiet &&= open?.size === 0;
  }
}

function trackRequests(page: Page): void {
  const open = new Set<Request>();
  asked.set(page, open);
  page.on('request', (request) => {
    // What the page before asked for is nobody's any more; a stream has no end.
    if (request.isNavigationRequest()) open.clear();
    if (!request.url().includes('/events/stream')) open.add(request);
  });
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
}

/** The address comes to hold this. */
export async function expectUrl(page: Page, part: string): Promise<void> {
  await page.waitForURL(({ href }) => href.includes(part), { waitUntil: 'commit' });
}

/** It comes to have the focus: keys that are pressed from now on are its own. */
export async function expectFocus(element: Locator): Promise<void> {
  await element.and(element.page().locator(':focus')).waitFor();
}

/** So many of them come to be there. */
export async function expectCount(elements: Locator, count: number): Promise<void> {
  await expect.poll(() => elements.count(), { timeout: PATIENCE_MS }).toBe(count);
}

/** Presses the two keys of a jump without a pause between them, however busy the machine is. */
export async function jump(page: Page, first: string, second: string): Promise<void> {
  await Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);
}

/** The text of a file that the page saved. */
export async function textOf(download: Download): Promise<string> {
  let text = '';
  for await (const chunk of await download.createReadStream()) text += String(chunk);
  return text;
}

/** Presses Export in the view, or in a part of it, and gives the file that comes of it. */
export async function exportAs(
  page: Page,
  form: 'CSV' | 'JSON',
  { within = page }: { within?: Page | Locator } = {},
): Promise<{ name: string; text: string }> {
  await within.getByRole('button', { name: 'Export', exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: `${form}, filtered rows` }).click(),
  ]);
  return { name: download.suggestedFilename(), text: await textOf(download) };
}

/** Nothing went wrong in the page: no script failed, no style or request was refused or left. */
export function expectNoProblems({ problems }: ConsolePage): void {
  expect(problems).toEqual([]);
}
