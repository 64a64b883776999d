import type { Host, Plugin } from '../../core/contracts/plugin.ts';
import { manualClock } from './clock.ts';
import { openCore } from './service.ts';

/** A service on a clock of its own, and the host of a plugin that may write several files in one call. */
export async function openCarrier() {
  const clock = manualClock();
  const hosts: Host[] = [];
  const plugin: Plugin = {
    name: 'carrier',
    apiVersion: 2,
    setup: (given) => void hosts.push(given),
  };
  const core = await openCore({
    now: clock.now,
    plugins: [plugin],
    tools: { move: true, delete: true },
    sharedWrites: true,
  });
  const [host] = hosts as [Host];
  return { core, clock, host };
}
