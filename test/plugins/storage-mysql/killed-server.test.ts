import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createCore } from '../../../core/service.ts';
import { findViolations, toLines } from '../../support/invariants.ts';
import { createDatabase, type Mariadb, startMariadb } from '../../support/mariadb-server.ts';
import { inProcess, patient } from '../../support/targets.ts';
import { seededRandom, Workload } from '../../support/workload.ts';
import { mysql } from '../../support/databases.ts';

const isRelease = process.env['MEMORY_TEST_RELEASE'] !== undefined;
const KILLS = isRelease ? 100 : 2;
const WRITERS = 8;
const WRITES_BETWEEN = 15;
const POLL_MS = 5;

it(
  'a MariaDB that is killed again and again loses no write that was acknowledged (F6)',
  { timeout: (KILLS + 1) * 60_000 },
  async () => {
    let server: Mariadb = await startMariadb();
    onTestFinished(() => server.remove());
    const { port, directory } = server;
    const url = await createDatabase(port);
    const cores = [0, 1].map(() =>
      createCore({ storage: mysql({ url }), tools: { delete: true, move: true } }),
    );
    onTestFinished(async () => {
      for (const core of cores) await core.close();
    });
    for (const core of cores) await core.ready();

    const target = patient(cores.map(inProcess));
    const workload = new Workload(seededRandom(6));
    await workload.prepare(target);
    let isOver = false;
    const writing = workload.write(target, WRITERS, () => isOver);
    const moreWrites = async () => {
      const enough = workload.acknowledged.length + WRITES_BETWEEN;
      while (workload.acknowledged.length < enough) await sleep(POLL_MS);
    };
    let inFlight = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      await moreWrites();
      if (workload.inFlight > 0) inFlight += 1;
      await server.end('SIGKILL');
      server = await startMariadb({ directory, port });
    }
    // It heals by itself: writes go on after the last start too.
    await moreWrites();
    isOver = true;
    await writing;
    await workload.settle(target);

    const { acknowledged, problems } = workload;
    problems.push(...toLines(await findViolations(url, { acknowledged })));
    console.log(
      `MariaDB itself, kill -9: ${KILLS} kills (${inFlight} with a write in flight), ` +
        `${acknowledged.length} acknowledged, ${problems.length} lost or in part; ` +
        `${target.repeated} writes repeated by their callers`,
    );
    expect(problems).toEqual([]);
    expect(inFlight).toBeGreaterThanOrEqual(KILLS * 0.8);
  },
);
