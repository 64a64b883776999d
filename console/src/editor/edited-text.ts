import type { ChangeSet } from '@codemirror/state';
import { PlainText, withLineEnds } from '../../../core/files/line-ends.ts';
import { applySplices, type Splice } from '../../../core/files/replace-text.ts';

/**
 * The text that an editor changes. The editor knows one line end alone, and would give a file of
 * another one back with every line changed: here, lines keep their ends, and new ones get those of
 * the place.
 */
export class EditedText {
  #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Makes the changes of a transaction of the editor; returns the whole text. */
  change(changes: ChangeSet): string {
    const plain = new PlainText(this.#text);
    const splices: Splice[] = [];
    changes.iterChanges((from, to, _fromAfter, _toAfter, inserted) => {
      splices.push({
        start: plain.toOriginal(from),
        end: plain.toOriginal(to),
        text: withLineEnds(inserted.toString(), plain.lineEndAt(from)),
      });
    }, true);
    return (this.#text = applySplices(this.#text, splices));
  }
}
