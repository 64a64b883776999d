/** Headers by name, as sent. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

const EVERYWHERE: HeaderList = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
];

/** For data: never rendered as a page, framed or cached. */
export const DATA_HEADERS: HeaderList = [
  ...EVERYWHERE,
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Cache-Control', 'no-store'],
];

/**
 * For an answer that goes on for a while. Without these, a proxy or a compressing middleware would
 * hold its parts back.
 */
export const STREAM_HEADERS: HeaderList = [
  ['Cache-Control', 'no-store, no-cache, no-transform'],
  ['X-Accel-Buffering', 'no'],
];

/** For the console's page and its files. */
export const CONSOLE_HEADERS: HeaderList = [
  ...EVERYWHERE,
  ['Content-Security-Policy', consolePolicy(null)],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['X-Frame-Options', 'DENY'],
  ['Permissions-Policy', 'camera=(), microphone=(), geolocation=(), payment=(), usb=()'],
];

/**
 * The console's content security policy: its own scripts, styles, fonts and connections, and
 * nothing else. Libraries that insert `<style>` elements take the nonce.
 */
export function consolePolicy(styleNonce: string | null): string {
  const style = styleNonce === null ? "'self'" : `'self' 'nonce-${styleNonce}'`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    `style-src ${style}`,
    "font-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
