import { describe, expect, it } from 'vitest';
import { asAdmin, type LiveServer, serveCore } from '../core/http/serve.ts';
import { expectCount, expectNoProblems, expectUrl, go, openConsole } from './support/console.ts';

const admin = async (service: LiveServer, method: string, path: string, body?: object) => {
  const answer = await service.request(method, `/v1/admin/${path}`, {
    headers: asAdmin,
    ...(body && { body }),
  });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};
/** Lists the memory of a user with a key. */
const list = async (service: LiveServer, key: string, userId: string) =>
  (
    await service.request('POST', '/v1/tools/memory_list/execute', {
      headers: { authorization: `Bearer ${key}` },
      body: { context: { userId }, arguments: {} },
    })
  ).status;

describe('API keys', () => {
  it('are made with what they may do, shown once, rotated with an overlap, and revoked', async () => {
    const service = await serveCore();
    const opened = await openConsole({ service, path: '/access' });
    const { page } = opened;
    await page.getByText('No named keys yet').waitFor();
    await page.getByRole('button', { name: 'New key…' }).first().click();
    const form = page.getByRole('dialog', { name: 'New API key' });
    expect(await form.getByRole('button', { name: 'Make the key' }).isDisabled()).toBe(true);
    await form.getByLabel('Name', { exact: true }).fill('support bot');
    await form.getByLabel('Users').fill('acme:*\nbob*');
    await form.getByRole('button', { name: 'Add a space' }).click();
    await form.getByLabel('Space 1', { exact: true }).fill('acme');
    await form.getByLabel('Access to space 1').selectOption('read and write');
    await form.getByLabel('Tools').selectOption('Tools that read');
    await form.getByLabel('Calls a minute').fill('600');
    await form.getByLabel('Expires').selectOption('In 30 days');
    await form.getByRole('button', { name: 'Make the key' }).click();
    // The service says what is wrong, at its field; nothing was made.
    await form.getByText(/^Entry 2 must be an id, a prefix/).waitFor();
    expect(await form.getByLabel('Users').getAttribute('aria-invalid')).toBe('true');
    expect((await admin(service, 'GET', 'keys')).items).toEqual([]);
    await form.getByLabel('Users').fill('acme:*');
    await form.getByRole('button', { name: 'Make the key' }).click();

    const made = page.getByRole('dialog', { name: 'Key support bot' });
    const key = await made.getByLabel('The key', { exact: true }).innerText();
    // Nothing but its button closes what is not shown again.
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    await made.getByText('"spaces":[{"id":"acme","access":"write"}]').waitFor();
    await made.getByRole('button', { name: 'I have stored the key' }).click();
    await made.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(key);
    expect(page.url()).not.toContain(key);
    expect((await admin(service, 'GET', 'keys')).items).toMatchObject([
      {
        name: 'support bot',
        users: ['acme:*'],
        spaces: ['acme:write'],
        tools: ['read'],
        rateLimit: 600,
        createdBy: 'admin',
      },
    ]);
    expect([await list(service, key, 'acme:anna'), await list(service, key, 'bob')]).toEqual([
      200, 403,
    ]);

    await page.getByRole('button', { name: 'Open support bot' }).click();
    const panel = page.getByRole('dialog', { name: 'support bot' });
    await panel.getByText('acme:write').waitFor();
    await panel.getByRole('button', { name: 'Rotate…' }).click();
    const rotate = page.getByRole('dialog', { name: 'Rotate support bot?' });
    await rotate.getByLabel('The present key stays valid for').selectOption('1 day');
    await rotate.getByRole('button', { name: 'Rotate', exact: true }).click();
    const rotated = page.getByRole('dialog', { name: 'New text of support bot' });
    const next = await rotated.getByLabel('The key', { exact: true }).innerText();
    await rotated.getByRole('button', { name: 'I have stored the key' }).click();
    expect(next).not.toBe(key);
    expect([await list(service, key, 'acme:anna'), await list(service, next, 'acme:anna')]).toEqual(
      [200, 200],
    );
    await page.getByText('rotating').waitFor();

    await page.getByRole('button', { name: 'Open support bot' }).click();
    await panel.getByRole('button', { name: 'Stop writes…' }).click();
    const stop = page.getByRole('dialog', { name: 'Stop writes?' });
    await stop.getByLabel('Reason').fill('looks odd');
    await stop.getByRole('button', { name: 'Stop writes' }).click();
    await page.getByText('Writes with the key support bot').first().waitFor();
    expect((await service.core.freezes.list())[0]).toMatchObject({
      keyId: (await admin(service, 'GET', 'keys')).items[0].id,
    });

    await panel.getByRole('button', { name: 'Revoke…' }).click();
    const revoke = page.getByRole('dialog', { name: 'Revoke support bot?' });
    await revoke.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('No named keys yet').waitFor();
    expect([await list(service, key, 'acme:anna'), await list(service, next, 'acme:anna')]).toEqual(
      [401, 401],
    );
    expectNoProblems(opened);
  });

  it('are searched by name, users and spaces, and lead to what they did', async () => {
    const service = await serveCore();
    for (let n = 0; n < 30; n += 1) {
      const spaces = n === 7 ? ['needle:read'] : [];
      await admin(service, 'POST', 'keys', { name: `agent ${n}`, users: [`team-${n}`], spaces });
    }
    const opened = await openConsole({ service, path: '/access' });
    const { page } = opened;
    await page.getByRole('status').getByText('30 keys').waitFor();
    await page.getByLabel('Search keys').fill('needle');
    await page.getByRole('status').getByText('1 of 30 keys').waitFor();
    await page.getByLabel('Search keys').fill('team-21');
    await page.getByRole('button', { name: 'Open agent 21' }).click();
    await page.getByRole('link', { name: 'Activity', exact: true }).last().click();
    await expectUrl(page, 'key=agent');
    await page.getByRole('button', { name: 'Change the filter API key: agent 21' }).waitFor();
    await go(page, '/access?q=nothing-like-it');
    await page.getByText('No keys match').waitFor();
    expectNoProblems(opened);
  });
});

describe('operators', () => {
  it('are made with a role, get a token once, are rotated and removed', async () => {
    const service = await serveCore();
    const opened = await openConsole({ service, path: '/access?tab=operators' });
    const { page } = opened;
    const roleOf = async (token: string) => {
      const me = { headers: { 'x-admin-secret': token } };
      const { status, json } = await service.request('GET', '/v1/admin/me', me);
      return status === 200 ? json : status;
    };
    await page.getByText('No named operators yet').waitFor();
    await page.getByText('None is configured.').waitFor();
    await page.getByRole('button', { name: 'New operator…' }).click();
    const form = page.getByRole('dialog', { name: 'New operator' });
    await form.getByLabel('Name').fill('admin');
    await form.getByRole('radio', { name: /^Viewer with contents/ }).check();
    await form.getByRole('button', { name: 'Make the operator' }).click();
    await form.getByText('Is that of the secret of the configuration.').waitFor();
    await form.getByLabel('Name').fill('ben');
    await form.getByRole('button', { name: 'Make the operator' }).click();
    const made = page.getByRole('dialog', { name: 'Token of ben' });
    const token = await made.getByLabel('The token', { exact: true }).innerText();
    await made.getByRole('button', { name: 'I have stored the token' }).click();
    expect(await roleOf(token)).toEqual({ name: 'ben', role: 'viewer', contents: true });
    const row = page.getByRole('row', { name: /^ben/ });
    await row.getByText('viewer with contents').waitFor();
    await row.getByRole('button', { name: 'Rotate the token of ben…' }).click();
    const rotate = page.getByRole('dialog', { name: 'Rotate ben?' });
    await rotate.getByLabel('The present token').selectOption({ index: 0 });
    await rotate.getByRole('button', { name: 'Rotate', exact: true }).click();
    const again = page.getByRole('dialog', { name: 'New token of ben' });
    const next = await again.getByLabel('The token', { exact: true }).innerText();
    await again.getByRole('button', { name: 'I have stored the token' }).click();
    expect(await roleOf(token)).toBe(401);
    expect(await roleOf(next)).toMatchObject({ name: 'ben' });
    await row.getByRole('button', { name: 'Remove ben…' }).click();
    await page
      .getByRole('dialog', { name: 'Remove ben?' })
      .getByRole('button', { name: 'Remove', exact: true })
      .click();
    await page.getByText('No named operators yet').waitFor();
    expect(await roleOf(next)).toBe(401);
    expectNoProblems(opened);
  });

  it('that a proxy signs in are listed by their names and roles', async () => {
    const service = await serveCore({
      trustProxy: true,
      operatorHeader: 'x-forwarded-email',
      operatorRoles: ['alice@example.com:admin', '*@example.com:viewer+contents'],
      proxySecret: 'proxy-secret-9876543210fedcba98765432',
    });
    const opened = await openConsole({ service, path: '/access?tab=operators' });
    const { page } = opened;
    const proxy = page.getByRole('region', { name: 'Sign-in by a proxy' });
    await proxy.getByText('x-forwarded-email').waitFor();
    await proxy.getByRole('row', { name: '*@example.com viewer with contents' }).waitFor();
    await expectCount(proxy.getByRole('row'), 3);
    expectNoProblems(opened);
  });
});
