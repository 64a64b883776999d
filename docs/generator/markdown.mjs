/**
 * A page that is made from the code: title, where it comes from, then the parts.
 *
 * @param {string} title
 * @param {string} source what to edit instead
 * @param {string[]} parts
 */
export function page(title, source, parts) {
  const note = `<!-- Made by \`npm run docs\` from ${source}: edit that. -->`;
  return `${[`# ${title}`, note, ...parts].join('\n\n')}\n`;
}

/**
 * @param {string[]} head
 * @param {string[][]} rows
 */
export function table(head, rows) {
  const line = (/** @type {string[]} */ cells) => `| ${cells.map(toCell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** @param {string} text */
export function code(text) {
  return `\`${text}\``;
}

/**
 * A link to a code on the errors page.
 *
 * @param {string} errorCode
 */
export function errorLink(errorCode) {
  return `[${code(errorCode)}](errors.md#${errorCode.toLowerCase()})`;
}

/** @param {unknown} value */
export function jsonBlock(value) {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

/**
 * Words of a definition as markdown: `user/<path>` would be taken for HTML.
 *
 * @param {string} text
 */
export function prose(text) {
  if (text.includes('`')) return text;
  return text.replaceAll(/[^\s,;]+/g, (word) => {
    if (!word.includes('<')) return word;
    return word.endsWith('.') ? `${code(word.slice(0, -1))}.` : code(word);
  });
}

/** @param {string} text */
function toCell(text) {
  return prose(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
}
