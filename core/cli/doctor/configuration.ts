import type { LoadedConfig } from '../../config/index.ts';
import { type Finding, ok } from './finding.ts';

/** Which files were read, and the warnings that a start would log. */
export function checkConfiguration({ file, origins, warnings }: LoadedConfig): Finding {
  const sources = new Set(Object.values(origins).map(({ source }) => source));
  const read = [
    ...(file === null ? [] : [file.path]),
    ...(sources.has('.env') ? ['.env'] : []),
    ...(sources.has('environment') ? ['the environment'] : []),
    ...(sources.has('flag') ? ['flags'] : []),
  ];
  const text = read.length === 0 ? 'the defaults' : `from ${read.join(', ')}`;
  if (warnings.length === 0) return ok(text);
  return {
    state: 'warning',
    text,
    details: warnings.map((each) => (/[.?]$/.test(each) ? each : `${each}.`)),
  };
}
