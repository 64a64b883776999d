/** The numbers, from 1, of the lines in which ascending offsets of a text are. Linear in the length of the text. */
export function toLineNumbers(text: string, offsets: readonly number[]): number[] {
  let line = 1;
  let from = 0;
  return offsets.map((offset) => {
    for (
      let at = text.indexOf('\n', from);
      at !== -1 && at < offset;
      at = text.indexOf('\n', from)
    ) {
      line += 1;
      from = at + 1;
    }
    return line;
  });
}
