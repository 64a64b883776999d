/** The eight groups of an IPv6 address as numbers; a zone (`fe80::1%eth0`) is no part of it. */
export function toGroups(address: string): number[] {
  // The URL parser normalises all forms, such as one that ends in an IPv4 address.
  const [front = [], back = []] = new URL(`http://[${address.split('%', 1)[0]}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0');
  return [...front, ...zeros, ...back].map((group) => Number.parseInt(group, 16));
}
