import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startCommand } from '../../support/command.ts';
import { temporaryDirectory } from '../../support/service.ts';

describe('memory-service start --demo', () => {
  it('serves the demo from a database of its own', async () => {
    const cwd = await temporaryDirectory();
    const command = await startCommand({ cwd, args: ['--demo'] });
    onTestFinished(async () => void (await command.stop()));
    expect(existsSync(join(cwd, 'data/demo.db'))).toBe(true);
    expect(existsSync(join(cwd, 'data/memory.db'))).toBe(false);
    const answer = await fetch(`${command.url}/v1/admin/users`, {
      headers: { 'x-admin-secret': command.adminSecret },
    });
    const { items } = (await answer.json()) as { items: { userId: string }[] };
    expect(items.map(({ userId }) => userId)).toContain('maya.chen');
  });
});
