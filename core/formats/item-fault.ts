import type { SkippedItem } from '../schemas/archive.ts';

/** Why one item of an export can't be taken. The others go on. */
export class ItemFault extends Error {}

/** Takes an item, or adds it to those that are skipped if it throws an {@link ItemFault}. */
export function takeItem(skipped: SkippedItem[], item: string, take: () => void): void {
  try {
    take();
  } catch (error) {
    if (!(error instanceof ItemFault)) throw error;
    skipped.push({ item, reason: error.message });
  }
}
