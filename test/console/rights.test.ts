import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRights, type Need } from '../../console/src/rights.ts';
import { dreaming } from '../../plugins/dreaming/index.ts';
import { asAdmin, type LiveServer, serveCore } from '../core/http/serve.ts';
import { call } from '../support/service.ts';
import {
  expectCount,
  expectNoProblems,
  expectUrl,
  go,
  openConsole,
  settled,
} from './support/console.ts';

async function makeOperator(
  service: LiveServer,
  body: { name: string; role: string; contents?: boolean },
): Promise<string> {
  const made = await service.request('POST', '/v1/admin/operators', { headers: asAdmin, body });
  expect(made.status).toBe(201);
  return made.json.token as string;
}

/** A service with memory in it, and the console of an operator. */
async function openAs(body: { name: string; role: string; contents?: boolean }, path = '/') {
  const service = await serveCore({ plugins: [dreaming()] });
  await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'oolong tea\n' });
  await call(service.core, 'alice', 'memory_read', { path: 'user/a.md' });
  await service.core.queue.flush();
  const secret = await makeOperator(service, body);
  const opened = await openConsole({ service, secret, path });
  const refused: string[] = [];
  opened.page.on('response', (answer) => {
    if (answer.status() === 403) refused.push(new URL(answer.url()).pathname);
  });
  return { ...opened, refused };
}

describe('the console of a viewer without contents', () => {
  it('works without contents: it asks for none, and says so where they would be', async () => {
    const opened = await openAs({ name: 'vera', role: 'viewer' });
    const { page, refused } = opened;
    await page.getByText('Latest revisions').waitFor();
    await page
      .getByRole('button', { name: 'Signed in as vera, a viewer without contents' })
      .click();
    await page.getByRole('menuitem', { name: 'What you may do' }).click();
    const dialog = page.getByRole('dialog', { name: 'What you may do' });
    await dialog.getByText('You are signed in as vera, a viewer without contents.').waitFor();
    await expectCount(dialog.getByText('you may', { exact: true }), 1);
    await expectCount(dialog.getByText('not with your role', { exact: true }), 3);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    const places = [
      '/files?path=users/alice/a.md',
      '/files?q=tea&in=contents',
      '/compare?userId=alice',
      '/users?user=alice',
    ];
    for (const place of places) {
      await go(page, place);
      await page.getByText('Your role does not see contents.').first().waitFor();
      await settled(page);
      expect({ place, shown: await page.getByText('oolong').count() }).toEqual({ place, shown: 0 });
      await expectCount(page.getByRole('alert'), 0);
    }
    // What is known without contents is there.
    await go(page, '/files?path=users/alice/a.md');
    await page.getByRole('complementary', { name: 'About this file' }).getByText('v1').waitFor();
    const edit = page.getByRole('button', { name: 'Edit (e)' });
    expect(await edit.isDisabled()).toBe(true);
    expect(await edit.getAttribute('title')).toBe(
      'This needs the role operator. You are a viewer without contents.',
    );
    expect(refused).toEqual([]);
    expectNoProblems(opened);
  });

  it('hides what is not for the role, and gives the reason for what it disables', async () => {
    const opened = await openAs({ name: 'vera', role: 'viewer' }, '/users?user=alice');
    const { page, refused } = opened;
    const panel = page.getByRole('dialog', { name: 'alice' });
    const erase = panel.getByRole('button', { name: 'Erase…' });
    await erase.waitFor();
    await expectCount(page.getByRole('link', { name: 'Access', exact: true }), 0);
    // It can be reached with the keyboard, and says why it does nothing.
    await erase.focus();
    await page.keyboard.press('Enter');
    await page
      .getByText('This needs the role admin. You are a viewer without contents.', { exact: true })
      .first()
      .waitFor();
    expect(page.url()).not.toContain('do=erase');
    await go(page, '/access');
    await page.getByText('This needs the role admin.').first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to a view, a file or a user…').fill('prune');
    await settled(page);
    await expectCount(page.getByRole('option', { name: 'Prune old revisions' }), 0);
    expect(refused).toEqual([]);
    expectNoProblems(opened);
  });
});

describe('a role that changes while the console is open', () => {
  it('counts from the first refusal on', async () => {
    const service = await serveCore();
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
    const secret = await makeOperator(service, { name: 'otto', role: 'operator' });
    const opened = await openConsole({ service, secret, path: '/users?user=alice' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Stop writes…' }).waitFor();
    // As the service answers once a proxy gives the same name another role.
    const refusal = {
      status: 403,
      json: { error: { code: 'ROLE_NOT_ALLOWED', message: 'This needs the role operator.' } },
    };
    await page.route('**/v1/admin/freeze', (route) => route.fulfill(refusal));
    await page.route('**/v1/admin/me/rights', async (route) => {
      const answer = await route.fetch();
      const rights = (await answer.json()) as { operator: object; routes: { role: string }[] };
      await route.fulfill({
        response: answer,
        json: {
          operator: { name: 'otto', role: 'viewer', contents: false },
          routes: rights.routes.map((one) => ({ ...one, allowed: one.role === 'viewer' })),
        },
      });
    });
    await page.getByRole('button', { name: 'Stop writes…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Stop writes?' });
    await dialog.getByLabel('Reason').fill('a forged mail');
    await dialog.getByRole('button', { name: 'Stop writes' }).click();
    await dialog.getByRole('alert').getByText('This needs the role operator.').waitFor();
    await page
      .locator('[aria-label="Signed in as otto, a viewer without contents"]')
      .waitFor({ state: 'attached' });
  });
});

describe('somebody whom a proxy signs in without a role', () => {
  it('is told so', async () => {
    const service = await serveCore({
      trustProxy: true,
      operatorHeader: 'x-forwarded-email',
      operatorRoles: ['*@example.com:viewer'],
      proxySecret: 'proxy-secret-9876543210fedcba98765432',
    });
    const opened = await openConsole({
      service,
      isUnlocked: false,
      context: {
        extraHTTPHeaders: {
          'x-admin-secret': 'proxy-secret-9876543210fedcba98765432',
          'x-forwarded-email': 'eve@elsewhere.org',
        },
      },
    });
    await opened.page.getByText('You may not open this console').waitFor();
  });
});

describe('what a part of the console needs', () => {
  it('is a route of the service', async () => {
    const service = await serveCore({ plugins: [dreaming()] });
    const known = new Set(
      [...service.routes, ...service.core.pluginRoutes].map(
        ({ method, path }) => `${method} ${path}`,
      ),
    );
    const source = join(import.meta.dirname, '../../console/src');
    const needs = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:vue|ts)$/.test(name))
      .flatMap((name) =>
        Array.from(
          readFileSync(join(source, name), 'utf8').matchAll(
            /['"](?<need>(?:GET|PUT|POST|DELETE) \/v1\/[^'"]+)['"]/g,
          ),
          ({ groups }) => groups?.['need'] ?? '',
        ),
      );
    expect(needs.length).toBeGreaterThan(40);
    expect(needs.filter((need) => !known.has(need))).toEqual([]);
  });

  it('is found by its own path and by an address, and unknown routes are left to the service', () => {
    const rights = createRights();
    const route = (name: string, allowed: boolean) => {
      const [method = '', path = ''] = name.split(' ');
      return { method, path, summary: '', role: 'admin' as const, allowed };
    };
    rights.set({
      operator: { name: 'vera', role: 'viewer', contents: false },
      routes: [
        route('GET /v1/admin/users', true),
        route('POST /v1/admin/users/:userId/erase', false),
        route('GET /v1/admin/files/*path', false),
        route('GET /v1/admin/files', true),
        route('POST /v1/admin/revisions/prune', true),
        route('POST /v1/admin/revisions/:id', false),
      ],
    });
    const isRefused = (need: Need) => rights.reasonAgainst(need) !== null;
    expect(isRefused('POST /v1/admin/users/:userId/erase')).toBe(true);
    expect(isRefused('POST /v1/admin/users/a.b%2Fc/erase')).toBe(true);
    expect(isRefused('GET /v1/admin/files/users/alice/a.md')).toBe(true);
    expect(isRefused('GET /v1/admin/files')).toBe(false);
    expect(isRefused('POST /v1/admin/revisions/prune')).toBe(false);
    expect(isRefused('POST /v1/admin/revisions/7')).toBe(true);
    expect(isRefused('GET /v1/admin/of-a-plugin')).toBe(false);
    rights.set(null);
    expect(isRefused('POST /v1/admin/users/:userId/erase')).toBe(false);
  });
});

describe('the audit', () => {
  it('names who did what, and who looked', async () => {
    const service = await serveCore();
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
    const token = await makeOperator(service, { name: 'anna', role: 'operator' });
    const asAnna = { 'x-admin-secret': token };
    const path = '/v1/admin/files/users/alice/a.md';
    expect((await service.request('GET', path, { headers: asAnna })).status).toBe(200);
    await service.request('PUT', path, { headers: asAnna, body: { content: 'milk\n' } });
    await service.core.queue.flush();
    const opened = await openConsole({ service, path: '/audit' });
    const { page } = opened;
    const rows = page.locator('[data-row]');
    await page.getByRole('link', { name: 'operators.create' }).or(rows.first()).first().waitFor();
    await page.getByRole('button', { name: 'Who looked' }).click();
    await expectUrl(page, 'action=contents.read');
    await expectCount(rows, 1);
    await rows.first().getByRole('button', { name: 'Only what anna did' }).waitFor();
    await rows.first().getByRole('link', { name: 'users/alice/a.md' }).waitFor();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByRole('button', { name: 'Only what anna did' }).first().click();
    await expectUrl(page, 'operator=anna');
    await expectCount(rows, 2);
    await rows.getByText('files.write').first().waitFor();
    expectNoProblems(opened);
  });
});
