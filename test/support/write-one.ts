import type { Host, HostWrite, HostWriteOptions } from '../../core/contracts/plugin.ts';
import type { WriteResult } from '../../core/contracts/tool.ts';

/** Writes one file as a plugin does. */
export async function writeOne(
  host: Pick<Host, 'write'>,
  change: HostWrite,
  options: HostWriteOptions,
): Promise<WriteResult> {
  const [written] = await host.write([change], options);
  return written as WriteResult;
}
