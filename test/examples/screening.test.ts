import { join } from 'node:path';
import { expect, it } from 'vitest';
import badges from '../../examples/screening/badges.ts';
import { call, openCore } from '../support/service.ts';
import { root } from './run-example.ts';

it('masks what the patterns name, and badge numbers whose check digit is right', async () => {
  const patterns = join(root, 'examples/screening/patterns.txt');
  const core = await openCore({
    screen: { secrets: 'mask', personal: 'mask', patterns },
    plugins: [badges()],
  });
  const path = 'user/notes.md';
  // The sum of 1, 2, 3, 4 and 5 ends with a 5.
  const badgeLines = '- Badge B-123455\n- Badge B-123456\n';
  const content = `- She is EMP-123456\n- Works on Project Osprey\n- Sits in room B-204\n${badgeLines}`;
  const { result } = await call<{ masked: unknown }>(core, 'alice', 'memory_write', {
    path,
    content,
  });
  expect(result.masked).toEqual([
    { line: 1, kind: 'employee_number' },
    { line: 2, kind: 'project_name' },
    { line: 3, kind: 'room' },
    { line: 4, kind: 'badge_number' },
  ]);
  const read = await call<{ content: string }>(core, 'alice', 'memory_read', { path });
  expect(read.result.content).toBe(
    '- She is [secret]\n- Works on [secret]\n- Sits in [secret]\n- Badge [secret]\n- Badge B-123456\n',
  );
});
