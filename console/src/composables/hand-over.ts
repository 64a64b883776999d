/**
 * Copies text to the clipboard. On plain http the browser has no clipboard API, so a selected field
 * is copied. Throws if the browser refuses both.
 */
export async function copyText(text: string): Promise<void> {
  if (window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Permission denied; copying a field may still work.
    }
  }
  const field = document.createElement('textarea');
  const focused = document.activeElement;
  field.value = text;
  field.className = 'fixed top-0 opacity-0';
  // An open dialog keeps the focus inside it, so the field must be inside too.
  (Array.from(document.querySelectorAll('[role="dialog"]')).at(-1) ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('The browser does not allow copying.');
}

/** Downloads text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Downloads bytes as a file. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
