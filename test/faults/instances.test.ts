import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createCore } from '../../core/service.ts';
import { startCommand } from '../support/command.ts';
import { type AcknowledgedWrite, findViolations, toLines } from '../support/invariants.ts';
import { temporaryDirectory } from '../support/service.ts';
import { inProcess, patient, post } from '../support/targets.ts';
import type { Operation, Target } from '../support/workload.ts';
import { sqlite } from '../support/databases.ts';

const APPENDS = process.env['MEMORY_TEST_RELEASE'] === undefined ? 12 : 313;
const WORKERS = 16;
const FILES = 5;

/** A server, and a service in this process, on one database. */
async function startTwo(): Promise<{ filename: string; instances: Target[] }> {
  const cwd = await temporaryDirectory();
  const filename = path.join(cwd, 'data', 'memory.db');
  const server = await startCommand({ cwd });
  const core = createCore({ storage: sqlite({ filename }) });
  onTestFinished(async () => {
    await core.close();
    await server.stop('SIGKILL');
  });
  await core.ready();
  const overHttp = (operation: Operation) => post(server, operation);
  return { filename, instances: [{ execute: overHttp }, inProcess(core)] };
}

it(
  'two instances keep each append that they acknowledge, once, in a linear history (F9)',
  { timeout: APPENDS * 10_000 },
  async () => {
    const { filename, instances } = await startTwo();
    const paths = Array.from({ length: FILES }, (_, n) => `file-${n}.md`);
    for (const name of paths) {
      const args = { path: `user/${name}`, content: '# Facts\n' };
      await instances[0]?.execute({ userId: 'alice', tool: 'memory_write', args });
    }
    const acknowledged: AcknowledgedWrite[] = [];
    const refused: string[] = [];
    const append = async (instance: Target, worker: string) => {
      for (let n = 0; n < APPENDS; n += 1) {
        const name = paths[n % FILES] as string;
        const text = `- ${worker} says ${n}`;
        const args = { path: `user/${name}`, append: { text } };
        const operation = { userId: 'alice', tool: 'memory_patch', args, key: `${worker}-${n}` };
        let answer = await instance.execute(operation);
        // The other instance may have the lock for long: a repeat under the same key is exact.
        while (answer.status === 'refused' && answer.code === 'STORAGE_UNAVAILABLE') {
          answer = await instance.execute(operation);
        }
        if (answer.status !== 'acknowledged') {
          refused.push(JSON.stringify(answer));
          continue;
        }
        const { version, revisionId } = answer.result as { version: number; revisionId: string };
        const content = { end: `${text}\n` };
        acknowledged.push({ userId: 'alice', path: name, version, revisionId, content });
      }
    };
    await Promise.all(
      instances.flatMap((instance, number) =>
        Array.from({ length: WORKERS }, (_, worker) => append(instance, `${number}-${worker}`)),
      ),
    );

    expect(refused).toEqual([]);
    expect(acknowledged).toHaveLength(2 * WORKERS * APPENDS);
    const problems = toLines(await findViolations(filename, { acknowledged }));
    console.log(
      `appends of two instances on SQLite: ${acknowledged.length} acknowledged, ${problems.length} lost`,
    );
    expect(problems).toEqual([]);
    for (const name of paths) {
      const own = acknowledged.filter((write) => write.path === name);
      const lines = own.map(({ content }) => (content as { end: string }).end.trimEnd());
      for (const instance of instances) {
        const args = { path: `user/${name}` };
        const answer = await instance.execute({ userId: 'alice', tool: 'memory_read', args });
        if (answer.status !== 'acknowledged') throw new Error(JSON.stringify(answer));
        const { content, version } = answer.result as { content: string; version: number };
        expect(content.trimEnd().split('\n').slice(1).sort()).toEqual(lines.sort());
        expect(version).toBe(lines.length + 1);
      }
    }
  },
);

it('of two instances that write at one version, one gets through and the other both versions (F9)', async () => {
  const { filename, instances } = await startTwo();
  // The other instance may have the lock for long: then nothing was written, and it is tried again.
  const write = (instance: Target, content: string, ifVersion: number) =>
    patient([instance]).execute({
      userId: 'alice',
      tool: 'memory_write',
      args: { path: 'user/a.md', content, ifVersion },
    });
  for (let version = 0; version < 20; version += 1) {
    const answers = await Promise.all(
      instances.map((instance, number) => write(instance, `${version} by ${number}`, version)),
    );
    const winner = answers.findIndex(({ status }) => status === 'acknowledged');
    expect(answers[winner]).toMatchObject({ result: { version: version + 1 } });
    expect(answers[1 - winner]).toEqual({
      status: 'refused',
      code: 'VERSION_CONFLICT',
      details: { path: 'user/a.md', expected: version, actual: version + 1 },
    });
  }
  expect(toLines(await findViolations(filename))).toEqual([]);
});
