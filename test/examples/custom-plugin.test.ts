import { expect, it } from 'vitest';
import { run } from './run-example.ts';

it('adds a tool that writes through the service, and a route behind the admin secret', async () => {
  const { code, stdout, stderr } = await run(['examples/custom-plugin/main.mjs']);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/\{ path: 'user\/diary\/\d{4}-\d\d-\d\d\.md', version: 1 \}/);
  expect(stdout).toMatch(/\{ path: 'user\/diary\/\d{4}-\d\d-\d\d\.md', version: 2 \}/);
  expect(stdout).toMatch(/200 \{ days: \[ '\d{4}-\d\d-\d\d' \] \}/);
  expect(code).toBe(0);
});
