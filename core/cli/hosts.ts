/** Whether a server on this address listens on every address of the machine. */
export function isEveryAddress(host: string): boolean {
  return ['0.0.0.0', '::', '[::]'].includes(host);
}
