import type { Route } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openai } from '../../plugins/model-openai/index.ts';
import { loadSqliteModule } from '../../plugins/storage-sqlite/drivers/load.ts';
import { answerExam } from '../support/exam-model.ts';
import { startProviderServer } from '../support/provider-server/server.ts';
import { call, temporaryDatabase } from '../support/service.ts';
import {
  expectCount,
  expectNoProblems,
  expectUrl,
  exportAs,
  openConsole,
} from './support/console.ts';
import { sqlite } from '../support/databases.ts';

describe('the overview', () => {
  it('warns while the database takes no writes', async () => {
    const filename = await temporaryDatabase();
    const opened = await openConsole({
      config: { storage: sqlite({ filename, lockTimeoutMs: 300 }) },
    });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    const native = await loadSqliteModule('sqlite3');
    const other = await native.open(filename, { busyTimeoutMs: 5_000 });
    onTestFinished(() => other.close());
    await other.exec('begin immediate');
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'y' }).catch(
      () => undefined,
    );
    await visit('/');
    await page
      .getByRole('list', { name: 'Warnings' })
      .getByText('The database takes no writes (STORAGE_UNAVAILABLE). Reads still work.')
      .waitFor();
    expectNoProblems(opened);
  });

  it('says in one line what search by meaning would add, until it is dismissed in this browser', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const hint = page.getByText('Search by meaning is off');
    await visit('/');
    await page.getByText('No memory yet').waitFor();
    await hint.getByText('memory-service embedder setup').waitFor();
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    await visit('/');
    await hint.getByText('memory-service embedder setup').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.reload();
    await page.getByRole('region', { name: 'Tool calls, 14 days' }).waitFor();
    await expectCount(hint, 0);
    expectNoProblems(opened);
  });

  it('warns of a model that does not answer, with what to do', async () => {
    const provider = await startProviderServer();
    onTestFinished(() => provider.close());
    provider.always(({ sendJson }) => sendJson(401, {}));
    const model = openai({ baseUrl: provider.baseUrl, name: 'scripted', maxRetries: 0 });
    const opened = await openConsole({ config: { model } });
    const { page, service, visit } = opened;
    await visit('/playground?show=wiring');
    const wiring = page.getByRole('region', { name: 'Wiring' }).getByRole('listitem');
    const ofModel = wiring.filter({ hasText: 'Model:' });
    await ofModel.getByText('scripted, not tried yet').waitFor();
    await expectCount(ofModel.locator('.text-success'), 0);
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    await call(service.core, 'alice', 'memory_remember', { text: 'Likes tea.' }).catch(
      () => undefined,
    );
    const refused = 'the provider answered 401; check the API key';
    await page.getByRole('button', { name: 'Reload' }).click();
    await ofModel.getByText(`scripted, its last call failed: ${refused}`).waitFor();
    await visit('/');
    await page
      .getByRole('list', { name: 'Warnings' })
      .getByText(`The model does not answer: ${refused}.`)
      .waitFor();
    // Nothing is green while something is wrong.
    await page
      .getByText(/ready, .*, 1 warning/)
      .locator('.bg-warning')
      .waitFor();
    expectNoProblems(opened);
  });
});

describe('the dashboard', () => {
  it('counts the calls, and has a table beside each chart', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    await call(core, 'alice', 'memory_write', {
      path: 'user/a.md',
      content: 'see [b](user/b.md)\n',
    });
    for (let read = 0; read < 3; read += 1) {
      await call(core, 'alice', 'memory_read', { path: 'user/a.md' });
    }
    await call(core, 'alice', 'memory_remember', { text: 'x' }).catch(() => undefined);
    await visit('/observability?since=1h&userId=alice');
    await page.getByText('Tool calls').locator('..').getByText('5', { exact: true }).waitFor();
    // One of five failed: that is said, and that they are few.
    await page.getByText('There were only 5 calls: a breach counts from 100 calls on.').waitFor();
    await page.getByText('too few calls to tell').waitFor();
    await page.getByText('20% of the calls failed').waitFor();
    await page.getByText('20%', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Topology: as a table' }).click();
    const topology = page.getByRole('region', { name: 'Topology, as a table' });
    await expectUrl(page, 'topology-as=table');
    await page.reload();
    await topology.getByRole('row', { name: 'memory_read users/alice/a.md 3' }).waitFor();
    await page.getByRole('button', { name: /MODEL_NOT_CONFIGURED/ }).click();
    await page
      .getByRole('dialog', { name: 'Tool call' })
      .getByText('memory_remember')
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('region', { name: 'Hygiene' }).getByText('broken link').waitFor();
    await page.getByRole('button', { name: 'Tool memory_read: 3 rows' }).click();
    await expectUrl(page, 'tool=memory_read');
    await page.getByText('Tool calls').locator('..').getByText('3', { exact: true }).waitFor();
    expectNoProblems(opened);
  });

  it('filters findings by their kind, in the URL, and leads from a secret to its redaction', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const content = `- [gone](gone.md)\n- Token ghp_${'a1B2'.repeat(9)}\n`;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content });
    await visit('/observability?since=1h&userId=alice');
    const hygiene = page.getByRole('region', { name: 'Hygiene' });
    await hygiene.getByText('broken link', { exact: true }).waitFor();
    await hygiene.getByLabel('Kind').selectOption('secret');
    await expectUrl(page, 'finding=secret');
    await expectCount(hygiene.getByRole('listitem'), 1);
    await page.reload();
    await hygiene.getByText('This looks like a GitHub token.').waitFor();
    await expectCount(hygiene.getByRole('listitem'), 1);
    await hygiene.getByRole('button', { name: 'Redact a text…' }).click();
    await page.getByLabel('Where').selectOption({ label: 'The file users/alice/a.md' });
    await page.keyboard.press('Escape');
    await hygiene.getByLabel('Kind').selectOption('');
    await hygiene.getByText('broken link', { exact: true }).waitFor();
    expectNoProblems(opened);
  });

  it('says why calls failed, what their codes mean, and how long a slow call is', async () => {
    const provider = await startProviderServer();
    onTestFinished(() => provider.close());
    provider.always(({ sendJson }) => sendJson(401, { error: { message: 'canary' } }));
    const { baseUrl } = provider;
    const model = openai({ baseUrl, name: 'scripted', maxRetries: 0 });
    const opened = await openConsole({ config: { model, sla: { slowCallMs: 1_000 } } });
    const { page, service, visit } = opened;
    const asked = { text: 'Forget that I drink tea.', forget: true };
    await call(service.core, 'alice', 'memory_remember', asked).catch(() => undefined);
    await call(service.core, 'alice', 'memory_read', { path: 'user/no.md' }).catch(() => undefined);
    await visit('/observability?since=1h&userId=alice');
    const failures = page.getByRole('region', { name: 'Failures and slow calls' });
    await failures.getByText('Slow: 1.0 s or longer').waitFor();
    const why = 'the provider answered 401; check the API key';
    await failures.getByRole('button', { name: new RegExp(`MODEL_FAILED ${why}`) }).click();
    const drawer = page.getByRole('dialog', { name: 'Tool call' });
    await drawer.getByText(why, { exact: true }).first().waitFor();
    await drawer.getByRole('button', { name: /^llm/ }).click();
    await expectCount(drawer.getByText(why, { exact: true }), 2);
    await page.keyboard.press('Escape');
    await failures.getByRole('button', { name: 'Refused calls' }).click();
    await failures.getByText('There is no such memory file.').waitFor();
    await expectCount(page.getByText('canary'), 0);
    expectNoProblems(opened);
  });

  it('lists failures page by page, and exports all of them', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    for (let n = 0; n < 35; n += 1) {
      await call(service.core, 'alice', 'memory_remember', { text: 'x' }).catch(() => undefined);
    }
    await service.core.queue.flush();
    await visit('/observability?since=1h');
    const failures = page.getByRole('region', { name: 'Failures and slow calls' });
    const rows = failures.getByRole('button', { name: /^memory_remember/ });
    await rows.first().waitFor();
    await expectCount(rows, 30);
    const { name, text } = await exportAs(page, 'JSON', { within: failures });
    expect(name).toBe('failures.json');
    expect(JSON.parse(text)).toHaveLength(35);
    await failures.getByRole('button', { name: 'Load more' }).click();
    await expectCount(rows, 35);
    expectNoProblems(opened);
  });

  it('lists the failed calls behind a bar, without those that succeeded', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    const { core } = service;
    await call(core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x\n' });
    await call(core, 'alice', 'memory_remember', { text: 'x' }).catch(() => undefined);
    await core.queue.flush();
    const hour = { from: Date.now() - 3_600_000, to: Date.now() + 3_600_000 };
    const [from, to] = [hour.from, hour.to].map((time) => new Date(time).toISOString());
    await visit(`/observability?callsSince=${from ?? ''}&callsUntil=${to ?? ''}&callsOf=failed`);
    const panel = page.getByRole('dialog', { name: 'Failed calls' });
    await panel.getByRole('link', { name: /memory_remember.*MODEL_NOT_CONFIGURED/ }).waitFor();
    await expectCount(panel.getByRole('listitem'), 1);
    await panel.getByTitle(/^This needs a model/).waitFor();
    expectNoProblems(opened);
  });

  it('shows the latest events, and others as they happen, until it is paused', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_read', { path: 'user/no.md' }).catch(() => undefined);
    await service.core.queue.flush();
    await visit('/observability');
    const live = page.getByRole('region', { name: 'Live events', exact: true });
    await live.getByText('memory_read').waitFor();
    await live.getByTitle('There is no such memory file.').waitFor();
    await live.getByText('live', { exact: true }).waitFor();
    await call(service.core, 'alice', 'memory_list', {});
    await live.getByText('memory_list').waitFor();
    // More than a reader can follow are counted, not drawn.
    for (let n = 0; n < 60; n += 1) await call(service.core, 'carol', 'memory_list', {});
    await live.getByText(/^\d+ events came too fast to be shown/).waitFor();
    const drawn = await live.getByRole('listitem').filter({ hasText: 'carol' }).count();
    const missed = Number(/^\d+/.exec(await live.getByText(/came too fast/).innerText())?.[0]);
    expect(drawn + missed).toBeLessThanOrEqual(60);
    await live.getByRole('button', { name: 'Pause' }).click();
    await call(service.core, 'bob', 'memory_find', { query: 'x' });
    await live.getByRole('button', { name: 'Resume' }).click();
    await live.getByText('memory_find').waitFor();
    await live.getByText('bob').waitFor();
    await expectCount(live.getByText('memory_read'), 1);
    expectNoProblems(opened);
  });
});

describe('dreams', () => {
  it('say that they are not available where there is no dreaming, and what it left', async () => {
    const opened = await openConsole({ path: '/dreams' });
    await opened.page.getByText('Dreaming is not available').waitFor();
    await opened.page.getByRole('link', { name: 'Revisions of dream-agent' }).click();
    await opened.page
      .getByRole('button', { name: 'Change the filter Actor: dream-agent' })
      .waitFor();
    expectNoProblems(opened);
  });
});

describe('an answer that fails', () => {
  it('shows its code and trace id, to be copied, and is asked for again', async () => {
    const opened = await openConsole();
    const { page, visit } = opened;
    let isBroken = true;
    await page.route('**/v1/admin/revisions?**', async (route) => {
      if (!isBroken) return route.continue();
      return route.fulfill({
        status: 507,
        json: {
          error: {
            code: 'STORAGE_FULL',
            message: 'The disk is full.',
            retryable: false,
            traceId: 'a'.repeat(32),
          },
        },
      });
    });
    await visit('/revisions');
    const alert = page.getByRole('alert');
    await alert.getByText('STORAGE_FULL').waitFor();
    await alert.getByText('a'.repeat(32)).waitFor();
    isBroken = false;
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No revisions yet').waitFor();
    expectNoProblems(opened);
  });

  it('is told by the part that it is of, and the rest of the view stays', async () => {
    const opened = await openConsole();
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'tea\n' });
    const refuse = (route: Route) =>
      route.fulfill({
        status: 500,
        json: { error: { code: 'INTERNAL', message: 'It failed.', retryable: false } },
      });
    await page.route('**/v1/admin/access-logs?**', refuse);
    await visit('/');
    const missed = page.getByRole('region', { name: 'Failed accesses' });
    await missed.getByText('INTERNAL').waitFor();
    await page.getByRole('region', { name: 'Latest revisions' }).getByText('a.md').waitFor();
    await visit('/files?path=users/alice/a.md');
    await page.getByText('tea', { exact: true }).waitFor();
    await expectCount(page.getByRole('alert').getByText('INTERNAL'), 2);

    await page.route('**/v1/admin/observability/top-files?**', refuse);
    await visit('/observability');
    await page.getByRole('region', { name: 'Top files' }).getByText('INTERNAL').waitFor();
    await page.getByText('Tool calls').first().waitFor();
    expectNoProblems(opened);
  });
});

describe('the exam of the model', () => {
  it('is run by a button, and says what to expect', async () => {
    const provider = await startProviderServer({
      reply: ({ messages }) => {
        const prompt = messages.find(({ role }: { role: string }) => role === 'user').content;
        return JSON.stringify(answerExam(prompt as string, { judge: () => 'keeps' }));
      },
    });
    onTestFinished(() => provider.close());
    const model = openai({ baseUrl: provider.baseUrl, name: 'scripted', maxRetries: 0 });
    const opened = await openConsole({ config: { model } });
    const { page, service, visit } = opened;
    await call(service.core, 'alice', 'memory_write', { path: 'user/a.md', content: 'x' });
    await visit('/');
    const panel = page.getByRole('region', { name: 'Exam of the model' });
    await panel.getByText('Not examined.').waitFor();
    await panel.getByRole('button', { name: 'Examine' }).click();
    await panel.getByText('scripted: 5 of 5').waitFor();
    await panel.getByText('notice a lost negation').waitFor();
    expectNoProblems(opened);
  });
});
