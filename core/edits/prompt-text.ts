/**
 * Text of a prompt. Foreign text (of memory, of a caller, of a model) gets in through
 * {@link toPromptLine} alone. What asks a model takes no plain string, so the compiler finds a prompt
 * that holds foreign text as it stands.
 */
export type PromptText = string & { readonly brand: 'PromptText' };

/**
 * Characters that a model or a program may take for the end of a line (LF, CR, VT, FF, FS, GS, RS, NEL,
 * LS, PS), and the other control characters.
 */
const NOT_IN_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/gu;
const PLAIN_LINE = /^[\t\x20-\x7e]*$/;

/**
 * Writes foreign text as one line of a prompt, so that it can't forge the line that follows: a space
 * stands for each line break of any kind, and for each control character but the tab.
 */
export function toPromptLine(text: string): PromptText {
  if (PLAIN_LINE.test(text)) return text as PromptText;
  const line = text.toWellFormed().replace(NOT_IN_A_LINE, (sign) => (sign === '\t' ? sign : ' '));
  return line as PromptText;
}

/** Writes foreign text of several lines, each by {@link toPromptLine}; for text between marks. */
export function toPromptLines(text: string): PromptText {
  return joinPrompt(text.split(/\r?\n/).map(toPromptLine), '\n');
}

/**
 * Writes a field of a row whose fields ` | ` parts: another sign stands for `|`, so no field can pass
 * itself off as two.
 */
export function toPromptField(text: string): PromptText {
  return toPromptLine(text.replaceAll('|', '¦'));
}

/** Text of a prompt from its parts, as a template literal. */
export function promptText(
  strings: TemplateStringsArray,
  ...parts: readonly (PromptText | number)[]
): PromptText {
  return String.raw({ raw: strings }, ...parts) as PromptText;
}

/** Parts of a prompt one after the other; by default with an empty line between them. */
export function joinPrompt(parts: readonly PromptText[], separator = '\n\n'): PromptText {
  return parts.join(separator) as PromptText;
}

/** Puts text between marks, which no line of it can close: {@link createFence} makes the mark. */
export function fencePrompt(
  name: string,
  text: PromptText,
  { mark, attributes = {} }: { mark: PromptText; attributes?: Readonly<Record<string, string>> },
): PromptText {
  // The quotation mark that would end an attribute is allowed in no path.
  const named = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${toPromptLine(value).replaceAll('"', "'")}"`,
  );
  return `<${name}-${mark}${named.join('')}>\n${text}\n</${name}-${mark}>` as PromptText;
}
