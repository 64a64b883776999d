import type { LoadedConfig } from '../../config/index.ts';
import { isEveryAddress } from '../hosts.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Whether clients get in by the names that they use. */
export function checkAllowedHosts({ values }: LoadedConfig): Finding {
  const { host, allowedHosts } = values;
  if (allowedHosts?.includes('*') === true) {
    return warning(
      'every Host name is accepted',
      'A web page of somebody else can then reach the service under a name of its own. Set SERVICE_ALLOWED_HOSTS to the names that clients use.',
    );
  }
  if (allowedHosts !== null) return ok(allowedHosts.join(', '));
  if (!isEveryAddress(host)) return ok(`the loopback names and ${host}`);
  return warning(
    `${host} listens for other machines, and only loopback names are accepted as Host`,
    'Set SERVICE_ALLOWED_HOSTS to the names that clients use.',
  );
}
