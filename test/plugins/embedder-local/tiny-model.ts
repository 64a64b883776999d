import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Words by what they mean: those of one line have one vector. */
const WORDS = [
  ['[PAD]', '[UNK]', '.'],
  ['tea', 'coffee', 'beverage', 'drinks'],
  ['dog', 'puppy', 'pet'],
  ['green', 'morning'],
  ['invoice', 'march', 'paid'],
  ['train', 'berlin', 'noon'],
  ['blue', 'colour'],
];

/** The length of the tiny model's vectors. */
export const DIMENSIONS = 8;

/**
 * Writes a model of a few words, as it is published: its configuration, its tokeniser, and an ONNX
 * graph that looks up a vector for each word. `file` is the name that the precision asks for.
 */
export async function writeTinyModel(folder: string, file = 'model.onnx'): Promise<void> {
  await mkdir(path.join(folder, 'onnx'), { recursive: true });
  for (const [name, content] of Object.entries(tinyModel(file))) {
    await writeFile(path.join(folder, name), content);
  }
}

/** The files of the tiny model by their paths. */
export function tinyModel(file = 'model.onnx'): Record<string, string | Buffer> {
  const words = WORDS.flat();
  return {
    'config.json': JSON.stringify({
      model_type: 'bert',
      architectures: ['BertModel'],
      hidden_size: DIMENSIONS,
      vocab_size: words.length,
      max_position_embeddings: 512,
    }),
    'tokenizer_config.json': JSON.stringify({
      tokenizer_class: 'PreTrainedTokenizerFast',
      model_max_length: 512,
      pad_token: '[PAD]',
      unk_token: '[UNK]',
    }),
    'tokenizer.json': JSON.stringify({
      version: '1.0',
      truncation: null,
      padding: null,
      post_processor: null,
      decoder: null,
      added_tokens: [0, 1].map((id) => ({
        id,
        content: words[id],
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: true,
      })),
      normalizer: { type: 'Lowercase' },
      pre_tokenizer: { type: 'Whitespace' },
      model: {
        type: 'WordLevel',
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
        unk_token: '[UNK]',
      },
    }),
    [`onnx/${file}`]: toOnnx(words.map((word) => WORDS.findIndex((row) => row.includes(word)))),
  };
}

/** A graph of one node: `last_hidden_state` is the row of each of `input_ids`. */
function toOnnx(meanings: readonly number[]): Buffer {
  const table = Float32Array.from({ length: meanings.length * DIMENSIONS }, (_, at) => {
    const meaning = meanings[Math.floor(at / DIMENSIONS)] ?? 0;
    const place = at % DIMENSIONS;
    // Words without a meaning weigh little.
    if (meaning === 0) return place === DIMENSIONS - 1 ? 0.01 : 0;
    return place === meaning ? 1 : 0;
  });
  const tensor = message([
    [1, meanings.length],
    [1, DIMENSIONS],
    [2, FLOAT],
    [8, 'table'],
    [9, Buffer.from(table.buffer)],
  ]);
  const node = message([
    [1, 'table'],
    [1, 'input_ids'],
    [2, 'last_hidden_state'],
    [3, 'look up'],
    [4, 'Gather'],
  ]);
  const inputs = ['input_ids', 'attention_mask', 'token_type_ids'].map((name): Field => [
    11,
    toValue(name, INT64, ['batch', 'sequence']),
  ]);
  const graph = message([
    [1, node],
    [2, 'tiny'],
    [5, tensor],
    ...inputs,
    [12, toValue('last_hidden_state', FLOAT, ['batch', 'sequence', DIMENSIONS])],
  ]);
  return message([
    [1, 8],
    [2, 'the tests'],
    [7, graph],
    [8, message([[2, 14]])],
  ]);
}

const FLOAT = 1;
const INT64 = 7;

function toValue(name: string, type: number, shape: readonly (string | number)[]): Buffer {
  const dimensions = shape.map((one): Field => [
    1,
    message([typeof one === 'number' ? [1, one] : [2, one]]),
  ]);
  const tensor = message([
    [1, type],
    [2, message(dimensions)],
  ]);
  return message([
    [1, name],
    [2, message([[1, tensor]])],
  ]);
}

type Field = [number: number, value: number | string | Buffer];

/** A message of Protocol Buffers, the format of ONNX files. */
function message(fields: readonly Field[]): Buffer {
  const parts = fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [toVarint(number * 8), toVarint(value)];
    const bytes = Buffer.from(value as string);
    return [toVarint(number * 8 + 2), toVarint(bytes.length), bytes];
  });
  return Buffer.concat(parts);
}

function toVarint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}
